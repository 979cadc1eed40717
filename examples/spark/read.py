"""Reads the latest snapshot of a destination with Spark.

    spark-submit examples/spark/read.py ./growth-data

registers every table as a temporary view, prints row counts, and runs one query. In your own program:

    snapshot = read.Snapshot(spark, "s3a://bucket/prefix")
    results = snapshot.table("test_results")

It reads exactly the files listed in the manifest: one whole run, even while another is being published. The columns come
from the generated schema, so no file is opened to infer them, and the district (--partition-by district) stays text even
if it looks like a number.

Spark up to 3.5 rejects dates before 1900, such as the 0001-01-01 that some systems send for "unknown", unless the rebase
mode is CORRECTED. read.py sets it for each read; if you read the files in another way, set
spark.sql.parquet.datetimeRebaseModeInRead. On a local disk, Java finds folders with non-ASCII names (--partition-by
district) only in a UTF-8 locale, such as LC_ALL=C.UTF-8.
"""

import json
import re
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

# The output of `growth-export schema --format json` for this version.
GENERATED = Path(__file__).resolve().parents[2] / "schemas" / "generated" / "tables.json"


def schemas() -> dict[str, str]:
    """The Spark schema of every table, by the table's name."""
    datasets = json.loads(GENERATED.read_text("utf-8"))["datasets"]
    return {table["name"]: table["spark_schema"] for dataset in datasets for table in dataset["tables"]}


class Snapshot:
    """The newest full run of all schools and students at a destination. Without one, as at the destination of a cohort, it is
    the newest full run of some. The object is pinned to that run; create another Snapshot to see a later one."""

    def __init__(self, spark: SparkSession, dest: str):
        self.spark = spark
        self.dest = dest.rstrip("/")
        latest = json.loads(self._text(self._latest()))
        self.manifest: dict = json.loads(self._text(latest["manifest"]))
        self.date: str = latest.get("snapshot_date") or self.manifest["snapshot_date"]

    def tables(self) -> list[str]:
        """The names of the tables that the run exported."""
        return sorted(self.manifest["tables"])

    def table(self, name: str) -> DataFrame:
        """The rows of a table, with their snapshot_date."""
        if name not in self.manifest["tables"]:
            raise KeyError(f"the snapshot of {self.date} has no table {name}: see run --datasets")
        paths = [file["path"] for file in self.manifest["tables"][name]["files"]]
        schema = schemas()[name]
        if any("/district=" in path for path in paths):
            schema += ", district STRING"
        return (
            self.spark.read.schema(schema)
            .option("basePath", f"{self.dest}/{name}")
            .option("datetimeRebaseMode", "CORRECTED")
            # Escape characters that Spark would read as a glob.
            .parquet(*(re.sub(r"([][{}*?\\])", r"\\\1", f"{self.dest}/{path}") for path in paths))
        )

    def create_views(self) -> None:
        """Creates a temporary view of every table."""
        for name in self.tables():
            self.table(name).createOrReplaceTempView(name)

    def _latest(self) -> str:
        """The path of the document that names the run."""
        where, files = self._where("_latest.json")
        if files.exists(where):
            return "_latest.json"
        where, files = self._where("_snapshots")
        dates = [status.getPath().getName() for status in files.listStatus(where)] if files.exists(where) else []
        dates = [name for name in dates if name.endswith(".json")]
        if not dates:
            raise FileNotFoundError(f"no snapshot at {self.dest}")
        return f"_snapshots/{max(dates)}"

    def _where(self, path: str):
        # Through Hadoop, because Spark's own readers ignore names that begin with _.
        jvm, context = self.spark.sparkContext._jvm, self.spark.sparkContext._jsc
        where = jvm.org.apache.hadoop.fs.Path(f"{self.dest}/{path}")
        return where, where.getFileSystem(context.hadoopConfiguration())

    def _text(self, path: str) -> str:
        jvm = self.spark.sparkContext._jvm
        where, files = self._where(path)
        stream = files.open(where)
        try:
            return jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: spark-submit read.py DEST")
    spark = SparkSession.builder.appName("growth-export").getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    snapshot = Snapshot(spark, sys.argv[1])
    snapshot.create_views()
    print(f"snapshot of {snapshot.date}, run {snapshot.manifest['run_id']}")
    for name in snapshot.tables():
        print(f"{spark.table(name).count():12,}  {name}")
    if "test_results" in snapshot.tables():
        spark.sql("""
            SELECT subject_area, grade, count(*) AS results, round(avg(rit), 1) AS mean_rit
            FROM test_results
            GROUP BY subject_area, grade
            ORDER BY subject_area, try_cast(grade AS INT) NULLS FIRST, grade
        """).show(100, truncate=False)
    spark.stop()


if __name__ == "__main__":
    main()
