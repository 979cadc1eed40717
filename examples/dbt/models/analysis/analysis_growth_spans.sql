-- Generated from the declarations in schemas: edit those.
WITH spans AS (
    SELECT *
    FROM (VALUES
        ('Fall to Fall', 'Fall', 'Fall', 1),
        ('Fall to Winter', 'Fall', 'Winter', 0),
        ('Fall to Spring', 'Fall', 'Spring', 0),
        ('Winter to Winter', 'Winter', 'Winter', 1),
        ('Winter to Spring', 'Winter', 'Spring', 0),
        ('Spring to Spring', 'Spring', 'Spring', 1)
    ) AS spans (span, from_season, to_season, years)
),
measured AS (
    SELECT
        later.student_bid,
        later.subject_area,
        spans.span,
        later.school_year,
        earlier.test_result_bid AS from_test_result_bid,
        later.test_result_bid AS to_test_result_bid,
        earlier.term_bid AS from_term_bid,
        later.term_bid AS to_term_bid,
        earlier.grade_number AS from_grade_number,
        later.grade_number AS to_grade_number,
        earlier.rit AS from_rit,
        later.rit AS to_rit,
        earlier.standard_error AS from_standard_error,
        later.standard_error AS to_standard_error,
        earlier.school_bid AS from_school_bid,
        later.school_bid AS to_school_bid,
        earlier.achievement_percentile AS from_achievement_percentile,
        later.achievement_percentile AS to_achievement_percentile,
        try_cast(CAST(later.rit AS BIGINT) - earlier.rit AS INTEGER) AS observed_growth,
        sqrt(earlier.standard_error * earlier.standard_error + later.standard_error * later.standard_error) AS observed_growth_se,
        norms.projected_growth,
        norms.typical_growth,
        norms.growth_sd,
        (CAST(later.rit AS BIGINT) - earlier.rit - norms.projected_growth) / nullif(norms.growth_sd, 0) AS conditional_growth_index,
        later.growth_percentile AS service_growth_percentile
    FROM {{ ref('analysis_term_results') }} AS earlier
    JOIN spans ON spans.from_season = earlier.season
    JOIN {{ ref('analysis_term_results') }} AS later
        ON later.student_bid = earlier.student_bid
        AND later.subject_area = earlier.subject_area
        AND later.season = spans.to_season
        AND later.school_year = earlier.school_year + spans.years
    LEFT JOIN {{ ref('analysis_norms') }} AS norms
        ON norms.subject_area = CASE lower(trim(earlier.subject_area)) WHEN 'general science' THEN 'science' ELSE lower(trim(earlier.subject_area)) END
        AND norms.span = lower(spans.span)
        AND norms.grade_number = CAST(earlier.grade_number AS DOUBLE)
        AND norms.rit = CAST(earlier.rit AS DOUBLE)
),
tails AS (
    SELECT *, CASE
            WHEN distance > 7 THEN 0e0
            ELSE exp(-distance * distance / 2)
                * ((((((0.0352624965998911e0 * distance + 0.700383064443688e0) * distance + 6.37396220353165e0) * distance
                    + 33.912866078383e0) * distance + 112.079291497871e0) * distance + 221.213596169931e0) * distance + 220.206867912376e0)
                / (((((((0.0883883476483184e0 * distance + 1.75566716318264e0) * distance + 16.064177579207e0) * distance
                    + 86.7807322029461e0) * distance + 296.564248779674e0) * distance + 637.333633378831e0) * distance
                    + 793.826512519948e0) * distance + 440.413735824752e0)
        END AS tail
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
    from_test_result_bid,
    to_test_result_bid,
    from_term_bid,
    to_term_bid,
    from_grade_number,
    to_grade_number,
    from_rit,
    to_rit,
    from_standard_error,
    to_standard_error,
    from_school_bid,
    to_school_bid,
    from_achievement_percentile,
    to_achievement_percentile,
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
    CASE
        WHEN conditional_growth_percentile <= 20 THEN 'Low'
        WHEN conditional_growth_percentile <= 40 THEN 'LoAvg'
        WHEN conditional_growth_percentile <= 60 THEN 'Avg'
        WHEN conditional_growth_percentile <= 80 THEN 'HiAvg'
        WHEN conditional_growth_percentile IS NOT NULL THEN 'High'
    END AS growth_quintile,
    service_growth_percentile
FROM limited
