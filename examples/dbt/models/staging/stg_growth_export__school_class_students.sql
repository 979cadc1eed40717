-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('school_classes', true) %}
SELECT
    requested_perspective_bid,
    requested_school_bid,
    school_class_bid,
    ordinal,
    student_bid,
    first_name,
    middle_name,
    last_name,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'school_class_students') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS requested_perspective_bid,
    CAST(NULL AS varchar) AS requested_school_bid,
    CAST(NULL AS varchar) AS school_class_bid,
    CAST(NULL AS integer) AS ordinal,
    CAST(NULL AS varchar) AS student_bid,
    CAST(NULL AS varchar) AS first_name,
    CAST(NULL AS varchar) AS middle_name,
    CAST(NULL AS varchar) AS last_name,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
