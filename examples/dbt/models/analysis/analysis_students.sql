-- Generated from the declarations in schemas: edit those.
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
    FROM {{ ref('stg_growth_export__student_school_associations') }}
    WHERE student_bid <> ''
),
details AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY requested_student_bid ORDER BY requested_school_bid) AS number
    FROM {{ ref('stg_growth_export__student_details') }}
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
        true AS school_read,
        row_number() OVER (
            PARTITION BY students.student_bid
            ORDER BY enrolled.begin_date DESC NULLS LAST, students.requested_school_bid
        ) AS number
    FROM {{ ref('stg_growth_export__students') }} AS students
    LEFT JOIN enrolled
        ON enrolled.requested_school_bid = students.requested_school_bid
        AND enrolled.student_bid = students.student_bid
        AND enrolled.number = 1
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
    {{ growth_export_member('details._extra', 'englishLearner') }} AS english_learner,
    {{ growth_export_member('details._extra', 'individualizedPrograms') }} AS individualized_programs,
    coalesce(numbered.grade, details.grade) AS grade,
    CASE WHEN upper(trim(coalesce(numbered.grade, details.grade))) = 'PK' THEN -1 WHEN upper(trim(coalesce(numbered.grade, details.grade))) = 'K' THEN 0
        WHEN upper(trim(coalesce(numbered.grade, details.grade))) IN ('1', '01', '2', '02', '3', '03', '4', '04', '5', '05', '6', '06', '7', '07', '8', '08', '9', '09', '10', '11', '12') THEN CAST(upper(trim(coalesce(numbered.grade, details.grade))) AS INTEGER) END AS grade_number,
    numbered.school_bid,
    schools.school_name,
    schools.district_bid,
    schools.district_name,
    numbered.schools,
    numbered.school_read
FROM numbered
LEFT JOIN details ON details.requested_student_bid = numbered.student_bid AND details.number = 1
LEFT JOIN {{ ref('analysis_schools') }} AS schools ON schools.school_bid = numbered.school_bid
WHERE numbered.number = 1
