"""Runs the commands of README.md and feeds the queries to DuckDB's shell. Run by `make test-examples`.

    python test_questions.py        with DuckDB's shell beside python, or on the PATH
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]


def read_blocks(path: Path, kind: str) -> list[str]:
    """Returns the code blocks of a page, each with the table that follows it."""
    return re.findall(rf"```{kind}\n(.*?)```\n(?:\n((?:\|[^\n]*\n)+))?", path.read_text("utf-8"), re.DOTALL)


def cells(table: str) -> list[list[str]]:
    """Returns the cells of a table in Markdown, without the line below its header."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]
    return rows[:1] + rows[2:]


class TestQuestions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="growth-export-questions-")))
        (cls.folder / "bin").symlink_to(REPOSITORY / "bin")
        cls.environment = {k: v for k, v in os.environ.items() if not k.startswith("GROWTH_EXPORT_")}
        cls.environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        cls.run_commands(read_blocks(HERE / "README.md", "sh")[0][0], "")

    @classmethod
    def run_commands(cls, commands: str, typed: str) -> str:
        """Runs commands in the folder; the last one reads the typed text. Returns their output."""
        commands = commands.replace("make demo", f"make -C '{REPOSITORY}' demo DEST='{cls.folder}/demo/growth-data'")
        done = subprocess.run(["bash", "-euc", commands], cwd=cls.folder, env=cls.environment, input=typed, capture_output=True, text=True)
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        assert "Error" not in done.stderr, done.stderr
        return done.stdout

    def ask(self, queries: list[str], views: str = "views.sql") -> list[list[list[str]]]:
        """Returns what DuckDB's shell answers, each as rows of text."""
        typed = ".mode markdown\n" + "".join(f"{query}.print ;\n" for query in queries)
        printed = self.run_commands(f"duckdb -init {views}", typed)
        answers = [cells(answer.strip("\n")) for answer in printed.split(";\n")[:-1]]
        self.assertEqual(len(answers), len(queries), printed)
        return answers

    def test_questions(self):
        """Each query has the result that the page shows."""
        questions = [block for block in read_blocks(HERE / "README.md", "sql") if block[1]]
        self.assertEqual(len(questions), 14)
        for (query, shown), answer in zip(questions, self.ask([query for query, _ in questions]), strict=True):
            with self.subTest(query=query):
                table = cells(shown)
                if table[-1] == ["..."] * len(table[0]):
                    self.assertGreater(len(answer), len(table) - 1)
                    table = table[:-1]
                    answer = answer[: len(table)]
                self.assertEqual(answer, table)

    def test_not_tested(self):
        """The list of students who have not been tested is as long as the newest count of them."""
        listed = read_blocks(HERE / "README.md", "sql")[10][0].rstrip(";\n")
        self.assertIn("results.student_bid IS NULL", listed)
        counted = "SELECT CAST(sum(students - tested) AS BIGINT) AS students FROM analysis_completion WHERE subject_area = 'Mathematics' AND day = DATE '2026-02-13';\n"
        counts = self.ask([f"SELECT count(*) AS students FROM ({listed}) AS listed;\n", counted])
        self.assertEqual(*counts)
        self.assertGreater(int(counts[0][1][0]), 1000)

    def test_demographics(self):
        """The commands about demographics run on the day after another run, with few schools, and the query finds groups of students with a known gender and ethnicity."""
        commands = read_blocks(HERE / "README.md", "sh")[2][0]
        small = " --simulate --simulate-date 2025-11-20 --simulate-schools 3 --simulate-sizes 300,200,100"
        commands = commands.replace("plan --dest", f"plan{small} --dest").replace("run --dest", f"run{small} --dest")
        # As on the other pages.
        commands = f"growth-export run{small} --snapshot-date 2025-11-19 --backdate --dest growth-data --history\n{commands}"
        commands = commands.replace("> views.sql", "> details.sql").replace("duckdb -init views.sql\n", "")
        self.assertRegex(self.run_commands(f'PATH="$PWD/bin:$PATH"\n{commands}', ""), r"student_details .* about \d+ requests")
        header, *groups = self.ask([read_blocks(HERE / "README.md", "sql")[-2][0]], "details.sql")[0]
        self.assertEqual(header[:3], ["gender", "ethnicity", "students"])
        self.assertGreater(len(groups), 2)
        self.assertTrue(any("unknown" not in group[:2] for group in groups), groups)

    def test_quiet_and_denied_nights(self):
        """After a night on which nothing has changed, no query finds the changes of an earlier night. Students of schools whose results were not read do not count as students without a result."""
        questions = [query for query, _ in read_blocks(HERE / "README.md", "sql")]
        of_time = [query for query, _ in read_blocks(REPOSITORY / "docs" / "time.md", "sql")]
        last_night = [query for query in questions + of_time if "_changes" in query and "max(day)" in query]
        self.assertEqual(len(last_night), 3)

        def night(date: str, simulated: str, flags: str = ""):
            self.run_commands(
                'PATH="$PWD/bin:$PATH"\n'
                f"growth-export run --simulate --simulate-date {simulated} --simulate-schools 3 --simulate-sizes 300,200,100 {flags}"
                f" --snapshot-date {date} --backdate --dest quiet --history --progress none\n"
                "growth-export sql --dest quiet --history --views analysis > quiet.sql\n",
                "",
            )

        def count(*queries: str) -> list[int]:
            counted = ["SELECT count(*) AS rows FROM (\n" + query.rstrip(";\n") + "\n) AS found;\n" for query in queries]
            return [int(answer[1][0]) for answer in self.ask(counted, "quiet.sql")]

        for date in ("2026-02-12", "2026-02-13"):
            night(date, date)
        changes = "SELECT * FROM test_results_changes WHERE day = DATE '2026-02-13';\n"
        self.assertGreater(min(count(changes, last_night[-1])), 0)
        night("2026-02-14", "2026-02-13")
        self.assertEqual(count(*last_night), [0, 0, 0])

        without = questions[2]
        self.assertIn("without_result", without)
        schools = count(without)[0]
        night("2026-02-15", "2026-02-13", "--simulate-denied 1 --max-shrink off")
        self.assertEqual(count("SELECT * FROM coverage_current WHERE dataset = 'test_results' AND status = 'denied';\n"), [1])
        self.assertEqual(count(without), [schools - 1])

        header, *unread = self.ask([questions[-1]], "quiet.sql")[0]
        self.assertEqual(header, ["school_name", "school_bid", "dataset", "status", "since"])
        self.assertEqual(len({row[1] for row in unread}), 1)
        self.assertIn("test_results", [row[2] for row in unread])
        self.assertEqual({(row[3], row[4]) for row in unread}, {("denied", "2026-02-15")})
        self.assertNotIn("NULL", [row[0] for row in unread])

    def test_one_snapshot(self):
        """The queries that need no history find rows on the views of one snapshot, with the changes that questions 3 and 14 describe."""
        questions = [query for query, _ in read_blocks(HERE / "README.md", "sql")][:14]
        questions[2] = re.sub(r".* coverage_current .*\n", "", questions[2])
        questions[13] = re.sub(r"WITH versions AS \(.*?\n\),\nareas", "WITH areas", questions[13], flags=re.DOTALL)
        questions[13] = re.sub(r"FROM versions\n +WHERE valid_to = .*\n", "FROM test_result_instructional_areas\n", questions[13])
        self.run_commands(
            'PATH="$PWD/bin:$PATH"\n'
            "growth-export sql --dest demo/growth-data --snapshot-date 2026-02-13 --views analysis --norms demo/norms.csv > one.sql\n",
            "",
        )
        for answer in self.ask([query for number, query in enumerate(questions, 1) if number not in (1, 5, 6, 12, 13)], "one.sql"):
            self.assertGreater(len(answer), 1, answer)

    def test_other_pages(self):
        """The queries of the README and of the page on dates run. The first query, the query of a period and the query of a date find rows."""
        pages = [REPOSITORY / "README.md", REPOSITORY / "docs" / "time.md"]
        queries = [query for page in pages for query, _ in read_blocks(page, "sql")]
        self.assertGreater(len(queries), 6)
        self.run_commands(
            'PATH="$PWD/bin:$PATH"\n'
            "growth-export run --simulate --simulate-date 2026-02-13 --effective-date 2025-10-01 --dest demo/growth-data --progress none\n"
            "growth-export sql --dest demo/growth-data --effective-date 2025-10-01 --schema october | cat views.sql - > enrolled.sql\n",
            "",
        )
        answers = self.ask(queries, "enrolled.sql")
        of_a_period = next(i for i, query in enumerate(queries) if "administration_start_date_time >=" in query)
        of_a_date = next(i for i, query in enumerate(queries) if "FROM october." in query)
        for i in (0, of_a_period, of_a_date):
            self.assertGreater(len(answers[i]), 1, queries[i])


if __name__ == "__main__":
    unittest.main()
