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
),
named AS (
    SELECT
        *,
        nullif(regexp_extract(lower(term_name), '(^|[^a-z])(fall|winter|spring|summer)([^a-z]|$)', 2), '') AS season_in_name,
        nullif(regexp_extract(term_name, '(^|[^0-9])([0-9][0-9][0-9][0-9])([^0-9]|$)', 2), '') AS year_in_name,
        CAST(extract(MONTH FROM term_begin_date) AS INTEGER) AS begin_month,
        CAST(extract(YEAR FROM term_begin_date) AS INTEGER) AS begin_year
    FROM numbered
    WHERE number = 1
)
SELECT
    term_bid,
    term_name,
    term_begin_date,
    term_end_date,
    academic_year,
    CASE
        WHEN season_in_name IS NOT NULL THEN upper(substr(season_in_name, 1, 1)) || substr(season_in_name, 2)
        WHEN begin_month BETWEEN 7 AND 11 THEN 'Fall'
        WHEN begin_month BETWEEN 3 AND 6 THEN 'Spring'
        WHEN begin_month IS NOT NULL THEN 'Winter'
    END AS season,
    coalesce(
        CAST(year_in_name AS INTEGER),
        CASE WHEN begin_month < 7 THEN begin_year - 1 ELSE begin_year END
    ) AS school_year
FROM named
