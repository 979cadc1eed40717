"""Reads the latest snapshot of a destination with Spark.

    spark-submit examples/spark/read.py ./growth-data

registers every table as a temporary view, says how many rows it has, and asks one question of them. In a program of
yours:

    snapshot = read.Snapshot(spark, "s3a://bucket/prefix")
    results = snapshot.table("test_results")

The files are those that the manifest names, never a listing: one whole run, whatever is being published or cleaned up
beside it. The columns are those of the generated schema, so that no file is opened to guess them, and a district of
--partition-by district stays text even where it looks like a number.

Spark up to 3.5 refuses dates before 1900, such as the 0001-01-01 that some systems send for "unknown", unless it is told
that they are of the calendar that Spark itself has used since 3.0. read.py says so with an option of each read; a session
of yours that reads the files by itself sets spark.sql.parquet.datetimeRebaseModeInRead to CORRECTED. On a local disk, Java
finds folders with letters beyond ASCII (--partition-by district) only in a UTF-8 locale, such as LC_ALL=C.UTF-8.
"""

import json
import re
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

# What `growth-export schema --format json` prints, for the version of this folder.
GENERATED = Path(__file__).resolve().parents[2] / "schemas" / "generated" / "tables.json"


def schemas() -> dict[str, str]:
    """The schema of every table as Spark takes it, by the table's name."""
    datasets = json.loads(GENERATED.read_text("utf-8"))["datasets"]
    return {table["name"]: table["spark_schema"] for dataset in datasets for table in dataset["tables"]}


class Snapshot:
    """The newest full run at a destination. It stays with that run: make another one to see a later run."""

    def __init__(self, spark: SparkSession, dest: str):
        self.spark = spark
        self.dest = dest.rstrip("/")
        latest = json.loads(self._text("_latest.json"))
        self.date: str = latest["snapshot_date"]
        self.manifest: dict = json.loads(self._text(latest["manifest"]))

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
            # Spark would take some characters of a folder's name for a pattern.
            .parquet(*(re.sub(r"([][{}*?\\])", r"\\\1", f"{self.dest}/{path}") for path in paths))
        )

    def create_views(self) -> None:
        """Makes every table a temporary view of its name."""
        for name in self.tables():
            self.table(name).createOrReplaceTempView(name)

    def _text(self, path: str) -> str:
        # Through Hadoop, which knows every kind of destination: Spark's own readers pass over names that begin with _.
        jvm, context = self.spark.sparkContext._jvm, self.spark.sparkContext._jsc
        where = jvm.org.apache.hadoop.fs.Path(f"{self.dest}/{path}")
        stream = where.getFileSystem(context.hadoopConfiguration()).open(where)
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
