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
{{template "percentiles" "now"}}
SELECT
    {{result_columns}},
    {{grade_number "results.grade"}} AS grade_number,
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
    percentiles.growth_reference
FROM numbered AS results
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = coalesce(results.school_bid, results.requested_school_bid)
LEFT JOIN {{table "analysis_terms"}} AS terms ON terms.term_bid = results.term_bid
LEFT JOIN {{table "analysis_students"}} AS students ON students.student_bid = results.student_bid
LEFT JOIN percentiles
    ON percentiles.requested_school_bid = results.requested_school_bid
    AND percentiles.test_result_bid = results.test_result_bid
WHERE results.number = 1 OR coalesce(results.test_result_bid, '') = ''
