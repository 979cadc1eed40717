{{- /* An update ends one version and begins another with the same key. Rows of child tables have no identity, so they are
never updated. A version that has changed is deleted if a purge has removed the next one. */ -}}
{{define "numbered"}}{{/* Several rows may have one key. They are matched in their order. */}}(
    SELECT *, row_number() OVER (PARTITION BY {{.Keys.List}}, {{.At}} ORDER BY {{.Columns.List " NULLS FIRST"}}) AS _number FROM {{.Versions}}
){{end -}}
SELECT
    after.valid_from AS day,
    CASE WHEN before.valid_to IS NULL THEN 'insert' ELSE 'update' END AS change,
    before.ended_because AS because,
    {{.Columns.Lines "after."}},
    CASE WHEN before.valid_to IS NOT NULL THEN {{.Before}} END AS before
FROM {{if .Repeats}}{{template "numbered" (.In "valid_from, NULL")}}{{else}}{{.Versions}}{{end}} AS after LEFT JOIN
{{- " "}}{{if .Repeats}}{{template "numbered" (.In "valid_to, ended_because")}}{{else}}{{.Versions}}{{end}} AS before ON
{{- " "}}{{if .Child}}false{{else}}before.valid_to = after.valid_from AND before.ended_because = 'changed'
{{- range .Keys}} AND before.{{.}} = after.{{.}}{{end}}{{if .Repeats}} AND before._number = after._number{{end}}{{end}}
{{- if .Since}}
WHERE after.valid_from >= DATE '{{.Since}}'{{end}}
UNION ALL
SELECT
    valid_to,
    'delete',
    ended_because,
    {{.Columns.Lines "after."}},
    NULL
FROM {{if .Child}}{{.Versions}} AS after
WHERE valid_to < DATE '9999-12-31'
{{- else}}(
    SELECT * FROM {{.Versions}} WHERE valid_to < DATE '9999-12-31' AND ended_because <> 'changed'
    UNION ALL
    SELECT * FROM {{.Versions}} AS ended WHERE ended_because = 'changed' AND NOT EXISTS (
        SELECT 1 FROM {{.Versions}} AS next WHERE next.valid_from = ended.valid_to{{range .Keys}} AND next.{{.}} = ended.{{.}}{{end}}
    )
) AS after{{end}}
