{{- /* The schools of which a dataset was read for the newest snapshot in a history that holds the dataset. Others keep their
last rows. */ -}}
{{define "read_now"}}SELECT requested_school_bid FROM {{table "coverage_versions"}}
        WHERE dataset = '{{.}}' AND status = 'ok'
            AND valid_to = (SELECT max(valid_to) FROM {{table "coverage_versions"}} WHERE dataset = '{{.}}' AND status <> 'absent'){{end}}

{{- /* Whether the school of a row was read, and the sort key that puts such rows first, for a join with read_now. */ -}}
{{define "school_read"}}{{if history}}read_now.requested_school_bid IS NOT NULL{{else}}true{{end}}{{end}}
{{define "read_first"}}{{if history}}CASE WHEN read_now.requested_school_bid IS NULL THEN 1 ELSE 0 END, {{end}}{{end}}
