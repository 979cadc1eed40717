{{- /* The students of each class and perspective, as a common table expression. Builds before 0.1.0 left an element that is
only an identifier in _extra. */ -}}
{{define "members"}}members AS (
    SELECT
        school_class_bid,
        CASE
            WHEN student_bid IS NULL AND _extra LIKE '{"_value":"%"}' THEN substr(_extra, 12, length(_extra) - 13)
            ELSE student_bid
        END AS student_bid,
        requested_perspective_bid,
        {{template "school_read"}} AS school_read
    FROM {{table "school_class_students"}} AS listed
    {{- if history}}
    LEFT JOIN ({{template "read_now" "school_classes"}}) AS read_now ON read_now.requested_school_bid = listed.requested_school_bid
    {{- end}}
){{end}}
