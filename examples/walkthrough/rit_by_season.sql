-- Mean RIT by subject, term and grade, after the views of `growth-export sql` and ../duckdb/terms.sql.
--
-- A term is a season of a school year. Groups of fewer than ten results are left out, because they say more about single students
-- than about a grade. All results count, not only results from a term's testing window.

SELECT
    subject_area,
    term_name,
    grade,
    count(*) AS results,
    avg(rit) AS mean_rit,
    -- The standard error of the mean, for error bars.
    stddev_samp(rit) / sqrt(count(*)) AS error
FROM test_results_with_terms
WHERE rit IS NOT NULL AND grade IS NOT NULL AND subject_area IS NOT NULL AND term_name IS NOT NULL
GROUP BY subject_area, term_name, grade
HAVING count(*) >= 10
-- Terms by date, grades from pre-kindergarten up.
ORDER BY
    subject_area,
    min(min(term_begin_date)) OVER (PARTITION BY term_name),
    term_name,
    CASE upper(grade) WHEN 'PK' THEN -1 WHEN 'K' THEN 0 ELSE try_cast(grade AS INTEGER) END NULLS LAST,
    grade;
