SELECT * FROM {{.Versions}} WHERE valid_from <= CAST(d AS DATE) AND valid_to > CAST(d AS DATE){{if .Since}} AND CAST(d AS DATE) >= DATE '{{.Since}}'{{end}}
