{{- /* The percentiles of each result in the newest norms, as two common table expressions. Results ever
seen have the norms of the last day on which the service returned them. */ -}}
{{define "percentiles"}}norms AS (
    SELECT
        norms.requested_school_bid,
        norms.test_result_bid,
        lower(norms.type) AS type,
        norms.percentile,
        norms.reference,
        row_number() OVER (
            PARTITION BY norms.requested_school_bid, norms.test_result_bid, lower(norms.type)
            ORDER BY norms.reference DESC NULLS LAST, norms.ordinal, norms.percentile
        ) AS number
{{- if ever .}}
    FROM {{every_version "test_result_norms"}} AS norms
    JOIN {{results .}} AS results
        ON results.test_result_bid = norms.test_result_bid
        AND results.requested_school_bid = norms.requested_school_bid
        AND results.valid_to > norms.valid_from
        AND results.valid_to <= norms.valid_to
{{- else}}
    FROM {{table "test_result_norms"}} AS norms
{{- end}}
    WHERE norms.test_result_bid <> ''
),
percentiles AS (
    SELECT
        requested_school_bid,
        test_result_bid,
        max(CASE WHEN type = 'achievement' THEN percentile END) AS achievement_percentile,
        max(CASE WHEN type = 'achievement' THEN reference END) AS achievement_reference,
        max(CASE WHEN type = 'growth' THEN percentile END) AS growth_percentile,
        max(CASE WHEN type = 'growth' THEN reference END) AS growth_reference
    FROM norms
    WHERE number = 1
    GROUP BY requested_school_bid, test_result_bid
){{end}}
