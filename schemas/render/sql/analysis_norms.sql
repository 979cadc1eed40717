{{- /* Numbers of the file are text or numbers of any type. Rows whose key is repeated contradict each other, and do not count. */ -}}
SELECT
    subject_area,
    span,
    grade_number,
    rit,
    CASE WHEN count(*) = 1 THEN max(typical_growth) END AS typical_growth,
    CASE WHEN count(*) = 1 THEN max(projected_growth) END AS projected_growth,
    CASE WHEN count(*) = 1 THEN max(growth_sd) END AS growth_sd
FROM (
    SELECT
        {{template "subject" "measurementscale"}} AS subject_area,
        lower(trim(growth_window)) AS span,
        CASE
            WHEN upper(trim(CAST(startgrade AS {{string}}))) = 'PK' THEN -1e0
            WHEN upper(trim(CAST(startgrade AS {{string}}))) = 'K' THEN 0e0
            ELSE try_cast(startgrade AS DOUBLE)
        END AS grade_number,
        try_cast(startrit AS DOUBLE) AS rit,
        try_cast(typical_growth AS DOUBLE) AS typical_growth,
        try_cast(reported_growth AS DOUBLE) AS projected_growth,
        try_cast(std_dev_of_expectation AS DOUBLE) AS growth_sd
    FROM {{norms_file}} AS file
) AS norms
GROUP BY subject_area, span, grade_number, rit
