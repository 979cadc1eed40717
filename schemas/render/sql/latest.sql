{{- /* The run that has the latest version of each record, and that run's rows of the record. So child rows go with their
parent and, where a key is only a guess, rows of one run never replace each other. */ -}}
WITH versions AS (
{{.Records}}
), latest AS (
    SELECT DISTINCT {{.Keys.List}},
        first_value(_run) OVER (PARTITION BY {{.Keys.List}} ORDER BY {{with .Modified}}{{.}} DESC NULLS LAST, {{end}}_run DESC) AS _latest
    FROM versions
), candidates AS (
{{.Candidates}}
)
SELECT
    {{.Columns.Lines "candidates."}}
FROM candidates LEFT JOIN latest ON {{range $i, $key := .Keys}}{{if $i}} AND {{end}}candidates.{{$key}} = latest.{{$key}}{{end}}
WHERE candidates._run = coalesce(latest._latest, candidates._run)
    OR {{range $i, $key := .Incomplete}}{{if $i}} OR {{end}}{{$key}}{{end}}
