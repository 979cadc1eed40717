-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('test_results', true) %}
SELECT
    requested_school_bid,
    test_result_bid,
    ordinal,
    percentile,
    reference,
    type,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'test_result_norms') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS requested_school_bid,
    CAST(NULL AS varchar) AS test_result_bid,
    CAST(NULL AS integer) AS ordinal,
    CAST(NULL AS integer) AS percentile,
    CAST(NULL AS varchar) AS reference,
    CAST(NULL AS varchar) AS type,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
