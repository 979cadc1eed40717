-- Test results with the names and dates of their terms. Run views.sql first:
--
--   .read examples/duckdb/terms.sql
--   SELECT term_name, count(*), avg(rit) FROM test_results_with_terms GROUP BY ALL ORDER BY min(term_begin_date);

-- One row per term. A result's term_bid is the bid of an enrollment session. The service repeats the sessions of a district
-- for every school and perspective; this takes the copy whose academic year was modified last.
CREATE OR REPLACE TEMP VIEW terms AS
SELECT DISTINCT ON (session.enrollment_session_bid)
    session.enrollment_session_bid AS term_bid,
    session.description AS term_name,
    session.begin_date AS term_begin_date,
    session.end_date AS term_end_date,
    year.description AS academic_year
FROM enrollment_sessions AS session
LEFT JOIN academic_years AS year USING (requested_perspective_bid, requested_school_bid, academic_year_bid)
WHERE session.enrollment_session_bid <> ''
ORDER BY
    session.enrollment_session_bid,
    year.modified_date_time DESC NULLS LAST,
    session.requested_perspective_bid,
    session.requested_school_bid,
    session.academic_year_bid,
    session.ordinal;

-- Every test result, once. The term is null if the result has none or no academic year lists it.
CREATE OR REPLACE TEMP VIEW test_results_with_terms AS
SELECT result.*, term_name, term_begin_date, term_end_date, academic_year
FROM test_results AS result
LEFT JOIN terms USING (term_bid);
