-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('districts', true) %}
SELECT
    district_bid,
    district_name,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'districts') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS district_bid,
    CAST(NULL AS varchar) AS district_name,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
