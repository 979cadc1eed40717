"""Plots mean RIT by grade and season, a panel for each subject.

    growth-export sql --dest ./growth-data > views.sql
    python plot.py views.sql rit.svg

The plot can also be a .png or .pdf. README.md explains all the steps.
"""

import sys
from itertools import groupby
from pathlib import Path

import duckdb
import matplotlib

matplotlib.use("Agg")  # no screen is needed
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
TERMS = HERE.parent / "duckdb" / "terms.sql"
QUERY = HERE / "rit_by_season.sql"

Row = tuple[str, str, str, int, float, float]


def means(views: Path) -> list[Row]:
    """Subject, term, grade, number of results, mean RIT and its standard error: by subject, then time, then grade."""
    with duckdb.connect() as duck:
        for file in (views, TERMS):
            duck.execute(file.read_text("utf-8"))
        return duck.execute(QUERY.read_text("utf-8")).fetchall()


def grades_of(rows: list[Row]) -> list[str]:
    """The distinct grades, lowest first."""
    order = {"PK": -1, "K": 0}

    def rank(grade: str) -> tuple[int, str]:
        return (int(grade) if grade.isdecimal() else order.get(grade.upper(), 99), grade)

    return sorted({row[2] for row in rows}, key=rank)


def plot(rows: list[Row], picture: Path) -> None:
    """Plots the rows to a file. Equal rows give an SVG of equal bytes."""
    matplotlib.rcParams.update({"svg.hashsalt": "growth-export", "svg.fonttype": "none", "font.size": 9})
    subjects = [(subject, list(group)) for subject, group in groupby(rows, key=lambda row: row[0])]
    terms = list(dict.fromkeys(row[1] for _, group in subjects for row in group))
    colours = plt.get_cmap("viridis")
    columns = min(2, len(subjects))
    lines = -(-len(subjects) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(5.2 * columns, 3.4 * lines), squeeze=False, layout="constrained")
    for axis in axes.flat[len(subjects) :]:
        axis.set_visible(False)
    for axis, (subject, group) in zip(axes.flat, subjects):
        grades = grades_of(group)
        for term, points in groupby(group, key=lambda row: row[1]):
            points = list(points)
            axis.errorbar(
                [grades.index(point[2]) for point in points],
                [point[4] for point in points],
                yerr=[point[5] for point in points],
                color=colours(0.9 * terms.index(term) / max(1, len(terms) - 1)),
                marker="o",
                markersize=3,
                linewidth=1.2,
                elinewidth=0.8,
                label=term,
            )
        axis.set_title(subject, loc="left", fontweight="bold")
        axis.set_xticks(range(len(grades)), grades)
        axis.set_xlabel("grade")
        axis.set_ylabel("mean RIT")
        axis.grid(alpha=0.3, linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
    handles = {}
    for axis in axes.flat[: len(subjects)]:
        handles.update(zip(*reversed(axis.get_legend_handles_labels())))
    shown = [term for term in terms if term in handles]
    figure.legend([handles[term] for term in shown], shown, loc="outside lower center", ncols=3, frameon=False)
    metadata = {"Date": None} if picture.suffix == ".svg" else None
    figure.savefig(picture, metadata=metadata, dpi=150)
    plt.close(figure)


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: plot.py VIEWS.SQL PICTURE")
    rows = means(Path(sys.argv[1]))
    if not rows:
        sys.exit("nothing to plot: no group has ten results or more")
    plot(rows, Path(sys.argv[2]))
    print(f"{sum(row[3] for row in rows):,} results in {len(rows)} groups: {sys.argv[2]}")


if __name__ == "__main__":
    main()
