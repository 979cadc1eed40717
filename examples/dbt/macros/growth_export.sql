{# Whether a dataset is exported: the variable growth_export_datasets, or the datasets that are exported by default. #}
{% macro growth_export_has(dataset, by_default) %}
    {% set datasets = var('growth_export_datasets', []) %}
    {{ return(dataset in datasets if datasets else by_default) }}
{% endmacro %}

{# The snapshot to read: the variable growth_export_snapshot_date, or the newest one when the models are built. #}
{% macro growth_export_snapshot_date() %}
    {%- set date = var('growth_export_snapshot_date', '') -%}
    {%- if execute and not date -%}
        {#- DuckDB 1.5 fails on the maximum of a partition column itself. -#}
        {%- set newest = run_query('SELECT max(CAST(snapshot_date AS varchar)) FROM ' ~ source('growth_export', 'schools')) -%}
        {%- set date = newest.columns[0].values()[0] -%}
    {%- endif -%}
    CAST('{{ date }}' AS date)
{%- endmacro %}

{# A row for each name in a JSON object. #}
{% macro growth_export_keys(column) %}{{ return(adapter.dispatch('growth_export_keys', 'growth_export')(column)) }}{% endmacro %}

{% macro default__growth_export_keys(column) %}unnest(json_keys({{ column }})){% endmacro %}

{% macro spark__growth_export_keys(column) %}explode(json_object_keys({{ column }})){% endmacro %}
