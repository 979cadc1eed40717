WITH numbered AS (
    SELECT
        classes.*,
        {{template "school_read"}} AS school_read,
        row_number() OVER (
            PARTITION BY classes.school_class_bid
            ORDER BY
                {{template "read_first"}}classes.modified_date_time DESC NULLS LAST,
                classes.requested_school_bid,
                classes.requested_perspective_bid
        ) AS number
    FROM {{table "school_classes"}} AS classes
    {{- if history}}
    LEFT JOIN ({{template "read_now" "school_classes"}}) AS read_now ON read_now.requested_school_bid = classes.requested_school_bid
    {{- end}}
    WHERE school_class_bid <> ''
),
perspectives AS (
    SELECT school_class_bid, count(DISTINCT requested_perspective_bid) AS perspectives
    FROM {{table "school_classes"}}
    GROUP BY school_class_bid
),
{{template "members"}},
students AS (
    SELECT school_class_bid, count(DISTINCT student_bid) AS students
    FROM members
    WHERE student_bid <> ''
    GROUP BY school_class_bid
),
educators AS (
    SELECT
        school_class_bid,
        count(DISTINCT educator_bid) AS educators,
        {{joined "nullif(trim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')), '')"}} AS teachers
    FROM {{table "school_class_educators"}}
    WHERE educator_bid <> ''
    GROUP BY school_class_bid
)
SELECT
    numbered.school_class_bid,
    numbered.class_name,
    numbered.class_subject,
    numbered.begin_date,
    numbered.end_date,
    numbered.requested_school_bid AS school_bid,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    coalesce(students.students, 0) AS students,
    coalesce(educators.educators, 0) AS educators,
    educators.teachers,
    perspectives.perspectives,
    numbered.school_read
FROM numbered
LEFT JOIN perspectives ON perspectives.school_class_bid = numbered.school_class_bid
LEFT JOIN students ON students.school_class_bid = numbered.school_class_bid
LEFT JOIN educators ON educators.school_class_bid = numbered.school_class_bid
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = numbered.requested_school_bid
WHERE numbered.number = 1
