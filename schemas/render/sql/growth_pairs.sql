SELECT
    student_bid,
    subject_area,
    from_test_result_bid,
    to_test_result_bid,
    from_term_bid,
    to_term_bid,
    from_rit,
    to_rit,
    from_administration_start_date_time,
    to_administration_start_date_time,
    CAST(to_rit AS BIGINT) - from_rit AS growth
FROM (
    SELECT
        student_bid,
        subject_area,
        lag(test_result_bid) OVER in_order AS from_test_result_bid,
        test_result_bid AS to_test_result_bid,
        lag(term_bid) OVER in_order AS from_term_bid,
        term_bid AS to_term_bid,
        lag(rit) OVER in_order AS from_rit,
        rit AS to_rit,
        lag(administration_start_date_time) OVER in_order AS from_administration_start_date_time,
        administration_start_date_time AS to_administration_start_date_time
    FROM {{.Ever}}
    WHERE student_bid <> '' AND subject_area <> '' AND administration_start_date_time IS NOT NULL
    WINDOW in_order AS (
        PARTITION BY student_bid, subject_area ORDER BY administration_start_date_time, test_result_bid
    )
) AS neighbours
WHERE from_test_result_bid IS NOT NULL AND nullif(from_term_bid, '') IS DISTINCT FROM nullif(to_term_bid, '')
