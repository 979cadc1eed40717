-- Generated from the declarations in schemas: edit those.
WITH growth AS (
    SELECT
        spans.to_school_bid AS school_bid,
        spans.to_grade_number AS grade_number,
        spans.subject_area,
        spans.span,
        spans.school_year,
        count(*) AS students,
        avg(CAST(spans.observed_growth AS DOUBLE)) AS mean_observed_growth,
        avg(spans.projected_growth) AS mean_projected_growth,
        avg(CASE WHEN spans.met_projected_growth LIKE 'Yes%' THEN 1e0 WHEN spans.met_projected_growth LIKE 'No%' THEN 0e0 END) AS share_met,
        CAST(median(spans.conditional_growth_percentile) AS DOUBLE) AS median_conditional_growth_percentile,
        count(spans.met_projected_growth) AS with_norms
    FROM {{ ref('analysis_growth_spans') }} AS spans
    GROUP BY spans.to_school_bid, spans.to_grade_number, spans.subject_area, spans.span, spans.school_year
)
SELECT
    growth.school_bid,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    growth.grade_number,
    growth.subject_area,
    growth.span,
    growth.school_year,
    growth.students,
    growth.mean_observed_growth,
    growth.mean_projected_growth,
    growth.share_met,
    growth.median_conditional_growth_percentile,
    growth.with_norms
FROM growth
LEFT JOIN {{ ref('analysis_schools') }} AS schools ON schools.school_bid = growth.school_bid
