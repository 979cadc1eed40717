"""Loads the DAG with Airflow and runs it, on the simulated service and on a command of every exit code.

    python test_airflow.py GROWTH_EXPORT        the path of the command
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class TestAirflow(unittest.TestCase):
    growth_export = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-airflow-")))
        (cls.folder / "bin").mkdir()
        os.environ |= {
            "AIRFLOW_HOME": str(cls.folder / "home"),
            "AIRFLOW__CORE__DAGS_FOLDER": str(HERE),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
            "PATH": f"{cls.folder / 'bin'}:{os.environ['PATH']}",
            "GROWTH_EXPORT_DEST": str(cls.folder / "growth-data"),
            "GROWTH_EXPORT_SIMULATE": "true",
            "GROWTH_EXPORT_SIMULATE_SCHOOLS": "2",
            "GROWTH_EXPORT_SIMULATE_SIZES": "3,1",
            "GROWTH_EXPORT_SIMULATE_RESULTS": "4",
        }
        sys.dont_write_bytecode = True
        airflow = [sys.executable, "-m", "airflow"]
        subprocess.run([*airflow, "db", "migrate"], check=True, capture_output=True)
        sys.path.insert(0, str(HERE))
        import growth_export

        cls.module = growth_export
        subprocess.run([*airflow, "dags", "reserialize"], check=True, capture_output=True)

    def command(self, script: str) -> None:
        """Puts a script on the path as growth-export."""
        path = self.folder / "bin" / "growth-export"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)

    def test_exit_codes(self):
        """Each exit code is a success, a retry or a final failure."""
        module = self.module
        for code in (0, 3):
            self.command(f"exit {code}")
            module.finish(module.call("growth-export", "run"))
        for code in (2, 4):
            with self.assertRaises(module.AirflowFailException):
                module.finish(code)
        for code in (1, 5, 130, 137, -9):
            with self.assertRaises(module.AirflowException) as raised:
                module.finish(code)
            self.assertNotIsInstance(raised.exception, module.AirflowFailException)

    def test_run(self):
        """The DAG takes a snapshot and verifies it, or fails."""
        self.command(f'exec "{Path(self.growth_export).resolve()}" "$@"')
        dag = self.module.growth_export()
        self.assertEqual(sorted(dag.task_ids), ["snapshot", "verify"])
        self.assertEqual(str(dag.test().state), "success")
        self.assertTrue((self.folder / "growth-data" / "_latest.json").exists())
        self.command("exit 2")
        self.assertEqual(str(dag.test().state), "failed")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_airflow.py GROWTH_EXPORT")
    TestAirflow.growth_export = sys.argv.pop()
    unittest.main(verbosity=2)
