"""pandas, polars, pyarrow, DuckDB, DataFusion and chDB read every table of unusual data. Run by `make test-examples`.

    python test_readers.py GROWTH_EXPORT        the path of the command
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import chdb
import datafusion
import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet

# A small world, with every oddity of the simulated service and with odd district bids.
ODD_WORLD = ["--simulate", "--simulate-quirks", "--simulate-districts", "26", "--simulate-schools", "26"]
ODD_WORLD += ["--simulate-results", "1000", "--simulate-sizes", "0,1,40"]


class TestReaders(unittest.TestCase):
    growth_export = ""

    def export(self, *settings: str) -> tuple[Path, dict]:
        """Takes a snapshot of unusual data. Returns its destination and the tables of its manifest."""
        dest = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-readers-")))
        run = [self.growth_export, "run", *ODD_WORLD, "--datasets", "all", "--progress", "none", "--dest", str(dest), *settings]
        done = subprocess.run(run, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        latest = json.loads((dest / "_latest.json").read_text("utf-8"))
        tables = json.loads((dest / latest["manifest"]).read_text("utf-8"))["tables"]
        self.assertEqual(len(tables), 19)
        return dest, tables

    def test_values(self):
        """All agree on every value, and _extra is valid JSON text."""
        dest, tables = self.export()
        duck = duckdb.connect()
        duck.execute("SET TimeZone = 'UTC'")
        data_fusion = datafusion.SessionContext()
        for name, table in tables.items():
            with self.subTest(table=name):
                files = [str(dest / file["path"]) for file in table["files"]]
                by_arrow = pyarrow.concat_tables(pyarrow.parquet.read_table(file, partitioning=None) for file in files)
                self.assertEqual(by_arrow.num_rows, table["rows"])
                self.assertEqual(by_arrow.schema.field("_extra").type, pyarrow.string())

                by_polars = polars.read_parquet(files, hive_partitioning=False)
                self.assertEqual(by_polars.schema["_extra"], polars.String)
                self.assertTrue(by_polars.to_arrow().cast(by_arrow.schema).equals(by_arrow))

                by_duckdb = duck.sql("SELECT * FROM read_parquet($files, hive_partitioning = false)", params={"files": files})
                self.assertTrue(by_duckdb.to_arrow_table().cast(by_arrow.schema).equals(by_arrow))

                by_pandas = pandas.concat(
                    (pandas.read_parquet(file, partitioning=None, dtype_backend="pyarrow") for file in files), ignore_index=True
                )
                self.assertTrue(pyarrow.Table.from_pandas(by_pandas, preserve_index=False).cast(by_arrow.schema).equals(by_arrow))

                by_datafusion = pyarrow.concat_tables(data_fusion.read_parquet(file).to_arrow_table() for file in files)
                self.assertTrue(by_datafusion.cast(by_arrow.schema).equals(by_arrow))

                query = "SELECT * FROM file('{}', Parquet) SETTINGS output_format_arrow_string_as_string = 1, use_hive_partitioning = 0"
                by_chdb = pyarrow.concat_tables(chdb.query(query.format(file), "ArrowTable") for file in files)
                self.assertTrue(by_chdb.cast(by_arrow.schema).equals(by_arrow))

                extras = [extra for extra in by_arrow["_extra"].to_pylist() if extra is not None]
                self.assertTrue(extras or name in ("districts", "schools"))
                for extra in extras:
                    self.assertIsInstance(json.loads(extra), dict)
                    # Python would silently accept a lone surrogate.
                    json.dumps(json.loads(extra), ensure_ascii=False).encode("utf-8")

    def run_page(self, page: str, language: str, interpreter: list[str], check: str) -> None:
        """Runs the code of a page, with a check at the end, on a new destination. Its pip commands are left out."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-readers-")))
        (folder / "bin").mkdir()
        (folder / "bin" / "growth-export").symlink_to(self.growth_export)
        path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        text = (Path(__file__).resolve().parent / page).read_text("utf-8")
        for code in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
            code = re.sub("^pip .*", "", code, flags=re.MULTILINE)
            subprocess.run(["sh", "-ec", code], cwd=folder, env=os.environ | {"PATH": path}, check=True, capture_output=True)
        blocks = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        self.assertEqual(len(blocks), 3)
        done = subprocess.run([*interpreter, "\n".join([*blocks, check])], cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Mathematics", done.stdout)
        self.assertIn("accommodations", done.stdout)

    def test_pandas(self):
        """The code of pandas.md runs, and keeps types."""
        check = """
assert len(results) > 10_000 and str(results["rit"].dtype) == "int32[pyarrow]" and "snapshot_date" not in results
assert str(results["administration_start_date_time"].dt.tz) == "UTC"
date = json.loads(Path("growth-data/_latest.json").read_text())["snapshot_date"]
assert read("test_results", date).equals(results)
assert len(growth) > 0 and {"span", "observed_growth"} <= set(growth)
assert len(named) == len(results) and named["name"].notna().all() and not named["school_bid"].isin(read("schools")["school_bid"]).all()
times = duck.sql("SELECT administration_start_date_time AS began FROM analysis_term_results")
assert times.df()["began"].notna().any()
try:
    times.fetchall()
except Exception as error:
    assert "pytz" in str(error)
else:
    import pytz
"""
        self.run_page("pandas.md", "python", [sys.executable, "-c"], check)

    def test_polars(self):
        """The code of polars.md runs."""
        check = """
date = json.loads(Path("growth-data/_latest.json").read_text())["snapshot_date"]
assert scan("test_results", date).collect().equals(results.collect()) and results.collect().height > 10_000
assert "snapshot_date" not in results.collect_schema()
assert growth.height > 0 and {"span", "observed_growth"} <= set(growth.columns)
assert named.collect().height == results.collect().height and named.collect()["name"].null_count() == 0
"""
        self.run_page("polars.md", "python", [sys.executable, "-c"], check)

    def test_r(self):
        """The code of r.md runs, and times are in this century."""
        packages = "stopifnot(all(c('arrow', 'dplyr', 'jsonlite') %in% rownames(installed.packages())))"
        if shutil.which("Rscript") is None or subprocess.run(["Rscript", "-e", packages], capture_output=True).returncode != 0:
            self.skipTest("needs R with the packages arrow, dplyr and jsonlite")
        check = """
times <- results$administration_start_date_time
stopifnot(nrow(results) > 10000, is.integer(results$rit), attr(times, "tzone") == "UTC", min(times, na.rm = TRUE) > as.POSIXct("2000-01-01"))
stopifnot(identical(read("test_results", fromJSON("growth-data/_latest.json")$snapshot_date), results), nrow(growth) > 0, "observed_growth" %in% names(growth))
stopifnot("ID" %in% names(read_parquet("sgp_long.parquet")))
"""
        self.run_page("r.md", "r", ["Rscript", "-e"], check)

    def test_districts(self):
        """With globs, every row has the date and district of its folder, both in DuckDB and in polars."""
        dest, tables = self.export("--partition-by", "district")
        for name, table in tables.items():
            with self.subTest(table=name):
                pattern = str(dest / name / "snapshot_date=*" / "**" / "*.parquet")
                frame = polars.scan_parquet(
                    pattern,
                    hive_partitioning=True,
                    hive_schema={"snapshot_date": polars.Date} | ({"district": polars.String} if "district=" in table["files"][0]["path"] else {}),
                ).collect()
                self.assertEqual(frame.height, table["rows"])
                if "district" not in frame.columns:
                    continue
                by_duckdb = duckdb.execute(
                    "SELECT DISTINCT district FROM read_parquet($pattern, hive_partitioning = true, hive_types = {'district': VARCHAR})",
                    {"pattern": pattern},
                ).fetchall()
                self.assertEqual({row[0] for row in by_duckdb}, set(frame["district"].unique()))
                self.assertGreater(len(by_duckdb), 20)


if __name__ == "__main__":
    TestReaders.growth_export = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
