"""Makes the page of README.md on a simulated history, and searches it for students and small groups. Run by `make test-examples`.

    python test_growth_page.py GROWTH_EXPORT        the path of the command
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import growth_page

HERE = Path(__file__).resolve().parent
GROWTH_EXPORT = ""


class Text(HTMLParser):
    """The texts of a page, and every address that it could load something from."""

    def __init__(self, page: str):
        super().__init__()
        self.texts, self.loads = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if tag == "script" or name.startswith("on") or name in ("src", "href", "xlink:href") and not value.startswith("#"):
                self.loads.append((tag, name, value))

    def handle_data(self, data):
        self.texts.append(data.strip())


class TestPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-page-")))
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin" / "growth-export").symlink_to(GROWTH_EXPORT)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GROWTH_EXPORT_")}
        cls.environment = environment | {"PATH": f"{cls.folder}/bin:{environment['PATH']}"}
        cls.dest = cls.folder / "growth-data"
        for night in ("2025-10-10", "2026-02-12", "2026-02-13"):
            cls.call("growth-export", "run", "--simulate", "--simulate-date", night, "--snapshot-date", night, "--backdate", "--history", "--dest", cls.dest)
        (cls.folder / "norms.csv").write_text(cls.call("growth-export", "simulate", "norms"))
        cls.page = cls.make("norms.csv")

    @classmethod
    def call(cls, *command) -> str:
        done = subprocess.run(list(map(str, command)), cwd=cls.folder, env=cls.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @classmethod
    def make(cls, *norms: str) -> str:
        cls.call(sys.executable, "-B", HERE / "growth_page.py", cls.dest, "growth.html", *norms)
        return (cls.folder / "growth.html").read_text("utf-8")

    def query(self, query: str) -> list[tuple]:
        duck = self.enterContext(duckdb.connect())
        duck.execute(self.call("growth-export", "sql", "--dest", self.dest, "--history", "--views", "analysis", "--norms", self.folder / "norms.csv"))
        return duck.execute(query).fetchall()

    def test_no_student(self):
        """No identifier, number or name of any student, result, class or educator is in the bytes of the page."""
        planted = {
            value
            for query in (
                "SELECT DISTINCT unnest([student_bid, student_id, first_name || ' ' || last_name, last_name || ', ' || first_name]) FROM students_versions",
                "SELECT DISTINCT unnest([test_result_bid, student_bid]) FROM test_results_versions",
                "SELECT DISTINCT unnest([school_class_bid, class_name]) FROM school_classes_versions",
                "SELECT DISTINCT unnest([educator_bid, first_name || ' ' || last_name]) FROM school_class_educators_versions",
                "SELECT DISTINCT unnest([school_bid, district_bid]) FROM schools_versions",
            )
            for (value,) in self.query(query)
            if value
        }
        self.assertGreater(len(planted), 30_000)
        words = set(re.findall(r"[\w-]{8,}", self.page))
        self.assertEqual({value for value in planted if value in words or " " in value and value in self.page}, set())
        self.assertNotRegex(self.page, r"[0-9a-f]{8}-[0-9a-f]{4}-")

    def test_small_groups(self):
        """No count is below ten, and no difference between two counts is from one to nine. Small groups are hidden, and the data has some."""
        counts = [int(text.replace(",", "")) for text in re.findall(r"</th><td>([\d,]+)</td>", self.page)]
        self.assertGreater(len(counts), 10)
        self.assertEqual({count % 10 for count in counts}, {0})
        self.assertGreaterEqual(min(counts), 10)
        small = self.query(
            "SELECT count(*) FROM (SELECT 1 FROM analysis_growth_spans WHERE span = 'Fall to Winter' AND school_year = 2025"
            " GROUP BY subject_area, to_school_bid HAVING count(*) < 10)"
        )[0][0]
        self.assertEqual(self.page.count("</th><td>&lt; 10</td>"), small)
        self.assertGreater(small, 0)
        # The share tested in a picture is the ratio of two rounded counts.
        self.assertEqual([growth_page.rounded(n) for n in (0, 9, 10, 14, 15, 104, 105)], [None, None, 10, 10, 20, 100, 110])
        self.assertEqual([growth_page.share(9, 91), growth_page.share(91, 9), growth_page.share(10, 30)], ["–", "–", "25 %"])

    def test_figures(self):
        """The table has the figures of the views."""
        for subject, school, students, growth, met in self.query(
            "SELECT subject_area, school_name, sum(students), sum(students * mean_observed_growth) / sum(students), sum(with_norms * share_met) / sum(with_norms)"
            " FROM analysis_growth_summary WHERE span = 'Fall to Winter' AND school_year = 2025 GROUP BY ALL HAVING sum(students) >= 50"
        ):
            table = re.search(f"<caption>{subject}</caption>.*?</table>", self.page).group(0)
            row = re.search(f"<th scope=row>{re.escape(growth_page.html.escape(school))}</th>(.*?)</tr>", table).group(1)
            self.assertIn(f"<td>{int(students + 5) // 10 * 10:,}</td><td>{growth:+.1f}</td>", row)
            self.assertIn(f"<td>{100 * met:.0f} %</td>", row)

    def test_self_contained(self):
        text = Text(self.page)
        self.assertEqual(text.loads, [])
        self.assertEqual(set(re.findall(r"https?://[^\s\"'<)]+", self.page)) - {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}, set())
        self.assertNotIn(growth_page.INK, self.page)
        self.assertGreater(self.page.count("<svg"), 6)
        for title in ("Scores by grade and term", "Growth by school: Fall to Winter, ending in 2025-2026", "Tested so far", "Achievement and growth of schools"):
            self.assertIn(title, text.texts)

    def test_failure(self):
        """If growth-export fails, or the page cannot be written, one message says so without a traceback, and there is no page."""
        for dest, page, message in (
            (self.folder / "nowhere", "nowhere.html", r"^growth-export: .*nowhere"),
            (self.dest, "missing/page.html", r"^cannot write missing/page\.html: No such file or directory$"),
        ):
            command = [sys.executable, "-B", HERE / "growth_page.py", dest, page]
            done = subprocess.run(list(map(str, command)), cwd=self.folder, env=self.environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, message)
            self.assertNotIn("Traceback", done.stderr)
            self.assertFalse((self.folder / page).exists())

    def test_without_norms(self):
        """Without norms the page says so, and schools are placed by mean growth. Equal data gives equal bytes."""
        page = self.make()
        self.assertIn("Without growth norms, projections and percentiles are missing.", page)
        self.assertIn("mean growth, RIT", page)
        self.assertEqual(page, self.make())

    def test_begun_span_and_unread_school(self):
        """The page shows the newest span that most students have finished, not one that a few have, and names the school that was denied."""
        dest = self.folder / "begun"
        world = ["--simulate", "--simulate-schools", "3", "--simulate-sizes", "300,200,100"]
        for night, *denied in (("2025-10-10",), ("2026-02-12",), ("2026-05-20",), ("2026-08-23", "--simulate-denied", "1", "--max-shrink", "off")):
            dates = ["--simulate-date", night, "--snapshot-date", night, "--backdate", "--history"]
            self.call("growth-export", "run", *world, *dates, *denied, "--dest", dest)
        with duckdb.connect() as duck:
            duck.execute(self.call("growth-export", "sql", "--dest", dest, "--history", "--views", "analysis"))
            self.assertIn((2026,), duck.execute("SELECT DISTINCT school_year FROM analysis_growth_spans").fetchall())
            denied = duck.execute(
                "SELECT DISTINCT school_name FROM coverage_current JOIN analysis_schools ON school_bid = requested_school_bid WHERE status = 'denied'"
            ).fetchall()
        self.call(sys.executable, "-B", HERE / "growth_page.py", dest, "begun.html")
        page = (self.folder / "begun.html").read_text("utf-8")
        self.assertIn("<h2>Growth by school: Fall to Spring, ending in 2025-2026</h2>", page)
        self.assertEqual(len(denied), 1)
        self.assertIn(f"<p>These schools were not read on 2026-08-23, so the page shows their last known data: {denied[0][0]}.</p>", page)
        self.assertNotIn("were not read", self.page)

    def test_missing_data(self):
        """Without terms, or with one term only, the page says what is missing, and not that the groups are small."""
        for datasets, missing in (("schools,test_results", 4), ("default", 2)):
            dest = self.folder / datasets
            self.call(
                "growth-export", "run", "--simulate", "--simulate-date", "2025-10-10", "--snapshot-date", "2025-10-10", "--backdate",
                "--history", "--datasets", datasets, "--dest", dest,
            )
            self.call(sys.executable, "-B", HERE / "growth_page.py", dest, "missing.html")
            page = (self.folder / "missing.html").read_text("utf-8")
            self.assertIn("From the history through 2025-10-10.", page)
            self.assertEqual(page.count("Nothing can be shown: "), missing)
            self.assertEqual(page.count("growth needs results of two terms"), 2)
            self.assertIn("<h2>Growth by school</h2>", page)
            self.assertNotIn("No group has", page)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_growth_page.py GROWTH_EXPORT")
    GROWTH_EXPORT = str(Path(sys.argv.pop()).resolve())
    unittest.main(verbosity=2)
