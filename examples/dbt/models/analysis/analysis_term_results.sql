-- Generated from the declarations in schemas: edit those.
WITH norms AS (
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
),
numbered AS (
    SELECT
        results.*,
        coalesce(results.school_bid, results.requested_school_bid) AS school,
        terms.term_name,
        terms.season,
        terms.school_year,
        row_number() OVER (
            PARTITION BY results.student_bid, results.subject_area, terms.school_year, terms.season
            ORDER BY
                CASE WHEN results.growth_event_yn THEN 0 ELSE 1 END,
                results.standard_error NULLS LAST,
                results.administration_start_date_time DESC NULLS LAST,
                results.rit DESC,
                results.test_result_bid NULLS LAST,
                -- A student of two schools has the result in both.
                CASE WHEN results.requested_school_bid = results.school_bid THEN 0 ELSE 1 END,
                results.requested_school_bid
        ) AS number
    FROM {{ ref('stg_growth_export__test_results') }} AS results
    JOIN {{ ref('analysis_terms') }} AS terms ON terms.term_bid = results.term_bid
    WHERE results.student_bid <> ''
        AND results.subject_area <> ''
        AND results.rit IS NOT NULL
        AND terms.season <> 'Summer'
        AND terms.school_year IS NOT NULL
)
SELECT
    results.student_bid,
    results.subject_area,
    results.school_year,
    results.season,
    results.term_bid,
    results.term_name,
    results.test_result_bid,
    results.grade,
    CASE WHEN upper(trim(results.grade)) = 'PK' THEN -1 WHEN upper(trim(results.grade)) = 'K' THEN 0
        WHEN upper(trim(results.grade)) IN ('1', '01', '2', '02', '3', '03', '4', '04', '5', '05', '6', '06', '7', '07', '8', '08', '9', '09', '10', '11', '12') THEN CAST(upper(trim(results.grade)) AS INTEGER) END AS grade_number,
    results.school AS school_bid,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    results.rit,
    results.standard_error,
    results.administration_start_date_time,
    percentiles.achievement_percentile,
    percentiles.growth_percentile
FROM numbered AS results
LEFT JOIN {{ ref('analysis_schools') }} AS schools ON schools.school_bid = results.school
LEFT JOIN percentiles
    ON percentiles.requested_school_bid = results.requested_school_bid
    AND percentiles.test_result_bid = results.test_result_bid
WHERE results.number = 1
