-- Generated from the declarations in schemas: edit those.
WITH growth AS (
    SELECT
        rosters.school_class_bid,
        spans.subject_area,
        spans.span,
        spans.school_year,
        count(*) AS students,
        avg(CAST(spans.observed_growth AS DOUBLE)) AS mean_observed_growth,
        avg(spans.projected_growth) AS mean_projected_growth,
        avg(CASE WHEN spans.met_projected_growth LIKE 'Yes%' THEN 1e0 WHEN spans.met_projected_growth LIKE 'No%' THEN 0e0 END) AS share_met,
        CAST(median(spans.conditional_growth_percentile) AS DOUBLE) AS median_conditional_growth_percentile,
        count(spans.met_projected_growth) AS with_norms
    FROM {{ ref('analysis_rosters') }} AS rosters
    JOIN {{ ref('analysis_growth_spans') }} AS spans ON spans.student_bid = rosters.student_bid
    GROUP BY rosters.school_class_bid, spans.subject_area, spans.span, spans.school_year
)
SELECT
    growth.school_class_bid,
    classes.class_name,
    classes.class_subject,
    classes.teachers,
    classes.educators,
    classes.school_bid,
    classes.school_name,
    classes.district_bid,
    classes.district_name,
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
LEFT JOIN {{ ref('analysis_classes') }} AS classes ON classes.school_class_bid = growth.school_class_bid
