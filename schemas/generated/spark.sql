-- Tables of growth-export for Spark. Generated from the declarations in schemas: edit those.
--
-- The tables are external: Spark reads the files of a destination and never deletes them. Set the destination, run this
-- file, and add the new partitions after every run:
--   SET dest = s3a://bucket/prefix;
--   MSCK REPAIR TABLE <table>;
-- Spark treats every column of a Parquet file as nullable; comments mark the columns that are never null. _extra is text
-- that holds valid JSON: get_json_object(_extra, '$.member'). The comment above each table is its schema for
-- spark.read.schema. In a destination written with --partition-by district, the tables of per-school datasets have a
-- second partition column, district STRING: add it as the last column and to PARTITIONED BY.
-- Spark up to 3.5 fails on dates before 1900, which a wrong record may hold, unless the session has
--   SET spark.sql.parquet.datetimeRebaseModeInRead = CORRECTED;

-- district_bid STRING, district_name STRING, _extra STRING, snapshot_date DATE
CREATE TABLE `districts` (
    `district_bid` STRING COMMENT 'Identifier of the district, which is also its perspective-bid. Specification 4.2. Part of the key.',
    `district_name` STRING COMMENT 'Name of the district. Observed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per district.'
LOCATION '${dest}/districts';

-- school_bid STRING, name STRING, district_bid STRING, _extra STRING, snapshot_date DATE
CREATE TABLE `schools` (
    `school_bid` STRING COMMENT 'Identifier of the school. Specification 4.1. Part of the key.',
    `name` STRING COMMENT 'Name of the school. Specification 4.1.',
    `district_bid` STRING COMMENT 'District of the school. Specification 4.1.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per school, including schools without an identifier.'
LOCATION '${dest}/schools';

-- requested_district_bid STRING, school_bid STRING, name STRING, district_bid STRING, _extra STRING, snapshot_date DATE
CREATE TABLE `district_schools` (
    `requested_district_bid` STRING COMMENT 'Requested district. Specification 4.3. Part of the key, never null.',
    `school_bid` STRING COMMENT 'Identifier of the school. Specification 4.3. Part of the key.',
    `name` STRING COMMENT 'Name of the school. Observed.',
    `district_bid` STRING COMMENT 'District of the school. Observed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per district and school of its list.'
LOCATION '${dest}/district_schools';

-- requested_school_bid STRING, student_bid STRING, student_id STRING, first_name STRING, last_name STRING, _extra STRING, snapshot_date DATE
CREATE TABLE `students` (
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.4. Part of the key, never null.',
    `student_bid` STRING COMMENT 'Identifier of the student; it may be missing. Observed. Part of the key.',
    `student_id` STRING COMMENT 'The student\'s own id, which the enrollment operations call state-student-id. Specification 4.4.',
    `first_name` STRING COMMENT 'First name of the student. Observed.',
    `last_name` STRING COMMENT 'Last name of the student. Observed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per school and student; a student of several schools has several rows.'
LOCATION '${dest}/students';

-- requested_school_bid STRING, requested_student_bid STRING, student_bid STRING, student_id STRING, state_student_id STRING, district_bid STRING, school_bid STRING, first_name STRING, middle_name STRING, last_name STRING, date_of_birth DATE, gender STRING, ethnicity STRING, ethnicity_custom STRING, grade STRING, grade_custom STRING, _extra STRING, snapshot_date DATE
CREATE TABLE `student_details` (
    `requested_school_bid` STRING COMMENT 'School whose list of students has the student. Specification 4.4. Part of the key, never null.',
    `requested_student_bid` STRING COMMENT 'Requested student. Specification 4.5. Part of the key, never null.',
    `student_bid` STRING COMMENT 'Identifier of the student. Observed.',
    `student_id` STRING COMMENT 'The student\'s own id, which the enrollment operations call state-student-id. Observed.',
    `state_student_id` STRING COMMENT 'The student\'s id with the state. Observed.',
    `district_bid` STRING COMMENT 'District of the student. Observed.',
    `school_bid` STRING COMMENT 'School of the student, which may differ from the requested one. Observed.',
    `first_name` STRING COMMENT 'First name of the student. Observed.',
    `middle_name` STRING COMMENT 'Middle name of the student. Observed.',
    `last_name` STRING COMMENT 'Last name of the student. Observed.',
    `date_of_birth` DATE COMMENT 'Date of birth of the student. Observed.',
    `gender` STRING COMMENT 'Gender of the student. Observed.',
    `ethnicity` STRING COMMENT 'Ethnicity of the student. Observed.',
    `ethnicity_custom` STRING COMMENT 'Ethnicity of the student in the district\'s own words. Observed.',
    `grade` STRING COMMENT 'Grade of the student, as text. Observed.',
    `grade_custom` STRING COMMENT 'Grade of the student in the district\'s own words. Observed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type, including personalNeedsProfile, englishLearner, individualizedPrograms; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per school and student of its list.'
LOCATION '${dest}/student_details';

-- requested_school_bid STRING, test_result_bid STRING, student_bid STRING, school_bid STRING, term_bid STRING, subject_area STRING, grade STRING, test_name STRING, test_key STRING, test_type STRING, growth_event_yn BOOLEAN, duration BIGINT, status STRING, rit INT, standard_error DOUBLE, rit_score_high INT, rit_score_low INT, items_shown INT, items_correct INT, items_total INT, response_disengaged_percentage DOUBLE, impact_of_disengagement DOUBLE, administration_start_date_time TIMESTAMP, administration_end_date_time TIMESTAMP, modified_date_time TIMESTAMP, lexile_score STRING, lexile_range STRING, lexile_min STRING, lexile_max STRING, quantile_score STRING, quantile_range STRING, quantile_minimum STRING, quantile_maximum STRING, quantile_original STRING, _extra STRING, snapshot_date DATE
CREATE TABLE `test_results` (
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.6. Part of the key, never null.',
    `test_result_bid` STRING COMMENT 'Identifier of the result. Specification 4.6. Part of the key.',
    `student_bid` STRING COMMENT 'Student who took the test. Specification 4.6.',
    `school_bid` STRING COMMENT 'School of the result; it may differ from the requested one, since results follow the student. Specification 4.6.',
    `term_bid` STRING COMMENT 'Term of the test; enrollment_sessions has its name (description) and dates (begin_date, end_date). Specification 4.6. Observed: an enrollment_session_bid.',
    `subject_area` STRING COMMENT 'Subject of the test. Specification 4.6.',
    `grade` STRING COMMENT 'Grade of the student, as text. Specification 4.6.',
    `test_name` STRING COMMENT 'Name of the test. Specification 4.6.',
    `test_key` STRING COMMENT 'Key of the test. Specification 4.6.',
    `test_type` STRING COMMENT 'Type of the test; the values are not documented. Specification 4.6.',
    `growth_event_yn` BOOLEAN COMMENT 'Whether the result counts as the growth event; it may change after a retest. Specification 4.6.',
    `duration` BIGINT COMMENT 'How long the test took. Specification 4.6, without a unit. Observed: most likely milliseconds.',
    `status` STRING COMMENT 'Status of the result, such as COMPLETED. Specification 4.6.',
    `rit` INT COMMENT 'Score of the test, in RIT. Specification 4.6.',
    `standard_error` DOUBLE COMMENT 'Standard error of the score, in RIT. Specification 4.6.',
    `rit_score_high` INT COMMENT 'Upper end of the score\'s range, in RIT. Specification 4.6. Observed: score plus one standard error.',
    `rit_score_low` INT COMMENT 'Lower end of the score\'s range, in RIT. Specification 4.6. Observed: score minus one standard error.',
    `items_shown` INT COMMENT 'Number of items shown. Specification 4.6.',
    `items_correct` INT COMMENT 'Number of items answered correctly. Specification 4.6.',
    `items_total` INT COMMENT 'Number of items in total. Specification 4.6.',
    `response_disengaged_percentage` DOUBLE COMMENT 'Share of responses given while disengaged, in percent. Specification 4.6.',
    `impact_of_disengagement` DOUBLE COMMENT 'Estimated impact of disengagement on the score; the unit is not documented. Specification 4.6.',
    `administration_start_date_time` TIMESTAMP COMMENT 'When the test began, UTC. Specification 4.6.',
    `administration_end_date_time` TIMESTAMP COMMENT 'When the test ended, UTC. Specification 4.6.',
    `modified_date_time` TIMESTAMP COMMENT 'When the result was last modified, UTC. Specification 4.6.',
    `lexile_score` STRING COMMENT 'Lexile measure, as text such as 690L. Observed.',
    `lexile_range` STRING COMMENT 'Lexile range, as text. Observed.',
    `lexile_min` STRING COMMENT 'Lower end of the Lexile range, as text. Observed.',
    `lexile_max` STRING COMMENT 'Upper end of the Lexile range, as text. Observed.',
    `quantile_score` STRING COMMENT 'Quantile measure, as text. Observed.',
    `quantile_range` STRING COMMENT 'Quantile range, as text. Observed.',
    `quantile_minimum` STRING COMMENT 'Lower end of the Quantile range, as text. Observed.',
    `quantile_maximum` STRING COMMENT 'Upper end of the Quantile range, as text. Observed.',
    `quantile_original` STRING COMMENT 'Quantile measure before any adjustment, as text; the meaning is read from its name. Observed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type, including accommodations; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per test result. The service leaves out members without a value; here they are null.'
LOCATION '${dest}/test_results';

-- requested_school_bid STRING, test_result_bid STRING, ordinal INT, percentile INT, reference STRING, type STRING, _extra STRING, snapshot_date DATE
CREATE TABLE `test_result_norms` (
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.6. Part of the key, never null.',
    `test_result_bid` STRING COMMENT 'Test result that the norm belongs to. Specification 4.6. Part of the key.',
    `ordinal` INT COMMENT 'Position of the element in the record\'s norms, counted from 0. Part of the key, never null.',
    `percentile` INT COMMENT 'Percentile of the result within the norm. Specification 4.6.',
    `reference` STRING COMMENT 'Edition of the norm; the values are not documented. Specification 4.6. Observed: a year such as 2020.',
    `type` STRING COMMENT 'Type of the norm, such as achievement. Specification 4.6.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per norm that a test result is compared with.'
LOCATION '${dest}/test_result_norms';

-- requested_school_bid STRING, test_result_bid STRING, ordinal INT, instructional_area_bid STRING, instructional_area_name STRING, score DOUBLE, standard_error DOUBLE, score_low DOUBLE, score_high DOUBLE, _extra STRING, snapshot_date DATE
CREATE TABLE `test_result_instructional_areas` (
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.6. Part of the key, never null.',
    `test_result_bid` STRING COMMENT 'Test result that the area belongs to. Specification 4.6. Part of the key.',
    `ordinal` INT COMMENT 'Position of the element in the record\'s instructionalAreas, counted from 0. Part of the key, never null.',
    `instructional_area_bid` STRING COMMENT 'Identifier of the instructional area. Specification 4.6.',
    `instructional_area_name` STRING COMMENT 'Name of the instructional area. Specification 4.6.',
    `score` DOUBLE COMMENT 'Score within the area; the unit is not documented. Specification 4.6.',
    `standard_error` DOUBLE COMMENT 'Standard error of the area\'s score, in its unit. Specification 4.6.',
    `score_low` DOUBLE COMMENT 'Lower end of the area score\'s range, in its unit. Specification 4.6.',
    `score_high` DOUBLE COMMENT 'Upper end of the area score\'s range, in its unit. Specification 4.6.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per instructional area of a test result.'
LOCATION '${dest}/test_result_instructional_areas';

-- requested_perspective_bid STRING, requested_school_bid STRING, academic_year_bid STRING, perspective_bid STRING, school_bid STRING, begin_date DATE, end_date DATE, description STRING, modified_date_time TIMESTAMP, _extra STRING, snapshot_date DATE
CREATE TABLE `academic_years` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.7. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.7. Part of the key, never null.',
    `academic_year_bid` STRING COMMENT 'Identifier of the academic year. Specification 4.7. Part of the key.',
    `perspective_bid` STRING COMMENT 'Perspective of the record. Specification 4.7.',
    `school_bid` STRING COMMENT 'School of the academic year. Specification 4.7.',
    `begin_date` DATE COMMENT 'First day of the academic year. Specification 4.7.',
    `end_date` DATE COMMENT 'Last day of the academic year. Specification 4.7.',
    `description` STRING COMMENT 'Name of the academic year. Specification 4.7.',
    `modified_date_time` TIMESTAMP COMMENT 'When the academic year was last modified, UTC. Specification 4.7.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per perspective, school and academic year.'
LOCATION '${dest}/academic_years';

-- requested_perspective_bid STRING, requested_school_bid STRING, academic_year_bid STRING, ordinal INT, enrollment_session_bid STRING, description STRING, begin_date DATE, end_date DATE, _extra STRING, snapshot_date DATE
CREATE TABLE `enrollment_sessions` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.7. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.7. Part of the key, never null.',
    `academic_year_bid` STRING COMMENT 'Academic year that the session belongs to. Specification 4.7. Part of the key.',
    `ordinal` INT COMMENT 'Position of the element in the record\'s enrollmentSessions, counted from 0. Part of the key, never null.',
    `enrollment_session_bid` STRING COMMENT 'Identifier of the session. Specification 4.7. Observed: the term_bid of test_results.',
    `description` STRING COMMENT 'Name of the session. Specification 4.7.',
    `begin_date` DATE COMMENT 'First day of the session. Specification 4.7.',
    `end_date` DATE COMMENT 'Last day of the session. Specification 4.7.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per enrollment session (term) of an academic year.'
LOCATION '${dest}/enrollment_sessions';

-- requested_perspective_bid STRING, requested_school_bid STRING, student_school_association_bid STRING, student_bid STRING, perspective_bid STRING, school_bid STRING, district_student_id STRING, state_student_id STRING, grade STRING, first_name STRING, middle_name STRING, last_name STRING, date_of_birth DATE, begin_date DATE, end_date DATE, modified_date_time TIMESTAMP, _extra STRING, snapshot_date DATE
CREATE TABLE `student_school_associations` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.8. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.8. Part of the key, never null.',
    `student_school_association_bid` STRING COMMENT 'Identifier of the association. Specification 4.8. Part of the key.',
    `student_bid` STRING COMMENT 'Student of the association. Observed.',
    `perspective_bid` STRING COMMENT 'Perspective of the record. Observed.',
    `school_bid` STRING COMMENT 'School of the association. Observed.',
    `district_student_id` STRING COMMENT 'The student\'s id with the district. Observed.',
    `state_student_id` STRING COMMENT 'The student\'s id with the state: the student_id of students. Presumed.',
    `grade` STRING COMMENT 'Grade of the student, as text. Observed.',
    `first_name` STRING COMMENT 'First name of the student. Observed.',
    `middle_name` STRING COMMENT 'Middle name of the student. Observed.',
    `last_name` STRING COMMENT 'Last name of the student. Observed.',
    `date_of_birth` DATE COMMENT 'Date of birth of the student. Observed.',
    `begin_date` DATE COMMENT 'First day of the association. Observed.',
    `end_date` DATE COMMENT 'Last day of the association. Observed.',
    `modified_date_time` TIMESTAMP COMMENT 'When the association was last modified, UTC. Observed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per perspective, school and association. Observed: about one association per student and term.'
LOCATION '${dest}/student_school_associations';

-- requested_perspective_bid STRING, requested_school_bid STRING, school_class_bid STRING, class_name STRING, perspective_bid STRING, school_bid STRING, begin_date DATE, end_date DATE, class_subject STRING, modified_date_time TIMESTAMP, _extra STRING, snapshot_date DATE
CREATE TABLE `school_classes` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.9. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.9. Part of the key, never null.',
    `school_class_bid` STRING COMMENT 'Identifier of the class. Specification 4.9. Part of the key.',
    `class_name` STRING COMMENT 'Name of the class. Specification 4.9.',
    `perspective_bid` STRING COMMENT 'Perspective of the record. Specification 4.9.',
    `school_bid` STRING COMMENT 'School of the class. Specification 4.9.',
    `begin_date` DATE COMMENT 'First day of the class. Specification 4.9.',
    `end_date` DATE COMMENT 'Last day of the class. Specification 4.9.',
    `class_subject` STRING COMMENT 'Subject of the class. Specification 4.9.',
    `modified_date_time` TIMESTAMP COMMENT 'When the class was last modified, UTC. Specification 4.9.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per perspective, school and class.'
LOCATION '${dest}/school_classes';

-- requested_perspective_bid STRING, requested_school_bid STRING, school_class_bid STRING, ordinal INT, educator_bid STRING, first_name STRING, middle_name STRING, last_name STRING, _extra STRING, snapshot_date DATE
CREATE TABLE `school_class_educators` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.9. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.9. Part of the key, never null.',
    `school_class_bid` STRING COMMENT 'Class that the educator teaches. Specification 4.9. Part of the key.',
    `ordinal` INT COMMENT 'Position of the element in the record\'s educators, counted from 0. Part of the key, never null.',
    `educator_bid` STRING COMMENT 'Identifier of the educator. Specification 4.9.',
    `first_name` STRING COMMENT 'First name of the educator. Specification 4.9.',
    `middle_name` STRING COMMENT 'Middle name of the educator. Specification 4.9.',
    `last_name` STRING COMMENT 'Last name of the educator. Specification 4.9.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per educator of a class. An element that is text is the educator\'s identifier.'
LOCATION '${dest}/school_class_educators';

-- requested_perspective_bid STRING, requested_school_bid STRING, school_class_bid STRING, ordinal INT, student_bid STRING, first_name STRING, middle_name STRING, last_name STRING, _extra STRING, snapshot_date DATE
CREATE TABLE `school_class_students` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.9. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.9. Part of the key, never null.',
    `school_class_bid` STRING COMMENT 'Class that the student attends. Specification 4.9. Part of the key.',
    `ordinal` INT COMMENT 'Position of the element in the record\'s students, counted from 0. Part of the key, never null.',
    `student_bid` STRING COMMENT 'Identifier of the student. Presumed.',
    `first_name` STRING COMMENT 'First name of the student. Presumed.',
    `middle_name` STRING COMMENT 'Middle name of the student. Presumed.',
    `last_name` STRING COMMENT 'Last name of the student. Presumed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per student of a class. The specification shows only an empty array: an element that is text is the student\'s identifier, and what else the columns do not take stays in _extra.'
LOCATION '${dest}/school_class_students';

-- requested_perspective_bid STRING, requested_school_bid STRING, requested_school_class_bid STRING, school_class_bid STRING, class_name STRING, perspective_bid STRING, school_bid STRING, begin_date DATE, end_date DATE, class_subject STRING, modified_date_time TIMESTAMP, _extra STRING, snapshot_date DATE
CREATE TABLE `school_class_details` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.10. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'School whose list of classes has the class. Specification 4.9. Part of the key, never null.',
    `requested_school_class_bid` STRING COMMENT 'Requested class. Specification 4.10. Part of the key, never null.',
    `school_class_bid` STRING COMMENT 'Identifier of the class. Presumed.',
    `class_name` STRING COMMENT 'Name of the class. Presumed.',
    `perspective_bid` STRING COMMENT 'Perspective of the record. Presumed.',
    `school_bid` STRING COMMENT 'School of the class. Presumed.',
    `begin_date` DATE COMMENT 'First day of the class. Presumed.',
    `end_date` DATE COMMENT 'Last day of the class. Presumed.',
    `class_subject` STRING COMMENT 'Subject of the class. Presumed.',
    `modified_date_time` TIMESTAMP COMMENT 'When the class was last modified, UTC. Presumed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type, including educators, students; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per perspective, school and class of its list.'
LOCATION '${dest}/school_class_details';

-- requested_perspective_bid STRING, requested_school_bid STRING, requested_student_bid STRING, school_class_bid STRING, student_bid STRING, class_name STRING, class_subject STRING, perspective_bid STRING, school_bid STRING, begin_date DATE, end_date DATE, modified_date_time TIMESTAMP, _extra STRING, snapshot_date DATE
CREATE TABLE `student_school_classes` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.11. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.11. Part of the key, never null.',
    `requested_student_bid` STRING COMMENT 'Requested student. Specification 4.11. Part of the key, never null.',
    `school_class_bid` STRING COMMENT 'Identifier of the class. Presumed. The key may repeat: records that differ in any member are all kept. Part of the key.',
    `student_bid` STRING COMMENT 'Student of the record. Presumed.',
    `class_name` STRING COMMENT 'Name of the class. Presumed.',
    `class_subject` STRING COMMENT 'Subject of the class. Presumed.',
    `perspective_bid` STRING COMMENT 'Perspective of the record. Presumed.',
    `school_bid` STRING COMMENT 'School of the class. Presumed.',
    `begin_date` DATE COMMENT 'First day of the student in the class. Presumed.',
    `end_date` DATE COMMENT 'Last day of the student in the class. Presumed.',
    `modified_date_time` TIMESTAMP COMMENT 'When the record was last modified, UTC. Presumed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per perspective, school, student and class. The specification does not show the record, so only records equal in every member are duplicates.'
LOCATION '${dest}/student_school_classes';

-- requested_perspective_bid STRING, requested_school_bid STRING, requested_educator_bid STRING, school_class_bid STRING, educator_bid STRING, class_name STRING, class_subject STRING, perspective_bid STRING, school_bid STRING, begin_date DATE, end_date DATE, modified_date_time TIMESTAMP, _extra STRING, snapshot_date DATE
CREATE TABLE `educator_school_classes` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.12. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.12. Part of the key, never null.',
    `requested_educator_bid` STRING COMMENT 'Requested educator. Specification 4.12. Part of the key, never null.',
    `school_class_bid` STRING COMMENT 'Identifier of the class. Presumed. The key may repeat: records that differ in any member are all kept. Part of the key.',
    `educator_bid` STRING COMMENT 'Educator of the record. Presumed.',
    `class_name` STRING COMMENT 'Name of the class. Presumed.',
    `class_subject` STRING COMMENT 'Subject of the class. Presumed.',
    `perspective_bid` STRING COMMENT 'Perspective of the record. Presumed.',
    `school_bid` STRING COMMENT 'School of the class. Presumed.',
    `begin_date` DATE COMMENT 'First day of the educator in the class. Presumed.',
    `end_date` DATE COMMENT 'Last day of the educator in the class. Presumed.',
    `modified_date_time` TIMESTAMP COMMENT 'When the record was last modified, UTC. Presumed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per perspective, school, educator and class. The specification does not show the record, so only records equal in every member are duplicates.'
LOCATION '${dest}/educator_school_classes';

-- requested_perspective_bid STRING, requested_school_bid STRING, educator_school_association_bid STRING, educator_bid STRING, perspective_bid STRING, school_bid STRING, first_name STRING, middle_name STRING, last_name STRING, begin_date DATE, end_date DATE, modified_date_time TIMESTAMP, _extra STRING, snapshot_date DATE
CREATE TABLE `educator_school_associations` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.13. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'Requested school. Specification 4.13. Part of the key, never null.',
    `educator_school_association_bid` STRING COMMENT 'Identifier of the association. Presumed. Part of the key.',
    `educator_bid` STRING COMMENT 'Educator of the association. Presumed.',
    `perspective_bid` STRING COMMENT 'Perspective of the record. Presumed.',
    `school_bid` STRING COMMENT 'School of the association. Presumed.',
    `first_name` STRING COMMENT 'First name of the educator. Presumed.',
    `middle_name` STRING COMMENT 'Middle name of the educator. Presumed.',
    `last_name` STRING COMMENT 'Last name of the educator. Presumed.',
    `begin_date` DATE COMMENT 'First day of the association. Presumed.',
    `end_date` DATE COMMENT 'Last day of the association. Presumed.',
    `modified_date_time` TIMESTAMP COMMENT 'When the association was last modified, UTC. Presumed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per perspective, school and association.'
LOCATION '${dest}/educator_school_associations';

-- requested_perspective_bid STRING, requested_school_bid STRING, requested_educator_school_association_bid STRING, educator_school_association_bid STRING, educator_bid STRING, perspective_bid STRING, school_bid STRING, first_name STRING, middle_name STRING, last_name STRING, begin_date DATE, end_date DATE, modified_date_time TIMESTAMP, _extra STRING, snapshot_date DATE
CREATE TABLE `educator_school_association_details` (
    `requested_perspective_bid` STRING COMMENT 'Requested perspective. Specification 4.14. Part of the key, never null.',
    `requested_school_bid` STRING COMMENT 'School whose list of associations has the association. Specification 4.13. Part of the key, never null.',
    `requested_educator_school_association_bid` STRING COMMENT 'Requested association. Specification 4.14. Part of the key, never null.',
    `educator_school_association_bid` STRING COMMENT 'Identifier of the association. Presumed.',
    `educator_bid` STRING COMMENT 'Educator of the association. Presumed.',
    `perspective_bid` STRING COMMENT 'Perspective of the record. Presumed.',
    `school_bid` STRING COMMENT 'School of the association. Presumed.',
    `first_name` STRING COMMENT 'First name of the educator. Presumed.',
    `middle_name` STRING COMMENT 'Middle name of the educator. Presumed.',
    `last_name` STRING COMMENT 'Last name of the educator. Presumed.',
    `begin_date` DATE COMMENT 'First day of the association. Presumed.',
    `end_date` DATE COMMENT 'Last day of the association. Presumed.',
    `modified_date_time` TIMESTAMP COMMENT 'When the association was last modified, UTC. Presumed.',
    `_extra` STRING COMMENT 'JSON object of unknown members and of values that do not fit their column\'s type; null if empty.',
    `snapshot_date` DATE COMMENT 'Date of the snapshot, from the name of the folder.'
)
USING parquet
PARTITIONED BY (`snapshot_date`)
COMMENT 'One row per perspective, school and association of its list.'
LOCATION '${dest}/educator_school_association_details';
