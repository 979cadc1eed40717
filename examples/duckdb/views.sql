-- A view for every table, over the latest snapshot of a destination. In the duckdb shell, from the root of the repository:
--
--   SET VARIABLE dest = './growth-data';     -- or s3://bucket/prefix, after INSTALL httpfs and CREATE SECRET
--   .read examples/duckdb/views.sql
--   FROM test_results LIMIT 10;
--
-- From Python: con.execute("SET VARIABLE dest = ..."), then con.execute(open("examples/duckdb/views.sql").read()).
--
-- The views read exactly the files listed in the manifest: one whole run, even while another is being published. They are
-- temporary and pinned to that run; run this file again to see a later one. Querying a table that the run did not export
-- is an error that says so.

-- The file at a path of the destination. DuckDB takes a path for a pattern, so special characters of the destination are in
-- brackets.
CREATE OR REPLACE TEMP MACRO growth_path(path) AS
    regexp_replace(rtrim(coalesce(getvariable('dest'), './growth-data'), '/'), '([*?\[])', '[\1]', 'g') || '/' || path;

-- A JSON document of the destination. DuckDB would silently read nothing from a missing file.
CREATE OR REPLACE TEMP MACRO growth_document(path) AS
    coalesce((SELECT content FROM read_text(growth_path(path))), error('no file ' || growth_path(path)))::JSON;

-- The latest snapshot of all schools and students. Without one, as at the destination of a cohort, the newest snapshot of some.
SET VARIABLE growth_latest = coalesce(
    (SELECT content FROM read_text(growth_path('_latest.json'))),
    (SELECT content FROM read_text(growth_path('_snapshots/*.json')) ORDER BY filename DESC LIMIT 1),
    error('no snapshot at ' || growth_path('')))::JSON;
SET VARIABLE growth_manifest = growth_document(getvariable('growth_latest')->>'manifest');

-- The files of a table, as the manifest lists them.
CREATE OR REPLACE TEMP MACRO growth_files(name) AS
    [growth_path(path) FOR path IN getvariable('growth_manifest')->>('$.tables."' || name || '".files[*].path')];

-- The rows of a table. The district (--partition-by district) is text even if it looks like a number or a date. The date is cast
-- because DuckDB 1.5 fails on min and max of a partition column that is read from one file.
CREATE OR REPLACE TEMP MACRO growth_table(name) AS TABLE FROM query(
    CASE WHEN growth_files(name) = [] THEN
        'SELECT NULL AS not_exported WHERE error(''the latest snapshot has no table ' || name || ': see run --datasets'')'
    ELSE
        'SELECT * REPLACE (CAST(snapshot_date AS DATE) AS snapshot_date)
        FROM read_parquet(growth_files(''' || name || '''), hive_partitioning = true, hive_types_autocast = false)'
    END);

-- The outcome of every school and dataset: ok, denied or failed.
CREATE OR REPLACE TEMP VIEW ledger AS
    FROM read_parquet(growth_path(getvariable('growth_manifest')->>'$.ledger.path'), hive_partitioning = false);

CREATE OR REPLACE TEMP VIEW districts AS FROM growth_table('districts');
CREATE OR REPLACE TEMP VIEW schools AS FROM growth_table('schools');
CREATE OR REPLACE TEMP VIEW district_schools AS FROM growth_table('district_schools');
CREATE OR REPLACE TEMP VIEW students AS FROM growth_table('students');
CREATE OR REPLACE TEMP VIEW student_details AS FROM growth_table('student_details');
CREATE OR REPLACE TEMP VIEW test_results AS FROM growth_table('test_results');
CREATE OR REPLACE TEMP VIEW test_result_norms AS FROM growth_table('test_result_norms');
CREATE OR REPLACE TEMP VIEW test_result_instructional_areas AS FROM growth_table('test_result_instructional_areas');
CREATE OR REPLACE TEMP VIEW academic_years AS FROM growth_table('academic_years');
CREATE OR REPLACE TEMP VIEW enrollment_sessions AS FROM growth_table('enrollment_sessions');
CREATE OR REPLACE TEMP VIEW student_school_associations AS FROM growth_table('student_school_associations');
CREATE OR REPLACE TEMP VIEW school_classes AS FROM growth_table('school_classes');
CREATE OR REPLACE TEMP VIEW school_class_educators AS FROM growth_table('school_class_educators');
CREATE OR REPLACE TEMP VIEW school_class_students AS FROM growth_table('school_class_students');
CREATE OR REPLACE TEMP VIEW school_class_details AS FROM growth_table('school_class_details');
CREATE OR REPLACE TEMP VIEW student_school_classes AS FROM growth_table('student_school_classes');
CREATE OR REPLACE TEMP VIEW educator_school_classes AS FROM growth_table('educator_school_classes');
CREATE OR REPLACE TEMP VIEW educator_school_associations AS FROM growth_table('educator_school_associations');
CREATE OR REPLACE TEMP VIEW educator_school_association_details AS FROM growth_table('educator_school_association_details');
