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
import plot_growth

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]


GROWTH_EXPORT = ""


def run_commands(folder: Path, block: int, **variables: str) -> str:
    """Runs a block of commands of README.md in a folder and returns what the last one printed."""
    (folder / "bin").mkdir()
    (folder / "bin" / "growth-export").symlink_to(Path(GROWTH_EXPORT).resolve())
    (folder / "examples").symlink_to(REPOSITORY / "examples")
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -B "$@"\n')
    (folder / "venv" / "bin" / "python").chmod(0o700)
    commands = re.findall(r"```sh\n(.*?)```", (HERE / "README.md").read_text("utf-8"), re.DOTALL)[block]
    # The packages are already installed.
    commands = [line for line in commands.splitlines() if "pip install" not in line]
    assert len(commands) == 3, commands
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GROWTH_EXPORT_")}
    environ |= {"PATH": f"{folder}/bin:{environ['PATH']}", "GROWTH_EXPORT_PROGRESS": "none"} | variables
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=folder, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def texts_of(picture: Path) -> list[str]:
    """The texts in an SVG."""
    root = ElementTree.parse(picture).getroot()
    return ["".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")]


class TestGrowth(unittest.TestCase):
    def test_growth_by_school(self):
        """The plot shows schools whose students have a result of the fall, which the last night lacks, and one of the winter."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-walkthrough-")))
        # A small service, so that 90 nights take less time.
        said = run_commands(folder, 1, GROWTH_EXPORT_SIMULATE_RESULTS="2500", GROWTH_EXPORT_SIMULATE_SIZES="300,300")
        rows = plot_growth.growth(folder / "history.sql")
        self.assertGreater(len(rows), 2)
        self.assertGreaterEqual(min(row[2] for row in rows), 10)
        self.assertIn(f"{sum(row[2] for row in rows):,} pairs of results in {len(rows)} groups", said)
        with duckdb.connect() as duck:
            duck.execute((folder / "history.sql").read_text("utf-8"))
            gone = duck.execute(
                "SELECT count(*) FROM growth_pairs JOIN test_results_ever ON test_result_bid = from_test_result_bid WHERE NOT standing"
            ).fetchone()[0]
            self.assertGreaterEqual(gone, sum(row[2] for row in rows) / 2)
        texts = texts_of(folder / "growth.svg")
        for row in rows:
            self.assertIn(row[0], texts)
            self.assertIn(f"{row[1]} ({row[2]})", texts)
        again = folder / "again.svg"
        plot_growth.plot(rows, again)
        self.assertEqual(again.read_bytes(), (folder / "growth.svg").read_bytes())

    def test_one_school_year(self):
        """In a history of two school years, the growth of a student in a subject counts once, in the newer year."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-walkthrough-")))
        small = ["--simulate", "--simulate-results", "2500", "--simulate-sizes", "300,300", "--progress", "none", "--dest", folder / "nights"]
        for night in ("2024-10-10", "2025-02-12", "2025-10-10", "2026-02-12"):
            dates = ["--simulate-date", night, "--snapshot-date", night, "--backdate", "--history"]
            subprocess.run([GROWTH_EXPORT, "run", *small, *dates], check=True, capture_output=True)
        sql = [GROWTH_EXPORT, "sql", "--dest", folder / "nights", "--history", "--views", "analysis"]
        views = folder / "history.sql"
        views.write_bytes(subprocess.run(sql, check=True, capture_output=True).stdout)
        with duckdb.connect() as duck:
            duck.execute(views.read_text("utf-8"))
            years = duck.execute("SELECT school_year, count(*) FROM analysis_growth_spans WHERE span = 'Fall to Winter' GROUP BY 1 ORDER BY 1").fetchall()
            self.assertEqual([year for year, _ in years], [2024, 2025])
            want = duck.execute(
                "SELECT subject_area, school_name, count(DISTINCT student_bid) FROM analysis_growth_spans JOIN analysis_schools ON school_bid = to_school_bid"
                " WHERE span = 'Fall to Winter' AND school_year = 2025 GROUP BY ALL HAVING count(*) >= 10"
            ).fetchall()
        self.assertGreater(len(want), 2)
        self.assertEqual(sorted(row[:3] for row in plot_growth.growth(views)), sorted(want))


class TestWalkthrough(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-walkthrough-")))
        cls.said = run_commands(cls.folder, 0)
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
        texts = texts_of(picture)
        for wanted in {row[0] for row in self.rows} | {row[1] for row in self.rows} | {"grade", "mean RIT", "K"}:
            self.assertIn(wanted, texts)
        again = self.folder / "again.svg"
        plot.plot(self.rows, again)
        self.assertEqual(again.read_bytes(), picture.read_bytes())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_walkthrough.py GROWTH_EXPORT")
    GROWTH_EXPORT = sys.argv.pop()
    unittest.main(verbosity=2)
