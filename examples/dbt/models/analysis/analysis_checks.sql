-- Generated from the declarations in schemas: edit those.
WITH results AS (
    SELECT * FROM {{ ref('stg_growth_export__test_results') }}
),
found AS (
    SELECT 'one_result_per_subject' AS check_name, requested_school_bid
    FROM results
    WHERE student_bid <> '' AND subject_area <> ''
    GROUP BY requested_school_bid, student_bid, subject_area
    HAVING count(*) > 1
    UNION ALL
    SELECT 'older_than_a_year', results.requested_school_bid
    FROM results
    JOIN (SELECT max(day) AS day FROM (SELECT {{ growth_export_snapshot_date() }} AS day) AS days) AS newest
        ON {{ growth_export_utc_day('coalesce(results.administration_end_date_time, results.administration_start_date_time)') }} < newest.day - INTERVAL 1 YEAR
    UNION ALL
    SELECT 'rit_order', requested_school_bid
    FROM results
    WHERE rit_score_low > rit OR rit > rit_score_high
    UNION ALL
    SELECT 'items_order', requested_school_bid
    FROM results
    WHERE items_correct > items_shown OR items_shown > items_total
    UNION ALL
    SELECT 'unknown_student', results.requested_school_bid
    FROM results
    LEFT JOIN (SELECT DISTINCT requested_school_bid, student_bid FROM {{ ref('stg_growth_export__students') }}) AS students
        ON students.requested_school_bid = results.requested_school_bid
        AND students.student_bid = results.student_bid
    WHERE results.student_bid <> '' AND students.student_bid IS NULL
    UNION ALL
    SELECT 'unknown_term', results.requested_school_bid
    FROM results
    LEFT JOIN {{ ref('analysis_terms') }} AS terms ON terms.term_bid = results.term_bid
    WHERE results.term_bid <> ''
        AND terms.term_bid IS NULL
        AND coalesce(nullif(results.school_bid, ''), results.requested_school_bid) IN (SELECT requested_school_bid FROM {{ ref('stg_growth_export__academic_years') }})
)
SELECT
    found.check_name,
    found.requested_school_bid AS school_bid,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    count(*) AS found
FROM found
LEFT JOIN {{ ref('analysis_schools') }} AS schools ON schools.school_bid = found.requested_school_bid
GROUP BY found.check_name, found.requested_school_bid, schools.school_name, schools.district_bid, schools.district_name
