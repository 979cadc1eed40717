"""Spark and DuckDB read the same values from the same files. Run by `make test-spark`.

    python test_spark.py GROWTH_EXPORT        the path of the command

The exporter takes snapshots of the simulated service, plain and with --partition-by district, of the service as it is
documented and of one that sends whatever it can. Both engines
read every table through the example readers of this repository, Spark's read.py and DuckDB's views.sql, and must agree
with the declarations on names and types, with the manifest on counts, and with each other on a checksum of all values.
"""

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import duckdb
import read
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

REPOSITORY = Path(__file__).resolve().parents[2]
DUCKDB_EXAMPLES = REPOSITORY / "examples" / "duckdb"
GROWTH_EXPORT = ""

# Both engines use a time zone other than UTC: timestamps are instants and dates are dates in any zone.
ZONE = "America/Chicago"

# The number of nights in the history. If there are more than three, they are consecutive.
NIGHTS = int(os.environ.get("NIGHTS", "3"))

# A small world, with every oddity of the simulated service and with odd district bids.
ODD_WORLD = ["--simulate-quirks", "--simulate-districts", "26", "--simulate-schools", "26"]
ODD_WORLD += ["--simulate-results", "1000", "--simulate-sizes", "0,1,40"]


def declared(every: bool = False) -> dict[str, list[dict]]:
    """The declared columns of every table of the default datasets, or of all, with snapshot_date."""
    generated = json.loads(read.GENERATED.read_text("utf-8"))
    date = {"name": "snapshot_date", "type": "date", "spark_type": "DATE", "duckdb_type": "DATE"}
    return {
        table["name"]: [*table["columns"], date]
        for dataset in generated["datasets"]
        if every or dataset["default"]
        for table in dataset["tables"]
    }


def start_spark(folder: str) -> SparkSession:
    settings = {
        # Compiling queries and optimizing the compiler's output takes longer than these small tables are worth.
        # The quick compiler would have 48 MB for its output, which fill up, and then nothing is compiled any more.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": ZONE,
        "spark.sql.shuffle.partitions": "2",  # 200 tasks for each join would take minutes
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = SparkSession.builder.master("local[2]").appName("test_spark").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def start_duckdb(dest: str) -> duckdb.DuckDBPyConnection:
    """DuckDB with the views of views.sql over a destination."""
    duck = duckdb.connect()
    duck.execute(f"SET TimeZone = '{ZONE}'")
    duck.execute("SET VARIABLE dest = $dest", {"dest": dest})
    duck.execute((DUCKDB_EXAMPLES / "views.sql").read_text("utf-8"))
    return duck


def checksum(rows) -> tuple[int, str]:
    """The number of rows and the sum of their hashes, which depends neither on order nor on the engine, and changes if a
    row is lost, doubled or changed."""
    count, total = 0, 0
    for row in rows:
        count += 1
        total += int.from_bytes(hashlib.blake2b(repr(tuple(row)).encode(), digest_size=16).digest())
    return count, f"{total % 2**128:032x}"


# Values that are the same in Python from both engines: dates as text, timestamps as microseconds since 1970 in UTC.


def spark_rows(frame: DataFrame, columns: list[dict]) -> list[tuple]:
    plain = {"date": lambda c: F.col(c).cast("string"), "timestamp": F.unix_micros}
    return frame.select(*(plain.get(c["type"], F.col)(c["name"]) for c in columns)).collect()


def duckdb_rows(duck: duckdb.DuckDBPyConnection, table: str, columns: list[dict]) -> list[tuple]:
    plain = {"date": "{}::VARCHAR", "timestamp": "epoch_us({})"}
    values = ", ".join(plain.get(c["type"], "{}").format(f'"{c["name"]}"') for c in columns)
    return duck.execute(f"SELECT {values} FROM {table}").fetchall()


class TestChecksum(unittest.TestCase):
    ROWS = [("a", 1, 0.1, None), ("b", None, -2.5, True), ("b", None, -2.5, True)]

    def test_order_does_not_matter(self):
        self.assertEqual(checksum(self.ROWS), checksum(self.ROWS[::-1]))

    def test_every_difference_does(self):
        others = [
            self.ROWS[:2],
            [*self.ROWS, self.ROWS[0]],
            [self.ROWS[0], self.ROWS[0], self.ROWS[1]],
            [("a", 1, 0.1, ""), *self.ROWS[1:]],
            [("a", 1, 0.1, "None"), *self.ROWS[1:]],
            [("a", 1.0, 0.1, None), *self.ROWS[1:]],
            [("a", 1, 0.1 + 2**-56, None), *self.ROWS[1:]],
            [("a", 1, None, 0.1), *self.ROWS[1:]],
        ]
        for rows in others:
            self.assertNotEqual(checksum(self.ROWS), checksum(rows), rows)


class TestSpark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-spark-"))
        cls.spark = start_spark(cls.folder)
        cls.addClassCleanup(cls.spark.stop)

    def export(self, *settings: str, dest: str = "") -> str:
        """Takes a snapshot of the simulated service."""
        # An ordinary name, and one that both engines could read as a glob.
        dest = f"{self.folder}/{dest or 'growth data'} [{self._testMethodName}]"
        run = [GROWTH_EXPORT, "run", "--simulate", "--progress", "none", "--dest", dest, *settings]
        result = subprocess.run(run, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return dest

    def norms(self) -> str:
        """A CSV file of made-up norms of growth."""
        path = Path(self.folder, "norms.csv")
        path.write_bytes(subprocess.run([GROWTH_EXPORT, "simulate", "norms"], check=True, capture_output=True).stdout)
        return str(path)

    def test_plain(self):
        self.compare(self.export(), [])

    def test_partitioned_by_district(self):
        dest = self.export("--partition-by", "district", "--schools-per-file", "4")
        self.compare(dest, ["districts", "schools", "district_schools"])

    def test_odd_world(self):
        """Includes dates before 1900, which Spark up to 3.5 rejects in a session like this one."""
        self.spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION")
        self.addCleanup(self.spark.conf.unset, "spark.sql.parquet.datetimeRebaseModeInRead")
        dest = self.export(*ODD_WORLD, "--datasets", "all")
        self.compare(dest, [], every=True)
        self.compare_sector(dest)
        details = read.Snapshot(self.spark, dest).table("student_details")
        self.assertGreater(details.where("date_of_birth < '1900-01-01'").count(), 0)
        with self.assertRaisesRegex(Exception, "datetimeRebaseMode"):
            self.spark.read.parquet(re.sub(r"([][])", r"\\\1", f"{dest}/student_details")).collect()

    def compare_sector(self, dest: str) -> None:
        """Both engines compute the same values of the views of the sector, even of numbers too large for their columns."""
        duck = duckdb.connect()
        command = [GROWTH_EXPORT, "sql", "--dest", dest, "--views", "sector"]
        duck.execute(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for statement in self.statements(dest, "--views", "sector"):
            if statement.lstrip().startswith("CREATE"):
                self.spark.sql(statement)
        for view in ("assessment_results", "sgp_long"):
            columns = duck.execute("SELECT column_name AS name, type FROM analysis_columns WHERE table_name = $view", {"view": view}).fetchall()
            columns = [{"name": name, "type": kind} for name, kind in columns]
            rows = duckdb_rows(duck, view, columns)
            self.assertGreater(len(rows), 0)
            self.assertEqual(checksum(spark_rows(self.spark.table(view), columns)), checksum(rows), view)
            if view == "assessment_results":
                texts = [str(value) for row in rows for column, value in zip(columns, row) if column["name"].endswith("Range")]
                self.assertTrue(any(re.search(r"\dE\d", text) for text in texts))

    def test_odd_districts(self):
        """Every row has the district of its school, or a prefix and a hash if it is too long for a folder name."""
        dest = self.export(*ODD_WORLD, "--datasets", "schools,students", "--partition-by", "district")
        self.compare_tables(dest, ["schools"], {name: declared()[name] for name in ("schools", "students")})
        snapshot = read.Snapshot(self.spark, dest)
        districts = {row.school_bid: row.district_bid for row in snapshot.table("schools").collect()}
        cut = 0
        for row in snapshot.table("students").select("requested_school_bid", "district").distinct().collect():
            bid = districts[row.requested_school_bid]
            if row.district != bid:
                cut += 1
                self.assertRegex(row.district, "~[0-9a-f]{32}$")
                self.assertTrue(bid.startswith(row.district[:-33]))
        self.assertEqual(cut, 2)

    def compare(self, dest: str, whole: list[str], every: bool = False) -> None:
        """Compares every table. Tables in whole have no district level although the destination has."""
        self.assertNotEqual(declared(every), {})
        duck, snapshot = self.compare_tables(dest, whole, declared(every))
        if every:
            return
        # The end-to-end tests compare these with the oracle, with an older DuckDB.
        duck.execute((DUCKDB_EXAMPLES / "terms.sql").read_text("utf-8"))
        named = duck.execute("SELECT count(*), count(term_name) FROM test_results_with_terms").fetchone()
        self.assertEqual(named[0], snapshot.manifest["tables"]["test_results"]["rows"])
        self.assertGreater(min(named), 0)

    def compare_tables(self, dest: str, whole: list[str], tables: dict[str, list[dict]]):
        """Compares these tables, which must be all. Returns the readers of both engines."""
        duck, snapshot = start_duckdb(dest), read.Snapshot(self.spark, dest)
        self.assertEqual(snapshot.tables(), sorted(tables))
        for name, columns in tables.items():
            with self.subTest(table=name):
                table = snapshot.manifest["tables"][name]
                if whole and name not in whole:
                    columns = [*columns, {"name": "district", "type": "string", "spark_type": "STRING", "duckdb_type": "VARCHAR"}]
                frame = snapshot.table(name)

                types = {c["name"]: c["spark_type"].lower() for c in columns}
                self.assertEqual(dict(frame.dtypes), types)
                self.assertEqual(dict(self.types_of_files(dest, name, table)), types)
                described = duck.execute(f"SELECT column_name, column_type FROM (DESCRIBE {name})").fetchall()
                self.assertEqual(dict(described), {c["name"]: c["duckdb_type"] for c in columns})
                self.assertEqual((len(frame.dtypes), len(described)), (len(columns), len(columns)))

                by_spark = checksum(spark_rows(frame, columns))
                by_duckdb = checksum(duckdb_rows(duck, name, columns))
                self.assertEqual((by_spark[0], by_duckdb[0]), (table["rows"], table["rows"]))
                self.assertEqual(by_spark, by_duckdb)
        return duck, snapshot

    def types_of_files(self, dest: str, name: str, table: dict) -> list[tuple[str, str]]:
        """Spark reads the files without the generated schema."""
        paths = [re.sub(r"([][])", r"\\\1", f"{dest}/{file['path']}") for file in table["files"]]
        return self.spark.read.option("basePath", f"{dest}/{name}").parquet(*paths).dtypes

    def test_generated_ddl(self):
        """schemas/generated/spark.sql creates tables with the rows of a destination."""
        dest = self.export()
        ddl = (REPOSITORY / "schemas" / "generated" / "spark.sql").read_text("utf-8")
        self.spark.sql("CREATE DATABASE generated")
        self.spark.sql("USE generated")
        self.addCleanup(self.spark.sql, "USE default")
        self.spark.sql(f"SET dest = {dest}")
        for statement in re.sub(r"^--.*$", "", ddl, flags=re.MULTILINE).split(";\n"):
            if statement.strip():
                self.spark.sql(statement)
        snapshot = read.Snapshot(self.spark, dest)
        self.assertNotEqual(snapshot.tables(), [])
        for name in snapshot.tables():
            self.spark.sql(f"MSCK REPAIR TABLE {name}")
            self.assertEqual(self.spark.table(name).count(), snapshot.manifest["tables"][name]["rows"], name)

    def test_sql(self):
        """The output of `growth-export sql --dialect spark` runs unchanged, and a missing file is an error."""
        dest = self.export("--partition-by", "district", "--schools-per-file", "4")
        statements = self.statements(dest)
        snapshot = read.Snapshot(self.spark, dest)
        self.assertEqual(len(statements), 2 * len(snapshot.tables()))
        for statement in statements:
            self.spark.sql(statement).collect()
        for name in snapshot.tables():
            view, frame = self.spark.table(name), snapshot.table(name)
            self.assertEqual(view.dtypes, frame.dtypes, name)
            self.assertEqual(view.exceptAll(frame).count() + frame.exceptAll(view).count(), 0, name)
        Path(dest, snapshot.manifest["tables"]["students"]["files"][0]["path"]).unlink()
        make, check = (s for s in statements if "`students`" in s)
        self.spark.sql(make)
        with self.assertRaisesRegex(Exception, "table students: the number of rows differs from the manifest"):
            self.spark.sql(check).collect()

    def statements(self, dest: str, *args: str) -> list[str]:
        """The output of `growth-export sql` for Spark."""
        command = [GROWTH_EXPORT, "sql", "--dialect", "spark", "--dest", dest, *args]
        printed = subprocess.run(command, capture_output=True, text=True, check=True)
        statements = re.sub(r"^--.*$", "", printed.stdout, flags=re.MULTILINE).split(";\n")
        return [statement for statement in statements if statement.strip()]

    def test_sql_of_deltas(self):
        """Views over two delta runs have one row per key, as in DuckDB. They can be in a schema."""
        district = ("--partition-by", "district")
        dest = self.export("--modified-since", "2026-11-01", "--run-id", "one", *district)
        run = [GROWTH_EXPORT, "run", "--simulate", "--progress", "none", "--dest", dest, *district]
        subprocess.run([*run, "--modified-since", "2026-10-15", "--run-id", "two"], check=True, capture_output=True)
        for statement in self.statements(dest, "--changes", "--schema", "changes"):
            self.spark.sql(statement).collect()
        duck = duckdb.connect()
        command = [GROWTH_EXPORT, "sql", "--dest", dest, "--changes"]
        duck.execute(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        tables = [name for (name,) in duck.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]
        self.assertEqual(len(tables), 7)
        for name in tables:
            columns = [*declared()[name], {"name": "district", "type": "string"}]
            frame = self.spark.table(f"changes.{name}")
            self.assertEqual(checksum(spark_rows(frame, columns)), checksum(duckdb_rows(duck, name, columns)), name)

    def test_sql_of_history(self):
        """The views of a history have the same rows as in DuckDB, even in a schema."""
        dest = f"{self.folder}/growth data [{self._testMethodName}]"
        run = [GROWTH_EXPORT, "run", "--simulate", "--progress", "none", "--dest", dest, "--datasets", "students,test_results"]
        nights = ["2025-09-12", "2025-09-13", "2026-02-03"]
        if NIGHTS > len(nights):
            nights = [str(datetime.date(2025, 8, 20) + datetime.timedelta(days=i)) for i in range(NIGHTS)]
        for night in nights:
            dates = ["--simulate-date", night, "--snapshot-date", night, "--backdate", "--history", "--compare", "off"]
            subprocess.run([*run, "--simulate-results", "2000", *dates], check=True, capture_output=True)
        duck = duckdb.connect()
        command = [GROWTH_EXPORT, "sql", "--dest", dest, "--history"]
        duck.execute(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        days = [f"DATE '{night}'" for night in nights[1 :: max(1, len(nights) // 10)]]
        for schema in ([], ["--schema", "history"]):
            for statement in self.statements(dest, "--history", *schema):
                self.spark.sql(statement).collect()
            prefix = "history." if schema else ""
            for query in (
                *(f"SELECT student_bid, last_name, valid_from FROM students_as_of({day})" for day in days),
                *(f"SELECT requested_school_bid, test_result_bid, valid_to FROM test_results_as_of({day})" for day in days),
                "SELECT requested_school_bid, test_result_bid, ordinal, score FROM test_result_instructional_areas_current",
                "SELECT day, change, because, test_result_bid, rit, before.rit AS old FROM test_results_changes",
                "SELECT day, change, because, test_result_bid, ordinal, before.percentile AS old FROM test_result_norms_changes",
                "SELECT test_result_bid, requested_school_bid, valid_from, valid_to, ended_because, standing FROM test_results_ever",
                "SELECT from_test_result_bid, to_test_result_bid, growth FROM growth_pairs",
                "SELECT dataset, status, valid_from FROM coverage_versions",
            ):
                with self.subTest(schema=schema, query=query):
                    by_duckdb = checksum(duck.execute(query).fetchall())
                    self.assertGreater(by_duckdb[0], 0)
                    self.assertEqual(checksum(self.spark.sql(query.replace("FROM ", f"FROM {prefix}")).collect()), by_duckdb)

    def test_views_for_analysts(self):
        """The views for analysts have the same rows as in DuckDB, of temporary views and in a schema."""
        # A fall and a winter of a service that breaks its own rules: no view is empty.
        world = ["--simulate-schools", "4", "--simulate-sizes", "150,40,20,10", "--simulate-break", "all", "--datasets", "all"]
        for night in ("2025-10-10", "2026-02-12"):
            dest = self.export("--history", "--backdate", "--snapshot-date", night, *world)
        views_of = ["--history", "--views", "analysis", "--norms", self.norms()]
        duck = duckdb.connect()
        duck.execute(f"SET TimeZone = '{ZONE}'")
        command = [GROWTH_EXPORT, "sql", "--dest", dest, *views_of]
        duck.execute(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        views = {}
        declared_types = "SELECT table_name, column_name, type FROM analysis_columns WHERE table_name LIKE 'analysis_%'"
        for view, name, kind in duck.execute(declared_types).fetchall():
            views.setdefault(view, []).append({"name": name, "type": kind})
        self.assertEqual(len(views), 18)
        # In a schema the queries are the same, over tables with longer names.
        in_schema = ("analysis_results", "analysis_growth_spans")
        for schema in ([], ["--schema", "analysts"]):
            statements = self.statements(dest, *views_of, *schema)
            for statement in self.needed(statements, in_schema) if schema else statements:
                self.spark.sql(statement).collect()
            for view, columns in views.items():
                if schema and view not in in_schema:
                    continue
                with self.subTest(schema=schema, view=view):
                    frame = self.spark.table(f"analysts.{view}" if schema else view)
                    self.assertEqual(frame.columns, [c["name"] for c in columns])
                    by_duckdb = checksum(duckdb_rows(duck, view, columns))
                    self.assertGreater(by_duckdb[0], 0)
                    self.assertEqual(checksum(spark_rows(frame, columns)), by_duckdb)

    def needed(self, statements: list[str], views: tuple[str, ...]) -> list[str]:
        """The statements that create the schema, these views in it, and the views that they are made of."""
        names, chosen = set(views), []
        for statement in reversed([s for s in statements if s.lstrip().startswith("CREATE")]):
            created, *used = re.findall(r"`analysts`\.`(\w+)`", statement) or [""]
            if not created or created in names:
                names.update(used)
                chosen.append(statement)
        return chosen[::-1]

    def test_questions(self):
        """The queries of examples/questions/README.md have the results that the page shows."""
        dest = f"{self.folder}/growth data [{self._testMethodName}]"
        nights = re.findall(r"^(?:FALL|WINTER|TONIGHT) +:= (.*)$", (REPOSITORY / "Makefile").read_text("utf-8"), re.MULTILINE)
        self.assertEqual(len(nights), 3)
        run = [GROWTH_EXPORT, "run", "--simulate", "--progress", "none", "--dest", dest, "--history", "--backdate"]
        for night in nights:
            subprocess.run([*run, "--snapshot-date", night], check=True, capture_output=True)
        for statement in self.statements(dest, "--history", "--views", "analysis", "--norms", self.norms()):
            self.spark.sql(statement).collect()
        page = (REPOSITORY / "examples" / "questions" / "README.md").read_text("utf-8")
        questions = re.findall(r"```sql\n(.*?);\n```\n\n((?:\|[^\n]*\n)+)", page, re.DOTALL)
        self.assertEqual(len(questions), 14)
        for query, shown in questions:
            with self.subTest(query=query):
                frame = self.spark.sql(query)
                rows = [frame.columns, ["---"] * len(frame.columns), *frame.collect()]
                table = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines()]
                whole = table[-1] != ["..."] * len(frame.columns)
                self.assertEqual([[str(value) for value in row] for row in rows][: len(table) - (not whole)], table[: len(table) - (not whole)])
                self.assertEqual(len(rows) == len(table), whole)

    def test_districts_stay_text(self):
        """Bids are opaque text, even if all look like numbers; files missing from the manifest are not read."""
        worlds = {
            "numbers": {"007": "007", "12": "12"},
            "dates": {"2026-01-01": "2026-01-01", "2026-01-02": "2026-01-02"},
            "escaped": {"a%2Fb%20c": "a/b c", "%25": "%", "École%20小😀": "École 小😀", "__HIVE_DEFAULT_PARTITION__": None},
        }
        for name, segments in worlds.items():
            with self.subTest(districts=name):
                dest = self.handmade(name, [*segments, "not-in-the-manifest"])
                want = sorted((f"s{i}", bid) for i, bid in enumerate(segments.values()))
                columns = [{"name": "requested_school_bid", "type": "string"}, {"name": "district", "type": "string"}]
                snapshot = read.Snapshot(self.spark, dest)
                self.assertEqual(sorted(map(tuple, spark_rows(snapshot.table("students"), columns))), want)
                self.assertEqual(sorted(duckdb_rows(start_duckdb(dest), "students", columns)), want)
                with self.assertRaisesRegex(KeyError, "has no table schools"):
                    snapshot.table("schools")

    def handmade(self, name: str, segments: list[str]) -> str:
        """Writes a snapshot with one row of students per district; the manifest does not list the last one."""
        dest = Path(self.folder) / "handmade" / name
        files = []
        for i, segment in enumerate(segments):
            path = f"students/snapshot_date=2026-11-20/district={segment}/part-{i:04}-r.parquet"
            (dest / path).parent.mkdir(parents=True)
            duckdb.sql(f"SELECT 's{i}' AS requested_school_bid").write_parquet(str(dest / path))
            files.append({"path": path, "rows": 1})
        manifest = {"tables": {"students": {"rows": len(files) - 1, "files": files[:-1]}}, "ledger": files[0]}
        latest = {"run_id": "r", "snapshot_date": "2026-11-20", "manifest": "_runs/r/manifest.json"}
        for path, document in {"_latest.json": latest, "_runs/r/manifest.json": manifest}.items():
            (dest / path).parent.mkdir(parents=True, exist_ok=True)
            (dest / path).write_text(json.dumps(document), "utf-8")
        return str(dest)

    def test_cohort(self):
        """A destination without a snapshot of all students opens with its newest one."""
        full = start_duckdb(self.export("--datasets", "students"))
        bids = full.sql("SELECT DISTINCT student_bid FROM students WHERE student_bid <> '' ORDER BY 1 LIMIT 3").fetchall()
        listed = Path(self.folder) / "cohort.txt"
        listed.write_text("\n".join(bid for (bid,) in bids), "utf-8")
        dest = self.export("--datasets", "students,school_classes", "--students", f"@{listed}", dest="cohort")
        self.assertFalse((Path(dest) / "_latest.json").exists())
        snapshot = read.Snapshot(self.spark, dest)
        for name in ("students", "school_classes"):
            count = snapshot.table(name).count()
            self.assertEqual(count, snapshot.manifest["tables"][name]["rows"])
            self.assertGreater(count, 0)
            self.assertEqual(start_duckdb(dest).sql(f"SELECT count(*) FROM {name}").fetchall(), [(count,)])

    def test_program(self):
        """read.py as a program prints the row count of every table."""
        dest = self.export("--datasets", "schools,test_results")
        program = [sys.executable, "-B", REPOSITORY / "examples" / "spark" / "read.py", dest]
        result = subprocess.run(program, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        snapshot = read.Snapshot(self.spark, dest)
        self.assertIn("test_results", snapshot.tables())
        for name in snapshot.tables():
            self.assertIn(f"{snapshot.manifest['tables'][name]['rows']:,}  {name}\n", result.stdout)
        self.assertRegex(result.stdout, r"\|Mathematics +\|3 +\|\d+ +\|\d+\.\d *\|")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_spark.py GROWTH_EXPORT")
    GROWTH_EXPORT = str(Path(sys.argv.pop()).resolve())
    unittest.main(verbosity=2)
