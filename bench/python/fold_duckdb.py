"""Brings a history of Parquet files to the next snapshot with DuckDB: anti-joins of all columns, one COPY for the versions that
ended and one for those that have not. Arguments: the folder of the nights, the date, and the destination."""

import os
import sys

import duckdb

TABLES = ("test_results", "test_result_norms", "test_result_instructional_areas", "students")
THREADS = 2


def main():
    nights, date, dest = sys.argv[1:]

    db = duckdb.connect(config={"threads": THREADS})
    for table in TABLES:
        current = os.path.join(dest, table, "valid_to=9999-12-31")
        ended = os.path.join(dest, table, "valid_to=" + date)
        following = f"(SELECT *, DATE '{date}' AS valid_from FROM later)"
        files = os.path.join(nights, table, "snapshot_date=" + date, "*.parquet")
        db.execute(f"CREATE OR REPLACE VIEW later AS FROM read_parquet('{files}', hive_partitioning = false)")
        if not os.path.isdir(current):
            os.makedirs(current)
            db.execute(f"COPY {following} TO '{current}/part.parquet' (FORMAT parquet, COMPRESSION zstd)")
            continue
        db.execute(f"CREATE OR REPLACE VIEW earlier AS FROM read_parquet('{current}/part.parquet', hive_partitioning = false)")
        columns = [name for (name,) in db.execute("SELECT column_name FROM (DESCRIBE later)").fetchall()]
        equal = " AND ".join(f'earlier."{name}" IS NOT DISTINCT FROM later."{name}"' for name in columns)
        os.makedirs(ended)
        db.execute(f"COPY (SELECT * FROM earlier ANTI JOIN later ON {equal}) TO '{ended}/part.parquet' (FORMAT parquet, COMPRESSION zstd)")
        db.execute(f"""COPY (
            SELECT * FROM earlier SEMI JOIN later ON {equal}
            UNION ALL SELECT *, DATE '{date}' FROM later ANTI JOIN earlier ON {equal}
        ) TO '{current}/next.parquet' (FORMAT parquet, COMPRESSION zstd)""")
        os.replace(f"{current}/next.parquet", f"{current}/part.parquet")


main()
