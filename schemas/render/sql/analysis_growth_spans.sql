WITH spans AS (
    SELECT *
    FROM (VALUES
        {{- range $i, $span := spans}}{{if $i}},{{end}}
        ('{{.Name}}', '{{.From}}', '{{.To}}', {{.Years}})
        {{- end}}
    ) AS spans (span, from_season, to_season, years)
),
measured AS (
    SELECT
        later.student_bid,
        later.subject_area,
        spans.span,
        later.school_year,
        {{- range list "test_result_bid" "term_bid" "grade_number" "rit" "standard_error" "school_bid" "achievement_percentile"}}
        earlier.{{.}} AS from_{{.}},
        later.{{.}} AS to_{{.}},
        {{- end}}
        try_cast(CAST(later.rit AS BIGINT) - earlier.rit AS INTEGER) AS observed_growth,
        sqrt(earlier.standard_error * earlier.standard_error + later.standard_error * later.standard_error) AS observed_growth_se,
        norms.projected_growth,
        norms.typical_growth,
        norms.growth_sd,
        (CAST(later.rit AS BIGINT) - earlier.rit - norms.projected_growth) / nullif(norms.growth_sd, 0) AS conditional_growth_index,
        later.growth_percentile AS service_growth_percentile
    FROM {{table "analysis_term_results"}} AS earlier
    JOIN spans ON spans.from_season = earlier.season
    JOIN {{table "analysis_term_results"}} AS later
        ON later.student_bid = earlier.student_bid
        AND later.subject_area = earlier.subject_area
        AND later.season = spans.to_season
        AND later.school_year = earlier.school_year + spans.years
    LEFT JOIN {{table "analysis_norms"}} AS norms
        ON norms.subject_area = {{template "subject" "earlier.subject_area"}}
        AND norms.span = lower(spans.span)
        AND norms.grade_number = CAST(earlier.grade_number AS DOUBLE)
        AND norms.rit = CAST(earlier.rit AS DOUBLE)
),
tails AS (
    SELECT *, {{template "normal_tail" "distance"}} AS tail
    FROM (SELECT *, abs(conditional_growth_index) AS distance FROM measured) AS measured
),
rounded AS (
    SELECT *, CAST(floor(100 * CASE WHEN conditional_growth_index > 0 THEN 1 - tail ELSE tail END + 0.5e0) AS INTEGER) AS percentile
    FROM tails
),
limited AS (
    -- greatest and least of DuckDB ignore null.
    SELECT *, CASE WHEN percentile < 1 THEN 1 WHEN percentile > 99 THEN 99 ELSE percentile END AS conditional_growth_percentile
    FROM rounded
)
SELECT
    student_bid,
    subject_area,
    span,
    school_year,
    {{- range list "test_result_bid" "term_bid" "grade_number" "rit" "standard_error" "school_bid" "achievement_percentile"}}
    from_{{.}},
    to_{{.}},
    {{- end}}
    observed_growth,
    observed_growth_se,
    projected_growth,
    typical_growth,
    growth_sd,
    CASE
        WHEN projected_growth IS NULL THEN NULL
        WHEN observed_growth >= projected_growth THEN 'Yes'
        ELSE 'No'
    END || CASE WHEN abs(observed_growth - projected_growth) < observed_growth_se THEN '*' ELSE '' END AS met_projected_growth,
    conditional_growth_index,
    conditional_growth_percentile,
    {{template "quintile" "conditional_growth_percentile"}} AS growth_quintile,
    service_growth_percentile
FROM limited
