-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('school_classes', true) %}
SELECT
    requested_perspective_bid,
    requested_school_bid,
    school_class_bid,
    class_name,
    perspective_bid,
    school_bid,
    begin_date,
    end_date,
    class_subject,
    modified_date_time,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'school_classes') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS requested_perspective_bid,
    CAST(NULL AS varchar) AS requested_school_bid,
    CAST(NULL AS varchar) AS school_class_bid,
    CAST(NULL AS varchar) AS class_name,
    CAST(NULL AS varchar) AS perspective_bid,
    CAST(NULL AS varchar) AS school_bid,
    CAST(NULL AS date) AS begin_date,
    CAST(NULL AS date) AS end_date,
    CAST(NULL AS varchar) AS class_subject,
    CAST(NULL AS timestamp with time zone) AS modified_date_time,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
