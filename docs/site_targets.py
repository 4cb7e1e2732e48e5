"""What a link of the site leads to: a page of it, or a file or a folder of the repository."""

from __future__ import annotations

import os
from pathlib import Path

DOCS = Path(__file__).parent.resolve()
ROOT = DOCS.parent
PAGES = {
    "README.md": "start",
    "CONTRIBUTING.md": "extending",
    "recipes/README.md": "index",
    "evaluation/README.md": "evaluation",
    "evaluation/results/open_data.md": "results/open_data",
    "evaluation/results/open_encoder.md": "results/open_encoder",
    "evaluation/results/graph_embeddings.md": "results/graph_embeddings",
    "evaluation/results/sapbert_open.md": "results/sapbert_open",
    "evaluation/results/italian_open.md": "results/italian_open",
    "evaluation/results/bergamot_open.md": "results/bergamot_open",
    "evaluation/results/fewshot_open.md": "results/fewshot_open",
    "docs/tutorials": "index",
}
"""Files and folders of the repository, beside the pages themselves, that are pages or parts of pages."""
WRITTEN = ("reference/commands", "reference/recipe_arguments")
"""Pages that site_reference.py writes, which git does not keep."""


def target_of(written: str, source: Path, page: str = "") -> Path:
    """The file or folder that a link means, which may not be there.

    Args:
        written: The link as it stands in its file. For one that MyST took for a page: the page's name, or where there is
            no such page the path without its suffix.
        source: The file that the link stands in.
        page: Name of the page that has the link, where MyST took it for one: MyST reads links from where the page
            stands, and not from where the included file stands that they are written in.
    """
    path = written.partition("#")[0]
    if page:
        path = os.path.relpath(DOCS / f"{path}.md", (DOCS / page).parent)
    return (source.resolve().parent / path).resolve()


def place_of(target: Path) -> tuple[str, str] | None:
    """``("page", its name)``, or ``("file", ...)`` or ``("folder", ...)`` with the path in the repository.

    ``None`` for what is neither in the repository nor written by the site.
    """
    if not target.is_relative_to(ROOT):
        return None
    name = target.relative_to(ROOT).as_posix()
    page = PAGES.get(name)
    if page is None and target.suffix == ".md" and target.is_relative_to(DOCS):
        page = target.relative_to(DOCS).with_suffix("").as_posix()
    if page is not None and ((DOCS / f"{page}.md").is_file() or page in WRITTEN):
        return "page", page
    if not target.exists():
        return None
    return "file" if target.is_file() else "folder", name
