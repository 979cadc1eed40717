"""Plots mean growth from fall to winter by school, a panel for each subject.

    growth-export sql --dest ./nights --history --views analysis > history.sql
    python plot_growth.py history.sql growth.svg

The plot can also be a .png or .pdf. README.md explains all the steps.
"""

import sys
from itertools import groupby
from pathlib import Path

import duckdb
import matplotlib

matplotlib.use("Agg")  # no screen is needed
import matplotlib.pyplot as plt

QUERY = Path(__file__).resolve().parent / "growth_by_school.sql"

Row = tuple[str, str, int, float, float]


def growth(views: Path) -> list[Row]:
    """Subject, school, number of students, mean growth and its standard error: by subject, then growth."""
    with duckdb.connect() as duck:
        duck.execute(views.read_text("utf-8"))
        return duck.execute(QUERY.read_text("utf-8")).fetchall()


def plot(rows: list[Row], picture: Path) -> None:
    """Plots the rows to a file. Equal rows give an SVG of equal bytes."""
    matplotlib.rcParams.update({"svg.hashsalt": "growth-export", "svg.fonttype": "none", "font.size": 9})
    subjects = [(subject, list(group)) for subject, group in groupby(rows, key=lambda row: row[0])]
    height = 0.8 + 0.25 * max(len(group) for _, group in subjects)
    figure, axes = plt.subplots(
        1, len(subjects), figsize=(4.4 * len(subjects), height), squeeze=False, sharex=True, layout="constrained"
    )
    for axis, (subject, group) in zip(axes.flat, subjects):
        places = range(len(group))
        axis.errorbar(
            [row[3] for row in group], places, xerr=[row[4] for row in group], fmt="o", markersize=4, elinewidth=0.8, color="#31688e"
        )
        axis.set_yticks(places, [f"{row[1]} ({row[2]})" for row in group])
        axis.set_title(subject, loc="left", fontweight="bold")
        axis.set_xlabel("mean growth, RIT")
        axis.axvline(0, color="0.6", linewidth=0.8)
        axis.grid(axis="x", alpha=0.3, linewidth=0.5)
        axis.spines[["top", "right"]].set_visible(False)
    metadata = {"Date": None} if picture.suffix == ".svg" else None
    figure.savefig(picture, metadata=metadata, dpi=150)
    plt.close(figure)


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: plot_growth.py VIEWS.SQL PICTURE")
    rows = growth(Path(sys.argv[1]))
    if not rows:
        sys.exit("nothing to plot: no school has ten students with a result in both seasons")
    plot(rows, Path(sys.argv[2]))
    print(f"growth of {sum(row[2] for row in rows):,} pairs of results in {len(rows)} groups: {sys.argv[2]}")


if __name__ == "__main__":
    main()
