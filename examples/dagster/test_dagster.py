"""Loads the definitions with Dagster and runs its job, with a simulated service and with stubs that return each exit code. Part of `make test-examples`.

    python test_dagster.py GROWTH_EXPORT        the path of the command
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class TestDagster(unittest.TestCase):
    growth_export = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-dagster-")))
        (cls.folder / "bin").mkdir()
        serve = [cls.growth_export, "simulate", "--schools", "2", "--sizes", "3,1", "--results", "4"]
        service = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.addClassCleanup(service.stdout.close)
        cls.addClassCleanup(service.wait)
        cls.addClassCleanup(service.terminate)
        os.environ |= dict(re.findall(r"export (GROWTH_EXPORT_\w+)=(\S+)", "".join(service.stdout.readline() for _ in range(3))))
        os.environ |= {
            "DAGSTER_HOME": str(cls.folder),
            "DAGSTER_DISABLE_TELEMETRY": "yes",
            "GROWTH_EXPORT_DEST": str(cls.folder / "growth-data"),
            "PATH": f"{cls.folder / 'bin'}:{os.environ['PATH']}",
        }
        cls.command('exec "$REAL" "$@"')
        os.environ["REAL"] = cls.growth_export
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(HERE))
        global dg, module
        import dagster as dg
        import growth_export as module

        cls.instance = cls.enterClassContext(dg.DagsterInstance.ephemeral())

    @classmethod
    def command(cls, script: str) -> None:
        """Puts a script on the path as growth-export."""
        path = cls.folder / "bin" / "growth-export"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)

    def night(self):
        """Runs the job, and returns its result."""
        job = module.defs.resolve_job_def("growth_export_night")
        return job.execute_in_process(QUIET, instance=self.instance, raise_on_error=False)

    def materialize(self):
        """Materializes the assets, and returns the result."""
        return dg.materialize([module.growth_export], QUIET, instance=self.instance, raise_on_error=False)

    def verified(self) -> dict[str, bool]:
        """Runs the checks of the files, and returns the outcome of each by table."""
        checks = dg.AssetSelection.checks(module.growth_export_verify)
        result = dg.materialize([module.growth_export, module.growth_export_verify], QUIET, instance=self.instance, selection=checks)
        return {check.asset_key.path[-1]: check.passed for check in result.get_asset_check_evaluations()}

    def tables(self, result) -> dict[str, dict]:
        """The metadata of the tables that were materialized."""
        events = result.get_asset_materialization_events()
        found = {event.asset_key.path[-1]: event.materialization.metadata for event in events}
        return {table: {name: value.value for name, value in metadata.items()} for table, metadata in found.items()}

    def why(self, result) -> str:
        (event,) = [event for event in result.all_events if event.is_step_failure]
        return event.step_failure_data.user_failure_data.description

    def test_night(self):
        """Tables have the figures of the manifest, and checks the results in the manifest and of verify."""
        self.command('exec "$REAL" "$@"')
        result = self.night()
        self.assertTrue(result.success)
        data = self.folder / "growth-data"
        latest = json.loads((data / "_latest.json").read_text("utf-8"))
        manifest = json.loads((data / latest["manifest"]).read_text("utf-8"))
        tables = self.tables(result)
        self.assertEqual(tables.keys(), manifest["tables"].keys())
        for name, table in manifest["tables"].items():
            want = {
                "dagster/row_count": table["rows"],
                "files": len(table["files"]),
                "bytes": sum(file["bytes"] for file in table["files"]),
                "run_id": latest["run_id"],
                "snapshot_date": latest["snapshot_date"],
                "report": str(data / "_runs" / latest["run_id"] / "report.html"),
            }
            self.assertEqual(tables[name], want)
        self.assertGreater(tables["test_results"]["dagster/row_count"], 0)
        checks = {(check.asset_key.path[-1], check.check_name) for check in result.get_asset_check_evaluations() if check.passed}
        self.assertEqual(
            checks,
            {(check["table"], check["check"]) for check in manifest["checks"]} | {(table, "files") for table in tables},
        )
        self.assertEqual(len(manifest["checks"]), len(module.RULES))
        # A file that was changed.
        (file,) = manifest["tables"]["students"]["files"]
        with (data / file["path"]).open("ab") as damaged:
            damaged.write(b"x")
        self.assertEqual({table for table, passed in self.verified().items() if not passed}, {"students"})
        (data / latest["manifest"]).write_text("{}")
        self.assertNotIn(True, self.verified().values())

    def test_figures(self):
        """Changes since the previous snapshot are metadata, and a rule that is broken, or not checked, is a warning."""
        tables = [{"table": spec.key.path[-1], "rows": 8, "files": 1, "bytes": 9} for spec in module.ASSETS]
        checks = [{"check": rule, "table": "test_results", "count": 0, "schools": 2} for rule in module.RULES]
        checks[3]["count"] = 5
        comparison = {"tables": {"students": {"same": 1, "added": 2, "changed": 3, "removed": 4}}}
        summary = {"tables": tables, "checks": checks[1:], "comparison": comparison, "run_id": "r", "snapshot_date": "2026-11-20", "report": "x"}
        (self.folder / "summary.json").write_text(json.dumps(summary))
        self.command(f'cat "{self.folder}/summary.json"')
        result = self.materialize()
        of = self.tables(result)
        self.assertEqual([of["students"][count] for count in ("added", "changed", "removed")], [2, 3, 4])
        self.assertNotIn("added", of["schools"])
        failed = {check.check_name: check for check in result.get_asset_check_evaluations() if not check.passed}
        self.assertEqual(failed.keys(), {checks[0]["check"], checks[3]["check"]})
        self.assertEqual(failed[checks[3]["check"]].metadata["count"].value, 5)
        self.assertEqual({check.severity for check in failed.values()}, {dg.AssetCheckSeverity.WARN})

    def test_exit_codes(self):
        """Each exit code but 0 fails the step, and final ones are not retried."""
        for code, final in {1: False, 2: True, 4: True, 5: False, 130: False, 137: False}.items():
            with self.subTest(code=code):
                self.command(f'echo \'{{"error": "the reason"}}\'; exit {code}')
                result = self.materialize()
                self.assertFalse(result.success)
                self.assertEqual(self.tables(result), {})
                self.assertRegex(self.why(result), rf"\(exit code {code}\): the reason$")
                self.assertEqual(module.failure(code, {}).allow_retries, not final)
        self.command("kill -9 $$")
        result = self.materialize()
        self.assertIn("it was killed (exit code -9)", self.why(result))

    def test_published_with_problems(self):
        """The tables are there, and the step fails, without a retry."""
        self.command('"$REAL" "$@"; exit 3')
        with mock.patch.dict(os.environ, {"GROWTH_EXPORT_DEST": str(self.folder / "problems")}):
            result = self.materialize()
        self.assertFalse(result.success)
        self.assertFalse(module.failure(3, {}).allow_retries)
        self.assertEqual(len(self.tables(result)), len(module.ASSETS))
        self.assertIn("published with problems", self.why(result))

    def test_schedule(self):
        dg.Definitions.validate_loadable(module.defs)
        schedule = module.defs.resolve_schedule_def("growth_export_night_schedule")
        self.assertEqual(schedule.job_name, "growth_export_night")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_dagster.py GROWTH_EXPORT")
    TestDagster.growth_export = str(Path(sys.argv.pop()).resolve())
    unittest.main(verbosity=2)
