"""Times queries on exports of the same service by different builds, by turns, and prints CPU milliseconds as JSON.

Each argument is NAME=FOLDER. DuckDB and polars run on one thread each and read files that are in the page cache. Thirty
snapshots are thirty links to the files of one: their bytes do not depend on the date.
"""

import argparse
import glob
import json
import os
import resource
import shutil

os.environ["POLARS_MAX_THREADS"] = "1"

import duckdb  # noqa: E402
import polars  # noqa: E402

SNAPSHOTS = 30

# Title, whether it reads thirty snapshots, query.
DUCKDB = [
    ("count", False, "SELECT count(*) FROM test_results"),
    ("group by subject and grade", False,
     "SELECT subject_area, grade, count(*), avg(rit) FROM test_results GROUP BY ALL"),
    ("one student, all columns", False, "SELECT * FROM test_results WHERE student_bid = $student"),
    ("one absent student", False, "SELECT * FROM test_results WHERE student_bid = $absent"),
    ("one result by key", False,
     "SELECT * FROM test_results WHERE requested_school_bid = $school AND test_result_bid = $result"),
    ("norms of a school", False,
     "SELECT type, count(*), avg(percentile) FROM test_result_norms WHERE requested_school_bid = $school GROUP BY ALL"),
    ("join norms", False,
     "SELECT subject_area, type, count(*), avg(percentile) FROM test_results"
     " JOIN test_result_norms USING (requested_school_bid, test_result_bid) GROUP BY ALL"),
    ("30 snapshots: mean by day", True, "SELECT snapshot_date, avg(rit) FROM test_results GROUP BY ALL"),
    ("30 snapshots: one student", True, "SELECT * FROM test_results WHERE student_bid = $student"),
    ("30 snapshots: one absent student", True, "SELECT * FROM test_results WHERE student_bid = $absent"),
    ("30 snapshots: one school", True,
     "SELECT snapshot_date, count(*), avg(rit) FROM test_results WHERE requested_school_bid = $school GROUP BY ALL"),
]


def polars_queries(values):
    """Returns title and query, a function from a function that scans a table to a lazy frame."""
    col, mean = polars.col, [polars.len(), polars.mean("rit")]
    return [
        ("count", lambda scan: scan("test_results").select(polars.len())),
        ("group by subject and grade", lambda scan: scan("test_results").group_by("subject_area", "grade").agg(mean)),
        ("one student, all columns", lambda scan: scan("test_results").filter(col("student_bid") == values["student"])),
        ("one result by key", lambda scan: scan("test_results").filter(
            (col("requested_school_bid") == values["school"]) & (col("test_result_bid") == values["result"]))),
        ("join norms", lambda scan: scan("test_results")
            .join(scan("test_result_norms"), on=["requested_school_bid", "test_result_bid"])
            .group_by("subject_area", "type").agg(polars.len(), polars.mean("percentile"))),
    ]


def pattern(folder, table, many):
    """Returns the glob of the files of a table."""
    return os.path.join(folder, f"{SNAPSHOTS}-snapshots" if many else "", table, "*", "*.parquet")


def link_snapshots(folder):
    """Makes thirty snapshots of one."""
    shutil.rmtree(os.path.join(folder, f"{SNAPSHOTS}-snapshots"), ignore_errors=True)
    for file in glob.glob(pattern(folder, "test_results", False)):
        for day in range(1, SNAPSHOTS + 1):
            target = os.path.join(folder, f"{SNAPSHOTS}-snapshots", "test_results", f"snapshot_date=2026-04-{day:02}")
            os.makedirs(target, exist_ok=True)
            os.link(file, os.path.join(target, os.path.basename(file)))


def cpu():
    """Returns the CPU milliseconds of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return 1000 * (usage.ru_utime + usage.ru_stime)


class Timer:
    """Runs each query on each export in turns, and holds the exports to equal answers."""

    def __init__(self, folders, turns):
        self.folders, self.turns, self.queries = folders, turns, []

    def measure(self, reader, title, query):
        """query takes a folder and returns sorted rows."""
        times, answers = {name: [] for name in self.folders}, {}
        for turn in range(self.turns + 1):
            for name, folder in self.folders.items():
                before = cpu()
                rows = query(folder)
                spent = cpu() - before
                if turn > 0:  # the first warms up
                    times[name].append(round(spent, 2))
                answers[name] = rows
        first, *others = answers.values()
        if not first and "absent" not in title or any(rows != first for rows in others):
            raise SystemExit(f"{reader}, {title}: answers are empty or differ between the exports")
        self.queries.append({"reader": reader, "title": title, "ms": times})


def rounded(rows):
    """Returns sorted rows; sums of doubles depend on the order of rows."""
    return sorted((tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in rows), key=str)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("exports", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--turns", type=int, default=5)
    args = parser.parse_args()
    folders = dict(export.split("=", 1) for export in args.exports)

    db = duckdb.connect(config={"threads": 1})
    db.execute("SET enable_external_file_cache = false")  # every query reads as if it were the first
    db.execute("SET TimeZone = 'UTC'")
    for folder in folders.values():
        link_snapshots(folder)
    one = pattern(next(iter(folders.values())), "test_results", False)
    result, student, school = db.execute(
        "SELECT test_result_bid, student_bid, requested_school_bid FROM read_parquet($one) ORDER BY ALL LIMIT 1", {"one": one}
    ).fetchone()
    absent = student[:-1] + ("1" if student[-1] == "0" else "0")
    values = {"result": result, "student": student, "school": school, "absent": absent}

    timer = Timer(folders, args.turns)
    for title, many, query in DUCKDB:
        bound = {name: value for name, value in values.items() if f"${name}" in query}

        def run(folder, query=query, bound=bound, many=many):
            for table in ("test_results", "test_result_norms"):
                files = pattern(folder, table, many)
                query = query.replace(f"FROM {table}", f"FROM read_parquet('{files}', hive_partitioning = true) AS {table}")
                query = query.replace(f"JOIN {table}", f"JOIN read_parquet('{files}', hive_partitioning = true) AS {table}")
            return rounded(db.execute(query, bound).fetchall())

        timer.measure("DuckDB", title, run)
    for title, query in polars_queries(values):
        timer.measure("polars", title, lambda folder, query=query: rounded(
            query(lambda table: polars.scan_parquet(pattern(folder, table, False), hive_partitioning=True)).collect().rows()))
    sizes = {name: sum(os.path.getsize(file) for file in glob.glob(pattern(folder, "*", False)))
             for name, folder in folders.items()}
    print(json.dumps({"queries": timer.queries, "bytes": sizes}))


main()
