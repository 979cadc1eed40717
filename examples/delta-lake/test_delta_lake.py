"""DuckDB, delta-rs, polars and Spark read Delta Lake tables of growth-export. Run by `make test-delta-lake`.

    python test_delta_lake.py GROWTH_EXPORT JARS [VERSITYGW]

GROWTH_EXPORT is the path of the command, JARS a folder with the jars of Delta Lake for Spark, VERSITYGW the path of an S3
server, without which S3 is not tested. The environment variable NIGHTS is the number of nights (8).
"""

import datetime
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import deltalake
import duckdb
import duckdb_extension_delta
import polars
import pyarrow
from pyspark.sql import SparkSession

NIGHTS = int(os.environ.get("NIGHTS", "8"))
FIRST = datetime.date(2026, 9, 1)
WORLD = ["--simulate", "--simulate-districts", "2", "--simulate-schools", "4", "--simulate-results", "80", "--simulate-sizes", "0,1,40"]
SPARK_TABLES = ["students", "test_results", "history/test_results"]


def dates() -> list[str]:
    return [(FIRST + datetime.timedelta(days=i)).isoformat() for i in range(NIGHTS)]


class DeltaLake(unittest.TestCase):
    growth_export = jars = versitygw = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-delta-lake-"))
        cls.duck = duckdb.connect(config={"allow_unsigned_extensions": True})
        package = Path(duckdb_extension_delta.__file__).parent
        cls.duck.execute(f"LOAD '{next(package.rglob('delta.duckdb_extension'))}'")
        cls.duck.execute("SET TimeZone = 'UTC'")
        settings = {
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.jars": ",".join(glob.glob(f"{cls.jars}/*.jar")),
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": f"{cls.folder}/warehouse",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        cls.spark = SparkSession.builder.master("local[2]").appName("test_delta_lake").config(map=settings).getOrCreate()
        cls.spark.sparkContext.setLogLevel("OFF")
        cls.addClassCleanup(cls.spark.stop)

    def command(self, *args: str, code: int = 0, env: dict | None = None) -> subprocess.CompletedProcess:
        done = subprocess.run([self.growth_export, *args], capture_output=True, text=True, env=os.environ | (env or {}))
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout}{done.stderr}")
        return done

    def run_night(self, dest: str, date: str, *args: str, env: dict | None = None) -> None:
        day = ["--simulate-date", date, "--snapshot-date", date, "--backdate"]
        self.command("run", *WORLD, *day, "--progress", "none", "--log-level", "error", "--max-shrink", "off", "--dest", dest, *args, env=env)

    def nights(self, dest: str, root: Path, *args: str, history: bool = False, env: dict | None = None) -> None:
        """Takes the nights, then replaces one, prunes the first quarter and purges a school; reads all tables after each.

        With a history, it is made again instead of the purge."""
        for i, date in enumerate(dates()):
            more = ["--delta-lake"] if i == 0 else []
            self.run_night(dest, date, *args, *more, *(["--history"] if history else []), env=env)
        expected = self.check(root, spark=False)
        self.check_versions(root, expected["students"])
        self.run_night(dest, dates()[NIGHTS // 2], *args, "--replace", "--simulate-seed", "5", env=env)
        self.check(root, spark=False)
        if history:
            self.command("history", "--dest", dest, "--rebuild", env=env)
            self.check(root, spark=False)
        self.command("prune", "--dest", dest, "--keep", str(NIGHTS - NIGHTS // 4), env=env)
        self.check(root, spark=False)
        if not history:
            school = self.duck.sql(f"SELECT min(school_bid) FROM read_parquet('{root}/schools/snapshot_date=*/*.parquet')").fetchone()[0]
            self.command("purge", "--dest", dest, "--schools", school, env=env)
        self.check(root)
        self.command("verify", "--dest", dest, "--delta-lake", env=env)
        self.search_values(root)

    def manifests(self, root: Path) -> list[dict]:
        pointers = sorted(root.glob("_snapshots/*.json"))
        self.assertGreater(len(pointers), 0)
        return [json.loads((root / json.loads(p.read_text("utf-8"))["manifest"]).read_text("utf-8")) for p in pointers]

    def check(self, root: Path, spark: bool = True) -> dict[str, dict[str, int]]:
        """Every reader returns exactly the rows of the manifests. Returns the rows by table and date."""
        rows: dict[str, dict[str, int]] = {}
        files: dict[str, list[str]] = {}
        for manifest in self.manifests(root):
            for name, table in manifest["tables"].items():
                rows.setdefault(name, {})[manifest["snapshot_date"]] = table["rows"]
                files.setdefault(name, []).extend(str(root / file["path"]) for file in table["files"])
        if (root / "_history.json").exists():
            pointer = json.loads((root / "_history.json").read_text("utf-8"))
            for name, table in json.loads((root / pointer["manifest"]).read_text("utf-8"))["tables"].items():
                if table["files"]:
                    files[f"history/{name}"] = [str(root / file["path"]) for file in table["files"]]
            self.assertIn("history/coverage", files)
        self.assertEqual({str(p.parent.relative_to(root)) for p in root.rglob("_delta_log")}, set(files))
        for name in files:
            with self.subTest(table=name):
                self.duck.read_parquet(files[name], hive_partitioning=True, union_by_name=True).create_view("published", replace=True)
                types = dict(self.duck.sql("SELECT column_name, column_type FROM (DESCRIBE published)").fetchall())
                path = str(root / name)
                readers = {
                    "DuckDB": f"delta_scan('{path}')",
                    "delta-rs": pyarrow.table(deltalake.DeltaTable(path).to_pyarrow_table()),
                    "polars": polars.read_delta(path).to_arrow(),
                }
                if spark and name in SPARK_TABLES:
                    copy = f"{self.folder}/spark"
                    shutil.rmtree(copy, ignore_errors=True)
                    self.spark.read.format("delta").load(path).coalesce(1).write.parquet(copy)
                    readers["Spark"] = f"read_parquet('{copy}/*.parquet')"
                for reader, source in readers.items():
                    if not isinstance(source, str):
                        self.duck.register("registered", source)
                        source = "registered"
                    columns = ", ".join(f'"{column}"::{kind} AS "{column}"' for column, kind in types.items())
                    plain = ", ".join(f'"{column}"' for column in types)
                    self.duck.execute(f"CREATE OR REPLACE TEMP TABLE got AS SELECT {columns} FROM {source}")
                    if name in rows:
                        count = self.duck.sql("SELECT snapshot_date::VARCHAR, count(*) FROM got GROUP BY ALL").fetchall()
                        self.assertEqual(dict(count), {date: n for date, n in rows[name].items() if n}, reader)
                    for one, two in (("got", "published"), ("published", "got")):
                        query = f"SELECT count(*) FROM (SELECT {plain} FROM {one} EXCEPT ALL SELECT {plain} FROM {two})"
                        self.assertEqual(self.duck.sql(query).fetchone()[0], 0, f"{reader}: {one}")
        return rows

    def check_versions(self, root: Path, rows: dict[str, int]) -> None:
        """Time travel returns what was published then."""
        path = str(root / "students")
        for version in {0, NIGHTS // 2, NIGHTS - 1}:
            want = sum(rows[date] for date in dates()[: version + 1])
            self.assertEqual(deltalake.DeltaTable(path, version=version).to_pyarrow_table().num_rows, want)
            self.assertEqual(polars.scan_delta(path, version=version).select(polars.len()).collect().item(), want)
            self.assertEqual(self.duck.sql(f"SELECT count(*) FROM delta_scan('{path}', version => {version})").fetchone()[0], want)
            self.assertEqual(self.spark.read.format("delta").option("versionAsOf", version).load(path).count(), want)

    def search_values(self, root: Path) -> None:
        """No value of a student is in any byte of a log."""
        logs = b"".join(p.read_bytes() for p in root.rglob("_delta_log/*"))
        personal = {
            "students": ["student_bid", "student_id", "first_name", "last_name"],
            "test_results": ["test_result_bid", "student_bid"],
            "student_school_associations": ["student_school_association_bid", "student_bid", "first_name", "last_name", "date_of_birth"],
        }
        searched = 0
        for table, columns in personal.items():
            for column in columns:
                source = f"read_parquet('{root}/{table}/snapshot_date=*/**/*.parquet')"
                for (value,) in self.duck.sql(f"SELECT DISTINCT {column}::VARCHAR FROM {source}").fetchall():
                    # A shorter value may be part of another word, as the name Ana is of "analytics".
                    if value and len(value) >= 8:
                        searched += 1
                        self.assertNotIn(value.encode(), logs, f"{table}.{column}")
        self.assertGreater(searched, 100)

    def test_nights(self):
        dest = f"{self.folder}/growth-data"
        self.nights(dest, Path(dest), history=True)

    def test_by_district(self):
        dest = f"{self.folder}/by-district"
        self.nights(dest, Path(dest), "--partition-by", "district", "--schools-per-file", "1")
        self.check_skipping(dest)

    def check_skipping(self, dest: str) -> None:
        """DuckDB opens only the files that can hold a school."""
        table = f"delta_scan('{dest}/students')"
        school = self.duck.sql(f"SELECT max(requested_school_bid) FROM {table}").fetchone()[0]
        plan = self.duck.sql(f"EXPLAIN ANALYZE SELECT count(*) FROM {table} WHERE requested_school_bid = '{school}'").fetchall()
        files = len(deltalake.DeltaTable(f"{dest}/students").file_uris())
        words = plan[0][1].split("Scanning Files:")[1].split()[0].split("/")
        self.assertEqual(int(words[1]), files)
        self.assertLess(int(words[0]), files / 2)

    def test_s3(self):
        """Objects of the server are files, which all engines read; delta-rs also reads them from S3."""
        if not self.versitygw:
            self.skipTest("no S3 server")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        root = Path(self.folder) / "s3"
        (root / "bucket").mkdir(parents=True)
        keys = {"ROOT_ACCESS_KEY": "key", "ROOT_SECRET_KEY": "secret-key"}
        server = subprocess.Popen([self.versitygw, "--quiet", "--port", f"127.0.0.1:{port}", "posix", str(root)], env=os.environ | keys)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        access = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret-key",
            "AWS_REGION": "us-east-1",
            "GROWTH_EXPORT_S3_ENDPOINT": f"http://127.0.0.1:{port}",
            "GROWTH_EXPORT_S3_PATH_STYLE": "true",
        }
        self.nights("s3://bucket/prefix", root / "bucket" / "prefix", env=access)
        options = {name: value for name, value in access.items() if name.startswith("AWS_")}
        options |= {"AWS_ENDPOINT_URL": access["GROWTH_EXPORT_S3_ENDPOINT"], "AWS_ALLOW_HTTP": "true"}
        remote = deltalake.DeltaTable("s3://bucket/prefix/students", storage_options=options)
        local = deltalake.DeltaTable(str(root / "bucket" / "prefix" / "students"))
        self.assertEqual(remote.to_pyarrow_table().num_rows, local.to_pyarrow_table().num_rows)

    def test_sql(self):
        """The output of `growth-export sql --delta-lake` runs unchanged in DuckDB and Spark."""
        dest = f"{self.folder}/sql"
        for date in dates()[:2]:
            self.run_night(dest, date, "--delta-lake", "--datasets", "schools,students")
        rows = self.check(Path(dest), spark=False)
        for args, dates_read in (([], dates()[:2]), (["--snapshot-date", dates()[0]], dates()[:1])):
            want = sum(rows["students"][date] for date in dates_read)
            self.duck.execute(self.command("sql", "--dest", dest, "--delta-lake", *args).stdout)
            self.assertEqual(self.duck.sql("SELECT count(*) FROM students").fetchone()[0], want)
            for statement in self.command("sql", "--dest", dest, "--delta-lake", "--dialect", "spark", *args).stdout.split(";\n"):
                if statement.strip():
                    self.spark.sql(statement)
            self.assertEqual(self.spark.table("students").count(), want)

    def test_other_writers(self):
        """What delta-rs commits is named by verify and undone by the next delta-lake, or that says what it cannot do."""
        dest = f"{self.folder}/others"
        for date in dates()[:3]:
            self.run_night(dest, date, "--delta-lake", "--datasets", "schools,students")
        path = f"{dest}/students"

        def append():
            deltalake.write_deltalake(path, deltalake.DeltaTable(path).to_pyarrow_table().slice(0, 2), mode="append")

        def delete():
            deltalake.DeltaTable(path).delete(f"snapshot_date = '{dates()[0]}'")

        def optimize():
            append()
            deltalake.DeltaTable(path).optimize.compact()

        for name, change in (("WRITE", append), ("DELETE", delete), ("OPTIMIZE", optimize)):
            with self.subTest(operation=name):
                change()
                found = self.command("verify", "--dest", dest, "--delta-lake", code=1)
                self.assertRegex(found.stdout, rf"students: version \d+ \({name} by delta-rs\S*\) was written by another program")
                self.command("delta-lake", "--dest", dest)
                self.command("verify", "--dest", dest, "--delta-lake")
                self.check(Path(dest), spark=False)

        # VACUUM removes the files that a compaction has replaced.
        optimize()
        deltalake.DeltaTable(path).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        found = self.command("delta-lake", "--dest", dest, code=1)
        self.assertIn("is missing or damaged, so snapshot_date=", found.stderr)
        self.command("verify", "--dest", dest, "--delta-lake", code=1)


if __name__ == "__main__":
    DeltaLake.growth_export = str(Path(sys.argv.pop(1)).resolve())
    DeltaLake.jars = str(Path(sys.argv.pop(1)).resolve())
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        DeltaLake.versitygw = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
