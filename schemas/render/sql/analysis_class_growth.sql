WITH growth AS (
    SELECT
        rosters.school_class_bid,
        spans.subject_area,
        spans.span,
        spans.school_year,
        {{template "measures"}}
    FROM {{table "analysis_rosters"}} AS rosters
    JOIN {{table "analysis_growth_spans"}} AS spans ON spans.student_bid = rosters.student_bid
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
LEFT JOIN {{table "analysis_classes"}} AS classes ON classes.school_class_bid = growth.school_class_bid
