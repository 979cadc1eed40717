"""Brings a history in DuckDB to the next snapshot with dlt's merge strategy scd2. Rows are passed as Arrow tables with their
hash, which spares dlt the work of making it."""

import argparse
import os

TABLES = ("test_results", "test_result_norms", "test_result_instructional_areas", "students")
os.environ.update({"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR", "NORMALIZE__WORKERS": "1"})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nights", required=True)
    parser.add_argument("--date", required=True)
    parser.add_argument("--dest", required=True)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    import dlt
    import duckdb

    db = duckdb.connect(config={"threads": args.threads})
    db.execute("SET TimeZone = 'UTC'")

    def rows(table):
        files = os.path.join(args.nights, table, "snapshot_date=" + args.date, "*.parquet")
        yield db.sql(
            f"SELECT *, md5(t::VARCHAR) AS row_hash FROM read_parquet('{files}', hive_partitioning = false) AS t"
        ).to_arrow_table()

    merge = {
        "disposition": "merge", "strategy": "scd2", "row_version_column_name": "row_hash", "boundary_timestamp": args.date,
    }
    resources = [dlt.resource(rows(table), name=table, write_disposition=merge) for table in TABLES]
    pipeline = dlt.pipeline(
        "history", pipelines_dir=os.path.join(args.dest, "_work"), dataset_name="nights",
        destination=dlt.destinations.duckdb(os.path.join(args.dest, "history.duckdb")))
    pipeline.run(resources).raise_on_failed_jobs()


main()
