-- Generated from the declarations in schemas: edit those.
SELECT
    table_name,
    member,
    count(*) AS records
FROM (
    SELECT 'districts' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__districts') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'schools' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__schools') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'district_schools' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__district_schools') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'students' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__students') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'student_details' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__student_details') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'test_results' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__test_results') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'test_result_norms' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__test_result_norms') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'test_result_instructional_areas' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__test_result_instructional_areas') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'academic_years' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__academic_years') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'enrollment_sessions' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__enrollment_sessions') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'student_school_associations' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__student_school_associations') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'school_classes' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__school_classes') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'school_class_educators' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__school_class_educators') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'school_class_students' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__school_class_students') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'school_class_details' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__school_class_details') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'student_school_classes' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__student_school_classes') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'educator_school_classes' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__educator_school_classes') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'educator_school_associations' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__educator_school_associations') }} WHERE _extra IS NOT NULL
    UNION ALL
    SELECT 'educator_school_association_details' AS table_name, {{ growth_export_keys('_extra') }} AS member FROM {{ ref('stg_growth_export__educator_school_association_details') }} WHERE _extra IS NOT NULL
) AS members
GROUP BY table_name, member
