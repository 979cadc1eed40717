WITH {{template "percentiles" "ever"}},
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
    FROM {{results "ever"}} AS results
    JOIN {{table "analysis_terms"}} AS terms ON terms.term_bid = results.term_bid
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
    {{grade_number "results.grade"}} AS grade_number,
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
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = results.school
LEFT JOIN percentiles
    ON percentiles.requested_school_bid = results.requested_school_bid
    AND percentiles.test_result_bid = results.test_result_bid
WHERE results.number = 1
