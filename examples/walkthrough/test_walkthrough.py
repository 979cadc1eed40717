"""Runs the commands of README.md on the simulated service. Run by `make test-examples`.

    python test_walkthrough.py GROWTH_EXPORT        the path of the command
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import duckdb
import plot

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]


class TestWalkthrough(unittest.TestCase):
    growth_export = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-walkthrough-")))
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin" / "growth-export").symlink_to(Path(cls.growth_export).resolve())
        (cls.folder / "examples").symlink_to(REPOSITORY / "examples")
        (cls.folder / "venv" / "bin").mkdir(parents=True)
        (cls.folder / "venv" / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -B "$@"\n')
        (cls.folder / "venv" / "bin" / "python").chmod(0o700)
        commands = re.search(r"```sh\n(.*?)```", (HERE / "README.md").read_text("utf-8"), re.DOTALL).group(1)
        # The packages are already installed.
        commands = [line for line in commands.splitlines() if "pip install" not in line]
        assert len(commands) == 3, commands
        environ = {k: v for k, v in os.environ.items() if not k.startswith("GROWTH_EXPORT_")}
        environ |= {"PATH": f"{cls.folder}/bin:{environ['PATH']}", "GROWTH_EXPORT_PROGRESS": "none"}
        for command in commands:
            done = subprocess.run(command, shell=True, cwd=cls.folder, env=environ, capture_output=True, text=True)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            cls.said = done.stdout
        cls.rows = plot.means(cls.folder / "views.sql")

    def test_counts(self):
        """The groups agree with an independent query."""
        files = str(self.folder / "growth-data" / "test_results" / "**" / "*.parquet")
        want = duckdb.execute(
            "SELECT sum(n) FROM (SELECT count(*) AS n FROM read_parquet($files) WHERE rit IS NOT NULL AND grade IS NOT NULL"
            " GROUP BY subject_area, grade)",
            {"files": files},
        ).fetchone()[0]
        got = sum(row[3] for row in self.rows)
        self.assertGreater(got, 0.9 * int(want))  # results without a term, and small groups
        self.assertLessEqual(got, want)
        self.assertIn(f"{got:,} results in {len(self.rows)} groups", self.said)
        self.assertGreaterEqual(min(row[3] for row in self.rows), 10)

    def test_order(self):
        terms = list(dict.fromkeys(row[1] for row in self.rows))
        self.assertGreaterEqual(len(terms), 2)
        self.assertEqual(terms, sorted(terms, key=self.when))
        self.assertEqual(plot.grades_of([("", "", g, 0, 0, 0) for g in ("10", "K", "2", "X", "PK", "1")]), ["PK", "K", "1", "2", "10", "X"])

    @staticmethod
    def when(term: str) -> tuple[str, int]:
        season, year = term.split()
        return year, ["Fall", "Winter", "Spring", "Summer"].index(season)

    def test_picture(self):
        picture = self.folder / "rit.svg"
        root = ElementTree.parse(picture).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        texts = ["".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")]
        for wanted in {row[0] for row in self.rows} | {row[1] for row in self.rows} | {"grade", "mean RIT", "K"}:
            self.assertIn(wanted, texts)
        again = self.folder / "again.svg"
        plot.plot(self.rows, again)
        self.assertEqual(again.read_bytes(), picture.read_bytes())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_walkthrough.py GROWTH_EXPORT")
    TestWalkthrough.growth_export = sys.argv.pop()
    unittest.main(verbosity=2)
