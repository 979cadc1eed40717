SELECT
    {{.Columns.Lines ""}},
    valid_from,
    valid_to,
    ended_because,
    valid_to = DATE '9999-12-31' AS standing
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY test_result_bid ORDER BY valid_to DESC, valid_from DESC, requested_school_bid
    ) AS _latest
    FROM {{.Versions}}
    WHERE test_result_bid <> ''
) AS results
WHERE _latest = 1
