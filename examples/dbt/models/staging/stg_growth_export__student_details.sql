-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('student_details', false) %}
SELECT
    requested_school_bid,
    requested_student_bid,
    student_bid,
    student_id,
    state_student_id,
    district_bid,
    school_bid,
    first_name,
    middle_name,
    last_name,
    date_of_birth,
    gender,
    ethnicity,
    ethnicity_custom,
    grade,
    grade_custom,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'student_details') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS requested_school_bid,
    CAST(NULL AS varchar) AS requested_student_bid,
    CAST(NULL AS varchar) AS student_bid,
    CAST(NULL AS varchar) AS student_id,
    CAST(NULL AS varchar) AS state_student_id,
    CAST(NULL AS varchar) AS district_bid,
    CAST(NULL AS varchar) AS school_bid,
    CAST(NULL AS varchar) AS first_name,
    CAST(NULL AS varchar) AS middle_name,
    CAST(NULL AS varchar) AS last_name,
    CAST(NULL AS date) AS date_of_birth,
    CAST(NULL AS varchar) AS gender,
    CAST(NULL AS varchar) AS ethnicity,
    CAST(NULL AS varchar) AS ethnicity_custom,
    CAST(NULL AS varchar) AS grade,
    CAST(NULL AS varchar) AS grade_custom,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
