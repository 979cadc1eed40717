"""Prints counts and sums of a contestant's history of test results, as JSON, so that contestants can be compared."""

import argparse
import json
import os

import duckdb

SUMS = """SELECT
    count(*) AS versions,
    count(*) FILTER (WHERE ended IS NULL) AS current,
    sum(rit) AS rit,
    sum(hash(test_result_bid || coalesce(term_bid, '') || begun || coalesce(ended::VARCHAR, ''))::HUGEINT) AS spans
FROM ({})"""
OURS = """SELECT *, valid_from AS begun, nullif(valid_to, DATE '9999-12-31') AS ended
FROM read_parquet('{}/test_results/**/*.parquet', hive_types = {{valid_to: DATE}})"""
DLT = "SELECT *, _dlt_valid_from::DATE AS begun, _dlt_valid_to::DATE AS ended FROM history.nights.test_results"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dest", required=True)
    args = parser.parse_args()

    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    query = DLT
    if os.path.exists(os.path.join(args.dest, "history.duckdb")):
        db.execute(f"ATTACH '{args.dest}/history.duckdb' AS history (READ_ONLY)")
    else:
        folder = os.path.join(args.dest, "history")
        query = OURS.format(folder if os.path.isdir(folder) else args.dest)
    result = db.execute(SUMS.format(query))
    names = [column[0] for column in result.description]
    print(json.dumps(dict(zip(names, map(str, result.fetchone())))))


main()
