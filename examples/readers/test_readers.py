"""polars, pyarrow and DuckDB read every table of unusual data. Run by `make test-examples`.

    python test_readers.py GROWTH_EXPORT        the path of the command
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet

# Small, but with every oddity of the simulated service, and odd district bids.
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
        """All three agree on every value, and _extra is valid JSON text."""
        dest, tables = self.export()
        duck = duckdb.connect()
        duck.execute("SET TimeZone = 'UTC'")
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

                extras = [extra for extra in by_arrow["_extra"].to_pylist() if extra is not None]
                self.assertTrue(extras or name in ("districts", "schools"))
                for extra in extras:
                    self.assertIsInstance(json.loads(extra), dict)
                    # Python would silently accept a lone surrogate.
                    json.dumps(json.loads(extra), ensure_ascii=False).encode("utf-8")

    def test_page(self):
        """The Python code of README.md runs, on a destination with a history."""
        dest = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-readers-")))
        run = [self.growth_export, "run", "--simulate", "--simulate-results", "500", "--history", "--dest", str(dest / "growth-data")]
        subprocess.run(run, check=True, capture_output=True)
        sql = [self.growth_export, "sql", "--dest", str(dest / "growth-data"), "--history", "--views", "sector"]
        (dest / "views.sql").write_bytes(subprocess.run(sql, check=True, capture_output=True).stdout)
        page = (Path(__file__).resolve().parent / "README.md").read_text("utf-8")
        code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        self.assertEqual(len(code), 4)
        program = "\n".join([*code, "assert len(results.collect()) > 300 and growth.columns[:3] == ['student_bid', 'subject_area', 'span']"])
        done = subprocess.run([sys.executable, "-c", program], cwd=dest, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Mathematics", done.stdout)

    def test_districts(self):
        """With globs, every row has the date and district of its folder, in DuckDB and polars alike."""
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
