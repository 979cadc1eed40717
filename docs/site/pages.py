"""Collects the pages of the website from the repository, for MkDocs.

The page of an example shows its files. Links between pages lead to the pages of the site. Other files of the repository are not on the site:
links to them become their paths.
"""

import posixpath
import re
import sys
from pathlib import Path

from mkdocs.exceptions import ConfigurationError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parent))
import diagram

ROOT = Path(__file__).resolve().parents[2]
FIRST = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}
LANGUAGES = {".cron": "text", ".jsont": "text", ".sbatch": "sh", ".service": "ini", ".timer": "ini", ".yml": "yaml"}
LANGUAGES |= {f".{name}": name for name in ("go", "json", "py", "sh", "sql", "yaml")}
LONGEST = 300  # the maximum number of lines of a file that is shown


def pages() -> dict[str, str]:
    """The pages of the site by their paths in the repository. An example without a README has the path of its folder."""
    found = FIRST | {"schemas/generated/data-dictionary.md": "data-dictionary.md"}
    for path in sorted((ROOT / "docs").glob("*.md")):
        found[f"docs/{path.name}"] = path.name.lower()
    for folder in sorted((ROOT / "examples").iterdir()):
        readme = "/README.md" if (folder / "README.md").exists() else ""
        found[f"examples/{folder.name}{readme}"] = f"example-{folder.name}.md"
        for path in sorted(folder.glob("*.md")):
            found.setdefault(f"examples/{folder.name}/{path.name}", path.name)
    return found


def shown(folder: Path) -> list[Path]:
    """The files that the page of an example shows: not tests, and what tests need."""
    files = [path for path in sorted(folder.iterdir()) if path.suffix in LANGUAGES]
    files = [path for path in files if not re.match(r"test[_.]|reference\.py|.*_test\.", path.name)]
    return [path for path in files if len(path.read_text("utf-8").splitlines()) <= LONGEST]


def titles(nav: list) -> dict[str, str]:
    """The titles of the pages in the navigation."""
    found = {}
    for entry in nav:
        for title, page in entry.items():
            found |= titles(page) if isinstance(page, list) else {page: title}
    return found


def on_config(config):
    if different := set(titles(config.nav)) ^ set(pages().values()):
        raise ConfigurationError(f"pages that are only in the navigation, or missing in it: {', '.join(sorted(different))}")
    return config


def on_files(files, config):
    for source, page in pages().items():
        path = ROOT / source
        text = f"# {titles(config.nav)[page]}\n" if path.is_dir() else relink(path.read_text("utf-8"), source)
        text = re.sub(r"```mermaid\n(.*?)```", lambda block: f'<div class="diagram-frame">{diagram.draw(block[1])}</div>', text, flags=re.DOTALL)
        if page.startswith("example-"):
            for file in shown(path if path.is_dir() else path.parent):
                text += f"\n## {file.name}\n\n````{LANGUAGES[file.suffix]}\n{file.read_text('utf-8')}````\n"
        files.append(File.generated(config, page, content=text))
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
        if page is None and ROOT / path in shown((ROOT / path).parent):
            folder = posixpath.dirname(path)
            page = known.get(folder) or known.get(f"{folder}/README.md")
            anchor = re.sub(r"[^\w-]", "", posixpath.basename(path).lower())
        if page is None:
            return label if path in label else f"{label} (`{path}`)"
        return f"[{label}]({page}{'#' + anchor if anchor else ''})"

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", link, text)
