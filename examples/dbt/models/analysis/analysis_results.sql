-- Generated from the declarations in schemas: edit those.
WITH listed AS (
    -- A student of two schools has the result in both.
    SELECT
        results.*,
        true AS school_read,
        row_number() OVER (
            PARTITION BY results.test_result_bid
            ORDER BY
                CASE WHEN results.requested_school_bid = results.school_bid THEN 0 ELSE 1 END,
                results.requested_school_bid
        ) AS number
    FROM {{ ref('stg_growth_export__test_results') }} AS results
),
once AS (
    SELECT * FROM listed WHERE number = 1 OR coalesce(test_result_bid, '') = ''
),
norms AS (
    SELECT
        norms.requested_school_bid,
        norms.test_result_bid,
        lower(norms.type) AS type,
        norms.percentile,
        norms.reference,
        row_number() OVER (
            PARTITION BY norms.requested_school_bid, norms.test_result_bid, lower(norms.type)
            ORDER BY norms.reference DESC NULLS LAST, norms.ordinal, norms.percentile
        ) AS number
    FROM {{ ref('stg_growth_export__test_result_norms') }} AS norms
    WHERE norms.test_result_bid <> ''
),
percentiles AS (
    SELECT
        requested_school_bid,
        test_result_bid,
        max(CASE WHEN type = 'achievement' THEN percentile END) AS achievement_percentile,
        max(CASE WHEN type = 'achievement' THEN reference END) AS achievement_reference,
        max(CASE WHEN type = 'growth' THEN percentile END) AS growth_percentile,
        max(CASE WHEN type = 'growth' THEN reference END) AS growth_reference
    FROM norms
    WHERE number = 1
    GROUP BY requested_school_bid, test_result_bid
)
SELECT
    results.requested_school_bid,
    results.test_result_bid,
    results.student_bid,
    results.school_bid,
    results.term_bid,
    results.subject_area,
    results.grade,
    results.test_name,
    results.test_key,
    results.test_type,
    results.growth_event_yn,
    results.duration,
    results.status,
    results.rit,
    results.standard_error,
    results.rit_score_high,
    results.rit_score_low,
    results.items_shown,
    results.items_correct,
    results.items_total,
    results.response_disengaged_percentage,
    results.impact_of_disengagement,
    results.administration_start_date_time,
    results.administration_end_date_time,
    results.modified_date_time,
    results.lexile_score,
    results.lexile_range,
    results.lexile_min,
    results.lexile_max,
    results.quantile_score,
    results.quantile_range,
    results.quantile_minimum,
    results.quantile_maximum,
    results.quantile_original,
    CASE WHEN upper(trim(results.grade)) = 'PK' THEN -1 WHEN upper(trim(results.grade)) = 'K' THEN 0
        WHEN upper(trim(results.grade)) IN ('1', '01', '2', '02', '3', '03', '4', '04', '5', '05', '6', '06', '7', '07', '8', '08', '9', '09', '10', '11', '12') THEN CAST(upper(trim(results.grade)) AS INTEGER) END AS grade_number,
    students.student_id,
    students.first_name,
    students.last_name,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    terms.term_name,
    terms.term_begin_date,
    terms.term_end_date,
    terms.academic_year,
    terms.season,
    terms.school_year,
    percentiles.achievement_percentile,
    percentiles.achievement_reference,
    percentiles.growth_percentile,
    percentiles.growth_reference,
    results.school_read
FROM once AS results
LEFT JOIN {{ ref('analysis_schools') }} AS schools ON schools.school_bid = coalesce(results.school_bid, results.requested_school_bid)
LEFT JOIN {{ ref('analysis_terms') }} AS terms ON terms.term_bid = results.term_bid
LEFT JOIN {{ ref('analysis_students') }} AS students ON students.student_bid = results.student_bid
LEFT JOIN percentiles
    ON percentiles.requested_school_bid = results.requested_school_bid
    AND percentiles.test_result_bid = results.test_result_bid
