"""The documentation site: ``make docs`` writes docs/_build/html."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS), str(DOCS.parent)]

project = "st-biomed"
author = "The st-biomed developers"
project_copyright = author
release = importlib.import_module("st_biomed").__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "site_links",
    "site_reference",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"st-biomed {release}"
html_show_copyright = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = [
    "myst.header",  # a part of another file begins at that file's level
    "ref.python",  # `type` in a signature is Python's, and also an attribute of several classes here
]

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

nitpicky = True
nitpick_ignore_regex = [
    # Names of other projects, of which there is no list without a network, and what a signature cuts a type into.
    ("py:.*", r"(?!st_biomed)[a-z_]\w*(\.\w+)+(\[.*)?"),
    (
        "py:class",
        r"(AbsTask|ConcatDataset|Tensor|Dataset|SentenceTransformer|Path|Module|PreTrainedTokenizerBase|Tokenizer|(list|dict|tuple)\[.*)",
    ),
    ("py:.*", r"st_biomed\..*\._\w+"),  # bases that a package keeps to itself
]

# Names of other projects are links where the network is there: INTERSPHINX=1 make docs.
if os.environ.get("INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "torch": ("https://docs.pytorch.org/docs/stable", None),
        "sentence_transformers": ("https://sbert.net", None),
    }


def setup(app: Any) -> None:
    """The drawing of the layers in CONTRIBUTING.md is shown as plain text."""
    app.add_lexer("layers", importlib.import_module("pygments.lexers.special").TextLexer)
