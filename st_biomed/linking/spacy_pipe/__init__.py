"""The spaCy component ``st_biomed_linker``: concepts on the entities of documents."""

from __future__ import annotations

from st_biomed.linking.spacy_pipe.component import ConceptLinker, make_linker

__all__ = ["ConceptLinker", "make_linker"]
