"""Measures how long engines take to open a Delta log of many nightly commits. Run by `make bench-delta-lake`.

    python delta_lake.py GROWTH_EXPORT JARS [DOCUMENT]

The log is growth-export's of one night, repeated: COMMITS (1000) commits, each adding FILES (50) files, without and with the
checkpoint that growth-export writes every 100 commits. A log of one commit shows what an engine takes anyway. The files of the last night are copies of one real file. Each engine opens the log in a process of its own, all by turns, TURNS (5) times, and
reads one column of the last night. The figures are medians. They are written into DOCUMENT, if there is one.
"""

import datetime
import glob
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMITS = int(os.environ.get("COMMITS") or "1000")
FILES = int(os.environ.get("FILES") or "50")
TURNS = int(os.environ.get("TURNS") or "5")
TABLE = "test_results"
ENGINES = ["DuckDB", "delta-rs", "polars", "Spark"]


def make_log(growth_export: str, dest: Path, commits: int) -> str:
    """Writes the table. Returns the date of its last night."""
    first = datetime.date(2024, 1, 1)
    run = ["run", "--simulate", "--datasets", "schools,test_results", "--snapshot-date", first.isoformat(), "--backdate", "--delta-lake"]
    subprocess.run([growth_export, *run, "--progress", "none", "--log-level", "error", "--dest", str(dest)], check=True, capture_output=True)
    log = dest / TABLE / "_delta_log"
    lines = [json.loads(line) for line in (log / f"{0:020}.json").read_text("utf-8").splitlines()]
    add = lines.pop()["add"]
    for version in range(commits):
        date = (first + datetime.timedelta(days=version)).isoformat()
        actions = lines if version == 0 else [lines[0], {"txn": {"appId": "growth-export", "version": version}}]
        for i in range(FILES):
            path = f"snapshot_date={date}/part-{i:04}-night-{version}.parquet"
            actions = [*actions, {"add": add | {"path": path, "partitionValues": {"snapshot_date": date}}}]
            if version == commits - 1:
                (dest / TABLE / path).parent.mkdir(exist_ok=True)
                os.link(dest / TABLE / add["path"], dest / TABLE / path)
        (log / f"{version:020}.json").write_text("".join(json.dumps(a, separators=(",", ":")) + "\n" for a in actions), "utf-8")
    return date


def read(engine: str, table: str, date: str, jars: str) -> None:
    """Opens the table and counts the values of a night. Prints wall and CPU seconds of this, and the peak memory in bytes."""
    day = datetime.date.fromisoformat(date)
    if engine == "DuckDB":
        import duckdb
        import duckdb_extension_delta

        db = duckdb.connect(config={"allow_unsigned_extensions": True})
        db.execute(f"LOAD '{next(Path(duckdb_extension_delta.__file__).parent.rglob('delta.duckdb_extension'))}'")

        def count() -> int:
            return db.sql(f"SELECT count(rit) FROM delta_scan('{table}') WHERE snapshot_date = DATE '{date}'").fetchone()[0]
    elif engine == "polars":
        import polars

        def count() -> int:
            nights = polars.scan_delta(table).filter(polars.col("snapshot_date") == day)
            return nights.select(polars.col("rit").count()).collect().item()
    elif engine == "delta-rs":
        import deltalake

        def count() -> int:
            nights = deltalake.DeltaTable(table).to_pyarrow_table(partitions=[("snapshot_date", "=", date)], columns=["rit"])
            return len(nights["rit"].drop_null())
    else:
        from pyspark.sql import SparkSession

        settings = {
            "spark.databricks.delta.snapshotPartitions": "2",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.jars": ",".join(glob.glob(f"{jars}/*.jar")),
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        spark.range(1).count()  # the session has started

        def count() -> int:
            return spark.read.format("delta").load(table).where(f"snapshot_date = DATE '{date}'").selectExpr("count(rit)").first()[0]
    begin = time.monotonic()
    rows = count()
    seconds = time.monotonic() - begin
    usage = resource.getrusage(resource.RUSAGE_SELF)
    if engine == "Spark":  # the virtual machine is a child
        gateway = spark.sparkContext._gateway
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024, "rows": rows}), flush=True)
    os._exit(0)  # an ordinary exit may abort: Arrow's threads are still running


def write_checkpoint(growth_export: str, dest: Path) -> tuple[Path, dict]:
    """Has growth-export write the checkpoint that it would have written on the way. Returns its path, and what that took."""
    log = dest / TABLE / "_delta_log"
    due = (COMMITS - 1) // 100 * 100
    later = sorted(log.glob("*.json"))[due + 1 :]
    aside = log.parent / "later"
    aside.mkdir()
    for commit in later:
        commit.rename(aside / commit.name)
    took = command(growth_export, "delta-lake", dest)
    (log / f"{due + 1:020}.json").unlink()  # the manifests name only the first night
    for commit in later:
        (aside / commit.name).rename(commit)
    aside.rmdir()
    return log / f"{due:020}.checkpoint.parquet", took


def verify(growth_export: str, dest: Path) -> dict:
    """Measures a command that reads the whole log, and finds that it differs from the manifests."""
    return command(growth_export, "verify --delta-lake", dest)


def command(growth_export: str, args: str, dest: Path) -> dict:
    begin = time.monotonic()
    child = subprocess.Popen([growth_export, *args.split(), "--dest", str(dest)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(child.pid, 0)
    return {"seconds": time.monotonic() - begin, "cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss * 1024}


def measure(growth_export: str, jars: str) -> str:
    """Returns the tables of results."""
    began, load = time.time(), os.getloadavg()[0]
    version = subprocess.run([growth_export, "version"], check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="growth-export-delta-lake-") as folder:
        dest = Path(folder) / "one"
        one = measure_engines(growth_export, jars, dest, make_log(growth_export, dest, 1))
        dest = Path(folder) / "many"
        date = make_log(growth_export, dest, COMMITS)
        size = sum(p.stat().st_size for p in dest.glob(f"{TABLE}/_delta_log/*"))
        without = measure_engines(growth_export, jars, dest, date)
        checkpoint, took = write_checkpoint(growth_export, dest)
        checkpoint_size = checkpoint.stat().st_size
        with_checkpoint = measure_engines(growth_export, jars, dest, date)
    lines = [
        f"{time.strftime('%-d %B %Y, %H:%M', time.gmtime(began))} UTC. Load average {load:.2f} before, {os.getloadavg()[0]:.2f} after. {TURNS} turns.",
        f"{os.cpu_count()} cores, {platform.system().lower()}/{platform.machine()}. {version}.",
    ]
    if load > os.cpu_count():
        lines.append("**The machine was busy: only the CPU time says anything.**")
    lines.append("")
    for title, rows in (
        (f"One commit of {FILES} files, which shows what an engine takes anyway:", one),
        (f"{COMMITS:,} commits of {FILES} files, {size / 1e6:.0f} MB of JSON, no checkpoint:", without),
        (
            f"The same with growth-export's checkpoint of version {int(checkpoint.name[:20])}, {checkpoint_size / 1e6:.1f} MB, written in {took['seconds']:.1f} s"
            f" with {took['peak'] / 1e6:,.0f} MB of memory:",
            with_checkpoint,
        ),
    ):
        lines += [title, "", "| reader | wall, s | CPU with start, s | peak, MB |", "|---|--:|--:|--:|", *rows, ""]
    return "\n".join(lines).rstrip()


def measure_engines(growth_export: str, jars: str, dest: Path, date: str) -> list[str]:
    """Returns the rows of a table of results."""
    measured: dict[str, list[dict]] = {engine: [] for engine in [*ENGINES, "growth-export"]}
    for _ in range(TURNS):
        for engine in ENGINES:
            run = [sys.executable, "-B", __file__, "--read", engine, str(dest / TABLE), date, jars]
            measured[engine].append(json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))
        measured["growth-export"].append(verify(growth_export, dest))
    assert len({result["rows"] for engine in ENGINES for result in measured[engine]}) == 1, measured
    rows = []
    for engine, results in measured.items():
        what = "`growth-export verify --delta-lake`" if engine == "growth-export" else engine
        wall, cpu, peak = (statistics.median(result[name] for result in results) for name in ("seconds", "cpu", "peak"))
        rows.append(f"| {what} | {wall:.1f} | {cpu:.1f} | {peak / 1e6:,.0f} |")
    return rows


def main() -> None:
    if sys.argv[1] == "--read":
        read(*sys.argv[2:])
        return
    growth_export, jars = (str(Path(p).resolve()) for p in sys.argv[1:3])
    table = measure(growth_export, jars)
    print(table)
    if len(sys.argv) > 3:
        document = Path(sys.argv[3])
        before, rest = document.read_text("utf-8").split("<!-- delta-lake: begin -->\n")
        _, after = rest.split("<!-- delta-lake: end -->\n")
        document.write_text(f"{before}<!-- delta-lake: begin -->\n\n{table}\n\n<!-- delta-lake: end -->\n{after}", "utf-8")


if __name__ == "__main__":
    main()
