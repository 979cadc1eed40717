SELECT *
FROM (VALUES
{{range $i, $row := declared}}{{if $i}},
{{end}}    ({{$row}}){{end}}
) AS declared (table_name, column_name, type, part_of_key, class, meaning)
