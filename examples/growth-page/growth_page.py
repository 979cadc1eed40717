"""Makes an HTML page about growth from a destination with a history, without scripts, resources from elsewhere, or students.

    python growth_page.py DEST PAGE.html [NORMS]

Needs growth-export on the PATH. README.md says what the page shows and what it hides.
"""

import html
import io
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import duckdb
import matplotlib

matplotlib.use("Agg")  # no screen is needed
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent

# The least number of students in a group that is shown. Counts are rounded to multiples of it, so that no difference of two counts on the
# page is the size of a smaller group.
LEAST = 10

NO_GROWTH = "growth needs results of two terms, and academic_years"

BLUE, ORANGE, GREEN = "#3b78b5", "#c8681f", "#4a8f4a"
COLOURS = {"Fall": ORANGE, "Winter": BLUE, "Spring": GREEN}
INK = "#010203"  # becomes the colour of the page's text


def rounded(students: int) -> int | None:
    """A count as the page shows it; None if it is too small."""
    return None if students < LEAST else (students + LEAST // 2) // LEAST * LEAST


def figures(dest: str, norms: str | None) -> dict[str, list[dict]]:
    """Runs the queries on the history of a destination."""
    command = ["growth-export", "sql", "--dest", dest, "--history", "--views", "analysis", *(["--norms", norms] if norms else [])]
    sql = subprocess.run(command, stdout=subprocess.PIPE, text=True)  # which prints its errors itself
    if sql.returncode:
        sys.exit(1)
    parts = re.split(r"^-- name: (\w+)\n", (HERE / "queries.sql").read_text("utf-8"), flags=re.MULTILINE)[1:]
    found, chosen = {}, {}
    with duckdb.connect() as duck:
        duck.execute(sql.stdout)
        for name, query in zip(parts[::2], parts[1::2]):
            result = duck.execute(query, {key: value for key, value in chosen.items() if f"${key}" in query})
            columns = [column[0] for column in result.description]
            found[name] = [dict(zip(columns, row)) for row in result.fetchall()]
            if name == "spans":
                chosen = found[name][0] if found[name] else {"span": "", "school_year": 0}
    return found


def by_subject(rows: list[dict]):
    for subject, group in groupby(rows, key=lambda row: row["subject_area"]):
        yield subject, list(group)


class Picture:
    """A figure that becomes an SVG in the page."""

    def __init__(self, height: float, title: str, x: str, y: str):
        self.figure, self.axis = plt.subplots(figsize=(5.4, height), layout="constrained")
        self.axis.set_title(title, loc="left", fontweight="bold")
        self.axis.set(xlabel=x, ylabel=y)
        self.axis.spines[["top", "right"]].set_visible(False)
        self.axis.grid(alpha=0.2, linewidth=0.6)
        self.axis.set_axisbelow(True)
        self.title = title

    def svg(self) -> str:
        out = io.StringIO()
        self.figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        plt.close(self.figure)
        svg = out.getvalue()[out.getvalue().index("<svg") :].replace(INK, "currentColor")
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        svg = re.sub(r' width="[^"]*pt"', "", re.sub(r' height="[^"]*pt"', "", svg, count=1), count=1)
        return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(self.title, quote=True)}"', 1)


def grade_name(grade: int) -> str:
    return {-1: "PK", 0: "K"}.get(grade, str(grade))


def season_name(row: dict) -> str:
    return f"{row['season']} {row['school_year']}-{row['school_year'] + 1}"


def distribution(rows: list[dict]) -> str:
    """Quartiles of RIT by grade and term. Ten students lie beyond each mark."""
    parts = []
    for subject, group in by_subject(rows):
        shown = [row for row in group if rounded(row["students"])]
        if not shown:
            continue
        terms = sorted({(row["school_year"], list(COLOURS).index(row["season"]), season_name(row)) for row in shown})[-3:]
        names = [name for _, _, name in terms]
        grades = sorted({row["grade_number"] for row in shown})
        picture = Picture(3.2, subject, "grade", "RIT")
        for row in shown:
            if season_name(row) not in names:
                continue
            at = grades.index(row["grade_number"]) + (names.index(season_name(row)) - (len(names) - 1) / 2) * 0.25
            colour, (p10, p25, p50, p75, p90) = COLOURS[row["season"]], row["quantiles"]
            if row["students"] >= 10 * LEAST:
                picture.axis.plot([at, at], [p10, p90], color=colour, linewidth=1)
            if row["students"] >= 4 * LEAST:
                picture.axis.plot([at, at], [p25, p75], color=colour, linewidth=6, solid_capstyle="butt", alpha=0.7)
            picture.axis.plot([at], [p50], marker="o", markersize=3.5, color=INK)
        for name, season in zip(names, [list(COLOURS)[order] for _, order, _ in terms]):
            picture.axis.plot([], [], color=COLOURS[season], linewidth=6, label=name)
        picture.axis.set_xticks(range(len(grades)), [grade_name(grade) for grade in grades])
        picture.figure.legend(loc="outside lower center", ncols=3, frameon=False)
        parts.append(picture.svg())
    return figure_list(rows, "this needs test_results and the terms in academic_years", parts)


def growth(rows: list[dict]) -> str:
    """Growth by school: a table for each subject."""
    if not rows:
        return figure_list(rows, NO_GROWTH, [])
    parts = []
    for subject, group in by_subject(rows):
        lines = []
        for row in group:
            students = rounded(row["students"])
            cells = [f"{students:,}" if students else f"&lt; {LEAST}"]
            if students:
                cells += [f"{row['mean_growth']:+.1f}", share(row["met"], row["not_met"])]
                known = row["met"] + row["not_met"] >= LEAST and row["growth_percentile"] is not None
                cells.append(f"{row['growth_percentile']:.0f}" if known else "–")
            lines.append(f"<tr><th scope=row>{html.escape(row['school_name'] or 'unknown')}</th>{''.join(f'<td>{cell}</td>' for cell in [*cells, *['–'] * (4 - len(cells))])}</tr>")
        parts.append(
            f"<table><caption>{html.escape(subject)}</caption><thead><tr><th scope=col>school<th scope=col>students, in tens<th scope=col>mean growth"
            f"<th scope=col>met projection<th scope=col>median percentile</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        )
    return f'<div class="figures">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def share(met: int, not_met: int) -> str:
    """A share, unless it would describe a few students on one side."""
    if met < LEAST or not_met < LEAST:
        return "–"
    return f"{100 * met / (met + not_met):.0f} %"


def completion(rows: list[dict]) -> str:
    """The share tested by day, from rounded counts."""
    parts = []
    for subject, group in by_subject(rows):
        days = [(row["day"], rounded(row["tested"]) or 0, rounded(row["students"])) for row in group]
        days = [(day, 100 * min(tested, students) / students) for day, tested, students in days if students]
        if not days:
            continue
        picture = Picture(2.4, f"{subject}, {season_name(group[0])}", "", "% tested")
        picture.axis.step([day for day, _ in days], [percent for _, percent in days], where="post", color=BLUE, linewidth=1.8)
        picture.axis.plot(*days[-1], marker="o", color=BLUE, markersize=4)
        picture.axis.set_ylim(0, 103)
        ticks = [day for day, _ in days[:: max(1, len(days) // 5)]]
        picture.axis.set_xticks(ticks, [f"{day.day} {day:%b}" for day in ticks])
        parts.append(picture.svg())
    return figure_list(rows, "this needs test_results, students and academic_years, and a day within a term", parts)


def quadrant(rows: list[dict]) -> str:
    """Schools by achievement and growth."""
    parts = []
    for subject, group in by_subject(rows):
        points = []
        for row in group:
            with_norms = row["met"] + row["not_met"] >= LEAST and row["growth_percentile"] is not None
            if rounded(row["students"]) and row["achievement_percentile"] is not None:
                points.append((row["achievement_percentile"], row["growth_percentile"] if with_norms else None, row["mean_growth"], row["school_name"]))
        if any(percentile is not None for _, percentile, _, _ in points):
            points, label = [(x, y, name) for x, y, _, name in points if y is not None], "median growth percentile"
        else:
            points, label = [(x, growth, name) for x, _, growth, name in points], "mean growth, RIT"
        if not points:
            continue
        picture = Picture(3.6, subject, "median achievement percentile", label)
        for number, (x, y, _) in enumerate(points, 1):
            picture.axis.plot([x], [y], marker="o", color=BLUE, markersize=12, alpha=0.8)
            picture.axis.annotate(str(number), (x, y), ha="center", va="center_baseline", fontsize=7.5, color="#ffffff")
        middle = 50 if "percentile" in label else sum(y for _, y, _ in points) / len(points)
        picture.axis.axhline(middle, color=INK, linewidth=0.8, alpha=0.6)
        picture.axis.axvline(50, color=INK, linewidth=0.8, alpha=0.6)
        picture.axis.margins(0.1, 0.1)
        parts.append(picture.svg() + "<ol>" + "".join(f"<li>{html.escape(name or 'unknown')}" for _, _, name in points) + "</ol>")
    return figure_list(rows, NO_GROWTH, parts)


def unread(found: dict[str, list[dict]]) -> str:
    """Says which schools were not read on the last day."""
    names = [row["school_name"] or "unknown" for row in found["unread"]]
    if not names:
        return ""
    return f"<p>These schools were not read on {found['days'][0]['day']}, so the page shows their last known data: {html.escape(', '.join(names))}.</p>"


def figure_list(rows: list[dict], needs: str, parts: list[str]) -> str:
    """The figures, or why none can be shown. needs says what the rows are made of."""
    if not rows:
        return f"<p>Nothing can be shown: {needs}.</p>"
    if not parts:
        return f"<p>No group has {LEAST} students or more.</p>"
    return f'<div class="figures">{"".join(f"<figure>{part}</figure>" for part in parts)}</div>'


STYLE = """
:root { color-scheme: light dark; --back: #fff; --ink: #1d2430; --faint: #5c6675; --line: #d5dae1; }
@media (prefers-color-scheme: dark) { :root { --back: #14181f; --ink: #e3e7ee; --faint: #9aa5b5; --line: #333c49; } }
@media print { :root { color-scheme: light; --back: #fff; --ink: #000; --faint: #333; --line: #999; } section { break-inside: auto; } figure, table { break-inside: avoid; } }
body { margin: 0 auto; max-width: 74rem; padding: 1rem; background: var(--back); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: .5rem 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .25rem; border-top: 1px solid var(--line); padding-top: 1rem; }
p { max-width: 46rem; color: var(--faint); margin: .25rem 0 .75rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem 2rem; align-items: start; }
figure { margin: 0; } svg { width: 100%; height: auto; max-width: 36rem; } .figures > div { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; } caption { text-align: left; font-weight: 600; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .4rem; text-align: right; font-weight: 400; vertical-align: bottom; } th:first-child { text-align: left; }
ol { columns: 15rem; color: var(--faint); font-size: .85rem; margin: .25rem 0; padding-left: 1.8rem; } td { white-space: nowrap; }
h2, h2 + p { break-after: avoid; } @media (max-width: 30rem) { table { font-size: .8rem; } th, td { padding: .2rem; } }
thead th { color: var(--faint); font-size: .8rem; }
"""


def page(found: dict[str, list[dict]], norms: bool) -> str:
    """Returns the page. Equal figures give equal bytes."""
    matplotlib.rcParams.update({"svg.hashsalt": "growth-export", "svg.fonttype": "none", "font.size": 9})
    matplotlib.rcParams.update({f"{part}.{name}": INK for part, name in (("text", "color"), ("axes", "labelcolor"), ("axes", "edgecolor"))})
    matplotlib.rcParams.update({"xtick.color": INK, "ytick.color": INK, "axes.titlecolor": INK, "grid.color": INK})
    span = found["spans"][0] if found["spans"] else None
    of_span = f": {span['span']}, ending in {span['school_year']}-{span['school_year'] + 1}" if span else ""
    without = "" if norms else " Without growth norms, projections and percentiles are missing."
    sections = [
        (
            "Scores by grade and term",
            "The dot is the median, the bar spans the middle half of the students, and the line the middle 80 %, in the last three terms. "
            "Small groups have only a dot, or a dot and a bar.",
            distribution(found["distribution"]),
        ),
        (
            f"Growth by school{of_span}",
            f"Mean growth in RIT, the share of students who met their projected growth, and the median conditional growth percentile.{without} "
            "A dash stands for a share or percentile that would describe too few students.",
            growth(found["growth"]),
        ),
        ("Tested so far", "The share of students on the roster who have a result in the term, by day. Districts that are in another term are left out.", completion(found["completion"])),
        ("Achievement and growth of schools", "Schools on the right score high; schools at the top grow fast.", quadrant(found["growth"])),
    ]
    body = "".join(f"<section><h2>{html.escape(title)}</h2><p>{html.escape(text)}</p>{content}</section>" for title, text, content in sections)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Growth</title><style>{STYLE}</style></head><body><h1>Growth</h1>"
        f"<p>From the history through {found['days'][0]['day']}. Groups of fewer than {LEAST} students are not shown, and counts are rounded to {LEAST}.</p>"
        f"{unread(found)}"
        f"{body}</body></html>\n"
    )


def main() -> None:
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: growth_page.py DEST PAGE.html [NORMS]")
    norms = sys.argv[3] if len(sys.argv) == 4 else None
    text = page(figures(sys.argv[1], norms), norms is not None)
    try:
        Path(sys.argv[2]).write_text(text, "utf-8")
    except OSError as error:
        sys.exit(f"cannot write {sys.argv[2]}: {error.strerror}")
    print(f"{sys.argv[2]}: {len(text) // 1024} KB")


if __name__ == "__main__":
    main()
