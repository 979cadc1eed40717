"""earthmover makes Ed-Fi records from the file that the view assessment_results produces. Run by `make test-examples`.

    python test_earthmover.py GROWTH_EXPORT        the path of the command
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import duckdb

HERE = Path(__file__).resolve().parent
GROWTH_EXPORT = ""


class TestEarthmover(unittest.TestCase):
    def test_assessments(self):
        """There is one student assessment per row of the file, with the values of the row."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-earthmover-")))
        norms = folder / "norms.csv"
        norms.write_bytes(subprocess.run([GROWTH_EXPORT, "simulate", "norms"], check=True, capture_output=True).stdout)
        run = [GROWTH_EXPORT, "run", "--simulate", "--simulate-results", "1500", "--simulate-sizes", "300", "--backdate", "--history", "--dest", str(folder / "dest")]
        for night in ("2025-10-10", "2026-02-12"):
            subprocess.run([*run, "--simulate-date", night, "--snapshot-date", night, "--compare", "off"], check=True, capture_output=True)
        sql = [GROWTH_EXPORT, "sql", "--dest", str(folder / "dest"), "--history", "--views", "sector", "--norms", str(norms)]
        duck = self.enterContext(duckdb.connect())
        duck.execute(subprocess.run(sql, check=True, capture_output=True, text=True).stdout)
        file = folder / "AssessmentResults.csv"
        duck.execute(f"COPY assessment_results TO '{file}' (HEADER)")
        rows = duck.execute("SELECT TestID, StudentID, TestRITScore, Goal2Name, FallToWinterMetProjectedGrowth FROM assessment_results").fetchall()

        settings = json.dumps({"INPUT_FILE": str(file), "OUTPUT_DIR": str(folder / "output")})
        command = [Path(sys.executable).with_name("earthmover"), "run", "--config-file", HERE / "earthmover.yaml", "--params", settings]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = {}
        for line in (folder / "output" / "studentAssessments.jsonl").read_text("utf-8").splitlines():
            record = json.loads(line)
            made[record["studentAssessmentIdentifier"]] = record
        self.assertGreater(len(rows), 1000)
        self.assertEqual(len(made), len(rows))
        met = 0
        for test, student, rit, area, grown in rows:
            record = made[test]
            scores = {score["assessmentReportingMethodDescriptor"]: score["result"] for score in record["scoreResults"]}
            self.assertEqual(record["studentReference"]["studentUniqueId"], student)
            self.assertEqual(scores["TestRITScore"], str(rit))
            self.assertEqual(scores.get("FallToWinterMetProjectedGrowth"), grown)
            self.assertIn(area, [part["identificationCode"] for part in record["studentObjectiveAssessments"]])
            met += grown is not None
        self.assertGreater(met, 100)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_earthmover.py GROWTH_EXPORT")
    GROWTH_EXPORT = str(Path(sys.argv.pop()).resolve())
    unittest.main(verbosity=2)
