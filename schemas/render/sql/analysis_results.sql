WITH numbered AS (
    -- A student of two schools has the result in both.
    SELECT
        *,
        row_number() OVER (
            PARTITION BY test_result_bid
            ORDER BY CASE WHEN requested_school_bid = school_bid THEN 0 ELSE 1 END, requested_school_bid
        ) AS number
    FROM {{table "test_results"}}
),
norms AS (
    SELECT
        requested_school_bid,
        test_result_bid,
        lower(type) AS type,
        percentile,
        reference,
        row_number() OVER (
            PARTITION BY requested_school_bid, test_result_bid, lower(type)
            ORDER BY reference DESC NULLS LAST, ordinal
        ) AS number
    FROM {{table "test_result_norms"}}
    WHERE test_result_bid <> ''
)
SELECT
    {{result_columns}},
    {{grade_number "results.grade"}} AS grade_number,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    terms.term_name,
    terms.term_begin_date,
    terms.term_end_date,
    terms.academic_year,
    achievement.percentile AS achievement_percentile,
    achievement.reference AS achievement_reference,
    growth.percentile AS growth_percentile,
    growth.reference AS growth_reference
FROM numbered AS results
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = coalesce(results.school_bid, results.requested_school_bid)
LEFT JOIN {{table "analysis_terms"}} AS terms ON terms.term_bid = results.term_bid
LEFT JOIN norms AS achievement
    ON achievement.requested_school_bid = results.requested_school_bid
    AND achievement.test_result_bid = results.test_result_bid
    AND achievement.type = 'achievement'
    AND achievement.number = 1
LEFT JOIN norms AS growth
    ON growth.requested_school_bid = results.requested_school_bid
    AND growth.test_result_bid = results.test_result_bid
    AND growth.type = 'growth'
    AND growth.number = 1
WHERE results.number = 1 OR coalesce(results.test_result_bid, '') = ''
