"""spaCy knows the component of an installed package without an import, and other pipelines do not pay for it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import spacy

from st_biomed.linking import ConceptIndex

ROOT = Path(__file__).parents[2]
POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["spacy_factories"]
CODE = """
import sys
import pytest
import spacy

nlp = spacy.blank("en")
assert "st_biomed.linking.spacy_pipe.component" in sys.modules
heavy = {"sentence_transformers", "transformers", "faiss", "datasets"} & set(sys.modules)
assert not heavy, heavy
nlp.add_pipe("entity_ruler").add_patterns([{"label": "DIS", "pattern": "gradthitis"}])
nlp.add_pipe("st_biomed_linker", config={"index": sys.argv[1]})
assert nlp("A gradthitis.").ents[0].kb_id_ == "ZORB:2"
"""


def test_every_entry_point_is_a_factory_of_that_name() -> None:
    for name, target in POINTS.items():
        module, _, attribute = target.partition(":")
        factory = getattr(importlib.import_module(module), attribute)
        assert spacy.Language.get_factory_meta(name).factory == name
        assert spacy.registry.factories.get(name) is not None and callable(factory)


@pytest.mark.long
def test_an_installed_package_needs_no_import(index: ConceptIndex, tmp_path: Path) -> None:
    """With the metadata of a wheel on the path; also catches an encoder that is imported for every pipeline."""
    metadata = tmp_path / "site" / "st_biomed_as_installed-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: st-biomed-as-installed\nVersion: 0\n")
    lines = [f"{name} = {target}" for name, target in POINTS.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[spacy_factories]", *lines, ""]))
    path = os.pathsep.join([str(tmp_path / "site"), str(ROOT)])
    subprocess.run(
        [sys.executable, "-c", CODE, str(index.folder)],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
