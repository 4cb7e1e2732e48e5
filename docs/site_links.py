"""Links of the site: files of the repository to pages or downloads, names of the code to where they are described."""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from site_targets import place_of, target_of
from sphinx import addnodes
from sphinx.util.nodes import make_refnode


def link_files(app: Any, doctree: nodes.document) -> None:
    """Links of an included file count from where that file stands: to its page, or else to the file itself."""
    for node in list(
        doctree.findall(lambda one: isinstance(one, (addnodes.pending_xref, addnodes.download_reference)))
    ):
        if node.get("reftype") != "myst":
            continue
        is_page = node.get("refdomain") == "doc"
        source = Path(node.source or doctree["source"])
        place = place_of(target_of(node["reftarget"], source, app.env.docname if is_page else ""))
        if place is None or (is_page and place == ("page", node["reftarget"])):
            continue  # reported by Sphinx, or as it has to be
        kind, name = place
        if kind == "page":
            page = addnodes.pending_xref(
                "", refdomain="std", reftype="doc", reftarget=f"/{name}", refexplicit=True, refwarn=True
            )
            page["refdoc"] = app.env.docname
            page += node.children
            node.replace_self(page)
        elif kind == "file":
            file = addnodes.download_reference("", reftarget=f"/../{name}", refdoc=app.env.docname)
            file += node.children
            node.replace_self(file)
        else:
            node.replace_self(nodes.literal(text=name))


def find_name(app: Any, env: Any, node: Any, contnode: Any) -> nodes.Element | None:
    """An object of the package under another of its names; plain text where it exists and no page describes it."""
    if node.get("refdomain") != "py":
        return None
    target, described = node["reftarget"], env.get_domain("py").objects
    alike = [name for name in described if name.rpartition(".")[2] == target.rpartition(".")[2]]
    inside = ".".join(filter(None, (node.get("py:module"), node.get("py:class"))))
    whole = target if target.startswith("st_biomed.") else f"{inside}.{target}"
    if exists(whole):
        found = [name for name in alike if same(resolved(name), resolved(whole))]
    else:
        found = [name for name in alike if name.endswith(f".{target}")]
        found = found if all(same(resolved(name), resolved(found[0])) for name in found) else []
    if found:
        best = min(found, key=lambda name: (name.count("."), name))
        entry = described[best]
        return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, best)
    return contnode if exists(whole) or is_somewhere(target) else None


def resolved(name: str) -> Any:
    """The object of a dotted name; of what only instances have, its class and its name; ``None`` where there is neither."""
    owner, _, last = name.rpartition(".")
    for path, wrap in ((name, lambda thing: thing), (owner, lambda thing: (thing, last))):
        try:
            return wrap(pkgutil.resolve_name(path))
        except (ImportError, AttributeError, ValueError):
            continue
    return None


def same(one: Any, other: Any) -> bool:
    """Whether two objects are one; methods are made anew each time they are asked for."""
    return one is not None and (one is other or ((callable(one) or isinstance(one, tuple)) and one == other))


def exists(name: str) -> bool:
    """Whether the package has something of that name, or a class that declares it."""
    thing = resolved(name) if name.startswith("st_biomed.") else None
    if isinstance(thing, tuple) and thing[1:] == (name.rpartition(".")[2],):
        return thing[1] in getattr(thing[0], "__annotations__", {})
    return thing is not None


def is_somewhere(name: str) -> bool:
    """Whether a module of the package has that name, whichever: docstrings name what their own file has."""
    return any(exists(f"{module}.{name}") for module in list(sys.modules) if module.partition(".")[0] == "st_biomed")


def keep_colons(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """A sentence with a colon is no type: in what a function returns, and in what a constant or property is."""
    if what in ("attribute", "data", "property", "type") and lines and re.search(r"(?<!:):(?!:)", lines[0]):
        lines[0] = f": {lines[0]}"
    for at in following(lines, ("Returns:", "Yields:")):
        if re.search(r"(?<!:):(?!:)", lines[at]):
            space = len(lines[at]) - len(lines[at].lstrip())
            lines[at] = f"{' ' * space}: {lines[at].lstrip()}"


def skip_fields(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """The fields of a named tuple stand under Attributes; what Python says of them besides is their number."""
    return True if type(thing).__name__ == "_tuplegetter" else None


def following(lines: list[str], heads: Iterable[str]) -> list[int]:
    """Numbers of the lines after any of these."""
    return [number + 1 for number, line in enumerate(lines[:-1]) if line.strip() in heads]


def setup(app: Any) -> dict[str, Any]:
    app.connect("doctree-read", link_files, priority=400)  # before files to download are collected
    app.connect("missing-reference", find_name)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # before Napoleon
    app.connect("autodoc-skip-member", skip_fields)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
