-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('educator_school_associations', true) %}
SELECT
    requested_perspective_bid,
    requested_school_bid,
    educator_school_association_bid,
    educator_bid,
    perspective_bid,
    school_bid,
    first_name,
    middle_name,
    last_name,
    begin_date,
    end_date,
    modified_date_time,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'educator_school_associations') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS requested_perspective_bid,
    CAST(NULL AS varchar) AS requested_school_bid,
    CAST(NULL AS varchar) AS educator_school_association_bid,
    CAST(NULL AS varchar) AS educator_bid,
    CAST(NULL AS varchar) AS perspective_bid,
    CAST(NULL AS varchar) AS school_bid,
    CAST(NULL AS varchar) AS first_name,
    CAST(NULL AS varchar) AS middle_name,
    CAST(NULL AS varchar) AS last_name,
    CAST(NULL AS date) AS begin_date,
    CAST(NULL AS date) AS end_date,
    CAST(NULL AS timestamp with time zone) AS modified_date_time,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
