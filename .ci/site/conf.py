"""The documentation as a site, by Sphinx: README.md is its first page, and its last section the navigation.

Built by `make docs`, where a broken link or anchor and a page that no section names are errors. Needs no network, and
neither does what it makes.
"""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

project = "tuner-tui"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["README.md", "CHANGELOG.md", ".github/*.md", "docs/*.md"]
exclude_patterns = [".git", ".venv", ".*_cache", "build", "tuner-runs"]
html_theme = "furo"
html_title = project
html_copy_source = False
smartquotes = False  # an option is no dash
html_show_copyright = False
highlight_language = "none"
myst_heading_anchors = 4


def add_navigation(_: Sphinx, page: str, source: list[str]) -> None:
    """Put a list of contents below the first page: a group for each heading of its section "Read on"."""
    if page != root_doc:
        return
    groups = re.split(r"^### ", source[0].partition("\n## Read on\n")[2], flags=re.MULTILINE)[1:]
    for group in groups:
        caption, _, links = group.partition("\n")
        pages = re.findall(r"^- \[[^]]+\]\(([^)#:]+)\.md\)", links, re.MULTILINE)
        source[0] += "\n```{toctree}\n:hidden:\n:caption: " + "\n".join([caption, "", *pages]) + "\n```\n"


def add_index(app: Sphinx, failed: Exception | None) -> None:
    """Let the first page be found where a server looks for one."""
    if not failed:
        shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", add_index)
