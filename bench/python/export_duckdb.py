"""Exports page files with DuckDB's best plan for them.

read_json takes ten times as long on pages that are one large object. A temporary table costs less than parsing for each
COPY.
"""

import argparse
import os

import duckdb

STRUCTURE = """{"testResults": [{
    "testResultBid": "VARCHAR", "studentBid": "VARCHAR", "schoolBid": "VARCHAR", "termBid": "VARCHAR",
    "subjectArea": "VARCHAR", "grade": "VARCHAR", "testName": "VARCHAR", "testKey": "VARCHAR", "testType": "VARCHAR",
    "growthEventYn": "BOOLEAN", "duration": "BIGINT", "status": "VARCHAR", "rit": "INTEGER", "standardError": "DOUBLE",
    "ritScoreHigh": "INTEGER", "ritScoreLow": "INTEGER",
    "items": {"shown": "INTEGER", "correct": "INTEGER", "total": "INTEGER"},
    "responseDisengagedPercentage": "DOUBLE", "impactOfDisengagement": "DOUBLE",
    "administrationStartDateTime": "TIMESTAMPTZ", "administrationEndDateTime": "TIMESTAMPTZ",
    "norms": [{"percentile": "INTEGER", "reference": "VARCHAR", "type": "VARCHAR"}],
    "modifiedDateTime": "TIMESTAMPTZ",
    "lexile": {"score": "VARCHAR", "range": "VARCHAR", "min": "VARCHAR", "max": "VARCHAR"},
    "quantile": {"score": "VARCHAR", "range": "VARCHAR", "minimum": "VARCHAR", "maximum": "VARCHAR",
                 "original": "VARCHAR"},
    "instructionalAreas": [{"instructionalAreaBid": "VARCHAR", "instructionalAreaName": "VARCHAR", "score": "DOUBLE",
                            "standardError": "DOUBLE", "scoreLow": "DOUBLE", "scoreHigh": "DOUBLE"}]
}]}"""

TABLES = {
    "test_results": """
        SELECT school AS requested_school_bid, r.testResultBid AS test_result_bid, r.studentBid AS student_bid,
            r.schoolBid AS school_bid, r.termBid AS term_bid, r.subjectArea AS subject_area, r.grade AS grade,
            r.testName AS test_name, r.testKey AS test_key, r.testType AS test_type,
            r.growthEventYn AS growth_event_yn, r.duration AS duration, r.status AS status, r.rit AS rit,
            r.standardError AS standard_error, r.ritScoreHigh AS rit_score_high, r.ritScoreLow AS rit_score_low,
            r."items".shown AS items_shown, r."items".correct AS items_correct, r."items".total AS items_total,
            r.responseDisengagedPercentage AS response_disengaged_percentage,
            r.impactOfDisengagement AS impact_of_disengagement,
            r.administrationStartDateTime AS administration_start_date_time,
            r.administrationEndDateTime AS administration_end_date_time,
            r.modifiedDateTime AS modified_date_time,
            r.lexile.score AS lexile_score, r.lexile."range" AS lexile_range, r.lexile."min" AS lexile_min,
            r.lexile."max" AS lexile_max,
            r.quantile.score AS quantile_score, r.quantile."range" AS quantile_range,
            r.quantile.minimum AS quantile_minimum, r.quantile.maximum AS quantile_maximum,
            r.quantile.original AS quantile_original
        FROM results""",
    "test_result_norms": """
        SELECT school AS requested_school_bid, bid AS test_result_bid, (ordinal - 1)::INTEGER AS ordinal, n.percentile,
            n.reference, n.type
        FROM (SELECT school, r.testResultBid AS bid, unnest(r.norms) AS n, generate_subscripts(r.norms, 1) AS ordinal
              FROM results)""",
    "test_result_instructional_areas": """
        SELECT school AS requested_school_bid, bid AS test_result_bid, (ordinal - 1)::INTEGER AS ordinal,
            a.instructionalAreaBid AS instructional_area_bid, a.instructionalAreaName AS instructional_area_name,
            a.score, a.standardError AS standard_error, a.scoreLow AS score_low, a.scoreHigh AS score_high
        FROM (SELECT school, r.testResultBid AS bid, unnest(r.instructionalAreas) AS a,
                  generate_subscripts(r.instructionalAreas, 1) AS ordinal
              FROM results)""",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", required=True)
    parser.add_argument("--dest", required=True)
    parser.add_argument("--threads", default="1")
    args = parser.parse_args()

    db = duckdb.connect(config={"threads": args.threads, "preserve_insertion_order": True})
    db.execute("SET TimeZone = 'UTC'")
    db.execute(
        """CREATE TEMP TABLE results AS
        SELECT school, unnest(page.testResults) AS r
        FROM (SELECT string_split(filename, '/')[-2] AS school, from_json(content, $structure) AS page
              FROM read_text($pages))""",
        {"structure": STRUCTURE, "pages": args.pages + "/*/*.json"},
    )
    for table, query in TABLES.items():
        os.makedirs(os.path.join(args.dest, table))
        file = os.path.join(args.dest, table, "part.parquet")
        db.execute(f"COPY ({query}) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")


main()
