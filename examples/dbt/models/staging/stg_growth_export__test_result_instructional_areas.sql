-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('test_results', true) %}
SELECT
    requested_school_bid,
    test_result_bid,
    ordinal,
    instructional_area_bid,
    instructional_area_name,
    score,
    standard_error,
    score_low,
    score_high,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'test_result_instructional_areas') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS requested_school_bid,
    CAST(NULL AS varchar) AS test_result_bid,
    CAST(NULL AS integer) AS ordinal,
    CAST(NULL AS varchar) AS instructional_area_bid,
    CAST(NULL AS varchar) AS instructional_area_name,
    CAST(NULL AS double) AS score,
    CAST(NULL AS double) AS standard_error,
    CAST(NULL AS double) AS score_low,
    CAST(NULL AS double) AS score_high,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
