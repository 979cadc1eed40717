WITH {{template "percentiles" "ever"}},
terms AS (
    SELECT * FROM {{table "analysis_terms"}}
),
numbered AS (
    -- A student of two schools has the result in both.
    SELECT
        *,
        row_number() OVER (
            PARTITION BY test_result_bid
            ORDER BY CASE WHEN requested_school_bid = school_bid THEN 0 ELSE 1 END, requested_school_bid
        ) AS number
    FROM {{results "ever"}}
),
students AS (
    -- For a student who has left, the row of the last roster.
    SELECT
        students.student_bid,
        students.student_id,
        row_number() OVER (
            PARTITION BY students.student_bid
            ORDER BY students.student_id IS NULL, {{newest "students"}}students.requested_school_bid
        ) AS number
    FROM {{every_version "students"}} AS students
    WHERE students.student_bid <> ''
),
details AS (
    SELECT
        details.requested_student_bid AS student_bid,
        details.state_student_id,
        row_number() OVER (
            PARTITION BY details.requested_student_bid
            ORDER BY details.state_student_id IS NULL, {{newest "details"}}details.requested_school_bid
        ) AS number
    FROM {{every_version "student_details"}} AS details
),
areas AS (
    SELECT
        areas.requested_school_bid,
        areas.test_result_bid,
        areas.instructional_area_name,
        areas.score,
        areas.standard_error,
        areas.score_low,
        areas.score_high,
        row_number() OVER (
            PARTITION BY areas.requested_school_bid, areas.test_result_bid
            ORDER BY areas.ordinal, areas.instructional_area_bid
        ) AS number
{{- if ever "ever"}}
    FROM {{every_version "test_result_instructional_areas"}} AS areas
    JOIN {{results "ever"}} AS results
        ON results.test_result_bid = areas.test_result_bid
        AND results.requested_school_bid = areas.requested_school_bid
        AND results.valid_to > areas.valid_from
        AND results.valid_to <= areas.valid_to
{{- else}}
    FROM {{table "test_result_instructional_areas"}} AS areas
{{- end}}
    WHERE areas.test_result_bid <> ''
),
goals AS (
    SELECT
        {{- range goals}}
        max(CASE WHEN number = {{.}} THEN instructional_area_name END) AS name_{{.}},
        max(CASE WHEN number = {{.}} THEN score END) AS score_{{.}},
        max(CASE WHEN number = {{.}} THEN standard_error END) AS error_{{.}},
        max(CASE WHEN number = {{.}} THEN score_low END) AS low_{{.}},
        max(CASE WHEN number = {{.}} THEN score_high END) AS high_{{.}},
        {{- end}}
        requested_school_bid,
        test_result_bid
    FROM areas
    GROUP BY requested_school_bid, test_result_bid
),
spans AS (
    SELECT * FROM {{table "analysis_growth_spans"}} WHERE to_test_result_bid <> ''
),
growth AS (
    SELECT
        {{- range $span := spans}}
        {{- range list "projected_growth" "observed_growth" "observed_growth_se" "met_projected_growth" "conditional_growth_index" "conditional_growth_percentile" "growth_quintile"}}
        max(CASE WHEN span = '{{$span.Name}}' THEN {{.}} END) AS {{$span.Prefix}}_{{.}},
        {{- end}}
        {{- end}}
        to_test_result_bid AS test_result_bid
    FROM spans
    GROUP BY to_test_result_bid
),
typical AS (
    SELECT
        {{- range spans}}
        max(CASE WHEN span = lower('{{.Name}}') THEN typical_growth END) AS {{.Prefix}},
        {{- end}}
        subject_area,
        grade_number,
        rit
    FROM {{table "analysis_norms"}}
    GROUP BY subject_area, grade_number, rit
)
SELECT
    terms.term_name AS TermName,
    schools.district_name AS DistrictName,
    CAST(NULL AS {{string}}) AS District_StateID,
    schools.school_name AS SchoolName,
    CAST(NULL AS {{string}}) AS School_StateID,
    students.student_id AS StudentID,
    coalesce(details.state_student_id, students.student_id) AS Student_StateID,
    CASE WHEN results.subject_area IN ('Reading', 'Language Usage') THEN 'Language Arts' ELSE results.subject_area END AS Subject,
    CASE results.subject_area WHEN 'Mathematics' THEN 'Math K-12' WHEN 'Science' THEN 'Science K-12' ELSE results.subject_area END AS Course,
    CASE WHEN results.growth_event_yn THEN 'TRUE' WHEN NOT results.growth_event_yn THEN 'FALSE' END AS GrowthMeasureYN,
    percentiles.achievement_reference AS NormsReferenceData,
    {{- range list "WISelectedAYFall" "WISelectedAYWinter" "WISelectedAYSpring" "WIPreviousAYFall" "WIPreviousAYWinter" "WIPreviousAYSpring"}}
    CAST(NULL AS INTEGER) AS {{.}},
    {{- end}}
    results.test_type AS TestType,
    results.test_name AS TestName,
    results.test_result_bid AS TestID,
    {{utc_date "results.administration_start_date_time"}} AS TestStartDate,
    {{utc_time "results.administration_start_date_time"}} AS TestStartTime,
    -- The unit of duration is not documented, most likely milliseconds.
    CAST(round(results.duration / 60000) AS BIGINT) AS TestDurationMinutes,
    results.rit AS TestRITScore,
    {{two_decimals "results.standard_error"}} AS TestStandardError,
    percentiles.achievement_percentile AS TestPercentile,
    {{template "quintile" "percentiles.achievement_percentile"}} AS AchievementQuintile,
    try_cast(floor(100e0 * results.items_correct / nullif(results.items_shown, 0) + 0.5e0) AS INTEGER) AS PercentCorrect,
    results.response_disengaged_percentage AS RapidGuessingPercentage,
    {{- range $span := spans}}
    growth.{{.Prefix}}_projected_growth AS {{.Column}}ProjectedGrowth,
    growth.{{.Prefix}}_observed_growth AS {{.Column}}ObservedGrowth,
    growth.{{.Prefix}}_observed_growth_se AS {{.Column}}ObservedGrowthSE,
    growth.{{.Prefix}}_met_projected_growth AS {{.Column}}MetProjectedGrowth,
    {{two_decimals (print "growth." .Prefix "_conditional_growth_index")}} AS {{.Column}}ConditionalGrowthIndex,
    growth.{{.Prefix}}_conditional_growth_percentile AS {{.Column}}ConditionalGrowthPercentile,
    growth.{{.Prefix}}_growth_quintile AS {{.Column}}GrowthQuintile,
    {{- end}}
    results.lexile_score AS LexileScore,
    results.lexile_min AS LexileMin,
    results.lexile_max AS LexileMax,
    results.quantile_score AS QuantileScore,
    results.quantile_minimum AS QuantileMin,
    results.quantile_maximum AS QuantileMax,
    {{- range goals}}
    goals.name_{{.}} AS Goal{{.}}Name,
    goals.score_{{.}} AS Goal{{.}}RitScore,
    goals.error_{{.}} AS Goal{{.}}StdErr,
    {{plain_number (print "goals.low_" .)}} || '-' || {{plain_number (print "goals.high_" .)}} AS Goal{{.}}Range,
    CAST(NULL AS {{string}}) AS Goal{{.}}Adjective,
    {{- end}}
    {{- range spans}}
    CASE WHEN terms.season = '{{.From}}' THEN typical.{{.Prefix}} END AS Typical{{.Column}}Growth,
    {{- end}}
    {{- range studies}}
    CAST(NULL AS {{string}}) AS ProjectedProficiencyStudy{{.}},
    CAST(NULL AS {{string}}) AS ProjectedProficiencyLevel{{.}}{{if lt . 10}},{{end}}
    {{- end}}
FROM numbered AS results
LEFT JOIN terms ON terms.term_bid = results.term_bid
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = coalesce(results.school_bid, results.requested_school_bid)
LEFT JOIN students ON students.student_bid = results.student_bid AND students.number = 1
LEFT JOIN details ON details.student_bid = results.student_bid AND details.number = 1
LEFT JOIN percentiles
    ON percentiles.requested_school_bid = results.requested_school_bid
    AND percentiles.test_result_bid = results.test_result_bid
LEFT JOIN goals
    ON goals.requested_school_bid = results.requested_school_bid
    AND goals.test_result_bid = results.test_result_bid
LEFT JOIN growth ON growth.test_result_bid = results.test_result_bid
LEFT JOIN typical
    ON typical.subject_area = {{template "subject" "results.subject_area"}}
    AND typical.grade_number = CAST({{grade_number "results.grade"}} AS DOUBLE)
    AND typical.rit = CAST(results.rit AS DOUBLE)
WHERE results.number = 1 OR coalesce(results.test_result_bid, '') = ''
