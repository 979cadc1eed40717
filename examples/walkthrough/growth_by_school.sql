-- Mean growth by subject and school between two seasons, after the views of `growth-export sql --history`.
--
-- A pair of results counts for the school of the later one. Groups of fewer than ten students are left out, because they say more about
-- single students than about a school.

WITH terms AS (
    -- The service repeats the sessions of a district for every school and perspective.
    SELECT DISTINCT enrollment_session_bid AS term_bid, description AS term_name
    FROM enrollment_sessions_current
)
SELECT
    pairs.subject_area,
    schools.name AS school,
    count(*) AS students,
    avg(growth) AS mean_growth,
    -- The standard error of the mean, for error bars.
    stddev_samp(growth) / sqrt(count(*)) AS error
FROM growth_pairs AS pairs
JOIN terms AS from_term ON from_term.term_bid = from_term_bid
JOIN terms AS to_term ON to_term.term_bid = to_term_bid
JOIN test_results_ever AS result ON result.test_result_bid = to_test_result_bid
JOIN schools_current AS schools ON schools.school_bid = result.requested_school_bid
WHERE from_term.term_name LIKE 'Fall %' AND to_term.term_name LIKE 'Winter %' AND growth IS NOT NULL
GROUP BY pairs.subject_area, schools.school_bid, schools.name
HAVING count(*) >= 10
ORDER BY pairs.subject_area, mean_growth, school;
