{# Whether a dataset is exported: the variable growth_export_datasets, or the datasets that are exported by default. #}
{% macro growth_export_has(dataset, by_default) %}
    {% set datasets = var('growth_export_datasets', []) %}
    {{ return(dataset in datasets if datasets else by_default) }}
{% endmacro %}

{# The snapshot to read: the variable growth_export_snapshot_date, or the newest one when the models are built. #}
{% macro growth_export_snapshot_date() %}
    {%- set date = var('growth_export_snapshot_date', '') | string -%}
    {%- if execute -%}
        {%- set schools = source('growth_export', 'schools') -%}
        {%- if date -%}
            {%- set found = run_query("SELECT count(*) FROM " ~ schools ~ " WHERE snapshot_date = CAST('" ~ date ~ "' AS date)") -%}
            {%- if found.columns[0].values()[0] == 0 -%}
                {{ exceptions.raise_compiler_error('there is no snapshot of ' ~ date ~ '; see growth-export status, and growth_export_snapshot_date') }}
            {%- endif -%}
        {%- else -%}
            {#- DuckDB 1.5 fails on the maximum of a partition column itself. -#}
            {%- set newest = run_query('SELECT max(CAST(snapshot_date AS varchar)) FROM ' ~ schools) -%}
            {%- set date = newest.columns[0].values()[0] -%}
        {%- endif -%}
    {%- endif -%}
    CAST('{{ date }}' AS date)
{%- endmacro %}

{# A row for each name in a JSON object. #}
{% macro growth_export_keys(column) %}{{ return(adapter.dispatch('growth_export_keys', 'growth_export')(column)) }}{% endmacro %}

{% macro default__growth_export_keys(column) %}unnest(json_keys({{ column }})){% endmacro %}

{% macro spark__growth_export_keys(column) %}explode(json_object_keys({{ column }})){% endmacro %}

{# The member of a JSON object as text. #}
{% macro growth_export_member(column, name) %}{{ return(adapter.dispatch('growth_export_member', 'growth_export')(column, name)) }}{% endmacro %}

{% macro default__growth_export_member(column, name) %}CAST({{ column }}->'$.{{ name }}' AS varchar){% endmacro %}

{% macro spark__growth_export_member(column, name) %}get_json_object({{ column }}, '$.{{ name }}'){% endmacro %}

{# The distinct texts of a group, sorted and separated by commas, or null if all are null. #}
{% macro growth_export_joined(text) %}{{ return(adapter.dispatch('growth_export_joined', 'growth_export')(text)) }}{% endmacro %}

{% macro default__growth_export_joined(text) -%}
    array_to_string(list_sort(array_agg(DISTINCT {{ text }}) FILTER (WHERE {{ text }} IS NOT NULL)), ', ')
{%- endmacro %}

{% macro spark__growth_export_joined(text) %}nullif(array_join(array_sort(collect_set({{ text }})), ', '), ''){% endmacro %}

{# The day, the date as MM/DD/YYYY and the time as HH:MM:SS of a timestamp in UTC. #}
{% macro growth_export_utc_day(column) %}{{ return(adapter.dispatch('growth_export_utc_day', 'growth_export')(column)) }}{% endmacro %}

{% macro default__growth_export_utc_day(column) %}CAST(make_timestamp(epoch_us({{ column }})) AS date){% endmacro %}

{% macro spark__growth_export_utc_day(column) %}date_from_unix_date(CAST((unix_micros({{ column }}) - pmod(unix_micros({{ column }}), 86400000000)) div 86400000000 AS int)){% endmacro %}

{% macro growth_export_utc_date(column) %}{{ return(adapter.dispatch('growth_export_utc_date', 'growth_export')(column)) }}{% endmacro %}

{% macro default__growth_export_utc_date(column) %}strftime(make_timestamp(epoch_us({{ column }})), '%m/%d/%Y'){% endmacro %}

{% macro spark__growth_export_utc_date(column) %}date_format({{ spark__growth_export_utc_day(column) }}, 'MM/dd/yyyy'){% endmacro %}

{% macro growth_export_utc_time(column) %}{{ return(adapter.dispatch('growth_export_utc_time', 'growth_export')(column)) }}{% endmacro %}

{% macro default__growth_export_utc_time(column) %}strftime(make_timestamp(epoch_us({{ column }})), '%H:%M:%S'){% endmacro %}

{% macro spark__growth_export_utc_time(column) -%}
    {%- set seconds = 'pmod(unix_micros(' ~ column ~ '), 86400000000) div 1000000' -%}
    CASE WHEN {{ column }} IS NOT NULL THEN format_string('%02d:%02d:%02d', {{ seconds }} div 3600, {{ seconds }} % 3600 div 60, {{ seconds }} % 60) END
{%- endmacro %}

{# The growth norms: the variable growth_export_norms, a CSV or Parquet file, or with other adapters a relation; otherwise no rows. #}
{% macro growth_export_norms() -%}
    {%- set norms = var('growth_export_norms', '') -%}
    {%- if not norms -%}
        (SELECT CAST(NULL AS {{ dbt.type_string() }}) AS measurementscale, CAST(NULL AS {{ dbt.type_string() }}) AS startgrade,
            CAST(NULL AS {{ dbt.type_string() }}) AS startrit, CAST(NULL AS {{ dbt.type_string() }}) AS growth_window,
            CAST(NULL AS {{ dbt.type_string() }}) AS typical_growth, CAST(NULL AS {{ dbt.type_string() }}) AS reported_growth,
            CAST(NULL AS {{ dbt.type_string() }}) AS std_dev_of_expectation WHERE 1 = 0)
    {%- else -%}
        {{ adapter.dispatch('growth_export_norms', 'growth_export')(norms) }}
    {%- endif -%}
{%- endmacro %}

{% macro default__growth_export_norms(norms) -%}
    {%- if norms.lower().endswith('.parquet') -%}read_parquet('{{ norms }}')
    {%- else -%}read_csv('{{ norms }}', header = true, delim = ',', all_varchar = true){%- endif -%}
{%- endmacro %}

{% macro spark__growth_export_norms(norms) %}{{ norms }}{% endmacro %}
