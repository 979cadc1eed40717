WITH days AS (
    SELECT day FROM {{days}}
),
rosters AS (
    SELECT DISTINCT days.day, students.requested_school_bid AS school_bid, students.student_bid
    FROM days
    JOIN {{every_version "students"}} AS students ON {{valid_on "students" "days.day"}}
    WHERE students.student_bid <> ''
),
enrolled AS (
    SELECT day, school_bid, count(*) AS students
    FROM rosters
    GROUP BY day, school_bid
),
tested AS (
    -- Results count under whichever school the service lists them.
    SELECT rosters.day, rosters.school_bid, results.subject_area, results.term_bid, count(DISTINCT rosters.student_bid) AS tested
    FROM rosters
    JOIN {{every_version "test_results"}} AS results
        ON results.student_bid = rosters.student_bid
        AND {{valid_on "results" "rosters.day"}}
    JOIN {{table "analysis_terms"}} AS terms
        ON terms.term_bid = results.term_bid
        AND rosters.day BETWEEN terms.term_begin_date AND terms.term_end_date
    GROUP BY rosters.day, rosters.school_bid, results.subject_area, results.term_bid
),
terms AS (
    SELECT DISTINCT
        sessions.requested_school_bid AS school_bid,
        terms.term_bid,
        terms.term_name,
        terms.season,
        terms.school_year,
        terms.term_begin_date,
        terms.term_end_date
    FROM {{every_version "enrollment_sessions"}} AS sessions
    JOIN {{table "analysis_terms"}} AS terms ON terms.term_bid = sessions.enrollment_session_bid
    LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = sessions.requested_school_bid
    -- Not the terms of another perspective, such as the state's, to which no result belongs.
    WHERE sessions.requested_perspective_bid = schools.district_bid
        OR terms.term_bid IN (SELECT term_bid FROM {{every_version "test_results"}})
),
subjects AS (
    SELECT DISTINCT requested_school_bid AS school_bid, subject_area
    FROM {{every_version "test_results"}}
    WHERE subject_area <> ''
){{if history}},
covered AS (
    SELECT coverage.requested_school_bid AS school_bid, days.day
    FROM days
    JOIN {{table "coverage_versions"}} AS coverage ON {{valid_on "coverage" "days.day"}}
    WHERE coverage.dataset IN ('students', 'test_results') AND coverage.status = 'ok'
    GROUP BY coverage.requested_school_bid, days.day
    HAVING count(DISTINCT coverage.dataset) = 2
),
first_days AS (
    -- Before the roster and the results of a school have been read in a term, its rows are rows of an earlier term.
    SELECT terms.school_bid, terms.term_bid, min(covered.day) AS day
    FROM terms
    JOIN covered
        ON covered.school_bid = terms.school_bid
        AND covered.day BETWEEN terms.term_begin_date AND terms.term_end_date
    GROUP BY terms.school_bid, terms.term_bid
){{end}}
SELECT
    enrolled.school_bid,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    subjects.subject_area,
    terms.term_bid,
    terms.term_name,
    terms.season,
    terms.school_year,
    enrolled.day,
    enrolled.students,
    coalesce(tested.tested, 0) AS tested
FROM enrolled
JOIN terms
    ON terms.school_bid = enrolled.school_bid
    AND enrolled.day BETWEEN terms.term_begin_date AND terms.term_end_date
{{- if history}}
JOIN first_days
    ON first_days.school_bid = enrolled.school_bid
    AND first_days.term_bid = terms.term_bid
    AND first_days.day <= enrolled.day
{{- end}}
JOIN subjects ON subjects.school_bid = enrolled.school_bid
LEFT JOIN tested
    ON tested.day = enrolled.day
    AND tested.school_bid = enrolled.school_bid
    AND tested.subject_area = subjects.subject_area
    AND tested.term_bid = terms.term_bid
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = enrolled.school_bid
