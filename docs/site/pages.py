"""Collects the pages of the website from the repository, for MkDocs.

Links between pages lead to the pages of the site. Other files of the repository are not on the site: links to them become their paths.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
FIRST = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}


def pages() -> dict[str, str]:
    """The pages of the site by their paths in the repository."""
    found = FIRST | {"schemas/generated/data-dictionary.md": "data-dictionary.md"}
    for path in sorted((ROOT / "docs").glob("*.md")):
        found[f"docs/{path.name}"] = path.name.lower()
    for path in sorted(ROOT.glob("examples/*/README.md")):
        found[f"examples/{path.parent.name}/README.md"] = f"example-{path.parent.name}.md"
    return found


def on_config(config):
    """Adds the pages that the navigation does not name."""
    named = {page for entry in config.nav for page in entry.values()}
    for source, page in pages().items():
        if page not in named:
            title = (ROOT / source).read_text("utf-8").splitlines()[0].lstrip("# ")
            config.nav.append({title: page})
    return config


def on_files(files, config):
    for source, page in pages().items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=relink(text, source)))
    return files


def relink(text: str, source: str) -> str:
    """Makes the links of a page lead to pages of the site."""
    known = pages()

    def link(match: re.Match) -> str:
        label, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match.group(0)
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        page = known.get(path) or known.get(f"{path}/README.md")
        if page is None:
            return label if path in label else f"{label} (`{path}`)"
        return f"[{label}]({page}{'#' + anchor if anchor else ''})"

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", link, text)
