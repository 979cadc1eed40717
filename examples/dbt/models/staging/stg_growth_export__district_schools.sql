-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('district_schools', true) %}
SELECT
    requested_district_bid,
    school_bid,
    name,
    district_bid,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'district_schools') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS requested_district_bid,
    CAST(NULL AS varchar) AS school_bid,
    CAST(NULL AS varchar) AS name,
    CAST(NULL AS varchar) AS district_bid,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
