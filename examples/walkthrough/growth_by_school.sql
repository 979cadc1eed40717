-- Mean growth by subject and school from fall to winter, after the views of `growth-export sql --history --views analysis`.
--
-- Only the newest school year with such growth counts: in a longer history, students have a pair of results in every year. A pair counts
-- for the school of its later result. Groups of fewer than ten students are left out, because they say more about single students than
-- about a school.

SELECT
    spans.subject_area,
    schools.school_name AS school,
    count(*) AS students,
    avg(spans.observed_growth) AS mean_growth,
    -- The standard error of the mean, for error bars.
    stddev_samp(spans.observed_growth) / sqrt(count(*)) AS error
FROM analysis_growth_spans AS spans
JOIN analysis_schools AS schools ON schools.school_bid = spans.to_school_bid
WHERE spans.span = 'Fall to Winter'
    AND spans.school_year = (SELECT max(school_year) FROM analysis_growth_spans WHERE span = 'Fall to Winter')
GROUP BY spans.subject_area, schools.school_bid, schools.school_name
HAVING count(*) >= 10
ORDER BY spans.subject_area, mean_growth, school;
