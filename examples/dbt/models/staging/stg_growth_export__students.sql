-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('students', true) %}
SELECT
    requested_school_bid,
    student_bid,
    student_id,
    first_name,
    last_name,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'students') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS requested_school_bid,
    CAST(NULL AS varchar) AS student_bid,
    CAST(NULL AS varchar) AS student_id,
    CAST(NULL AS varchar) AS first_name,
    CAST(NULL AS varchar) AS last_name,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
