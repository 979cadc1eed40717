-- Generated from the declarations in schemas: edit those.
WITH norms AS (
    SELECT
        norms.requested_school_bid,
        norms.test_result_bid,
        lower(norms.type) AS type,
        norms.percentile,
        norms.reference,
        row_number() OVER (
            PARTITION BY norms.requested_school_bid, norms.test_result_bid, lower(norms.type)
            ORDER BY norms.reference DESC NULLS LAST, norms.ordinal, norms.percentile
        ) AS number
    FROM {{ ref('stg_growth_export__test_result_norms') }} AS norms
    WHERE norms.test_result_bid <> ''
),
percentiles AS (
    SELECT
        requested_school_bid,
        test_result_bid,
        max(CASE WHEN type = 'achievement' THEN percentile END) AS achievement_percentile,
        max(CASE WHEN type = 'achievement' THEN reference END) AS achievement_reference,
        max(CASE WHEN type = 'growth' THEN percentile END) AS growth_percentile,
        max(CASE WHEN type = 'growth' THEN reference END) AS growth_reference
    FROM norms
    WHERE number = 1
    GROUP BY requested_school_bid, test_result_bid
),
terms AS (
    SELECT * FROM {{ ref('analysis_terms') }}
),
numbered AS (
    -- A student of two schools has the result in both.
    SELECT
        *,
        row_number() OVER (
            PARTITION BY test_result_bid
            ORDER BY CASE WHEN requested_school_bid = school_bid THEN 0 ELSE 1 END, requested_school_bid
        ) AS number
    FROM {{ ref('stg_growth_export__test_results') }}
),
students AS (
    -- For a student who has left, the row of the last roster.
    SELECT
        students.student_bid,
        students.student_id,
        row_number() OVER (
            PARTITION BY students.student_bid
            ORDER BY students.student_id IS NULL, students.requested_school_bid
        ) AS number
    FROM {{ ref('stg_growth_export__students') }} AS students
    WHERE students.student_bid <> ''
),
details AS (
    SELECT
        details.requested_student_bid AS student_bid,
        details.state_student_id,
        row_number() OVER (
            PARTITION BY details.requested_student_bid
            ORDER BY details.state_student_id IS NULL, details.requested_school_bid
        ) AS number
    FROM {{ ref('stg_growth_export__student_details') }} AS details
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
    FROM {{ ref('stg_growth_export__test_result_instructional_areas') }} AS areas
    WHERE areas.test_result_bid <> ''
),
goals AS (
    SELECT
        max(CASE WHEN number = 1 THEN instructional_area_name END) AS name_1,
        max(CASE WHEN number = 1 THEN score END) AS score_1,
        max(CASE WHEN number = 1 THEN standard_error END) AS error_1,
        max(CASE WHEN number = 1 THEN score_low END) AS low_1,
        max(CASE WHEN number = 1 THEN score_high END) AS high_1,
        max(CASE WHEN number = 2 THEN instructional_area_name END) AS name_2,
        max(CASE WHEN number = 2 THEN score END) AS score_2,
        max(CASE WHEN number = 2 THEN standard_error END) AS error_2,
        max(CASE WHEN number = 2 THEN score_low END) AS low_2,
        max(CASE WHEN number = 2 THEN score_high END) AS high_2,
        max(CASE WHEN number = 3 THEN instructional_area_name END) AS name_3,
        max(CASE WHEN number = 3 THEN score END) AS score_3,
        max(CASE WHEN number = 3 THEN standard_error END) AS error_3,
        max(CASE WHEN number = 3 THEN score_low END) AS low_3,
        max(CASE WHEN number = 3 THEN score_high END) AS high_3,
        max(CASE WHEN number = 4 THEN instructional_area_name END) AS name_4,
        max(CASE WHEN number = 4 THEN score END) AS score_4,
        max(CASE WHEN number = 4 THEN standard_error END) AS error_4,
        max(CASE WHEN number = 4 THEN score_low END) AS low_4,
        max(CASE WHEN number = 4 THEN score_high END) AS high_4,
        max(CASE WHEN number = 5 THEN instructional_area_name END) AS name_5,
        max(CASE WHEN number = 5 THEN score END) AS score_5,
        max(CASE WHEN number = 5 THEN standard_error END) AS error_5,
        max(CASE WHEN number = 5 THEN score_low END) AS low_5,
        max(CASE WHEN number = 5 THEN score_high END) AS high_5,
        max(CASE WHEN number = 6 THEN instructional_area_name END) AS name_6,
        max(CASE WHEN number = 6 THEN score END) AS score_6,
        max(CASE WHEN number = 6 THEN standard_error END) AS error_6,
        max(CASE WHEN number = 6 THEN score_low END) AS low_6,
        max(CASE WHEN number = 6 THEN score_high END) AS high_6,
        max(CASE WHEN number = 7 THEN instructional_area_name END) AS name_7,
        max(CASE WHEN number = 7 THEN score END) AS score_7,
        max(CASE WHEN number = 7 THEN standard_error END) AS error_7,
        max(CASE WHEN number = 7 THEN score_low END) AS low_7,
        max(CASE WHEN number = 7 THEN score_high END) AS high_7,
        max(CASE WHEN number = 8 THEN instructional_area_name END) AS name_8,
        max(CASE WHEN number = 8 THEN score END) AS score_8,
        max(CASE WHEN number = 8 THEN standard_error END) AS error_8,
        max(CASE WHEN number = 8 THEN score_low END) AS low_8,
        max(CASE WHEN number = 8 THEN score_high END) AS high_8,
        requested_school_bid,
        test_result_bid
    FROM areas
    GROUP BY requested_school_bid, test_result_bid
),
spans AS (
    SELECT * FROM {{ ref('analysis_growth_spans') }} WHERE to_test_result_bid <> ''
),
growth AS (
    SELECT
        max(CASE WHEN span = 'Fall to Fall' THEN projected_growth END) AS fall_to_fall_projected_growth,
        max(CASE WHEN span = 'Fall to Fall' THEN observed_growth END) AS fall_to_fall_observed_growth,
        max(CASE WHEN span = 'Fall to Fall' THEN observed_growth_se END) AS fall_to_fall_observed_growth_se,
        max(CASE WHEN span = 'Fall to Fall' THEN met_projected_growth END) AS fall_to_fall_met_projected_growth,
        max(CASE WHEN span = 'Fall to Fall' THEN conditional_growth_index END) AS fall_to_fall_conditional_growth_index,
        max(CASE WHEN span = 'Fall to Fall' THEN conditional_growth_percentile END) AS fall_to_fall_conditional_growth_percentile,
        max(CASE WHEN span = 'Fall to Fall' THEN growth_quintile END) AS fall_to_fall_growth_quintile,
        max(CASE WHEN span = 'Fall to Winter' THEN projected_growth END) AS fall_to_winter_projected_growth,
        max(CASE WHEN span = 'Fall to Winter' THEN observed_growth END) AS fall_to_winter_observed_growth,
        max(CASE WHEN span = 'Fall to Winter' THEN observed_growth_se END) AS fall_to_winter_observed_growth_se,
        max(CASE WHEN span = 'Fall to Winter' THEN met_projected_growth END) AS fall_to_winter_met_projected_growth,
        max(CASE WHEN span = 'Fall to Winter' THEN conditional_growth_index END) AS fall_to_winter_conditional_growth_index,
        max(CASE WHEN span = 'Fall to Winter' THEN conditional_growth_percentile END) AS fall_to_winter_conditional_growth_percentile,
        max(CASE WHEN span = 'Fall to Winter' THEN growth_quintile END) AS fall_to_winter_growth_quintile,
        max(CASE WHEN span = 'Fall to Spring' THEN projected_growth END) AS fall_to_spring_projected_growth,
        max(CASE WHEN span = 'Fall to Spring' THEN observed_growth END) AS fall_to_spring_observed_growth,
        max(CASE WHEN span = 'Fall to Spring' THEN observed_growth_se END) AS fall_to_spring_observed_growth_se,
        max(CASE WHEN span = 'Fall to Spring' THEN met_projected_growth END) AS fall_to_spring_met_projected_growth,
        max(CASE WHEN span = 'Fall to Spring' THEN conditional_growth_index END) AS fall_to_spring_conditional_growth_index,
        max(CASE WHEN span = 'Fall to Spring' THEN conditional_growth_percentile END) AS fall_to_spring_conditional_growth_percentile,
        max(CASE WHEN span = 'Fall to Spring' THEN growth_quintile END) AS fall_to_spring_growth_quintile,
        max(CASE WHEN span = 'Winter to Winter' THEN projected_growth END) AS winter_to_winter_projected_growth,
        max(CASE WHEN span = 'Winter to Winter' THEN observed_growth END) AS winter_to_winter_observed_growth,
        max(CASE WHEN span = 'Winter to Winter' THEN observed_growth_se END) AS winter_to_winter_observed_growth_se,
        max(CASE WHEN span = 'Winter to Winter' THEN met_projected_growth END) AS winter_to_winter_met_projected_growth,
        max(CASE WHEN span = 'Winter to Winter' THEN conditional_growth_index END) AS winter_to_winter_conditional_growth_index,
        max(CASE WHEN span = 'Winter to Winter' THEN conditional_growth_percentile END) AS winter_to_winter_conditional_growth_percentile,
        max(CASE WHEN span = 'Winter to Winter' THEN growth_quintile END) AS winter_to_winter_growth_quintile,
        max(CASE WHEN span = 'Winter to Spring' THEN projected_growth END) AS winter_to_spring_projected_growth,
        max(CASE WHEN span = 'Winter to Spring' THEN observed_growth END) AS winter_to_spring_observed_growth,
        max(CASE WHEN span = 'Winter to Spring' THEN observed_growth_se END) AS winter_to_spring_observed_growth_se,
        max(CASE WHEN span = 'Winter to Spring' THEN met_projected_growth END) AS winter_to_spring_met_projected_growth,
        max(CASE WHEN span = 'Winter to Spring' THEN conditional_growth_index END) AS winter_to_spring_conditional_growth_index,
        max(CASE WHEN span = 'Winter to Spring' THEN conditional_growth_percentile END) AS winter_to_spring_conditional_growth_percentile,
        max(CASE WHEN span = 'Winter to Spring' THEN growth_quintile END) AS winter_to_spring_growth_quintile,
        max(CASE WHEN span = 'Spring to Spring' THEN projected_growth END) AS spring_to_spring_projected_growth,
        max(CASE WHEN span = 'Spring to Spring' THEN observed_growth END) AS spring_to_spring_observed_growth,
        max(CASE WHEN span = 'Spring to Spring' THEN observed_growth_se END) AS spring_to_spring_observed_growth_se,
        max(CASE WHEN span = 'Spring to Spring' THEN met_projected_growth END) AS spring_to_spring_met_projected_growth,
        max(CASE WHEN span = 'Spring to Spring' THEN conditional_growth_index END) AS spring_to_spring_conditional_growth_index,
        max(CASE WHEN span = 'Spring to Spring' THEN conditional_growth_percentile END) AS spring_to_spring_conditional_growth_percentile,
        max(CASE WHEN span = 'Spring to Spring' THEN growth_quintile END) AS spring_to_spring_growth_quintile,
        to_test_result_bid AS test_result_bid
    FROM spans
    GROUP BY to_test_result_bid
),
typical AS (
    SELECT
        max(CASE WHEN span = lower('Fall to Fall') THEN typical_growth END) AS fall_to_fall,
        max(CASE WHEN span = lower('Fall to Winter') THEN typical_growth END) AS fall_to_winter,
        max(CASE WHEN span = lower('Fall to Spring') THEN typical_growth END) AS fall_to_spring,
        max(CASE WHEN span = lower('Winter to Winter') THEN typical_growth END) AS winter_to_winter,
        max(CASE WHEN span = lower('Winter to Spring') THEN typical_growth END) AS winter_to_spring,
        max(CASE WHEN span = lower('Spring to Spring') THEN typical_growth END) AS spring_to_spring,
        subject_area,
        grade_number,
        rit
    FROM {{ ref('analysis_norms') }}
    GROUP BY subject_area, grade_number, rit
)
SELECT
    terms.term_name AS TermName,
    schools.district_name AS DistrictName,
    CAST(NULL AS VARCHAR) AS District_StateID,
    schools.school_name AS SchoolName,
    CAST(NULL AS VARCHAR) AS School_StateID,
    students.student_id AS StudentID,
    coalesce(details.state_student_id, students.student_id) AS Student_StateID,
    CASE WHEN results.subject_area IN ('Reading', 'Language Usage') THEN 'Language Arts' ELSE results.subject_area END AS Subject,
    CASE results.subject_area WHEN 'Mathematics' THEN 'Math K-12' WHEN 'Science' THEN 'Science K-12' ELSE results.subject_area END AS Course,
    CASE WHEN results.growth_event_yn THEN 'TRUE' WHEN NOT results.growth_event_yn THEN 'FALSE' END AS GrowthMeasureYN,
    percentiles.achievement_reference AS NormsReferenceData,
    CAST(NULL AS INTEGER) AS WISelectedAYFall,
    CAST(NULL AS INTEGER) AS WISelectedAYWinter,
    CAST(NULL AS INTEGER) AS WISelectedAYSpring,
    CAST(NULL AS INTEGER) AS WIPreviousAYFall,
    CAST(NULL AS INTEGER) AS WIPreviousAYWinter,
    CAST(NULL AS INTEGER) AS WIPreviousAYSpring,
    results.test_type AS TestType,
    results.test_name AS TestName,
    results.test_result_bid AS TestID,
    {{ growth_export_utc_date('results.administration_start_date_time') }} AS TestStartDate,
    {{ growth_export_utc_time('results.administration_start_date_time') }} AS TestStartTime,
    -- The unit of duration is not documented, most likely milliseconds.
    CAST(round(results.duration / 60000) AS BIGINT) AS TestDurationMinutes,
    results.rit AS TestRITScore,
    CASE
        WHEN abs(results.standard_error) < 1e16 THEN CAST(CAST(floor(results.standard_error * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR)
        WHEN abs(results.standard_error) <= 1.7976931348623157e308 THEN regexp_replace(CAST(results.standard_error AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS TestStandardError,
    percentiles.achievement_percentile AS TestPercentile,
    CASE
        WHEN percentiles.achievement_percentile <= 20 THEN 'Low'
        WHEN percentiles.achievement_percentile <= 40 THEN 'LoAvg'
        WHEN percentiles.achievement_percentile <= 60 THEN 'Avg'
        WHEN percentiles.achievement_percentile <= 80 THEN 'HiAvg'
        WHEN percentiles.achievement_percentile IS NOT NULL THEN 'High'
    END AS AchievementQuintile,
    try_cast(floor(100e0 * results.items_correct / nullif(results.items_shown, 0) + 0.5e0) AS INTEGER) AS PercentCorrect,
    results.response_disengaged_percentage AS RapidGuessingPercentage,
    growth.fall_to_fall_projected_growth AS FallToFallProjectedGrowth,
    growth.fall_to_fall_observed_growth AS FallToFallObservedGrowth,
    growth.fall_to_fall_observed_growth_se AS FallToFallObservedGrowthSE,
    growth.fall_to_fall_met_projected_growth AS FallToFallMetProjectedGrowth,
    CASE
        WHEN abs(growth.fall_to_fall_conditional_growth_index) < 1e16 THEN CAST(CAST(floor(growth.fall_to_fall_conditional_growth_index * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR)
        WHEN abs(growth.fall_to_fall_conditional_growth_index) <= 1.7976931348623157e308 THEN regexp_replace(CAST(growth.fall_to_fall_conditional_growth_index AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS FallToFallConditionalGrowthIndex,
    growth.fall_to_fall_conditional_growth_percentile AS FallToFallConditionalGrowthPercentile,
    growth.fall_to_fall_growth_quintile AS FallToFallGrowthQuintile,
    growth.fall_to_winter_projected_growth AS FallToWinterProjectedGrowth,
    growth.fall_to_winter_observed_growth AS FallToWinterObservedGrowth,
    growth.fall_to_winter_observed_growth_se AS FallToWinterObservedGrowthSE,
    growth.fall_to_winter_met_projected_growth AS FallToWinterMetProjectedGrowth,
    CASE
        WHEN abs(growth.fall_to_winter_conditional_growth_index) < 1e16 THEN CAST(CAST(floor(growth.fall_to_winter_conditional_growth_index * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR)
        WHEN abs(growth.fall_to_winter_conditional_growth_index) <= 1.7976931348623157e308 THEN regexp_replace(CAST(growth.fall_to_winter_conditional_growth_index AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS FallToWinterConditionalGrowthIndex,
    growth.fall_to_winter_conditional_growth_percentile AS FallToWinterConditionalGrowthPercentile,
    growth.fall_to_winter_growth_quintile AS FallToWinterGrowthQuintile,
    growth.fall_to_spring_projected_growth AS FallToSpringProjectedGrowth,
    growth.fall_to_spring_observed_growth AS FallToSpringObservedGrowth,
    growth.fall_to_spring_observed_growth_se AS FallToSpringObservedGrowthSE,
    growth.fall_to_spring_met_projected_growth AS FallToSpringMetProjectedGrowth,
    CASE
        WHEN abs(growth.fall_to_spring_conditional_growth_index) < 1e16 THEN CAST(CAST(floor(growth.fall_to_spring_conditional_growth_index * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR)
        WHEN abs(growth.fall_to_spring_conditional_growth_index) <= 1.7976931348623157e308 THEN regexp_replace(CAST(growth.fall_to_spring_conditional_growth_index AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS FallToSpringConditionalGrowthIndex,
    growth.fall_to_spring_conditional_growth_percentile AS FallToSpringConditionalGrowthPercentile,
    growth.fall_to_spring_growth_quintile AS FallToSpringGrowthQuintile,
    growth.winter_to_winter_projected_growth AS WinterToWinterProjectedGrowth,
    growth.winter_to_winter_observed_growth AS WinterToWinterObservedGrowth,
    growth.winter_to_winter_observed_growth_se AS WinterToWinterObservedGrowthSE,
    growth.winter_to_winter_met_projected_growth AS WinterToWinterMetProjectedGrowth,
    CASE
        WHEN abs(growth.winter_to_winter_conditional_growth_index) < 1e16 THEN CAST(CAST(floor(growth.winter_to_winter_conditional_growth_index * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR)
        WHEN abs(growth.winter_to_winter_conditional_growth_index) <= 1.7976931348623157e308 THEN regexp_replace(CAST(growth.winter_to_winter_conditional_growth_index AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS WinterToWinterConditionalGrowthIndex,
    growth.winter_to_winter_conditional_growth_percentile AS WinterToWinterConditionalGrowthPercentile,
    growth.winter_to_winter_growth_quintile AS WinterToWinterGrowthQuintile,
    growth.winter_to_spring_projected_growth AS WinterToSpringProjectedGrowth,
    growth.winter_to_spring_observed_growth AS WinterToSpringObservedGrowth,
    growth.winter_to_spring_observed_growth_se AS WinterToSpringObservedGrowthSE,
    growth.winter_to_spring_met_projected_growth AS WinterToSpringMetProjectedGrowth,
    CASE
        WHEN abs(growth.winter_to_spring_conditional_growth_index) < 1e16 THEN CAST(CAST(floor(growth.winter_to_spring_conditional_growth_index * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR)
        WHEN abs(growth.winter_to_spring_conditional_growth_index) <= 1.7976931348623157e308 THEN regexp_replace(CAST(growth.winter_to_spring_conditional_growth_index AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS WinterToSpringConditionalGrowthIndex,
    growth.winter_to_spring_conditional_growth_percentile AS WinterToSpringConditionalGrowthPercentile,
    growth.winter_to_spring_growth_quintile AS WinterToSpringGrowthQuintile,
    growth.spring_to_spring_projected_growth AS SpringToSpringProjectedGrowth,
    growth.spring_to_spring_observed_growth AS SpringToSpringObservedGrowth,
    growth.spring_to_spring_observed_growth_se AS SpringToSpringObservedGrowthSE,
    growth.spring_to_spring_met_projected_growth AS SpringToSpringMetProjectedGrowth,
    CASE
        WHEN abs(growth.spring_to_spring_conditional_growth_index) < 1e16 THEN CAST(CAST(floor(growth.spring_to_spring_conditional_growth_index * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR)
        WHEN abs(growth.spring_to_spring_conditional_growth_index) <= 1.7976931348623157e308 THEN regexp_replace(CAST(growth.spring_to_spring_conditional_growth_index AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS SpringToSpringConditionalGrowthIndex,
    growth.spring_to_spring_conditional_growth_percentile AS SpringToSpringConditionalGrowthPercentile,
    growth.spring_to_spring_growth_quintile AS SpringToSpringGrowthQuintile,
    results.lexile_score AS LexileScore,
    results.lexile_min AS LexileMin,
    results.lexile_max AS LexileMax,
    results.quantile_score AS QuantileScore,
    results.quantile_minimum AS QuantileMin,
    results.quantile_maximum AS QuantileMax,
    goals.name_1 AS Goal1Name,
    goals.score_1 AS Goal1RitScore,
    goals.error_1 AS Goal1StdErr,
    CASE
        WHEN abs(goals.low_1) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.low_1 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.low_1) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.low_1 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END || '-' || CASE
        WHEN abs(goals.high_1) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.high_1 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.high_1) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.high_1 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS Goal1Range,
    CAST(NULL AS VARCHAR) AS Goal1Adjective,
    goals.name_2 AS Goal2Name,
    goals.score_2 AS Goal2RitScore,
    goals.error_2 AS Goal2StdErr,
    CASE
        WHEN abs(goals.low_2) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.low_2 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.low_2) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.low_2 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END || '-' || CASE
        WHEN abs(goals.high_2) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.high_2 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.high_2) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.high_2 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS Goal2Range,
    CAST(NULL AS VARCHAR) AS Goal2Adjective,
    goals.name_3 AS Goal3Name,
    goals.score_3 AS Goal3RitScore,
    goals.error_3 AS Goal3StdErr,
    CASE
        WHEN abs(goals.low_3) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.low_3 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.low_3) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.low_3 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END || '-' || CASE
        WHEN abs(goals.high_3) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.high_3 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.high_3) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.high_3 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS Goal3Range,
    CAST(NULL AS VARCHAR) AS Goal3Adjective,
    goals.name_4 AS Goal4Name,
    goals.score_4 AS Goal4RitScore,
    goals.error_4 AS Goal4StdErr,
    CASE
        WHEN abs(goals.low_4) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.low_4 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.low_4) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.low_4 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END || '-' || CASE
        WHEN abs(goals.high_4) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.high_4 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.high_4) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.high_4 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS Goal4Range,
    CAST(NULL AS VARCHAR) AS Goal4Adjective,
    goals.name_5 AS Goal5Name,
    goals.score_5 AS Goal5RitScore,
    goals.error_5 AS Goal5StdErr,
    CASE
        WHEN abs(goals.low_5) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.low_5 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.low_5) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.low_5 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END || '-' || CASE
        WHEN abs(goals.high_5) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.high_5 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.high_5) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.high_5 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS Goal5Range,
    CAST(NULL AS VARCHAR) AS Goal5Adjective,
    goals.name_6 AS Goal6Name,
    goals.score_6 AS Goal6RitScore,
    goals.error_6 AS Goal6StdErr,
    CASE
        WHEN abs(goals.low_6) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.low_6 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.low_6) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.low_6 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END || '-' || CASE
        WHEN abs(goals.high_6) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.high_6 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.high_6) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.high_6 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS Goal6Range,
    CAST(NULL AS VARCHAR) AS Goal6Adjective,
    goals.name_7 AS Goal7Name,
    goals.score_7 AS Goal7RitScore,
    goals.error_7 AS Goal7StdErr,
    CASE
        WHEN abs(goals.low_7) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.low_7 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.low_7) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.low_7 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END || '-' || CASE
        WHEN abs(goals.high_7) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.high_7 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.high_7) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.high_7 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS Goal7Range,
    CAST(NULL AS VARCHAR) AS Goal7Adjective,
    goals.name_8 AS Goal8Name,
    goals.score_8 AS Goal8RitScore,
    goals.error_8 AS Goal8StdErr,
    CASE
        WHEN abs(goals.low_8) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.low_8 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.low_8) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.low_8 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END || '-' || CASE
        WHEN abs(goals.high_8) < 1e16 THEN regexp_replace(CAST(CAST(floor(goals.high_8 * 100 + 0.5e0) / 100 AS DECIMAL(18, 2)) AS VARCHAR), '[.]?0+$', '')
        WHEN abs(goals.high_8) <= 1.7976931348623157e308 THEN regexp_replace(CAST(goals.high_8 AS VARCHAR), '([.]0)?(e[+]|E)', 'E')
    END AS Goal8Range,
    CAST(NULL AS VARCHAR) AS Goal8Adjective,
    CASE WHEN terms.season = 'Fall' THEN typical.fall_to_fall END AS TypicalFallToFallGrowth,
    CASE WHEN terms.season = 'Fall' THEN typical.fall_to_winter END AS TypicalFallToWinterGrowth,
    CASE WHEN terms.season = 'Fall' THEN typical.fall_to_spring END AS TypicalFallToSpringGrowth,
    CASE WHEN terms.season = 'Winter' THEN typical.winter_to_winter END AS TypicalWinterToWinterGrowth,
    CASE WHEN terms.season = 'Winter' THEN typical.winter_to_spring END AS TypicalWinterToSpringGrowth,
    CASE WHEN terms.season = 'Spring' THEN typical.spring_to_spring END AS TypicalSpringToSpringGrowth,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy1,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel1,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy2,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel2,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy3,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel3,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy4,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel4,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy5,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel5,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy6,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel6,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy7,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel7,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy8,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel8,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy9,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel9,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyStudy10,
    CAST(NULL AS VARCHAR) AS ProjectedProficiencyLevel10
FROM numbered AS results
LEFT JOIN terms ON terms.term_bid = results.term_bid
LEFT JOIN {{ ref('analysis_schools') }} AS schools ON schools.school_bid = coalesce(results.school_bid, results.requested_school_bid)
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
    ON typical.subject_area = CASE lower(trim(results.subject_area)) WHEN 'general science' THEN 'science' ELSE lower(trim(results.subject_area)) END
    AND typical.grade_number = CAST(CASE WHEN upper(trim(results.grade)) = 'PK' THEN -1 WHEN upper(trim(results.grade)) = 'K' THEN 0
        WHEN upper(trim(results.grade)) IN ('1', '01', '2', '02', '3', '03', '4', '04', '5', '05', '6', '06', '7', '07', '8', '08', '9', '09', '10', '11', '12') THEN CAST(upper(trim(results.grade)) AS INTEGER) END AS DOUBLE)
    AND typical.rit = CAST(results.rit AS DOUBLE)
WHERE results.number = 1 OR coalesce(results.test_result_bid, '') = ''
