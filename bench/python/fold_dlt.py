"""Brings a history in DuckDB to the next snapshot with dlt's merge strategy scd2. Rows are passed as Arrow tables with their
hash, which spares dlt the work of making it. Arguments: the folder of the nights, the date, and the destination."""

import os
import sys

TABLES = ("test_results", "test_result_norms", "test_result_instructional_areas", "students")
THREADS = 2
os.environ.update({"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR", "NORMALIZE__WORKERS": "1"})


def main():
    nights, date, dest = sys.argv[1:]

    import dlt
    import duckdb

    db = duckdb.connect(config={"threads": THREADS})
    db.execute("SET TimeZone = 'UTC'")

    def rows(table):
        files = os.path.join(nights, table, "snapshot_date=" + date, "*.parquet")
        yield db.sql(
            f"SELECT *, md5(t::VARCHAR) AS row_hash FROM read_parquet('{files}', hive_partitioning = false) AS t"
        ).to_arrow_table()

    merge = {
        "disposition": "merge", "strategy": "scd2", "row_version_column_name": "row_hash", "boundary_timestamp": date,
    }
    resources = [dlt.resource(rows(table), name=table, write_disposition=merge) for table in TABLES]
    pipeline = dlt.pipeline(
        "history", pipelines_dir=os.path.join(dest, "_work"), dataset_name="nights",
        destination=dlt.destinations.duckdb(os.path.join(dest, "history.duckdb")))
    pipeline.run(resources).raise_on_failed_jobs()


main()
