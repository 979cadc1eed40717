-- Generated from the declarations in schemas: edit those.
WITH days AS (
    SELECT day FROM (SELECT {{ growth_export_snapshot_date() }} AS day) AS days
),
rosters AS (
    SELECT DISTINCT days.day, students.requested_school_bid AS school_bid, students.student_bid
    FROM days
    JOIN {{ ref('stg_growth_export__students') }} AS students ON true
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
    JOIN {{ ref('stg_growth_export__test_results') }} AS results
        ON results.student_bid = rosters.student_bid
        AND true
    JOIN {{ ref('analysis_terms') }} AS terms
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
    FROM {{ ref('stg_growth_export__enrollment_sessions') }} AS sessions
    JOIN {{ ref('analysis_terms') }} AS terms ON terms.term_bid = sessions.enrollment_session_bid
    LEFT JOIN {{ ref('analysis_schools') }} AS schools ON schools.school_bid = sessions.requested_school_bid
    -- Not the terms of another perspective, such as the state's, to which no result belongs.
    WHERE sessions.requested_perspective_bid = schools.district_bid
        OR terms.term_bid IN (SELECT term_bid FROM {{ ref('stg_growth_export__test_results') }})
),
subjects AS (
    SELECT DISTINCT requested_school_bid AS school_bid, subject_area
    FROM {{ ref('stg_growth_export__test_results') }}
    WHERE subject_area <> ''
)
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
JOIN subjects ON subjects.school_bid = enrolled.school_bid
LEFT JOIN tested
    ON tested.day = enrolled.day
    AND tested.school_bid = enrolled.school_bid
    AND tested.subject_area = subjects.subject_area
    AND tested.term_bid = terms.term_bid
LEFT JOIN {{ ref('analysis_schools') }} AS schools ON schools.school_bid = enrolled.school_bid
