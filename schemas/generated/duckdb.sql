-- Tables of growth-export as DuckDB sees them. Generated from the declarations in schemas: edit those.
--
-- Names, types and order equal the result of
--   DESCRIBE SELECT * FROM read_parquet('DEST/<table>/snapshot_date=*/**/*.parquet', hive_partitioning = true);
-- which shows every column of a Parquet file as nullable; comments mark the columns that are never null.
-- To fill a table:
--   INSERT INTO <table> BY NAME SELECT * FROM read_parquet('DEST/<table>/snapshot_date=*/**/*.parquet', hive_partitioning = true);
-- In a destination written with --partition-by district, the tables of per-school datasets have one more column,
-- district, before snapshot_date. Read it with hive_types = {'district': VARCHAR}, since bids are text.
-- _extra is text that holds valid JSON. JSON functions read it directly: _extra->>'$.member'

CREATE TABLE "districts" (
    "district_bid" VARCHAR,
    "district_name" VARCHAR,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "districts" IS 'One row per district.';
COMMENT ON COLUMN "districts"."district_bid" IS 'Identifier of the district, which is also its perspective-bid. Specification 4.2. Part of the key.';
COMMENT ON COLUMN "districts"."district_name" IS 'Name of the district. Observed.';
COMMENT ON COLUMN "districts"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "districts"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "schools" (
    "school_bid" VARCHAR,
    "name" VARCHAR,
    "district_bid" VARCHAR,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "schools" IS 'One row per school, including schools without an identifier.';
COMMENT ON COLUMN "schools"."school_bid" IS 'Identifier of the school. Specification 4.1. Part of the key.';
COMMENT ON COLUMN "schools"."name" IS 'Name of the school. Specification 4.1.';
COMMENT ON COLUMN "schools"."district_bid" IS 'District of the school. Specification 4.1.';
COMMENT ON COLUMN "schools"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "schools"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "district_schools" (
    "requested_district_bid" VARCHAR,
    "school_bid" VARCHAR,
    "name" VARCHAR,
    "district_bid" VARCHAR,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "district_schools" IS 'One row per district and school of its list.';
COMMENT ON COLUMN "district_schools"."requested_district_bid" IS 'Requested district. Specification 4.3. Part of the key, never null.';
COMMENT ON COLUMN "district_schools"."school_bid" IS 'Identifier of the school. Specification 4.3. Part of the key.';
COMMENT ON COLUMN "district_schools"."name" IS 'Name of the school. Observed.';
COMMENT ON COLUMN "district_schools"."district_bid" IS 'District of the school. Observed.';
COMMENT ON COLUMN "district_schools"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "district_schools"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "students" (
    "requested_school_bid" VARCHAR,
    "student_bid" VARCHAR,
    "student_id" VARCHAR,
    "first_name" VARCHAR,
    "last_name" VARCHAR,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "students" IS 'One row per school and student; a student of several schools has several rows.';
COMMENT ON COLUMN "students"."requested_school_bid" IS 'Requested school. Specification 4.4. Part of the key, never null.';
COMMENT ON COLUMN "students"."student_bid" IS 'Identifier of the student; it may be missing. Observed. Part of the key.';
COMMENT ON COLUMN "students"."student_id" IS 'The student''s own id, which the enrollment operations call state-student-id. Specification 4.4.';
COMMENT ON COLUMN "students"."first_name" IS 'First name of the student. Observed.';
COMMENT ON COLUMN "students"."last_name" IS 'Last name of the student. Observed.';
COMMENT ON COLUMN "students"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "students"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "student_details" (
    "requested_school_bid" VARCHAR,
    "requested_student_bid" VARCHAR,
    "student_bid" VARCHAR,
    "student_id" VARCHAR,
    "state_student_id" VARCHAR,
    "district_bid" VARCHAR,
    "school_bid" VARCHAR,
    "first_name" VARCHAR,
    "middle_name" VARCHAR,
    "last_name" VARCHAR,
    "date_of_birth" DATE,
    "gender" VARCHAR,
    "ethnicity" VARCHAR,
    "ethnicity_custom" VARCHAR,
    "grade" VARCHAR,
    "grade_custom" VARCHAR,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "student_details" IS 'One row per school and student of its list.';
COMMENT ON COLUMN "student_details"."requested_school_bid" IS 'School whose list of students has the student. Specification 4.4. Part of the key, never null.';
COMMENT ON COLUMN "student_details"."requested_student_bid" IS 'Requested student. Specification 4.5. Part of the key, never null.';
COMMENT ON COLUMN "student_details"."student_bid" IS 'Identifier of the student. Observed.';
COMMENT ON COLUMN "student_details"."student_id" IS 'The student''s own id, which the enrollment operations call state-student-id. Observed.';
COMMENT ON COLUMN "student_details"."state_student_id" IS 'The student''s id with the state. Observed.';
COMMENT ON COLUMN "student_details"."district_bid" IS 'District of the student. Observed.';
COMMENT ON COLUMN "student_details"."school_bid" IS 'School of the student, which may differ from the requested one. Observed.';
COMMENT ON COLUMN "student_details"."first_name" IS 'First name of the student. Observed.';
COMMENT ON COLUMN "student_details"."middle_name" IS 'Middle name of the student. Observed.';
COMMENT ON COLUMN "student_details"."last_name" IS 'Last name of the student. Observed.';
COMMENT ON COLUMN "student_details"."date_of_birth" IS 'Date of birth of the student. Observed.';
COMMENT ON COLUMN "student_details"."gender" IS 'Gender of the student. Observed.';
COMMENT ON COLUMN "student_details"."ethnicity" IS 'Ethnicity of the student. Observed.';
COMMENT ON COLUMN "student_details"."ethnicity_custom" IS 'Ethnicity of the student in the district''s own words. Observed.';
COMMENT ON COLUMN "student_details"."grade" IS 'Grade of the student, as text. Observed.';
COMMENT ON COLUMN "student_details"."grade_custom" IS 'Grade of the student in the district''s own words. Observed.';
COMMENT ON COLUMN "student_details"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type, including personalNeedsProfile, englishLearner, individualizedPrograms; null if empty.';
COMMENT ON COLUMN "student_details"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "test_results" (
    "requested_school_bid" VARCHAR,
    "test_result_bid" VARCHAR,
    "student_bid" VARCHAR,
    "school_bid" VARCHAR,
    "term_bid" VARCHAR,
    "subject_area" VARCHAR,
    "grade" VARCHAR,
    "test_name" VARCHAR,
    "test_key" VARCHAR,
    "test_type" VARCHAR,
    "growth_event_yn" BOOLEAN,
    "duration" BIGINT,
    "status" VARCHAR,
    "rit" INTEGER,
    "standard_error" DOUBLE,
    "rit_score_high" INTEGER,
    "rit_score_low" INTEGER,
    "items_shown" INTEGER,
    "items_correct" INTEGER,
    "items_total" INTEGER,
    "response_disengaged_percentage" DOUBLE,
    "impact_of_disengagement" DOUBLE,
    "administration_start_date_time" TIMESTAMP WITH TIME ZONE,
    "administration_end_date_time" TIMESTAMP WITH TIME ZONE,
    "modified_date_time" TIMESTAMP WITH TIME ZONE,
    "lexile_score" VARCHAR,
    "lexile_range" VARCHAR,
    "lexile_min" VARCHAR,
    "lexile_max" VARCHAR,
    "quantile_score" VARCHAR,
    "quantile_range" VARCHAR,
    "quantile_minimum" VARCHAR,
    "quantile_maximum" VARCHAR,
    "quantile_original" VARCHAR,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "test_results" IS 'One row per test result. The service leaves out members without a value; here they are null.';
COMMENT ON COLUMN "test_results"."requested_school_bid" IS 'Requested school. Specification 4.6. Part of the key, never null.';
COMMENT ON COLUMN "test_results"."test_result_bid" IS 'Identifier of the result. Specification 4.6. Part of the key.';
COMMENT ON COLUMN "test_results"."student_bid" IS 'Student who took the test. Specification 4.6.';
COMMENT ON COLUMN "test_results"."school_bid" IS 'School of the result; it may differ from the requested one, since results follow the student. Specification 4.6.';
COMMENT ON COLUMN "test_results"."term_bid" IS 'Term of the test; enrollment_sessions has its name (description) and dates (begin_date, end_date). Specification 4.6. Observed: an enrollment_session_bid.';
COMMENT ON COLUMN "test_results"."subject_area" IS 'Subject of the test. Specification 4.6.';
COMMENT ON COLUMN "test_results"."grade" IS 'Grade of the student, as text. Specification 4.6.';
COMMENT ON COLUMN "test_results"."test_name" IS 'Name of the test. Specification 4.6.';
COMMENT ON COLUMN "test_results"."test_key" IS 'Key of the test. Specification 4.6.';
COMMENT ON COLUMN "test_results"."test_type" IS 'Type of the test; the values are not documented. Specification 4.6.';
COMMENT ON COLUMN "test_results"."growth_event_yn" IS 'Whether the result counts as the growth event; it may change after a retest. Specification 4.6.';
COMMENT ON COLUMN "test_results"."duration" IS 'How long the test took. Specification 4.6, without a unit. Observed: most likely milliseconds.';
COMMENT ON COLUMN "test_results"."status" IS 'Status of the result, such as COMPLETED. Specification 4.6.';
COMMENT ON COLUMN "test_results"."rit" IS 'Score of the test, in RIT. Specification 4.6.';
COMMENT ON COLUMN "test_results"."standard_error" IS 'Standard error of the score, in RIT. Specification 4.6.';
COMMENT ON COLUMN "test_results"."rit_score_high" IS 'Upper end of the score''s range, in RIT. Specification 4.6. Observed: score plus one standard error.';
COMMENT ON COLUMN "test_results"."rit_score_low" IS 'Lower end of the score''s range, in RIT. Specification 4.6. Observed: score minus one standard error.';
COMMENT ON COLUMN "test_results"."items_shown" IS 'Number of items shown. Specification 4.6.';
COMMENT ON COLUMN "test_results"."items_correct" IS 'Number of items answered correctly. Specification 4.6.';
COMMENT ON COLUMN "test_results"."items_total" IS 'Number of items in total. Specification 4.6.';
COMMENT ON COLUMN "test_results"."response_disengaged_percentage" IS 'Share of responses given while disengaged, in percent. Specification 4.6.';
COMMENT ON COLUMN "test_results"."impact_of_disengagement" IS 'Estimated impact of disengagement on the score; the unit is not documented. Specification 4.6.';
COMMENT ON COLUMN "test_results"."administration_start_date_time" IS 'When the test began, UTC. Specification 4.6.';
COMMENT ON COLUMN "test_results"."administration_end_date_time" IS 'When the test ended, UTC. Specification 4.6.';
COMMENT ON COLUMN "test_results"."modified_date_time" IS 'When the result was last modified, UTC. Specification 4.6.';
COMMENT ON COLUMN "test_results"."lexile_score" IS 'Lexile measure, as text such as 690L. Observed.';
COMMENT ON COLUMN "test_results"."lexile_range" IS 'Lexile range, as text. Observed.';
COMMENT ON COLUMN "test_results"."lexile_min" IS 'Lower end of the Lexile range, as text. Observed.';
COMMENT ON COLUMN "test_results"."lexile_max" IS 'Upper end of the Lexile range, as text. Observed.';
COMMENT ON COLUMN "test_results"."quantile_score" IS 'Quantile measure, as text. Observed.';
COMMENT ON COLUMN "test_results"."quantile_range" IS 'Quantile range, as text. Observed.';
COMMENT ON COLUMN "test_results"."quantile_minimum" IS 'Lower end of the Quantile range, as text. Observed.';
COMMENT ON COLUMN "test_results"."quantile_maximum" IS 'Upper end of the Quantile range, as text. Observed.';
COMMENT ON COLUMN "test_results"."quantile_original" IS 'Quantile measure before any adjustment, as text; the meaning is read from its name. Observed.';
COMMENT ON COLUMN "test_results"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type, including accommodations; null if empty.';
COMMENT ON COLUMN "test_results"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "test_result_norms" (
    "requested_school_bid" VARCHAR,
    "test_result_bid" VARCHAR,
    "ordinal" INTEGER,
    "percentile" INTEGER,
    "reference" VARCHAR,
    "type" VARCHAR,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "test_result_norms" IS 'One row per norm that a test result is compared with.';
COMMENT ON COLUMN "test_result_norms"."requested_school_bid" IS 'Requested school. Specification 4.6. Part of the key, never null.';
COMMENT ON COLUMN "test_result_norms"."test_result_bid" IS 'Test result that the norm belongs to. Specification 4.6. Part of the key.';
COMMENT ON COLUMN "test_result_norms"."ordinal" IS 'Position of the element in the record''s norms, counted from 0. Part of the key, never null.';
COMMENT ON COLUMN "test_result_norms"."percentile" IS 'Percentile of the result within the norm. Specification 4.6.';
COMMENT ON COLUMN "test_result_norms"."reference" IS 'Edition of the norm; the values are not documented. Specification 4.6. Observed: a year such as 2020.';
COMMENT ON COLUMN "test_result_norms"."type" IS 'Type of the norm, such as achievement. Specification 4.6.';
COMMENT ON COLUMN "test_result_norms"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "test_result_norms"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "test_result_instructional_areas" (
    "requested_school_bid" VARCHAR,
    "test_result_bid" VARCHAR,
    "ordinal" INTEGER,
    "instructional_area_bid" VARCHAR,
    "instructional_area_name" VARCHAR,
    "score" DOUBLE,
    "standard_error" DOUBLE,
    "score_low" DOUBLE,
    "score_high" DOUBLE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "test_result_instructional_areas" IS 'One row per instructional area of a test result.';
COMMENT ON COLUMN "test_result_instructional_areas"."requested_school_bid" IS 'Requested school. Specification 4.6. Part of the key, never null.';
COMMENT ON COLUMN "test_result_instructional_areas"."test_result_bid" IS 'Test result that the area belongs to. Specification 4.6. Part of the key.';
COMMENT ON COLUMN "test_result_instructional_areas"."ordinal" IS 'Position of the element in the record''s instructionalAreas, counted from 0. Part of the key, never null.';
COMMENT ON COLUMN "test_result_instructional_areas"."instructional_area_bid" IS 'Identifier of the instructional area. Specification 4.6.';
COMMENT ON COLUMN "test_result_instructional_areas"."instructional_area_name" IS 'Name of the instructional area. Specification 4.6.';
COMMENT ON COLUMN "test_result_instructional_areas"."score" IS 'Score within the area; the unit is not documented. Specification 4.6.';
COMMENT ON COLUMN "test_result_instructional_areas"."standard_error" IS 'Standard error of the area''s score, in its unit. Specification 4.6.';
COMMENT ON COLUMN "test_result_instructional_areas"."score_low" IS 'Lower end of the area score''s range, in its unit. Specification 4.6.';
COMMENT ON COLUMN "test_result_instructional_areas"."score_high" IS 'Upper end of the area score''s range, in its unit. Specification 4.6.';
COMMENT ON COLUMN "test_result_instructional_areas"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "test_result_instructional_areas"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "academic_years" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "academic_year_bid" VARCHAR,
    "perspective_bid" VARCHAR,
    "school_bid" VARCHAR,
    "begin_date" DATE,
    "end_date" DATE,
    "description" VARCHAR,
    "modified_date_time" TIMESTAMP WITH TIME ZONE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "academic_years" IS 'One row per perspective, school and academic year.';
COMMENT ON COLUMN "academic_years"."requested_perspective_bid" IS 'Requested perspective. Specification 4.7. Part of the key, never null.';
COMMENT ON COLUMN "academic_years"."requested_school_bid" IS 'Requested school. Specification 4.7. Part of the key, never null.';
COMMENT ON COLUMN "academic_years"."academic_year_bid" IS 'Identifier of the academic year. Specification 4.7. Part of the key.';
COMMENT ON COLUMN "academic_years"."perspective_bid" IS 'Perspective of the record. Specification 4.7.';
COMMENT ON COLUMN "academic_years"."school_bid" IS 'School of the academic year. Specification 4.7.';
COMMENT ON COLUMN "academic_years"."begin_date" IS 'First day of the academic year. Specification 4.7.';
COMMENT ON COLUMN "academic_years"."end_date" IS 'Last day of the academic year. Specification 4.7.';
COMMENT ON COLUMN "academic_years"."description" IS 'Name of the academic year. Specification 4.7.';
COMMENT ON COLUMN "academic_years"."modified_date_time" IS 'When the academic year was last modified, UTC. Specification 4.7.';
COMMENT ON COLUMN "academic_years"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "academic_years"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "enrollment_sessions" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "academic_year_bid" VARCHAR,
    "ordinal" INTEGER,
    "enrollment_session_bid" VARCHAR,
    "description" VARCHAR,
    "begin_date" DATE,
    "end_date" DATE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "enrollment_sessions" IS 'One row per enrollment session (term) of an academic year.';
COMMENT ON COLUMN "enrollment_sessions"."requested_perspective_bid" IS 'Requested perspective. Specification 4.7. Part of the key, never null.';
COMMENT ON COLUMN "enrollment_sessions"."requested_school_bid" IS 'Requested school. Specification 4.7. Part of the key, never null.';
COMMENT ON COLUMN "enrollment_sessions"."academic_year_bid" IS 'Academic year that the session belongs to. Specification 4.7. Part of the key.';
COMMENT ON COLUMN "enrollment_sessions"."ordinal" IS 'Position of the element in the record''s enrollmentSessions, counted from 0. Part of the key, never null.';
COMMENT ON COLUMN "enrollment_sessions"."enrollment_session_bid" IS 'Identifier of the session. Specification 4.7. Observed: the term_bid of test_results.';
COMMENT ON COLUMN "enrollment_sessions"."description" IS 'Name of the session. Specification 4.7.';
COMMENT ON COLUMN "enrollment_sessions"."begin_date" IS 'First day of the session. Specification 4.7.';
COMMENT ON COLUMN "enrollment_sessions"."end_date" IS 'Last day of the session. Specification 4.7.';
COMMENT ON COLUMN "enrollment_sessions"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "enrollment_sessions"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "student_school_associations" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "student_school_association_bid" VARCHAR,
    "student_bid" VARCHAR,
    "perspective_bid" VARCHAR,
    "school_bid" VARCHAR,
    "district_student_id" VARCHAR,
    "state_student_id" VARCHAR,
    "grade" VARCHAR,
    "first_name" VARCHAR,
    "middle_name" VARCHAR,
    "last_name" VARCHAR,
    "date_of_birth" DATE,
    "begin_date" DATE,
    "end_date" DATE,
    "modified_date_time" TIMESTAMP WITH TIME ZONE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "student_school_associations" IS 'One row per perspective, school and association. Observed: about one association per student and term.';
COMMENT ON COLUMN "student_school_associations"."requested_perspective_bid" IS 'Requested perspective. Specification 4.8. Part of the key, never null.';
COMMENT ON COLUMN "student_school_associations"."requested_school_bid" IS 'Requested school. Specification 4.8. Part of the key, never null.';
COMMENT ON COLUMN "student_school_associations"."student_school_association_bid" IS 'Identifier of the association. Specification 4.8. Part of the key.';
COMMENT ON COLUMN "student_school_associations"."student_bid" IS 'Student of the association. Observed.';
COMMENT ON COLUMN "student_school_associations"."perspective_bid" IS 'Perspective of the record. Observed.';
COMMENT ON COLUMN "student_school_associations"."school_bid" IS 'School of the association. Observed.';
COMMENT ON COLUMN "student_school_associations"."district_student_id" IS 'The student''s id with the district. Observed.';
COMMENT ON COLUMN "student_school_associations"."state_student_id" IS 'The student''s id with the state: the student_id of students. Presumed.';
COMMENT ON COLUMN "student_school_associations"."grade" IS 'Grade of the student, as text. Observed.';
COMMENT ON COLUMN "student_school_associations"."first_name" IS 'First name of the student. Observed.';
COMMENT ON COLUMN "student_school_associations"."middle_name" IS 'Middle name of the student. Observed.';
COMMENT ON COLUMN "student_school_associations"."last_name" IS 'Last name of the student. Observed.';
COMMENT ON COLUMN "student_school_associations"."date_of_birth" IS 'Date of birth of the student. Observed.';
COMMENT ON COLUMN "student_school_associations"."begin_date" IS 'First day of the association. Observed.';
COMMENT ON COLUMN "student_school_associations"."end_date" IS 'Last day of the association. Observed.';
COMMENT ON COLUMN "student_school_associations"."modified_date_time" IS 'When the association was last modified, UTC. Observed.';
COMMENT ON COLUMN "student_school_associations"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "student_school_associations"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "school_classes" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "school_class_bid" VARCHAR,
    "class_name" VARCHAR,
    "perspective_bid" VARCHAR,
    "school_bid" VARCHAR,
    "begin_date" DATE,
    "end_date" DATE,
    "class_subject" VARCHAR,
    "modified_date_time" TIMESTAMP WITH TIME ZONE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "school_classes" IS 'One row per perspective, school and class.';
COMMENT ON COLUMN "school_classes"."requested_perspective_bid" IS 'Requested perspective. Specification 4.9. Part of the key, never null.';
COMMENT ON COLUMN "school_classes"."requested_school_bid" IS 'Requested school. Specification 4.9. Part of the key, never null.';
COMMENT ON COLUMN "school_classes"."school_class_bid" IS 'Identifier of the class. Specification 4.9. Part of the key.';
COMMENT ON COLUMN "school_classes"."class_name" IS 'Name of the class. Specification 4.9.';
COMMENT ON COLUMN "school_classes"."perspective_bid" IS 'Perspective of the record. Specification 4.9.';
COMMENT ON COLUMN "school_classes"."school_bid" IS 'School of the class. Specification 4.9.';
COMMENT ON COLUMN "school_classes"."begin_date" IS 'First day of the class. Specification 4.9.';
COMMENT ON COLUMN "school_classes"."end_date" IS 'Last day of the class. Specification 4.9.';
COMMENT ON COLUMN "school_classes"."class_subject" IS 'Subject of the class. Specification 4.9.';
COMMENT ON COLUMN "school_classes"."modified_date_time" IS 'When the class was last modified, UTC. Specification 4.9.';
COMMENT ON COLUMN "school_classes"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "school_classes"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "school_class_educators" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "school_class_bid" VARCHAR,
    "ordinal" INTEGER,
    "educator_bid" VARCHAR,
    "first_name" VARCHAR,
    "middle_name" VARCHAR,
    "last_name" VARCHAR,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "school_class_educators" IS 'One row per educator of a class. An element that is text is the educator''s identifier.';
COMMENT ON COLUMN "school_class_educators"."requested_perspective_bid" IS 'Requested perspective. Specification 4.9. Part of the key, never null.';
COMMENT ON COLUMN "school_class_educators"."requested_school_bid" IS 'Requested school. Specification 4.9. Part of the key, never null.';
COMMENT ON COLUMN "school_class_educators"."school_class_bid" IS 'Class that the educator teaches. Specification 4.9. Part of the key.';
COMMENT ON COLUMN "school_class_educators"."ordinal" IS 'Position of the element in the record''s educators, counted from 0. Part of the key, never null.';
COMMENT ON COLUMN "school_class_educators"."educator_bid" IS 'Identifier of the educator. Specification 4.9.';
COMMENT ON COLUMN "school_class_educators"."first_name" IS 'First name of the educator. Specification 4.9.';
COMMENT ON COLUMN "school_class_educators"."middle_name" IS 'Middle name of the educator. Specification 4.9.';
COMMENT ON COLUMN "school_class_educators"."last_name" IS 'Last name of the educator. Specification 4.9.';
COMMENT ON COLUMN "school_class_educators"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "school_class_educators"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "school_class_students" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "school_class_bid" VARCHAR,
    "ordinal" INTEGER,
    "student_bid" VARCHAR,
    "first_name" VARCHAR,
    "middle_name" VARCHAR,
    "last_name" VARCHAR,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "school_class_students" IS 'One row per student of a class. The specification shows only an empty array: an element that is text is the student''s identifier, and what else the columns do not take stays in _extra.';
COMMENT ON COLUMN "school_class_students"."requested_perspective_bid" IS 'Requested perspective. Specification 4.9. Part of the key, never null.';
COMMENT ON COLUMN "school_class_students"."requested_school_bid" IS 'Requested school. Specification 4.9. Part of the key, never null.';
COMMENT ON COLUMN "school_class_students"."school_class_bid" IS 'Class that the student attends. Specification 4.9. Part of the key.';
COMMENT ON COLUMN "school_class_students"."ordinal" IS 'Position of the element in the record''s students, counted from 0. Part of the key, never null.';
COMMENT ON COLUMN "school_class_students"."student_bid" IS 'Identifier of the student. Presumed.';
COMMENT ON COLUMN "school_class_students"."first_name" IS 'First name of the student. Presumed.';
COMMENT ON COLUMN "school_class_students"."middle_name" IS 'Middle name of the student. Presumed.';
COMMENT ON COLUMN "school_class_students"."last_name" IS 'Last name of the student. Presumed.';
COMMENT ON COLUMN "school_class_students"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "school_class_students"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "school_class_details" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "requested_school_class_bid" VARCHAR,
    "school_class_bid" VARCHAR,
    "class_name" VARCHAR,
    "perspective_bid" VARCHAR,
    "school_bid" VARCHAR,
    "begin_date" DATE,
    "end_date" DATE,
    "class_subject" VARCHAR,
    "modified_date_time" TIMESTAMP WITH TIME ZONE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "school_class_details" IS 'One row per perspective, school and class of its list.';
COMMENT ON COLUMN "school_class_details"."requested_perspective_bid" IS 'Requested perspective. Specification 4.10. Part of the key, never null.';
COMMENT ON COLUMN "school_class_details"."requested_school_bid" IS 'School whose list of classes has the class. Specification 4.9. Part of the key, never null.';
COMMENT ON COLUMN "school_class_details"."requested_school_class_bid" IS 'Requested class. Specification 4.10. Part of the key, never null.';
COMMENT ON COLUMN "school_class_details"."school_class_bid" IS 'Identifier of the class. Presumed.';
COMMENT ON COLUMN "school_class_details"."class_name" IS 'Name of the class. Presumed.';
COMMENT ON COLUMN "school_class_details"."perspective_bid" IS 'Perspective of the record. Presumed.';
COMMENT ON COLUMN "school_class_details"."school_bid" IS 'School of the class. Presumed.';
COMMENT ON COLUMN "school_class_details"."begin_date" IS 'First day of the class. Presumed.';
COMMENT ON COLUMN "school_class_details"."end_date" IS 'Last day of the class. Presumed.';
COMMENT ON COLUMN "school_class_details"."class_subject" IS 'Subject of the class. Presumed.';
COMMENT ON COLUMN "school_class_details"."modified_date_time" IS 'When the class was last modified, UTC. Presumed.';
COMMENT ON COLUMN "school_class_details"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type, including educators, students; null if empty.';
COMMENT ON COLUMN "school_class_details"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "student_school_classes" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "requested_student_bid" VARCHAR,
    "school_class_bid" VARCHAR,
    "student_bid" VARCHAR,
    "class_name" VARCHAR,
    "class_subject" VARCHAR,
    "perspective_bid" VARCHAR,
    "school_bid" VARCHAR,
    "begin_date" DATE,
    "end_date" DATE,
    "modified_date_time" TIMESTAMP WITH TIME ZONE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "student_school_classes" IS 'One row per perspective, school, student and class. The specification does not show the record, so only records equal in every member are duplicates.';
COMMENT ON COLUMN "student_school_classes"."requested_perspective_bid" IS 'Requested perspective. Specification 4.11. Part of the key, never null.';
COMMENT ON COLUMN "student_school_classes"."requested_school_bid" IS 'Requested school. Specification 4.11. Part of the key, never null.';
COMMENT ON COLUMN "student_school_classes"."requested_student_bid" IS 'Requested student. Specification 4.11. Part of the key, never null.';
COMMENT ON COLUMN "student_school_classes"."school_class_bid" IS 'Identifier of the class. Presumed. The key may repeat: records that differ in any member are all kept. Part of the key.';
COMMENT ON COLUMN "student_school_classes"."student_bid" IS 'Student of the record. Presumed.';
COMMENT ON COLUMN "student_school_classes"."class_name" IS 'Name of the class. Presumed.';
COMMENT ON COLUMN "student_school_classes"."class_subject" IS 'Subject of the class. Presumed.';
COMMENT ON COLUMN "student_school_classes"."perspective_bid" IS 'Perspective of the record. Presumed.';
COMMENT ON COLUMN "student_school_classes"."school_bid" IS 'School of the class. Presumed.';
COMMENT ON COLUMN "student_school_classes"."begin_date" IS 'First day of the student in the class. Presumed.';
COMMENT ON COLUMN "student_school_classes"."end_date" IS 'Last day of the student in the class. Presumed.';
COMMENT ON COLUMN "student_school_classes"."modified_date_time" IS 'When the record was last modified, UTC. Presumed.';
COMMENT ON COLUMN "student_school_classes"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "student_school_classes"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "educator_school_classes" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "requested_educator_bid" VARCHAR,
    "school_class_bid" VARCHAR,
    "educator_bid" VARCHAR,
    "class_name" VARCHAR,
    "class_subject" VARCHAR,
    "perspective_bid" VARCHAR,
    "school_bid" VARCHAR,
    "begin_date" DATE,
    "end_date" DATE,
    "modified_date_time" TIMESTAMP WITH TIME ZONE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "educator_school_classes" IS 'One row per perspective, school, educator and class. The specification does not show the record, so only records equal in every member are duplicates.';
COMMENT ON COLUMN "educator_school_classes"."requested_perspective_bid" IS 'Requested perspective. Specification 4.12. Part of the key, never null.';
COMMENT ON COLUMN "educator_school_classes"."requested_school_bid" IS 'Requested school. Specification 4.12. Part of the key, never null.';
COMMENT ON COLUMN "educator_school_classes"."requested_educator_bid" IS 'Requested educator. Specification 4.12. Part of the key, never null.';
COMMENT ON COLUMN "educator_school_classes"."school_class_bid" IS 'Identifier of the class. Presumed. The key may repeat: records that differ in any member are all kept. Part of the key.';
COMMENT ON COLUMN "educator_school_classes"."educator_bid" IS 'Educator of the record. Presumed.';
COMMENT ON COLUMN "educator_school_classes"."class_name" IS 'Name of the class. Presumed.';
COMMENT ON COLUMN "educator_school_classes"."class_subject" IS 'Subject of the class. Presumed.';
COMMENT ON COLUMN "educator_school_classes"."perspective_bid" IS 'Perspective of the record. Presumed.';
COMMENT ON COLUMN "educator_school_classes"."school_bid" IS 'School of the class. Presumed.';
COMMENT ON COLUMN "educator_school_classes"."begin_date" IS 'First day of the educator in the class. Presumed.';
COMMENT ON COLUMN "educator_school_classes"."end_date" IS 'Last day of the educator in the class. Presumed.';
COMMENT ON COLUMN "educator_school_classes"."modified_date_time" IS 'When the record was last modified, UTC. Presumed.';
COMMENT ON COLUMN "educator_school_classes"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "educator_school_classes"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "educator_school_associations" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "educator_school_association_bid" VARCHAR,
    "educator_bid" VARCHAR,
    "perspective_bid" VARCHAR,
    "school_bid" VARCHAR,
    "first_name" VARCHAR,
    "middle_name" VARCHAR,
    "last_name" VARCHAR,
    "begin_date" DATE,
    "end_date" DATE,
    "modified_date_time" TIMESTAMP WITH TIME ZONE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "educator_school_associations" IS 'One row per perspective, school and association.';
COMMENT ON COLUMN "educator_school_associations"."requested_perspective_bid" IS 'Requested perspective. Specification 4.13. Part of the key, never null.';
COMMENT ON COLUMN "educator_school_associations"."requested_school_bid" IS 'Requested school. Specification 4.13. Part of the key, never null.';
COMMENT ON COLUMN "educator_school_associations"."educator_school_association_bid" IS 'Identifier of the association. Presumed. Part of the key.';
COMMENT ON COLUMN "educator_school_associations"."educator_bid" IS 'Educator of the association. Presumed.';
COMMENT ON COLUMN "educator_school_associations"."perspective_bid" IS 'Perspective of the record. Presumed.';
COMMENT ON COLUMN "educator_school_associations"."school_bid" IS 'School of the association. Presumed.';
COMMENT ON COLUMN "educator_school_associations"."first_name" IS 'First name of the educator. Presumed.';
COMMENT ON COLUMN "educator_school_associations"."middle_name" IS 'Middle name of the educator. Presumed.';
COMMENT ON COLUMN "educator_school_associations"."last_name" IS 'Last name of the educator. Presumed.';
COMMENT ON COLUMN "educator_school_associations"."begin_date" IS 'First day of the association. Presumed.';
COMMENT ON COLUMN "educator_school_associations"."end_date" IS 'Last day of the association. Presumed.';
COMMENT ON COLUMN "educator_school_associations"."modified_date_time" IS 'When the association was last modified, UTC. Presumed.';
COMMENT ON COLUMN "educator_school_associations"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "educator_school_associations"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';

CREATE TABLE "educator_school_association_details" (
    "requested_perspective_bid" VARCHAR,
    "requested_school_bid" VARCHAR,
    "requested_educator_school_association_bid" VARCHAR,
    "educator_school_association_bid" VARCHAR,
    "educator_bid" VARCHAR,
    "perspective_bid" VARCHAR,
    "school_bid" VARCHAR,
    "first_name" VARCHAR,
    "middle_name" VARCHAR,
    "last_name" VARCHAR,
    "begin_date" DATE,
    "end_date" DATE,
    "modified_date_time" TIMESTAMP WITH TIME ZONE,
    "_extra" VARCHAR,
    "snapshot_date" DATE
);
COMMENT ON TABLE "educator_school_association_details" IS 'One row per perspective, school and association of its list.';
COMMENT ON COLUMN "educator_school_association_details"."requested_perspective_bid" IS 'Requested perspective. Specification 4.14. Part of the key, never null.';
COMMENT ON COLUMN "educator_school_association_details"."requested_school_bid" IS 'School whose list of associations has the association. Specification 4.13. Part of the key, never null.';
COMMENT ON COLUMN "educator_school_association_details"."requested_educator_school_association_bid" IS 'Requested association. Specification 4.14. Part of the key, never null.';
COMMENT ON COLUMN "educator_school_association_details"."educator_school_association_bid" IS 'Identifier of the association. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."educator_bid" IS 'Educator of the association. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."perspective_bid" IS 'Perspective of the record. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."school_bid" IS 'School of the association. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."first_name" IS 'First name of the educator. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."middle_name" IS 'Middle name of the educator. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."last_name" IS 'Last name of the educator. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."begin_date" IS 'First day of the association. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."end_date" IS 'Last day of the association. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."modified_date_time" IS 'When the association was last modified, UTC. Presumed.';
COMMENT ON COLUMN "educator_school_association_details"."_extra" IS 'JSON object of unknown members and of values that do not fit their column''s type; null if empty.';
COMMENT ON COLUMN "educator_school_association_details"."snapshot_date" IS 'Date of the snapshot, from the name of the folder.';
