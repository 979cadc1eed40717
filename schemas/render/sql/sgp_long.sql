SELECT
    'VALID_CASE' AS VALID_CASE,
    replace(replace(replace(upper(trim(subject_area)), ' ', ' _'), '_ ', ''), ' _', '_') AS CONTENT_AREA,
    CAST(school_year AS {{string}}) || '_' || CAST(school_year + 1 AS {{string}})
        || CASE season WHEN 'Fall' THEN '.1' WHEN 'Winter' THEN '.2' ELSE '.3' END AS YEAR,
    {{utc_day "administration_start_date_time"}} AS DATE,
    student_bid AS ID,
    grade_number AS GRADE,
    rit AS SCALE_SCORE,
    standard_error AS SCALE_SCORE_CSEM,
    school_bid AS SCHOOL_NUMBER,
    district_bid AS DISTRICT_NUMBER
FROM {{table "analysis_term_results"}}
