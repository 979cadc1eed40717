-- Generated from the declarations in schemas: edit those.
WITH numbered AS (
    SELECT
        educators.*,
        true AS school_read,
        row_number() OVER (
            PARTITION BY educators.school_class_bid, educators.educator_bid
            ORDER BY
                educators.last_name IS NULL,
                educators.requested_perspective_bid,
                educators.requested_school_bid,
                educators.ordinal
        ) AS number
    FROM {{ ref('stg_growth_export__school_class_educators') }} AS educators
    WHERE school_class_bid <> '' AND educator_bid <> ''
),
perspectives AS (
    SELECT school_class_bid, educator_bid, count(DISTINCT requested_perspective_bid) AS perspectives
    FROM numbered
    GROUP BY school_class_bid, educator_bid
)
SELECT
    numbered.school_class_bid,
    numbered.educator_bid,
    numbered.first_name,
    numbered.middle_name,
    numbered.last_name,
    classes.class_name,
    classes.class_subject,
    classes.begin_date,
    classes.end_date,
    classes.school_bid,
    classes.school_name,
    classes.district_bid,
    classes.district_name,
    perspectives.perspectives,
    numbered.school_read
FROM numbered
JOIN perspectives ON perspectives.school_class_bid = numbered.school_class_bid AND perspectives.educator_bid = numbered.educator_bid
LEFT JOIN {{ ref('analysis_classes') }} AS classes ON classes.school_class_bid = numbered.school_class_bid
WHERE numbered.number = 1
