-- The columns that analysts know from a district's assessment export. Run views.sql and terms.sql first:
--
--   .read examples/duckdb/assessment_export.sql
--   COPY assessment_export TO 'assessment_export.csv';
--
-- One row per row of test_results. Needs the datasets test_results, schools, district_schools, students and academic_years.
-- Null and empty identifiers match nothing.

CREATE OR REPLACE TEMP VIEW assessment_export AS
WITH school_names AS (
    -- Schools without an agreement are not in schools, but their district lists them.
    SELECT school_bid, coalesce(min(name) FILTER (WHERE listed), min(name)) AS school_name
    FROM (
        SELECT school_bid, name, true AS listed FROM schools
        UNION ALL
        SELECT school_bid, name, false AS listed FROM district_schools
    )
    WHERE school_bid <> ''
    GROUP BY school_bid
),
student_ids AS (
    SELECT requested_school_bid, student_bid, min(student_id) AS student_id
    FROM students
    WHERE student_bid <> ''
    GROUP BY requested_school_bid, student_bid
),
percentiles AS (
    -- The percentile in the newest achievement norms. Other norms are growth norms, or older.
    SELECT requested_school_bid, test_result_bid, percentile
    FROM test_result_norms
    WHERE test_result_bid <> '' AND lower(type) = 'achievement'
    QUALIFY row_number() OVER (
        PARTITION BY requested_school_bid, test_result_bid
        ORDER BY reference DESC NULLS LAST, ordinal
    ) = 1
),
goals AS (
    -- The instructional areas in the service's order. There are columns for eight.
    SELECT
        requested_school_bid,
        test_result_bid,
        list({'name': instructional_area_name, 'score': score} ORDER BY ordinal) AS goals
    FROM test_result_instructional_areas
    WHERE test_result_bid <> ''
    GROUP BY requested_school_bid, test_result_bid
)
SELECT
    result.term_name AS TermName,
    school_names.school_name AS SchoolName,
    student_ids.student_id AS StudentID,
    result.subject_area AS Subject,
    result.rit AS TestRITScore,
    result.standard_error AS TestStandardError,
    percentiles.percentile AS TestPercentile,
    -- In whole minutes. The unit of duration is not documented, most likely milliseconds.
    round(result.duration / 60000)::BIGINT AS TestDurationMinutes,
    goals[1].name AS Goal1Name, goals[1].score AS Goal1RitScore,
    goals[2].name AS Goal2Name, goals[2].score AS Goal2RitScore,
    goals[3].name AS Goal3Name, goals[3].score AS Goal3RitScore,
    goals[4].name AS Goal4Name, goals[4].score AS Goal4RitScore,
    goals[5].name AS Goal5Name, goals[5].score AS Goal5RitScore,
    goals[6].name AS Goal6Name, goals[6].score AS Goal6RitScore,
    goals[7].name AS Goal7Name, goals[7].score AS Goal7RitScore,
    goals[8].name AS Goal8Name, goals[8].score AS Goal8RitScore
FROM test_results_with_terms AS result
-- The school in which the test was taken, which may not be the student's present school.
LEFT JOIN school_names ON school_names.school_bid = coalesce(result.school_bid, result.requested_school_bid)
LEFT JOIN student_ids USING (requested_school_bid, student_bid)
LEFT JOIN percentiles USING (requested_school_bid, test_result_bid)
LEFT JOIN goals USING (requested_school_bid, test_result_bid);
