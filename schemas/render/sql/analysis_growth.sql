WITH {{template "percentiles" "ever"}},
past AS (
    -- The newest roster row of each student, for students who have left.
    SELECT
        student_bid,
        student_id,
        first_name,
        last_name,
        row_number() OVER (PARTITION BY student_bid ORDER BY valid_to DESC, valid_from DESC, requested_school_bid) AS number
    FROM {{every_version "students"}} AS students
    WHERE student_bid <> ''
)
SELECT
    pairs.student_bid,
    coalesce(students.student_id, past.student_id) AS student_id,
    coalesce(students.first_name, past.first_name) AS first_name,
    coalesce(students.last_name, past.last_name) AS last_name,
    pairs.subject_area,
    later.grade,
    {{grade_number "later.grade"}} AS grade_number,
    coalesce(later.school_bid, later.requested_school_bid) AS school_bid,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    from_terms.term_name AS from_term_name,
    to_terms.term_name AS to_term_name,
    from_terms.academic_year AS from_academic_year,
    to_terms.academic_year AS to_academic_year,
    pairs.from_test_result_bid,
    pairs.to_test_result_bid,
    pairs.from_administration_start_date_time,
    pairs.to_administration_start_date_time,
    pairs.from_rit,
    pairs.to_rit,
    pairs.growth,
    earlier_percentiles.achievement_percentile AS from_achievement_percentile,
    later_percentiles.achievement_percentile AS to_achievement_percentile,
    later_percentiles.growth_percentile
FROM {{table "growth_pairs"}} AS pairs
JOIN {{table "test_results_ever"}} AS later ON later.test_result_bid = pairs.to_test_result_bid
LEFT JOIN {{table "analysis_students"}} AS students ON students.student_bid = pairs.student_bid
LEFT JOIN past ON past.student_bid = pairs.student_bid AND past.number = 1
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = coalesce(later.school_bid, later.requested_school_bid)
LEFT JOIN {{table "analysis_terms"}} AS from_terms ON from_terms.term_bid = pairs.from_term_bid
LEFT JOIN {{table "analysis_terms"}} AS to_terms ON to_terms.term_bid = pairs.to_term_bid
LEFT JOIN percentiles AS earlier_percentiles ON earlier_percentiles.test_result_bid = pairs.from_test_result_bid
LEFT JOIN percentiles AS later_percentiles ON later_percentiles.test_result_bid = pairs.to_test_result_bid
