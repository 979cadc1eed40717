"""Draws the entity relationship diagrams of the documentation, which are written in Mermaid's language, as SVG.

The tables are in columns: a table is to the right of the tables that it refers to. A line over several columns bends in
each, between the tables.
"""

import re
from collections import defaultdict
from html import escape

CHARACTER, ROW = 6.7, 17  # the size of a character and of a row
GAP, SPACE = 60, 14  # between columns, and between tables of a column
BEND = 6  # the height of a bend


class Table:
    """A table with its columns and their marks or, without a name, the bend of a line."""

    def __init__(self, name: str, columns: list[tuple[str, str]]):
        self.name, self.columns = name, dict(columns)
        self.height = ROW * (len(columns) + 1) + 8 if name else BEND
        self.width = max(CHARACTER * len(text) + 20 for text in [name, *("  ".join(column) for column in columns)])
        self.layer, self.x, self.y = 0, 0.0, 0.0

    def row(self, column: str) -> float:
        """Where a line to the column, or to the title, ends."""
        if column in self.columns:
            return self.y + ROW * (list(self.columns).index(column) + 1.5) + 6
        return self.y + min(self.height, ROW + 4) / 2


def parse(source: str) -> tuple[dict[str, Table], list[tuple[str, str, str]]]:
    """The tables, and the joins: a table, the table that it refers to, and its column."""
    tables = {
        name: Table(name, re.findall(r"^\s+\w+ (\w+) (\w+)$", body, re.MULTILINE))
        for name, body in re.findall(r"^\s+(\w+) \{\n(.*?)^\s+\}", source, re.DOTALL | re.MULTILINE)
    }
    joins = re.findall(r"^\s+(\w+) \}o--o[|{] (\w+) : (\w+)$", source, re.MULTILINE)
    if not joins or {name for join in joins for name in join[:2]} - set(tables):
        raise ValueError("the diagram cannot be drawn: it has no joins, or a join of an unknown table")
    return tables, joins


def place(tables: dict[str, Table], joins: list[tuple[str, str, str]]) -> list[tuple[str, list[Table]]]:
    """Gives each table its place. Returns the lines: a column, and the tables from the one that has it to the one that it refers to."""
    for _ in tables:
        for name, to, _ in joins:
            tables[name].layer = max(tables[name].layer, tables[to].layer + 1)
    layers = defaultdict(list)
    for table in tables.values():
        layers[table.layer].append(table)
    lines = []
    for name, to, column in joins:
        line = [tables[name]]
        for layer in range(tables[name].layer - 1, tables[to].layer, -1):
            bend = Table("", [])
            layers[layer].append(bend)
            line.append(bend)
        lines.append((column, [*line, tables[to]]))
    neighbors = defaultdict(list)
    for _, line in lines:
        for left, right in zip(line[1:], line):
            neighbors[left].append(right)
            neighbors[right].append(left)
    x = 0.0
    for layer in sorted(layers):
        width = max(table.width for table in layers[layer])
        for table in layers[layer]:
            table.x, table.width = x, width
        x += width + GAP
    order = sorted(layers)
    for turn in range(8):  # Each table moves to the middle of its neighbors, and away from the others of its column.
        for layer in order if turn % 2 == 0 else reversed(order):
            column = layers[layer]
            middles = {table: sum(n.y + n.height / 2 for n in neighbors[table]) / max(1, len(neighbors[table])) for table in column}
            column.sort(key=middles.get)
            y = 0.0
            for table in column:
                table.y = y
                y += table.height + SPACE
            shift = sum(middles[table] - table.y - table.height / 2 for table in column) / len(column)
            for table in column:
                table.y += shift
    top = min(table.y for table in tables.values())
    for column in layers.values():
        for table in column:
            table.y -= top
    return lines


def draw(source: str) -> str:
    """The diagram as an SVG element, in the colors of the page."""
    tables, joins = parse(source)
    lines = place(tables, joins)
    width = max(table.x + table.width for table in tables.values())
    height = max(table.y + table.height for table in tables.values())
    parts = [
        f'<svg class="diagram" role="img" aria-label="Tables and joins" width="{width + 4:.0f}" height="{height + 4:.0f}"'
        f' viewBox="-2 -2 {width + 4:.0f} {height + 4:.0f}" xmlns="http://www.w3.org/2000/svg">'
    ]
    for column, line in lines:
        path = f"M{line[0].x:.0f} {line[0].row(column):.0f}"
        for table, to in zip(line, line[1:]):
            start, end, y = table.x, to.x + to.width, to.row("")
            path += f" C{start - GAP / 2:.0f} {table.row(column):.0f} {end + GAP / 2:.0f} {y:.0f} {end:.0f} {y:.0f}"
            if not to.name:
                path += f" H{to.x:.0f}"
        parts.append(f'<path d="{path}"><title>{escape(line[0].name)}.{escape(column)} → {escape(line[-1].name)}</title></path>')
        parts.append(f'<circle cx="{line[-1].x + line[-1].width:.0f}" cy="{line[-1].row(""):.0f}" r="3"/>')
    for table in tables.values():
        parts.append(f'<rect x="{table.x:.0f}" y="{table.y:.0f}" width="{table.width:.0f}" height="{table.height}" rx="4"/>')
        parts.append(f'<text class="name" x="{table.x + 10:.0f}" y="{table.y + ROW - 3:.0f}">{escape(table.name)}</text>')
        for column, mark in table.columns.items():
            y = table.row(column) + 4
            parts.append(f'<text x="{table.x + 10:.0f}" y="{y:.0f}">{escape(column)}</text>')
            parts.append(f'<text x="{table.x + table.width - 10:.0f}" y="{y:.0f}" text-anchor="end">{escape(mark)}</text>')
    return "".join([*parts, "</svg>"])
