WITH listed AS (
    -- A student of two schools has the result in both.
    SELECT
        results.*,
        {{template "school_read"}} AS school_read,
        row_number() OVER (
            PARTITION BY results.test_result_bid
            ORDER BY
                {{template "read_first"}}CASE WHEN results.requested_school_bid = results.school_bid THEN 0 ELSE 1 END,
                results.requested_school_bid
        ) AS number
    FROM {{table "test_results"}} AS results
    {{- if history}}
    LEFT JOIN ({{template "read_now" "test_results"}}) AS read_now ON read_now.requested_school_bid = results.requested_school_bid
    {{- end}}
),
once AS (
    SELECT * FROM listed WHERE number = 1 OR coalesce(test_result_bid, '') = ''
),
{{if history -}}
numbered AS (
    -- A school that was not read keeps its last results, including those of students who have since left it or been tested again.
    SELECT
        *,
        row_number() OVER (
            PARTITION BY student_bid, subject_area
            ORDER BY
                CASE WHEN school_read THEN 0 ELSE 1 END,
                administration_start_date_time DESC NULLS LAST,
                valid_from DESC,
                requested_school_bid,
                test_result_bid
        ) AS place
    FROM once
),
{{end -}}
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
    percentiles.growth_reference,
    results.school_read
FROM {{if history}}numbered{{else}}once{{end}} AS results
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = coalesce(results.school_bid, results.requested_school_bid)
LEFT JOIN {{table "analysis_terms"}} AS terms ON terms.term_bid = results.term_bid
LEFT JOIN {{table "analysis_students"}} AS students ON students.student_bid = results.student_bid
LEFT JOIN percentiles
    ON percentiles.requested_school_bid = results.requested_school_bid
    AND percentiles.test_result_bid = results.test_result_bid
{{- if history}}
WHERE results.school_read
    OR results.place = 1
    OR coalesce(results.student_bid, '') = ''
    OR coalesce(results.subject_area, '') = ''
{{- end}}
