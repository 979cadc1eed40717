-- Generated from the declarations in schemas: edit those.
{% if growth_export_has('academic_years', true) %}
SELECT
    requested_perspective_bid,
    requested_school_bid,
    academic_year_bid,
    ordinal,
    enrollment_session_bid,
    description,
    begin_date,
    end_date,
    _extra,
    snapshot_date
FROM {{ source('growth_export', 'enrollment_sessions') }}
WHERE snapshot_date = {{ growth_export_snapshot_date() }}
{% else %}
SELECT
    CAST(NULL AS varchar) AS requested_perspective_bid,
    CAST(NULL AS varchar) AS requested_school_bid,
    CAST(NULL AS varchar) AS academic_year_bid,
    CAST(NULL AS integer) AS ordinal,
    CAST(NULL AS varchar) AS enrollment_session_bid,
    CAST(NULL AS varchar) AS description,
    CAST(NULL AS date) AS begin_date,
    CAST(NULL AS date) AS end_date,
    CAST(NULL AS varchar) AS _extra,
    CAST(NULL AS date) AS snapshot_date
WHERE 1 = 0
{% endif %}
