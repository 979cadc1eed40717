"""The website is complete and needs no other host. Run by `make test-site`, which builds it.

    python test_site.py SITE        the folder of the website
"""

import re
import sys
import unittest
from html.parser import HTMLParser
from pathlib import Path

import diagram
import pages

HERE = Path(__file__).resolve().parent


class Links(HTMLParser):
    """Collects what a page loads, and where it leads."""

    def __init__(self):
        super().__init__()
        self.loaded, self.links = [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag == "a":
            self.links.append(attributes.get("href") or "")
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loaded.append(attributes["href"])
        elif "src" in attributes:
            self.loaded.append(attributes["src"])


class TestSite(unittest.TestCase):
    site = Path()

    def read(self, page: str) -> tuple[str, Links]:
        text = (self.site / page).read_text("utf-8")
        links = Links()
        links.feed(text)
        return text, links

    def test_loads_nothing_from_elsewhere(self):
        paths = sorted(self.site.glob("*.html"))
        self.assertGreater(len(paths), 30)
        for path in paths:
            _, links = self.read(path.name)
            self.assertTrue(links.loaded)
            self.assertEqual([url for url in links.loaded if "//" in url], [], path.name)

    def test_groups(self):
        """The navigation has groups, and leads to every page."""
        text, links = self.read("index.html")
        for group in ("Start", "Analyze", "Operate", "Privacy", "Reference"):
            self.assertRegex(text, rf"md-tabs__link[^<]*>\s*{group}\s*<")
        for page in pages.pages().values():
            self.assertIn(page.replace(".md", ".html"), links.links)

    def test_examples(self):
        """Every example has a page with its files, and links to a file lead there."""
        folders = [folder.name for folder in (pages.ROOT / "examples").iterdir()]
        for name in folders:
            self.assertTrue((self.site / f"example-{name}.html").exists(), name)
        for name, text in {"cron": "17 2 * * *", "systemd": "OnCalendar=", "notify": "SLACK", "monitoring": "alert:", "config": "max-shrink"}.items():
            code = re.sub("<[^>]*>", "", self.read(f"example-{name}.html")[0])
            self.assertTrue(text in code, f"{name}: {text}")
        self.assertIn("example-notify.html#notifypy", self.read("operations.html")[1].links)

    def test_diagram(self):
        """The diagram of the data dictionary is drawn: every table and join, and no two tables overlap."""
        source = re.search(r"```mermaid\n(.*?)```", (pages.ROOT / "schemas/generated/data-dictionary.md").read_text("utf-8"), re.DOTALL)[1]
        tables, joins = diagram.parse(source)
        self.assertEqual((len(tables), len(joins)), (source.count("{\n"), source.count(" : ")))
        text, _ = self.read("data-dictionary.html")
        self.assertNotIn("erDiagram", text)
        svg = re.search(r'<svg class="diagram".*?</svg>', text, re.DOTALL)[0]
        self.assertEqual(svg.count("<rect "), len(tables))
        self.assertEqual(svg.count("<path "), len(joins))
        for table in tables.values():
            self.assertIn(f">{table.name}</text>", svg)
        diagram.place(tables, joins)
        boxes = list(tables.values())
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                apart = a.x + a.width < b.x or b.x + b.width < a.x or a.y + a.height < b.y or b.y + b.height < a.y
                self.assertTrue(apart, f"{a.name} and {b.name} overlap")
        with self.assertRaises(ValueError):
            diagram.parse("erDiagram\n    students }o--o| schools : school_bid\n")


if __name__ == "__main__":
    TestSite.site = Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
