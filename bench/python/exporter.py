"""Shared code of the exporters written in Python: a client that fetches schools in parallel, and a Parquet writer."""

import argparse
import concurrent.futures
import os
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import requests

KEY, SECRET = "bench-key", "bench-secret"
ROW_GROUP = 131_072

TIME = pa.timestamp("us", tz="UTC")
STRING, INT, LONG, DOUBLE, BOOL = pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()

# Tables: column, path in the record, type.
RESULTS = [
    ("test_result_bid", "testResultBid", STRING), ("student_bid", "studentBid", STRING),
    ("school_bid", "schoolBid", STRING), ("term_bid", "termBid", STRING), ("subject_area", "subjectArea", STRING),
    ("grade", "grade", STRING), ("test_name", "testName", STRING), ("test_key", "testKey", STRING),
    ("test_type", "testType", STRING), ("growth_event_yn", "growthEventYn", BOOL), ("duration", "duration", LONG),
    ("status", "status", STRING), ("rit", "rit", INT), ("standard_error", "standardError", DOUBLE),
    ("rit_score_high", "ritScoreHigh", INT), ("rit_score_low", "ritScoreLow", INT), ("items_shown", "items.shown", INT),
    ("items_correct", "items.correct", INT), ("items_total", "items.total", INT),
    ("response_disengaged_percentage", "responseDisengagedPercentage", DOUBLE),
    ("impact_of_disengagement", "impactOfDisengagement", DOUBLE),
    ("administration_start_date_time", "administrationStartDateTime", TIME),
    ("administration_end_date_time", "administrationEndDateTime", TIME), ("modified_date_time", "modifiedDateTime", TIME),
    ("lexile_score", "lexile.score", STRING), ("lexile_range", "lexile.range", STRING),
    ("lexile_min", "lexile.min", STRING), ("lexile_max", "lexile.max", STRING),
    ("quantile_score", "quantile.score", STRING), ("quantile_range", "quantile.range", STRING),
    ("quantile_minimum", "quantile.minimum", STRING), ("quantile_maximum", "quantile.maximum", STRING),
    ("quantile_original", "quantile.original", STRING),
]
NORMS = [("percentile", "percentile", INT), ("reference", "reference", STRING), ("type", "type", STRING)]
AREAS = [
    ("instructional_area_bid", "instructionalAreaBid", STRING),
    ("instructional_area_name", "instructionalAreaName", STRING), ("score", "score", DOUBLE),
    ("standard_error", "standardError", DOUBLE), ("score_low", "scoreLow", DOUBLE), ("score_high", "scoreHigh", DOUBLE),
]
CHILDREN = {
    "test_result_norms": ("norms", NORMS),
    "test_result_instructional_areas": ("instructionalAreas", AREAS),
}


def arguments():
    """Returns the arguments of the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--dest", required=True)
    parser.add_argument("--threads", type=int, default=8)
    return parser.parse_args()


def token(url):
    """Returns a token of the service."""
    answer = requests.post(url + "/auth/v1/token", auth=(KEY, SECRET), timeout=60,
                           headers={"apikey": KEY, "grant_type": "client_credentials"})
    answer.raise_for_status()
    return answer.json()["access_token"]


class Table:
    """The file of a table, written one row group at a time."""

    def __init__(self, folder):
        os.makedirs(folder)
        self.path = os.path.join(folder, "part.parquet")
        self.lock, self.writer, self.waiting, self.rows = threading.Lock(), None, [], 0

    def add(self, rows):
        with self.lock:
            self.waiting.append(rows)
            self.rows += rows.num_rows
            if self.rows >= ROW_GROUP:
                self.flush()

    def flush(self):
        if self.waiting:
            if self.writer is None:
                self.writer = pq.ParquetWriter(self.path, self.waiting[0].schema, compression="zstd")
            self.writer.write_table(pa.concat_tables(self.waiting), row_group_size=ROW_GROUP)
            self.waiting, self.rows = [], 0

    def close(self):
        self.flush()
        self.writer.close()


def export(parse):
    """Exports all test results. parse takes a school's bid and a page's body; it returns rows by table, and the next page."""
    args = arguments()
    headers = {"apikey": KEY, "Authorization": "Bearer " + token(args.url)}
    local = threading.local()

    def get(path, **params):
        if not hasattr(local, "session"):
            local.session = requests.Session()
            local.session.headers.update(headers)
        answer = local.session.get(args.url + path, params=params, timeout=60)
        answer.raise_for_status()
        return answer

    tables = {table: Table(os.path.join(args.dest, table)) for table in ["test_results", *CHILDREN]}

    def export_school(bid):
        params = {"school-bid": bid}
        while True:
            rows, following = parse(bid, get("/test-results/v1/growth", **params).content)
            for table, batch in rows.items():
                tables[table].add(batch)
            if not following:
                return
            params["next-page"] = following

    schools = get("/organizations/v1/schools").json()
    with concurrent.futures.ThreadPoolExecutor(args.threads) as pool:
        for done in pool.map(export_school, [school["schoolBid"] for school in schools]):
            pass
    for table in tables.values():
        table.close()
