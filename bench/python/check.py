"""Prints counts and sums of the tables that a contestant wrote, as JSON, so that contestants can be compared.

Sums of hashes do not depend on the order of rows.
"""

import argparse
import json
import os

import duckdb

SUMS = {
    "test_results": {
        "rows": "count(*)",
        "rit": "sum(rit)",
        "duration": "sum(duration)",
        "student_bid": "sum(hash(student_bid)::HUGEINT)",
        "texts": "sum(hash(test_result_bid || subject_area || grade || test_name || term_bid || school_bid)::HUGEINT)",
        "times": "sum(epoch_ms(administration_start_date_time) + epoch_ms(administration_end_date_time)"
        " + epoch_ms(modified_date_time))",
        "doubles": "sum(round(10 * (standard_error + response_disengaged_percentage + impact_of_disengagement)))::BIGINT",
        "lexile": "sum(hash({lexile})::HUGEINT)",
        "quantile": "sum(hash({quantile})::HUGEINT)",
    },
    "test_result_norms": {
        "rows": "count(*)",
        "percentile": "sum(percentile)",
        "ordinal": "sum({ordinal})",
        "texts": "sum(hash(reference || type)::HUGEINT)",
    },
    "test_result_instructional_areas": {
        "rows": "count(*)",
        "score": "sum(round(10 * score)::BIGINT)",
        "doubles": "sum(round(10 * (standard_error + score_low + score_high)))::BIGINT",
        "ordinal": "sum({ordinal})",
        "texts": "sum(hash(instructional_area_bid || instructional_area_name)::HUGEINT)",
    },
}

# How dlt names what others call differently.
OURS = {"lexile": "lexile_score || lexile_range || lexile_min || lexile_max",
        "quantile": "quantile_score || quantile_range || quantile_minimum || quantile_maximum || quantile_original",
        "ordinal": "ordinal"}
DLT = {"lexile": "lexile__score || lexile__range || lexile__min || lexile__max",
       "quantile": "quantile__score || quantile__range || quantile__minimum || quantile__maximum || quantile__original",
       "ordinal": "_dlt_list_idx"}
DLT_TABLES = {"test_result_norms": "test_results__norms",
              "test_result_instructional_areas": "test_results__instructional_areas"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dest", required=True)
    args = parser.parse_args()

    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    is_dlt = os.path.isdir(os.path.join(args.dest, "pages"))
    totals = {}
    for table, sums in SUMS.items():
        folder = os.path.join(args.dest, "pages", DLT_TABLES.get(table, table)) if is_dlt else os.path.join(args.dest, table)
        columns = ", ".join(sums.values()).format(**(DLT if is_dlt else OURS))
        row = db.execute(f"SELECT {columns} FROM read_parquet('{folder}/**/*.parquet')").fetchone()
        totals |= {f"{table}.{name}": str(value) for name, value in zip(sums, row)}
    print(json.dumps(totals))


main()
