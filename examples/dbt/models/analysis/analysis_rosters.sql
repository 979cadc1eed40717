-- Generated from the declarations in schemas: edit those.
WITH members AS (
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
rosters AS (
    SELECT
        school_class_bid,
        student_bid,
        count(DISTINCT requested_perspective_bid) AS perspectives,
        max(CASE WHEN school_read THEN 1 ELSE 0 END) = 1 AS school_read
    FROM members
    WHERE school_class_bid <> '' AND student_bid <> ''
    GROUP BY school_class_bid, student_bid
)
SELECT
    rosters.school_class_bid,
    rosters.student_bid,
    classes.class_name,
    classes.class_subject,
    classes.begin_date,
    classes.end_date,
    classes.school_bid,
    classes.school_name,
    classes.district_bid,
    classes.district_name,
    students.first_name,
    students.last_name,
    students.grade,
    students.grade_number,
    rosters.perspectives,
    rosters.school_read
FROM rosters
LEFT JOIN {{ ref('analysis_classes') }} AS classes ON classes.school_class_bid = rosters.school_class_bid
LEFT JOIN {{ ref('analysis_students') }} AS students ON students.student_bid = rosters.student_bid
