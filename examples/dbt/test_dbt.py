"""Builds and tests the dbt package on a snapshot of the simulated service. Run by `make test-dbt`.

    python test_dbt.py GROWTH_EXPORT        the path of the command
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import duckdb

HERE = Path(__file__).resolve().parent
DBT = Path(sys.executable).parent / "dbt"
GROWTH_EXPORT = ""
ENVIRON = {k: v for k, v in os.environ.items() if not k.startswith(("GROWTH_EXPORT_", "DBT_"))} | {
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "NO_COLOR": "1",
}


class TestPackage(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-dbt-")))
        self.dest = str(self.folder / "growth data")
        self.project = self.folder / "project"
        shutil.copytree(HERE, self.project, ignore=shutil.ignore_patterns("venv", "target", "logs"))

    def export(self, *settings: str) -> None:
        run = [GROWTH_EXPORT, "run", "--simulate", "--progress", "none", "--log-level", "error", "--dest", self.dest, *settings]
        subprocess.run(run, check=True, env=ENVIRON, stdout=subprocess.DEVNULL)

    def dbt(self, *command: str, **variables) -> dict[str, str]:
        """Runs dbt and returns the status of each node."""
        variables = {f"growth_export_{name}": value for name, value in variables.items()} | {"growth_export_dest": self.dest}
        arguments = ["--profiles-dir", ".", "--vars", json.dumps(variables)]
        done = subprocess.run([DBT, *command, *arguments], cwd=self.project, env=ENVIRON, capture_output=True, text=True)
        self.said, self.code = done.stdout + done.stderr, done.returncode
        results = json.loads((self.project / "target" / "run_results.json").read_text("utf-8"))["results"]
        return {result["unique_id"]: result["status"] for result in results}

    def views(self) -> list[str]:
        """Creates the views that the command prints, in schema printed, and returns the names of the views for analysts."""
        self.duck = self.enterContext(duckdb.connect(str(self.project / "growth.duckdb")))
        command = [GROWTH_EXPORT, "sql", "--dest", self.dest, "--views", "sector", "--schema", "printed"]
        self.duck.execute(subprocess.run(command, check=True, env=ENVIRON, capture_output=True, text=True).stdout)
        found = self.duck.execute("SELECT view_name FROM duckdb_views() WHERE schema_name = 'printed' AND (view_name LIKE 'analysis_%' OR view_name IN ('assessment_results', 'sgp_long'))")
        return [name for (name,) in found.fetchall()]

    def compare(self) -> None:
        """The models have the rows of the printed views. dbt has no model of the columns, since it has documentation."""
        views = set(self.views()) - {"analysis_columns"}
        self.assertEqual(len(views), 18)
        for view in views:
            for one, other in (("printed", "main"), ("main", "printed")):
                differences = self.duck.execute(f"SELECT count(*) FROM (FROM {one}.{view} EXCEPT ALL FROM {other}.{view})").fetchone()[0]
                self.assertEqual(differences, 0, view)
            rows = self.duck.execute(f"SELECT count(*) FROM {view}").fetchone()[0]
            # A snapshot has one result per student and subject, and there are no norms.
            self.assertTrue(rows > 0 or "growth" in view or view == "analysis_checks" or view == "analysis_norms", view)

    def test_build(self):
        """Models and tests pass on the default datasets. Then, with a row repeated, the test of its key fails."""
        self.export("--simulate-results", "3000")
        statuses = self.dbt("build")
        self.assertEqual(self.code, 0, self.said)
        self.assertEqual(set(statuses.values()), {"success", "pass"})
        self.assertGreater(sum(status == "pass" for status in statuses.values()), 70)
        self.compare()
        self.duck.close()
        self.dbt("docs", "generate")
        self.assertEqual(self.code, 0, self.said)
        catalog = json.loads((self.project / "target" / "catalog.json").read_text("utf-8"))
        self.assertEqual(catalog["nodes"]["model.growth_export.analysis_results"]["columns"]["rit"]["type"], "INTEGER")

        files = list(Path(self.dest, "students").glob("*/*.parquet"))
        shutil.copyfile(files[0], files[0].with_name("part-copy.parquet"))
        statuses = self.dbt("test", "--select", "stg_growth_export__students", "analysis_students")
        self.assertEqual(self.code, 1, self.said)
        failed = [name.split(".")[2] for name, status in statuses.items() if status == "fail"]
        self.assertEqual(len(failed), 1, failed)
        self.assertRegex(failed[0], "^growth_export_unique_key_stg_growth_export__students")

    def test_all_datasets_of_a_date(self):
        """Builds all datasets, of a named date. A date without a snapshot is an error."""
        small = ["--simulate-schools", "3", "--simulate-sizes", "20,30,5", "--datasets", "all", "--backdate"]
        self.export(*small, "--snapshot-date", "2026-11-19", "--simulate-date", "2026-11-19")
        latest = json.loads(Path(self.dest, "_latest.json").read_text("utf-8"))
        manifest = json.loads(Path(self.dest, latest["manifest"]).read_text("utf-8"))
        self.dbt("build", datasets=sorted(manifest["datasets"]), snapshot_date="2026-11-19")
        self.assertEqual(self.code, 0, self.said)
        self.compare()
        self.assertGreater(self.duck.execute("SELECT count(gender) FROM analysis_students").fetchone()[0], 0)
        self.duck.close()
        statuses = self.dbt("build", "--select", "stg_growth_export__students", snapshot_date="2026-11-20")
        self.assertEqual(self.code, 1, self.said)
        self.assertIn("there is no snapshot of 2026-11-20", self.said)
        self.assertIn("error", statuses.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_dbt.py GROWTH_EXPORT")
    GROWTH_EXPORT = str(Path(sys.argv.pop()).resolve())
    unittest.main(verbosity=2)
