WITH enrolled AS (
    -- The newest enrollment of each student in each school.
    SELECT
        *,
        row_number() OVER (
            PARTITION BY requested_school_bid, student_bid
            ORDER BY
                begin_date DESC NULLS LAST,
                modified_date_time DESC NULLS LAST,
                requested_perspective_bid,
                student_school_association_bid NULLS LAST
        ) AS number
    FROM {{table "student_school_associations"}}
    WHERE student_bid <> ''
),
details AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY requested_student_bid ORDER BY {{if history}}valid_from DESC, {{end}}requested_school_bid) AS number
    FROM {{table "student_details"}}
),
numbered AS (
    SELECT
        students.requested_school_bid AS school_bid,
        students.student_bid,
        students.student_id,
        enrolled.state_student_id,
        enrolled.district_student_id,
        coalesce(students.first_name, enrolled.first_name) AS first_name,
        enrolled.middle_name,
        coalesce(students.last_name, enrolled.last_name) AS last_name,
        enrolled.date_of_birth,
        enrolled.grade,
        count(*) OVER (PARTITION BY students.student_bid) AS schools,
        {{template "school_read"}} AS school_read,
        row_number() OVER (
            PARTITION BY students.student_bid
            ORDER BY {{template "read_first"}}enrolled.begin_date DESC NULLS LAST, students.requested_school_bid
        ) AS number
    FROM {{table "students"}} AS students
    LEFT JOIN enrolled
        ON enrolled.requested_school_bid = students.requested_school_bid
        AND enrolled.student_bid = students.student_bid
        AND enrolled.number = 1
    {{- if history}}
    LEFT JOIN ({{template "read_now" "students"}}) AS read_now ON read_now.requested_school_bid = students.requested_school_bid
    {{- end}}
    WHERE students.student_bid <> ''
)
SELECT
    numbered.student_bid,
    coalesce(numbered.student_id, details.student_id) AS student_id,
    coalesce(numbered.state_student_id, details.state_student_id) AS state_student_id,
    numbered.district_student_id,
    coalesce(numbered.first_name, details.first_name) AS first_name,
    coalesce(numbered.middle_name, details.middle_name) AS middle_name,
    coalesce(numbered.last_name, details.last_name) AS last_name,
    coalesce(numbered.date_of_birth, details.date_of_birth) AS date_of_birth,
    details.gender,
    details.ethnicity,
    {{member "details._extra" "englishLearner"}} AS english_learner,
    {{member "details._extra" "individualizedPrograms"}} AS individualized_programs,
    coalesce(numbered.grade, details.grade) AS grade,
    {{grade_number "coalesce(numbered.grade, details.grade)"}} AS grade_number,
    numbered.school_bid,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    numbered.schools,
    numbered.school_read
FROM numbered
LEFT JOIN details ON details.requested_student_bid = numbered.student_bid AND details.number = 1
LEFT JOIN {{table "analysis_schools"}} AS schools ON schools.school_bid = numbered.school_bid
WHERE numbered.number = 1
