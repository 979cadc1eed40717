"""The views of growth hold what reference.py computes, in DuckDB and Spark. Run by `make test-growth`.

    python test_growth.py GROWTH_EXPORT        the path of the command

The views are made over random versions of rows: several results of a student in a season, missing values, terms with odd names.
"""

import csv
import datetime
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import duckdb
import reference

GROWTH_EXPORT = ""
# How many students, and how many consecutive nights of the simulated service.
STUDENTS = int(os.environ.get("STUDENTS", "60"))
COMPLETION_NIGHTS = int(os.environ.get("COMPLETION_NIGHTS", "6"))
ENGINES = os.environ.get("ENGINES", "duckdb,spark").split(",")

DAYS = [datetime.date(2025, 9, 1) + datetime.timedelta(days=9 * i) for i in range(25)]
END = datetime.date(9999, 12, 31)
UTC = datetime.timezone.utc


class World:
    """Random versions of the rows of tables."""

    SCHOOLS = {f"school {i}": f"district {i % 2}" for i in range(6)}
    SUBJECTS = ["Mathematics", "Reading", "Science", "General Science", "Language Usage"]
    NAMES = {  # of the seasons of a school year that begins in {0}
        "Fall": ["Fall {0}-{1}", "FALL of {0}", "Herbst", "fall semester"],
        "Winter": ["Winter {0}-{1}", "winter, year 12345 or {0}", "Mid-year"],
        "Spring": ["Spring {0}-{1}", "Springfield spring {0}", None, "SPRING and Fall {0}"],
        "Summer": ["Summer {0}-{1}", "Summer School"],
    }
    BEGINS = {"Fall": (0, 8), "Winter": (0, 12), "Spring": (1, 3), "Summer": (1, 6)}

    def __init__(self, students: int, seed: int = 7):
        self.random = random.Random(seed)
        self.tables = {name: [] for name in ("test_results", "test_result_norms", "enrollment_sessions", "students", "school_class_students", "coverage")}
        self.terms = []
        for district in ("district 0", "district 1"):
            for year in range(2022, 2026):
                for season, (later, month) in self.BEGINS.items():
                    name = self.random.choice(self.NAMES[season])
                    begin = datetime.date(year + later, month, 5)
                    self.terms.append((f"{district} {season} {year}", None if name is None else name.format(year, year + 1), begin))
        for school, district in self.SCHOOLS.items():
            for perspective in (district, "state"):
                for i, (bid, name, begin) in enumerate(term for term in self.terms if term[0].startswith(district)):
                    self.add(
                        "enrollment_sessions",
                        (DAYS[0], END),
                        requested_perspective_bid=perspective,
                        requested_school_bid=school,
                        academic_year_bid=f"{perspective} year",
                        ordinal=i,
                        enrollment_session_bid=bid if perspective == district else f"state {bid}",
                        description=name,
                        begin_date=begin,
                        end_date=begin + datetime.timedelta(days=85),
                    )
            for dataset in ("students", "test_results", "academic_years"):
                for dates in zip(DAYS[::4], [*DAYS[4::4], END]):
                    status = self.random.choice(["ok", "denied", "failed", "absent"])
                    self.add("coverage", dates, dataset=dataset, requested_school_bid=school, status=status)
        for i in range(students):
            self.student(f"student {i}")

    def maybe(self, value, share: float = 0.97, otherwise=None):
        return value if self.random.random() < share else otherwise

    def add(self, table: str, dates: tuple, **values) -> None:
        ended = None if dates[1] == END else "changed"
        self.tables[table].append(values | {"valid_from": dates[0], "valid_to": dates[1], "ended_because": ended})

    def spells(self) -> list[tuple]:
        """Spans of days that do not overlap; the last one may be open."""
        cuts = sorted(self.random.sample(DAYS, self.random.choice([1, 1, 2, 3])))
        ends = [*cuts[1:], self.maybe(END, 0.8, DAYS[-1])]
        return [(begin, end) for begin, end in zip(cuts, ends) if begin < end]

    def student(self, bid: str) -> None:
        school = self.random.choice(list(self.SCHOOLS))
        for dates in self.spells():
            self.add("students", dates, requested_school_bid=school, student_bid=self.maybe(bid), student_id=bid[8:])
        for school_class in self.random.sample(range(12), 2):
            self.add(
                "school_class_students",
                self.maybe((DAYS[0], END), 0.9, (DAYS[0], DAYS[3])),
                requested_perspective_bid="state",
                requested_school_bid=school,
                school_class_bid=f"class {school_class}",
                ordinal=0,
                student_bid=bid,
            )
        for subject in self.random.sample(self.SUBJECTS, 3):
            grade = self.random.randrange(0, 10)
            rit = self.random.randint(150, 230)
            for year in range(2022, 2026):
                for season in self.BEGINS:
                    rit += self.random.randint(-3, 8)
                    for n in range(self.random.choice([0, 1, 1, 1, 1, 1, 2, 3])):
                        self.result(bid, school, subject, grade + year - 2022, year, season, rit + self.random.randint(-2, 2), n)

    def result(self, student, school, subject, grade, year, season, rit, n) -> None:
        bid = f"{student} {subject} {year} {season} {n}"
        name = "K" if grade == 0 else self.random.choice([str(grade), f"{grade:02}"])
        begin = datetime.datetime(year + self.BEGINS[season][0], self.BEGINS[season][1], self.random.randint(6, 9), tzinfo=UTC)
        flag, error = self.random.choice([True, True, False, None]), self.random.choice([3.1, 3.1, 3.25, 2.99, None])
        values = {
            "requested_school_bid": school,
            "test_result_bid": bid,
            "student_bid": self.maybe(student, 0.99, ""),
            "school_bid": self.maybe(school, 0.9, self.random.choice([None, "school 0"])),
            "term_bid": self.maybe(f"{self.SCHOOLS[school]} {season} {year}", 0.98, self.random.choice([None, "unknown"])),
            "subject_area": self.maybe(subject, 0.99),
            "grade": self.maybe(name, 0.97, self.random.choice(["PK", "X", None])),
            "administration_start_date_time": self.maybe(begin),
        }
        for dates in self.spells():
            values |= {"growth_event_yn": flag, "standard_error": error, "rit": self.maybe(rit, 0.99)}
            self.add("test_results", dates, **values)
            for ordinal, (kind, norms) in enumerate([("achievement", "2020"), ("Achievement", "2025"), ("growth", "2025"), ("achievement", None)]):
                if self.random.random() < 0.5:
                    self.add(
                        "test_result_norms",
                        dates,
                        requested_school_bid=school,
                        test_result_bid=bid,
                        ordinal=ordinal,
                        percentile=self.maybe(self.random.randint(1, 99)),
                        reference=norms,
                        type=kind,
                    )
            flag, error = self.maybe(flag, 0.5, True), self.maybe(error, 0.8, 3.3)

    def norms(self) -> list[dict]:
        rows = []
        for subject in ("MATHEMATICS", "reading", "General Science"):
            for span in reference.SPANS:
                for grade in range(12):
                    for rit in range(140, 260):
                        growth = self.random.randint(-200, 1500) / 100
                        rows.append(
                            {
                                "measurementscale": subject,
                                "startgrade": "K" if grade == 0 else grade,
                                "startrit": rit,
                                "growth_window": span,
                                "typical_growth": growth,
                                "reported_growth": round(growth),
                                "std_dev_of_expectation": self.random.randint(300, 900) / 100,
                            }
                        )
        return rows


class DuckDB:
    def __init__(self, tables: dict[str, Path]):
        self.duck = duckdb.connect()
        for name, path in tables.items():
            self.run(f"CREATE VIEW {name}_versions AS FROM read_parquet('{path}')")

    def run(self, statement: str) -> None:
        self.duck.execute(statement)

    def rows(self, view: str) -> list[dict]:
        # Without the module pytz, Python cannot read timestamps with a time zone from DuckDB.
        found = self.duck.execute(f"SELECT COLUMNS(lambda name: name <> 'administration_start_date_time') FROM {view}")
        names = [column[0] for column in found.description]
        return [dict(zip(names, row)) for row in found.fetchall()]


class Spark:
    def __init__(self, tables: dict[str, Path]):
        from test_spark import start_spark

        self.spark = start_spark(str(next(iter(tables.values())).parent))
        for name, path in tables.items():
            self.spark.read.parquet(str(path)).createOrReplaceTempView(f"{name}_versions")

    def run(self, statement: str) -> None:
        self.spark.sql(statement)

    def rows(self, view: str) -> list[dict]:
        return [row.asDict() for row in self.spark.table(view).collect()]


class TestGrowth(unittest.TestCase):
    VIEWS = {
        "analysis_term_results": ("student_bid", "subject_area", "school_year", "season"),
        "analysis_growth_spans": ("student_bid", "subject_area", "span", "school_year"),
        "analysis_growth_summary": ("school_bid", "grade_number", "subject_area", "span", "school_year"),
        "analysis_class_growth": ("school_class_bid", "subject_area", "span", "school_year"),
        "analysis_completion": ("school_bid", "subject_area", "term_bid", "day"),
    }

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-growth-")))
        # The statements of the views come from a history with the same tables.
        cls.dest = cls.folder / "growth-data"
        run = ["run", "--simulate", "--simulate-schools", "1", "--simulate-results", "20", "--history"]
        cls.growth_export(*run)
        cls.world = World(STUDENTS)
        cls.norms = cls.world.norms()
        with (cls.folder / "norms.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(reversed(cls.norms[0])))
            writer.writeheader()
            writer.writerows(cls.norms)
        cls.expected = cls.expect()

    @classmethod
    def growth_export(cls, command: str, *arguments: str) -> str:
        done = subprocess.run([GROWTH_EXPORT, command, "--dest", str(cls.dest), *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @classmethod
    def expect(cls) -> dict[str, list[dict]]:
        world = reference.Reference(cls.world.tables, cls.norms)
        return {
            "analysis_term_results": world.term_results(),
            "analysis_growth_spans": world.growth_spans(),
            "analysis_growth_summary": world.growth_summary(),
            "analysis_class_growth": world.class_growth(),
            "analysis_completion": world.completion(DAYS, cls.world.SCHOOLS),
        }

    def files(self) -> dict[str, Path]:
        """Writes the versions of every table of the history to a file."""
        duck = duckdb.connect()
        duck.execute(self.growth_export("sql", "--history"))
        duck.execute("SET TimeZone = 'UTC'")
        names = [name.removesuffix("_versions") for (name,) in duck.execute("SELECT view_name FROM duckdb_views() WHERE view_name LIKE '%_versions'").fetchall()]
        files = {}
        for name in names:
            rows = self.world.tables.get(name, [])
            if name == "schools":
                rows = [{"school_bid": s, "name": s.upper(), "district_bid": d, "valid_from": DAYS[0], "valid_to": END} for s, d in self.world.SCHOOLS.items()]
            duck.execute(f"CREATE TABLE {name} AS FROM {name}_versions LIMIT 0")
            if rows:
                columns = list(rows[0])
                lines = self.folder / f"{name}.csv"
                with lines.open("w", newline="") as file:
                    writer = csv.writer(file)
                    writer.writerow(columns)
                    # NULL is a word of its own, since text may be empty.
                    writer.writerows([["NULL" if row[c] is None else row[c] for c in columns] for row in rows])
                duck.execute(
                    f"INSERT INTO {name} ({', '.join(columns)}) FROM read_csv('{lines}', header = true, all_varchar = true, nullstr = 'NULL', quote = '\"')"
                )
            files[name] = self.folder / f"{name}.parquet"
            duck.execute(f"COPY {name} TO '{files[name]}' (FORMAT parquet)")
            self.assertEqual(duck.execute(f"SELECT count(*) FROM {name}").fetchone()[0], len(rows), name)
        return files

    def test_reference(self):
        self.assertGreater(len(self.expected["analysis_growth_spans"]), 30 * STUDENTS)
        words = {row["met_projected_growth"] for row in self.expected["analysis_growth_spans"]}
        self.assertEqual(words, {None, "Yes", "Yes*", "No", "No*"})
        files = self.files()
        for name in ENGINES:
            engine = {"duckdb": DuckDB, "spark": Spark}[name](files)
            printed = self.growth_export("sql", "--history", "--dialect", name, "--views", "analysis", "--norms", str(self.folder / "norms.csv"))
            days = ", ".join(f"(DATE '{day}')" for day in DAYS)
            for statement in re.sub(r"^--.*$", "", printed, flags=re.MULTILINE).split(";\n"):
                # The versions are views over files of the real history.
                if not statement.strip() or re.match(r"\s*(CREATE [A-Z ]*VIEW \S*_versions|SELECT assert_true|COMMENT )", statement):
                    continue
                engine.run(re.sub(r"\(VALUES (\(DATE '[-0-9]+'\)(, )?)+\) AS days", f"(VALUES {days}) AS days", statement))
            for view, key in self.VIEWS.items():
                with self.subTest(engine=name, view=view):
                    want = self.expected[view]
                    self.assertGreater(len(want), 100)
                    different = reference.differences(want, engine.rows(view), key)
                    self.assertEqual(different[:3], [], len(different))
            print(f"{name}: {len(self.expected['analysis_growth_spans']):,} spans agree")


class TestCompletion(unittest.TestCase):
    def test_nights(self):
        """The number of students tested by each night of a testing window equals the count in the snapshot of that night."""
        dest = self.enterContext(tempfile.TemporaryDirectory(prefix="growth-export-growth-"))
        run = [GROWTH_EXPORT, "run", "--simulate", "--dest", dest, "--progress", "none", "--backdate", "--history", "--compare", "off"]
        run += ["--simulate-results", "900", "--simulate-sizes", "60", "--simulate-schools", "5"]
        run += ["--datasets", "districts,schools,students,academic_years,test_results"]
        nights = [datetime.date(2025, 8, 22) + datetime.timedelta(days=i) for i in range(COMPLETION_NIGHTS)]
        for night in nights:
            subprocess.run([*run, "--snapshot-date", str(night), "--simulate-date", str(night)], check=True, capture_output=True)
        duck = duckdb.connect()
        duck.execute(subprocess.run([GROWTH_EXPORT, "sql", "--dest", dest, "--history", "--views", "analysis"], check=True, capture_output=True, text=True).stdout)
        got = {}
        for school, subject, term, day, students, tested in duck.execute(
            "SELECT school_bid, subject_area, term_bid, day, students, tested FROM analysis_completion"
        ).fetchall():
            got[school, subject, term, day] = (students, tested)
        self.assertEqual(sorted({day for _, _, _, day in got}), nights)
        terms = {term for (term,) in duck.execute("SELECT term_bid FROM analysis_terms WHERE term_name = 'Fall 2025-2026'").fetchall()}
        tested_at_all = 0
        for night in nights:
            rosters, results = {}, set()
            for school, student in self.snapshot(dest, night, "students", "requested_school_bid, student_bid"):
                if student:
                    rosters.setdefault(school, set()).add(student)
            for student, subject, term in self.snapshot(dest, night, "test_results", "student_bid, subject_area, term_bid"):
                results.add((student, subject, term))
            found = {key: counts for key, counts in got.items() if key[3] == night}
            self.assertEqual({school for school, _, _, _ in found}, set(rosters) & {school for school, _, _, _ in got})
            for (school, subject, term, _), counts in found.items():
                self.assertIn(term, terms)
                students = rosters[school]
                tested = sum((student, subject, term) in results for student in students)
                self.assertEqual(counts, (len(students), tested), (school, subject, term, night))
                tested_at_all += tested
        self.assertGreater(tested_at_all, 50)
        print(f"{len(nights)} nights: {len(got):,} counts agree")

    @staticmethod
    def snapshot(dest: str, night: datetime.date, table: str, columns: str) -> list[tuple]:
        return duckdb.execute(f"SELECT {columns} FROM read_parquet('{dest}/{table}/snapshot_date={night}/*.parquet')").fetchall()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_growth.py GROWTH_EXPORT")
    GROWTH_EXPORT = str(Path(sys.argv.pop()).resolve())
    unittest.main(verbosity=2)
