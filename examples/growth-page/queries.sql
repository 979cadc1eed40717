-- The figures of the page, over the views of `growth-export sql --history --views analysis`. growth_page.py runs each query.

-- name: days
-- The last day of the history.
SELECT max(day) AS day FROM analysis_days;

-- name: distribution
-- RIT by subject, grade and term.
SELECT
    subject_area,
    grade_number,
    school_year,
    season,
    count(*) AS students,
    quantile_cont(rit, [0.1, 0.25, 0.5, 0.75, 0.9]) AS quantiles
FROM analysis_term_results
WHERE grade_number IS NOT NULL AND season IS NOT NULL
GROUP BY subject_area, grade_number, school_year, season
ORDER BY subject_area, grade_number, school_year, CASE season WHEN 'Fall' THEN 1 WHEN 'Winter' THEN 2 ELSE 3 END;

-- name: unread
-- Schools that were not read on the last day. The page counts their last known rows.
SELECT school_name
FROM analysis_schools
WHERE school_bid IN (
    SELECT requested_school_bid FROM coverage_current WHERE dataset IN ('students', 'test_results') AND status IN ('denied', 'failed')
    UNION
    SELECT school_bid FROM analysis_students WHERE NOT school_read
    UNION
    SELECT requested_school_bid FROM analysis_results WHERE NOT school_read
)
ORDER BY school_name;

-- name: spans
-- The span and school year that the page shows: the newest with at least half as many students as the span with the most.
WITH spans AS (
    SELECT span, school_year, count(DISTINCT student_bid) AS students
    FROM analysis_growth_spans
    GROUP BY span, school_year
)
SELECT span, school_year
FROM spans
WHERE 2 * students >= (SELECT max(students) FROM spans)
ORDER BY
    school_year DESC,
    CASE WHEN span LIKE '% to Fall' THEN 1 WHEN span LIKE '% to Winter' THEN 2 ELSE 3 END DESC,
    students DESC,
    span
LIMIT 1;

-- name: growth
-- Growth and achievement by school and subject, over that span.
SELECT
    spans.subject_area,
    schools.school_name,
    count(*) AS students,
    avg(spans.observed_growth) AS mean_growth,
    count(*) FILTER (WHERE spans.met_projected_growth LIKE 'Yes%') AS met,
    count(*) FILTER (WHERE spans.met_projected_growth LIKE 'No%') AS not_met,
    median(spans.conditional_growth_percentile) AS growth_percentile,
    median(spans.to_achievement_percentile) AS achievement_percentile
FROM analysis_growth_spans AS spans
JOIN analysis_schools AS schools ON schools.school_bid = spans.to_school_bid
WHERE spans.span = $span AND spans.school_year = $school_year
GROUP BY spans.subject_area, schools.school_bid, schools.school_name
ORDER BY spans.subject_area, schools.school_name;

-- name: completion
-- The number of students tested on each day of the current term. If districts are in different terms on the newest day, only the
-- term with the most students is included.
SELECT subject_area, season, school_year, day, sum(students) AS students, sum(tested) AS tested
FROM analysis_completion
WHERE (season, school_year) = (
    SELECT (season, school_year)
    FROM analysis_completion
    WHERE day = (SELECT max(day) FROM analysis_completion)
    GROUP BY season, school_year
    ORDER BY sum(students) DESC, school_year DESC, season
    LIMIT 1
)
GROUP BY subject_area, season, school_year, day
ORDER BY subject_area, day;
