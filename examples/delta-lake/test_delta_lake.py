"""DuckDB, delta-rs, polars and Spark read Delta Lake tables of growth-export. Run by `make test-delta-lake`.

    python test_delta_lake.py GROWTH_EXPORT JARS [VERSITYGW]

GROWTH_EXPORT is the path of the command, JARS a folder with what Spark needs for Delta Lake and S3, VERSITYGW the path of an
S3 server, without which S3 is not tested. The environment variable NIGHTS is the number of nights (8).
"""

import datetime
import glob
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
from pathlib import Path

import deltalake
import duckdb
import duckdb_extension_delta
import duckdb_extension_httpfs
import polars
import pyarrow
import pyarrow.compute
import pyarrow.parquet
from pyspark.sql import SparkSession

NIGHTS = int(os.environ.get("NIGHTS", "8"))
FIRST = datetime.date(2025, 9, 1)
WORLD = ["--simulate", "--simulate-districts", "2", "--simulate-schools", "4", "--simulate-results", "80", "--simulate-sizes", "0,1,40"]
KEYS = {"ROOT_ACCESS_KEY": "key", "ROOT_SECRET_KEY": "secret-key"}

# The tables whose versions are all read, and those that are read in between.
TRAVEL = ["schools", "students", "test_results", "history/students"]


def dates(nights: int = NIGHTS) -> list[str]:
    return [(FIRST + datetime.timedelta(days=i)).isoformat() for i in range(nights)]


class Destination:
    """A destination on disk or S3. root is the folder of its files: the S3 server stores objects as files."""

    def __init__(self, root: Path, dest: str = "", endpoint: str = ""):
        self.root, self.dest, self.env, self.options = root, dest or str(root), {}, {}
        if endpoint:
            self.options = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret-key", "AWS_REGION": "us-east-1"}
            self.env = self.options | {"GROWTH_EXPORT_S3_ENDPOINT": endpoint, "GROWTH_EXPORT_S3_PATH_STYLE": "true"}
            self.options = self.options | {"AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}

    def manifests(self) -> list[dict]:
        pointers = sorted(self.root.glob("_snapshots/*.json"))
        return [json.loads((self.root / json.loads(p.read_text("utf-8"))["manifest"]).read_text("utf-8")) for p in pointers]

    def tables(self) -> dict[str, list[str]]:
        """Returns the files of the tables, history included, by the manifests."""
        files: dict[str, list[str]] = {}
        for manifest in self.manifests():
            for name, table in manifest["tables"].items():
                files.setdefault(name, []).extend(str(self.root / file["path"]) for file in table["files"])
        if (self.root / "_history.json").exists():
            pointer = json.loads((self.root / "_history.json").read_text("utf-8"))
            for name, table in json.loads((self.root / pointer["manifest"]).read_text("utf-8"))["tables"].items():
                if table["files"]:
                    files[f"history/{name}"] = [str(self.root / file["path"]) for file in table["files"]]
        return files

    def rows(self) -> dict[str, dict[str, int]]:
        """Returns the number of rows of each table and date, by the manifests."""
        rows: dict[str, dict[str, int]] = {}
        for manifest in self.manifests():
            for name, table in manifest["tables"].items():
                rows.setdefault(name, {})[manifest["snapshot_date"]] = table["rows"]
        return rows

    def version(self, table: str) -> int:
        return len(list((self.root / table / "_delta_log").glob("*.json"))) - 1


class DeltaLake(unittest.TestCase):
    growth_export = jars = versitygw = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-delta-lake-")))
        cls.endpoint = cls.serve() if cls.versitygw else ""
        cls.duck = duckdb.connect(config={"allow_unsigned_extensions": True})
        for package in (duckdb_extension_httpfs, duckdb_extension_delta):
            cls.duck.execute(f"LOAD '{next(Path(package.__file__).parent.rglob('*.duckdb_extension'))}'")
        cls.duck.execute("SET TimeZone = 'UTC'")
        cls.duck.execute(
            "CREATE SECRET (TYPE s3, KEY_ID 'key', SECRET 'secret-key', REGION 'us-east-1',"
            f" ENDPOINT '{cls.endpoint.removeprefix('http://')}', URL_STYLE 'path', USE_SSL false)"
        )
        # Spark's tables are small here, and compiling queries takes longer than running them.
        settings = {
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.host": "127.0.0.1",
            "spark.hadoop.fs.s3a.access.key": "key",
            "spark.hadoop.fs.s3a.endpoint": cls.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.secret.key": "secret-key",
            "spark.jars": ",".join(glob.glob(f"{cls.jars}/*.jar")),
            "spark.sql.codegen.wholeStage": "false",
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

    @classmethod
    def serve(cls) -> str:
        """Starts the S3 server and returns its endpoint."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        (cls.folder / "s3" / "bucket").mkdir(parents=True)
        command = [cls.versitygw, "--quiet", "--port", f"127.0.0.1:{port}", "posix", str(cls.folder / "s3")]
        server = subprocess.Popen(command, env=os.environ | KEYS)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.terminate)
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        return f"http://127.0.0.1:{port}"

    def on_disk(self, name: str) -> Destination:
        return Destination(self.folder / name)

    def on_s3(self, name: str) -> Destination:
        if not self.endpoint:
            self.skipTest("no S3 server")
        return Destination(self.folder / "s3" / "bucket" / name, f"s3://bucket/{name}", self.endpoint)

    def command(self, to: Destination, *args: str, code: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run([self.growth_export, *args, "--dest", to.dest], capture_output=True, text=True, env=os.environ | to.env)
        self.assertEqual(done.returncode, code, f"{args}: {done.stdout}{done.stderr}")
        return done

    def run_night(self, to: Destination, date: str, *args: str) -> None:
        day = ["--simulate-date", date, "--snapshot-date", date, "--backdate"]
        quiet = ["--progress", "none", "--log-level", "error", "--max-shrink", "off", "--compare", "off"]
        self.command(to, "run", *WORLD, *day, *quiet, *args)

    def sources(self, to: Destination, table: str, spark: bool, version: int | None = None):
        """Yields each reader and what DuckDB finds in the table through it."""
        path = f"{to.dest}/{table}"
        at = "" if version is None else f", version => {version}"
        yield "DuckDB", lambda: f"delta_scan('{path}'{at})"

        def register(rows: pyarrow.Table) -> str:
            self.duck.register("registered", rows)
            return "registered"

        yield "delta-rs", lambda: register(
            pyarrow.table(deltalake.DeltaTable(path, version=version, storage_options=to.options or None).to_pyarrow_table())
        )
        yield "polars", lambda: register(polars.read_delta(path, version=version, storage_options=to.options or None).to_arrow())
        if spark:

            def load() -> str:
                reader = self.spark.read.format("delta")
                if version is not None:
                    reader = reader.option("versionAsOf", version)
                return register(reader.load(path.replace("s3://", "s3a://")).toArrow())

            yield "Spark", load

    def read(self, source: str, types: dict[str, str]) -> None:
        """Reads a source into the table "got", with the columns in order."""
        columns = ", ".join(f'"{column}"::{kind} AS "{column}"' for column, kind in types.items())
        self.duck.execute(f"CREATE OR REPLACE TEMP TABLE got AS SELECT {columns} FROM {source}")

    def publish(self, files: list[str]) -> dict[str, str]:
        """Makes the view "published" of some files. Returns its columns and their types."""
        self.duck.read_parquet(files, hive_partitioning=True, union_by_name=True).create_view("published", replace=True)
        return dict(self.duck.sql("SELECT column_name, column_type FROM (DESCRIBE published)").fetchall())

    def digest(self, relation: str) -> tuple:
        return self.duck.sql(f"SELECT count(*), sum(hash(r)::HUGEINT) FROM (SELECT {relation} AS r FROM {relation})").fetchone()

    def check(self, to: Destination, whole: bool = False) -> None:
        """Every reader returns exactly the rows of the manifests: of some tables, or of all, and by Spark too."""
        files, rows = to.tables(), to.rows()
        self.assertEqual({str(p.parent.relative_to(to.root)) for p in to.root.rglob("_delta_log")}, set(files))
        for name in files if whole else [table for table in TRAVEL if table in files]:
            types = self.publish(files[name])
            plain = ", ".join(f'"{column}"' for column in types)
            for reader, source in self.sources(to, name, whole):
                with self.subTest(table=name, reader=reader):
                    self.read(source(), types)
                    if name in rows:
                        count = self.duck.sql("SELECT snapshot_date::VARCHAR, count(*) FROM got GROUP BY ALL").fetchall()
                        self.assertEqual(dict(count), {date: n for date, n in rows[name].items() if n})
                    for one, two in (("got", "published"), ("published", "got")):
                        query = f"SELECT count(*) FROM (SELECT {plain} FROM {one} EXCEPT ALL SELECT {plain} FROM {two})"
                        self.assertEqual(self.duck.sql(query).fetchone()[0], 0, one)

    def remember(self, to: Destination, seen: dict[tuple[str, int], tuple]) -> None:
        """Notes what the last version of each table holds, by the manifests."""
        files = to.tables()
        for name in TRAVEL:
            if name in files:
                types = self.publish(files[name])
                seen[name, to.version(name)] = (types, self.digest("published"))

    def check_versions(self, to: Destination, seen: dict[tuple[str, int], tuple], spark: bool) -> tuple[int, int]:
        """Time travel returns what was published then, or fails if a file has been removed since. Reads up to ten versions of
        each table of each kind, by Spark the first and the last. Returns how many could be read, and how many not."""
        counts = {False: 0, True: 0}
        for name in TRAVEL:
            files: set[str] = set()
            found: dict[bool, list[int]] = {False: [], True: []}
            for version, path in enumerate(sorted((to.root / name / "_delta_log").glob("*.json"))):
                for action in map(json.loads, path.read_text("utf-8").splitlines()):
                    files |= {action["add"]["path"]} if "add" in action else set()
                    files -= {action["remove"]["path"]} if "remove" in action else set()
                gone = any(not (to.root / name / urllib.parse.unquote(file)).exists() for file in files)
                found[gone].append(version)
            for gone, versions in found.items():
                for version in versions[:: len(versions) // 9 + 1] + versions[-1:]:
                    types, digest = seen[name, version]
                    counts[gone] += 1
                    for reader, source in self.sources(to, name, spark and version in (versions[0], versions[-1]), version):
                        with self.subTest(table=name, version=version, reader=reader, gone=gone):
                            if gone:
                                with self.assertRaises(Exception):
                                    self.read(source(), types)
                            else:
                                self.read(source(), types)
                                self.assertEqual(self.digest("got"), digest)
        return counts[False], counts[True]

    def nights(self, to: Destination, *args: str) -> None:
        """Takes the nights with a history, then replaces one, prunes the first half and purges a school."""
        begin, seen = time.monotonic(), {}

        def done(*command: str) -> None:
            self.command(to, *command)
            self.remember(to, seen)

        for i, date in enumerate(dates()):
            self.run_night(to, date, "--history", *args, *(["--delta-lake"] if i == 0 else []))
            self.remember(to, seen)
        took = time.monotonic() - begin
        self.check(to)
        read, refused = self.check_versions(to, seen, spark=True)
        self.assertGreater(read, 2 * len(TRAVEL))
        # The log gets one version by the run and one by the rebuild: see what is current in between.
        self.run_night(to, dates()[NIGHTS // 2], *args, "--replace", "--simulate-seed", "5")
        self.remember(to, seen)
        self.check(to)
        done("history", "--rebuild")
        done("prune", "--keep", str(NIGHTS - NIGHTS // 2))
        self.check(to)
        school = self.duck.read_parquet(to.tables()["schools"]).aggregate("min(school_bid)").fetchone()[0]
        done("purge", "--schools", school)
        self.check(to, whole=True)
        self.command(to, "verify", "--delta-lake")
        self.search_values(to)
        self.check_filters(to)
        read_now, refused_now = self.check_versions(to, seen, spark=False)
        print(
            f"{to.dest.rpartition('/')[2]}: {NIGHTS} nights in {took:.0f} s, {len(to.tables())} tables; {read} versions read before prune"
            f" and purge and {read_now} after, {refused} and {refused_now} refused because files are gone; {time.monotonic() - begin:.0f} s",
            file=sys.stderr,
        )

    def check_filters(self, to: Destination) -> None:
        """A filter by any column through delta-rs and polars finds every row, with or without bounds in the log."""
        for name in to.tables():
            path, options = f"{to.dest}/{name}", to.options or None
            table = deltalake.DeltaTable(path, storage_options=options)
            rows = table.to_pyarrow_table()
            for column in rows.column_names:
                values = [value for value in rows[column].to_pylist() if value is not None]
                if values:
                    with self.subTest(table=name, column=column):
                        count = values.count(values[0])
                        self.assertEqual(table.to_pyarrow_table(filters=[(column, "=", values[0])]).num_rows, count)
                        found = polars.scan_delta(path, storage_options=options).filter(polars.col(column) == values[0])
                        self.assertEqual(found.select(polars.len()).collect().item(), count)
                        found = table.to_pyarrow_dataset().to_table(filter=pyarrow.compute.field(column).is_null())
                        self.assertEqual(found.num_rows, rows.num_rows - len(values))

    def search_values(self, to: Destination) -> None:
        """No value of a student is in any byte of a log."""
        logs = b"".join(p.read_bytes() for p in to.root.rglob("_delta_log/*"))
        for path in to.root.rglob("_delta_log/*.parquet"):  # compressed
            logs += str(pyarrow.parquet.read_table(path).to_pylist()).encode()
        personal = {
            "students": ["student_bid", "student_id", "first_name", "last_name"],
            "test_results": ["test_result_bid", "student_bid"],
            "student_school_associations": ["student_school_association_bid", "student_bid", "first_name", "last_name", "date_of_birth"],
        }
        searched = 0
        for table, columns in personal.items():
            if table not in to.tables():
                continue
            for column in columns:
                source = f"read_parquet('{to.root}/{table}/snapshot_date=*/**/*.parquet')"
                for (value,) in self.duck.sql(f"SELECT DISTINCT {column}::VARCHAR FROM {source}").fetchall():
                    # A shorter value may be part of another word, as the name Ana is of "analytics".
                    if value and len(value) >= 8:
                        searched += 1
                        self.assertNotIn(value.encode(), logs, f"{table}.{column}")
        self.assertGreater(searched, 100)

    def check_skipping(self, to: Destination) -> None:
        """DuckDB opens only the files that can hold a school: its profile says how many."""
        table = f"delta_scan('{to.dest}/students')"
        school = self.duck.sql(f"SELECT max(requested_school_bid) FROM {table}").fetchone()[0]
        plan = self.duck.sql(f"EXPLAIN ANALYZE SELECT count(*) FROM {table} WHERE requested_school_bid = '{school}'").fetchall()
        files = len(deltalake.DeltaTable(f"{to.dest}/students", storage_options=to.options or None).file_uris())
        scanned, of = plan[0][1].split("Scanning Files:")[1].split()[0].split("/")
        print(f"{to.dest.rpartition('/')[2]}: DuckDB's profile of one school: Scanning Files: {scanned}/{of}", file=sys.stderr)
        self.assertEqual(int(of), files)
        self.assertLess(int(scanned), files / 2)

    def test_disk(self):
        self.nights(self.on_disk("disk"))

    def test_disk_by_district(self):
        to = self.on_disk("disk-by-district")
        self.nights(to, "--partition-by", "district", "--schools-per-file", "1")
        self.check_skipping(to)

    def test_s3(self):
        self.nights(self.on_s3("s3"))

    def test_s3_by_district(self):
        to = self.on_s3("s3-by-district")
        self.nights(to, "--partition-by", "district", "--schools-per-file", "1")
        self.check_skipping(to)

    def test_sql(self):
        """The output of `growth-export sql --delta-lake` runs unchanged in DuckDB and Spark."""
        to = self.on_disk("sql")
        for date in dates()[:2]:
            self.run_night(to, date, "--delta-lake", "--datasets", "schools,students")
        rows = to.rows()
        for args, dates_read in (([], dates()[:2]), (["--snapshot-date", dates()[0]], dates()[:1])):
            want = sum(rows["students"][date] for date in dates_read)
            self.duck.execute(self.command(to, "sql", "--delta-lake", *args).stdout)
            self.assertEqual(self.duck.sql("SELECT count(*) FROM students").fetchone()[0], want)
            for statement in self.command(to, "sql", "--delta-lake", "--dialect", "spark", *args).stdout.split(";\n"):
                if statement.strip():
                    self.spark.sql(statement)
            self.assertEqual(self.spark.table("students").count(), want)

    def test_sql_for_analysts(self):
        """The views for analysts have the same rows over Delta Lake tables as over the files, in DuckDB and Spark."""
        to = self.on_disk("sql-for-analysts")
        for date in dates()[:2]:
            self.run_night(to, date, "--delta-lake")
        one = ["--snapshot-date", dates()[0], "--views", "analysis"]
        self.duck.execute(self.command(to, "sql", "--schema", "files", *one).stdout)
        self.duck.execute(self.command(to, "sql", "--schema", "lake", "--delta-lake", *one).stdout)
        for statement in self.command(to, "sql", "--delta-lake", "--dialect", "spark", *one).stdout.split(";\n"):
            if statement.strip():
                self.spark.sql(statement)
        views = self.duck.sql("SELECT view_name FROM duckdb_views() WHERE schema_name = 'lake' AND view_name LIKE 'analysis_%'").fetchall()
        self.assertEqual(len(views), 17)
        for (view,) in views:
            with self.subTest(view=view):
                for left, right in (("files", "lake"), ("lake", "files")):
                    query = f"SELECT count(*) FROM (FROM {left}.{view} EXCEPT ALL FROM {right}.{view})"
                    self.assertEqual(self.duck.sql(query).fetchone()[0], 0, left)
                count = self.duck.sql(f"SELECT count(*) FROM lake.{view}").fetchone()[0]
                # Growth needs two terms, norms need a file, and nothing is wrong with the simulated service.
                self.assertEqual(count == 0, "growth" in view or view in ("analysis_checks", "analysis_norms"))
                self.assertEqual(self.spark.table(view).count(), count)

    def test_own_checkpoint(self):
        """All engines read every version with the checkpoint that growth-export writes after a hundred commits as without it."""
        to, nights, versions = self.on_disk("own-checkpoint"), dates(120), (0, 50, 99, 100, 101, 119)
        few = ["--history", "--delta-lake", "--datasets", "schools,students,test_results"]
        seen: dict[tuple[str, int], tuple] = {}
        for version, date in enumerate(nights):
            self.run_night(to, date, *few)
            if version in versions:
                self.remember(to, seen)
        long = [name for name in to.tables() if to.version(name) >= 100]  # tables of the history change less often
        self.assertLessEqual({"schools", "students", "test_results"}, set(long))
        for name in long:
            self.assertTrue((to.root / name / "_delta_log" / f"{100:020}.checkpoint.parquet").exists(), name)
        verified = self.command(to, "verify", "--delta-lake").stdout
        self.assertRegex(verified, rf"^OK: .*, {len(long)} checkpoints\n$")
        print(f"own checkpoints: {', '.join(long)}", file=sys.stderr)

        def check_all() -> None:
            self.check(to, whole=True)
            for (name, version), (types, digest) in seen.items():
                if name.startswith("history/") and version < to.version(name):
                    continue  # its files have been replaced
                for reader, source in self.sources(to, name, version in (50, 100), version):
                    with self.subTest(table=name, version=version, reader=reader):
                        self.read(source(), types)
                        self.assertEqual(self.digest("got"), digest)

        check_all()
        checkpoints = [*to.root.rglob("_delta_log/*.checkpoint.parquet"), *to.root.rglob("_delta_log/_last_checkpoint")]
        self.assertEqual(len(checkpoints), 2 * len(long))
        for path in checkpoints:
            path.rename(path.parent.parent / path.name)
        check_all()
        for path in checkpoints:
            (path.parent.parent / path.name).rename(path)
        # A glob that names the partition's folder, as all documented ones do, reads no checkpoint as data.
        found = self.duck.sql(f"SELECT count(*) FROM read_parquet('{to.dest}/students/snapshot_date=*/*.parquet')").fetchone()[0]
        self.assertEqual(found, sum(to.rows()["students"].values()))
        self.command(to, "prune", "--keep", "60")
        school = self.duck.read_parquet(to.tables()["schools"]).aggregate("min(school_bid)").fetchone()[0]
        self.command(to, "purge", "--schools", school)
        self.command(to, "verify", "--delta-lake")
        self.check(to, whole=True)
        self.search_values(to)

    def test_checkpoint(self):
        """A checkpoint by delta-rs is used by all engines, and growth-export commits after it."""
        to = self.on_disk("checkpoint")
        for date in dates()[:3]:
            self.run_night(to, date, "--delta-lake", "--datasets", "schools,students")
            for table in to.tables():
                deltalake.DeltaTable(f"{to.dest}/{table}").create_checkpoint()
        self.run_night(to, dates()[1], "--replace", "--simulate-seed", "3", "--datasets", "schools,students")
        self.command(to, "verify", "--delta-lake")
        self.check(to, whole=True)
        # A glob that names the partition's folder, as all documented ones do, reads no checkpoint as data.
        found = self.duck.sql(f"SELECT count(*) FROM read_parquet('{to.dest}/students/snapshot_date=*/*.parquet')").fetchone()[0]
        self.assertEqual(found, sum(to.rows()["students"].values()))

    def test_other_writers(self):
        """verify names the commits of delta-rs, and the next delta-lake undoes them, or says what it cannot do."""
        to = self.on_disk("others")
        for date in dates()[:3]:
            self.run_night(to, date, "--delta-lake", "--datasets", "schools,students")
        path = f"{to.dest}/students"

        def append():
            deltalake.write_deltalake(path, deltalake.DeltaTable(path).to_pyarrow_table().slice(0, 2), mode="append")

        def delete():
            deltalake.DeltaTable(path).delete(f"snapshot_date = '{dates()[0]}'")

        def optimize():
            append()
            deltalake.DeltaTable(path).optimize.compact()

        named = []
        for name, change in (("WRITE", append), ("DELETE", delete), ("OPTIMIZE", optimize)):
            with self.subTest(operation=name):
                change()
                named.append(name)
                found = self.command(to, "verify", "--delta-lake", code=1)
                self.assertRegex(found.stdout, rf"students: version \d+ \({name} by delta-rs\S*\) was written by another program")
                self.command(to, "delta-lake")
                found = self.command(to, "verify", "--delta-lake")
                for earlier in named:
                    self.assertRegex(found.stdout, rf"students: version \d+ \({earlier} by delta-rs\S*\) was written by another program")
                self.check(to, whole=True)

        # VACUUM removes the files that a compaction has replaced.
        optimize()
        deltalake.DeltaTable(path).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        found = self.command(to, "verify", "--delta-lake", code=1)
        self.assertRegex(found.stdout, r"students: version \d+ \(VACUUM \S+ by delta-rs\S*\) was written by another program")
        found = self.command(to, "delta-lake", code=1)
        self.assertIn("is missing or damaged, so snapshot_date=", found.stderr)
        print("after VACUUM: " + found.stderr.strip(), file=sys.stderr)
        self.command(to, "verify", "--delta-lake", code=1)
        # The message advises exporting these dates again.
        for date in dates()[:3]:
            self.run_night(to, date, "--replace", "--simulate-seed", "7", "--datasets", "schools,students")
        self.command(to, "verify", "--delta-lake")
        self.check(to, whole=True)


if __name__ == "__main__":
    DeltaLake.growth_export = str(Path(sys.argv.pop(1)).resolve())
    DeltaLake.jars = str(Path(sys.argv.pop(1)).resolve())
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        DeltaLake.versitygw = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2, warnings="ignore")
