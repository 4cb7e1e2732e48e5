"""Links of the documentation site, its own and those of the files that its pages include: none leads outside of it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {"_build", "reference"} & {*path.relative_to(DOCS).parts})
INCLUDE = re.compile(r"^```\{include\} (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")

_spec = importlib.util.spec_from_file_location("site_targets", DOCS / "site_targets.py")
assert _spec is not None and _spec.loader is not None
site = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(site)


def parts(page: Path) -> Iterator[tuple[Path, str]]:
    """The files that a page is made of, with what it takes of each."""
    text = page.read_text("utf-8")
    for target, options in INCLUDE.findall(text):
        included = (page.parent / target).resolve()
        taken = included.read_text("utf-8")
        for side, words in re.findall(r':(start-after|end-before): "(.*)"', options):
            before, _, after = taken.partition(words.replace("\\n", "\n"))
            taken = after if side == "start-after" else before
        yield included, taken
    yield page, text


def place(link: str, source: Path, page: Path) -> tuple[str, str] | None:
    """Where a link of a page leads, read as MyST reads it: from the page, and what is a document there is a page to it."""
    path = link.partition("#")[0]
    found = (page.parent / path).resolve()
    if not (found.suffix == ".md" and found.is_file()):
        return site.place_of(site.target_of(path, source))
    inside = found.is_relative_to(DOCS)
    name = (found.relative_to(DOCS) if inside else found).with_suffix("").as_posix()
    return site.place_of(site.target_of(name, source, page.relative_to(DOCS).with_suffix("").as_posix()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).with_suffix("").as_posix())
def test_every_link_leads_to_a_page_or_to_a_file_of_the_repository(page: Path):
    """Catches a link that only a build of the site would refuse; italian_open.md had one to a card that is no page."""
    for source, text in parts(page):
        for link in LINK.findall(FENCED.sub("", text)):
            where = place(link, source, page)
            assert where is not None, f"{source.relative_to(ROOT)}: {link} is no page of the site and no file"
            target = (source.parent / link.partition("#")[0]).resolve()
            if where[0] == "page":
                assert (DOCS / f"{where[1]}.md").is_file() or where[1] in site.WRITTEN, link
            else:
                assert (ROOT / where[1]).resolve() == target, f"{link} of {source} leads to {where[1]}"


def test_a_document_that_is_no_page_is_a_file_to_download():
    """The link that made the build fail, as MyST hands it on: a path without its suffix, read from where the page stands."""
    source, card = ROOT / "evaluation/results/italian_open.md", ROOT / "model_cards/runs/italian_open.md"
    target = site.target_of(str(card.with_suffix("")), source, "results/italian_open")
    assert target == card
    assert site.place_of(target) == ("file", "model_cards/runs/italian_open.md")
    assert site.place_of(site.target_of("start", DOCS / "gallery.md", "gallery")) == ("page", "start")
    assert site.place_of(site.target_of("../reference/commands.md", DOCS / "tutorials/sapbert.md")) == (
        "page",
        "reference/commands",
    )
    assert site.place_of(site.target_of("no_such.md", source)) is None
    assert site.place_of(site.target_of(os.pardir + "/../../elsewhere.md", source)) is None


def test_a_link_of_an_included_file_counts_from_that_file():
    """Catches a link that leads elsewhere since a page includes it from another folder."""
    readme = ROOT / "README.md"
    assert site.place_of(site.target_of("docs/which_loss.md", readme)) == ("page", "which_loss")
    assert site.place_of(site.target_of("../README", readme, "index")) is None


def test_sphinx_gets_a_download_for_a_document_that_is_no_page(monkeypatch: pytest.MonkeyPatch):
    """Where the extra docs is there, as in CI: what MyST took for a page outside of the site does not reach Sphinx."""
    addnodes = pytest.importorskip("sphinx.addnodes", reason="the extra docs is not installed")
    nodes = importlib.import_module("docutils.nodes")
    monkeypatch.syspath_prepend(str(DOCS))
    links = importlib.import_module("site_links")
    source = str(ROOT / "evaluation/results/italian_open.md")
    tree = nodes.document("", "", source=source)
    for target in (str(ROOT / "model_cards/runs/italian_open"), "gallery"):
        link = addnodes.pending_xref("", refdomain="doc", reftarget=target, reftype="myst", refexplicit=True)
        link.source = source if target.startswith("/") else str(DOCS / "results/italian_open.md")
        tree += nodes.paragraph("", "", link)
    links.link_files(SimpleNamespace(env=SimpleNamespace(docname="results/italian_open")), tree)
    (file,) = tree.findall(addnodes.download_reference)
    assert file["reftarget"] == "/../model_cards/runs/italian_open.md"
    (page,) = tree.findall(addnodes.pending_xref)
    assert page["refdomain"] == "doc" and page["reftarget"] == "gallery"
