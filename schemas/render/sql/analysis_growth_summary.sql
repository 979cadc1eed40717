WITH growth AS (
    SELECT
        spans.to_school_bid AS school_bid,
        spans.to_grade_number AS grade_number,
        spans.subject_area,
        spans.span,
        spans.school_year,
        {{template "measures"}}
    FROM {{table "analysis_growth_spans"}} AS spans
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
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = growth.school_bid
