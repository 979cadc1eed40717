SELECT
    table_name,
    member,
    count(*) AS records
FROM (
{{range $i, $table := with_extra}}{{if $i}}
    UNION ALL
{{end}}    SELECT '{{$table}}' AS table_name, {{json_keys "_extra"}} AS member FROM {{table $table}} WHERE _extra IS NOT NULL{{end}}
) AS members
GROUP BY table_name, member
