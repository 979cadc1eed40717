-- Generated from the declarations in schemas: edit those.
WITH numbered AS (
    SELECT
        classes.*,
        true AS school_read,
        row_number() OVER (
            PARTITION BY classes.school_class_bid
            ORDER BY
                classes.modified_date_time DESC NULLS LAST,
                classes.requested_school_bid,
                classes.requested_perspective_bid
        ) AS number
    FROM {{ ref('stg_growth_export__school_classes') }} AS classes
    WHERE school_class_bid <> ''
),
perspectives AS (
    SELECT school_class_bid, count(DISTINCT requested_perspective_bid) AS perspectives
    FROM {{ ref('stg_growth_export__school_classes') }}
    GROUP BY school_class_bid
),
members AS (
    SELECT
        school_class_bid,
        CASE
            WHEN student_bid IS NULL AND _extra LIKE '{"_value":"%"}' THEN substr(_extra, 12, length(_extra) - 13)
            ELSE student_bid
        END AS student_bid,
        requested_perspective_bid,
        true AS school_read
    FROM {{ ref('stg_growth_export__school_class_students') }} AS listed
),
students AS (
    SELECT school_class_bid, count(DISTINCT student_bid) AS students
    FROM members
    WHERE student_bid <> ''
    GROUP BY school_class_bid
),
educators AS (
    SELECT
        school_class_bid,
        count(DISTINCT educator_bid) AS educators,
        {{ growth_export_joined("nullif(trim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')), '')") }} AS teachers
    FROM {{ ref('stg_growth_export__school_class_educators') }}
    WHERE educator_bid <> ''
    GROUP BY school_class_bid
)
SELECT
    numbered.school_class_bid,
    numbered.class_name,
    numbered.class_subject,
    numbered.begin_date,
    numbered.end_date,
    numbered.requested_school_bid AS school_bid,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    coalesce(students.students, 0) AS students,
    coalesce(educators.educators, 0) AS educators,
    educators.teachers,
    perspectives.perspectives,
    numbered.school_read
FROM numbered
LEFT JOIN perspectives ON perspectives.school_class_bid = numbered.school_class_bid
LEFT JOIN students ON students.school_class_bid = numbered.school_class_bid
LEFT JOIN educators ON educators.school_class_bid = numbered.school_class_bid
LEFT JOIN {{ ref('analysis_schools') }} AS schools ON schools.school_bid = numbered.requested_school_bid
WHERE numbered.number = 1
