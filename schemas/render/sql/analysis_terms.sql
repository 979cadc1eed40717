WITH numbered AS (
    -- The service repeats the terms of a district for every school and perspective.
    SELECT
        sessions.enrollment_session_bid AS term_bid,
        sessions.description AS term_name,
        sessions.begin_date AS term_begin_date,
        sessions.end_date AS term_end_date,
        years.description AS academic_year,
        row_number() OVER (
            PARTITION BY sessions.enrollment_session_bid
            ORDER BY
                {{newest "sessions"}}{{newest "years"}}years.modified_date_time DESC NULLS LAST,
                sessions.requested_perspective_bid,
                sessions.requested_school_bid,
                sessions.academic_year_bid NULLS LAST,
                sessions.ordinal
        ) AS number
    FROM {{every_version "enrollment_sessions"}} AS sessions
    LEFT JOIN {{every_version "academic_years"}} AS years
        ON years.requested_perspective_bid = sessions.requested_perspective_bid
        AND years.requested_school_bid = sessions.requested_school_bid
        AND years.academic_year_bid = sessions.academic_year_bid
    WHERE sessions.enrollment_session_bid <> ''
)
SELECT
    term_bid,
    term_name,
    term_begin_date,
    term_end_date,
    academic_year
FROM numbered
WHERE number = 1
