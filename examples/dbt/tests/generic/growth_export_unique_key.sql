{# Finds keys of several rows. Rows without a complete key may be repeated. #}
{% test growth_export_unique_key(model, columns) %}
SELECT {{ columns | join(', ') }}, count(*) AS repetitions
FROM {{ model }}
WHERE {% for column in columns %}CAST({{ column }} AS {{ dbt.type_string() }}) <> ''{{ ' AND ' if not loop.last }}{% endfor %}
GROUP BY {{ columns | join(', ') }}
HAVING count(*) > 1
{% endtest %}
