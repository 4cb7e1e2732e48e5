"""The component itself, and its factory.

spaCy imports this module whenever a pipeline is made, in each environment that has the package (the entry points
``spacy_factories``). Encoder and index are therefore imported by the factory alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from st_biomed.errors import InputError
from st_biomed.linking.pair_scores import reaches
from st_biomed.linking.spacy_pipe.concepts import register
from st_biomed.linking.spacy_pipe.mentions import add_names, long_forms_in, mention_texts
from st_biomed.linking.spacy_pipe.settings import Settings

if TYPE_CHECKING:
    from st_biomed.corpus.matching import TermMatcher
    from st_biomed.linking.concept_index import ConceptIndex

FACTORY = "st_biomed_linker"
_SAVED = "index.json"


class ConceptLinker(Pipe):
    """Sets ``ent._.concepts`` of every entity, and ``ent.kb_id_`` of those whose best score reaches the threshold.

    The entities of a batch of documents are encoded and searched together, equal ones once. A saved pipeline has the
    path of the index and the digests of its names and its encoder, not the index; a pipeline that is loaded with an
    index of other names or another encoder is refused.

    Args:
        index: The index, with its encoder.
        settings: What the linker does.
        matcher: Finds the names that are added as entities; ``None`` adds none.
        name: Name of the component in its pipeline.

    Example:
        ::

            nlp = spacy.load("en_core_sci_sm")
            nlp.add_pipe("st_biomed_linker", config={"index": "doid.index", "threshold": 0.7})
            for entity in nlp("A history of heart attack.").ents:
                print(entity.text, entity.kb_id_, entity._.concepts)
    """

    def __init__(
        self, index: ConceptIndex, settings: Settings, matcher: TermMatcher | None = None, name: str = FACTORY
    ) -> None:
        self.name = name
        self.index, self.settings, self.matcher = index, settings, matcher
        register()

    def __call__(self, doc: Doc) -> Doc:
        """Link the entities of one document, which is modified and returned."""
        self.link([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Link the entities of a stream of documents, ``batch_size`` documents at a time."""
        handle = self.get_error_handler()
        for docs in minibatch(stream, size=batch_size):
            try:
                self.link(docs)
            except Exception as error:
                handle(self.name, self, docs, error)
                continue
            yield from docs

    def link(self, docs: Sequence[Doc]) -> None:
        """Link the entities of some documents, which are modified."""
        settings = self.settings
        entities: list[Span] = []
        texts: list[str] = []
        for doc in docs:
            long_forms = long_forms_in(doc, settings.abbreviations)
            names = {} if self.matcher is None else add_names(doc, self.matcher, settings.label, long_forms)
            chosen = [entity for entity in doc.ents if settings.takes(entity.label_) and entity.text.strip()]
            entities += chosen
            texts += mention_texts(chosen, long_forms, names)
        found = self.index.search(texts, settings.k, **settings.conditions)
        for entity, matches in zip(entities, found):
            entity._.concepts = matches
            if matches and reaches(matches[0].score, settings.threshold):
                for token in entity:
                    token.ent_kb_id_ = matches[0].concept

    # ------------------------------------------------------------------ saved with the pipeline

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of the names of the index, and of its encoder."""
        return {"names": self.index.manifest.catalog_sha256, "encoder": self.index.manifest.model_sha256}

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """The digests; spaCy adds the settings."""
        return srsly.msgpack_dumps(self.digests)

    def from_bytes(self, content: bytes, *, exclude: Sequence[str] = ()) -> ConceptLinker:
        """Check the digests.

        Raises:
            InputError: The index has other names, or another encoder.
        """
        return self._as_saved(srsly.msgpack_loads(content))

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Write the digests to a folder."""
        Path(path).mkdir(parents=True, exist_ok=True)
        srsly.write_json(Path(path) / _SAVED, self.digests)

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> ConceptLinker:
        """Check the digests.

        Raises:
            InputError: The index has other names, or another encoder; a damaged file.
        """
        file = Path(path) / _SAVED
        try:
            saved = srsly.read_json(file)
        except ValueError as error:
            raise InputError(f"{file}: missing or damaged; save the pipeline again") from error
        return self._as_saved(saved)

    def _as_saved(self, saved: Mapping[str, str]) -> ConceptLinker:
        for what, digest in self.digests.items():
            if (expected := str(saved.get(what))) != digest:
                raise InputError(
                    f"{self.name}: {self.index.folder} has other {what} (sha256 {digest[:12]}) than the index that the "
                    f"pipeline was saved with ({expected[:12]}); {_another(self.name)}"
                )
        return self


@Language.factory(
    FACTORY,
    assigns=["span._.concepts", "token.ent_kb_id"],
    default_config={
        "model": None,
        "device": None,
        "k": 5,
        "threshold": None,
        "conditions": {},
        "labels": [],
        "find_names": False,
        "label": "CONCEPT",
        "abbreviations": "detected",
    },
)
def make_linker(
    nlp: Language,
    name: str,
    index: str,
    model: str | None,
    device: str | None,
    k: int,
    threshold: float | None,
    conditions: dict[str, Any],
    labels: list[str],
    find_names: bool,
    label: str,
    abbreviations: str,
) -> ConceptLinker:
    """A linker for ``nlp.add_pipe("st_biomed_linker", config={"index": "doid.index"})``.

    Args:
        nlp: The pipeline; its language decides which differences between a name and its mention are allowed.
        name: Name of the component.
        index: Folder of an index, which ``st-biomed index`` or :meth:`st_biomed.linking.ConceptIndex.build` has
            written.
        model: The encoder; by default the one recorded in the index.
        device: Its device; by default the best available.
        k, threshold, conditions, labels, find_names, label, abbreviations: See
            :class:`~st_biomed.linking.spacy_pipe.settings.Settings`.

    Raises:
        InputError: No index, another encoder than that of its names, or a setting out of range.
    """
    from st_biomed.linking.concept_index import ConceptIndex

    settings = Settings(k, threshold, conditions, labels, find_names, label, abbreviations)  # type: ignore[arg-type]
    if not Path(index).is_dir():
        raise InputError(f"{name}: no index in {index!r}, which `st-biomed index` writes; {_another(name)}")
    opened = ConceptIndex.load(index)
    settings.check(opened)
    opened.use(model, device=device)
    matcher = None
    if find_names:
        from st_biomed.corpus.matching import TermMatcher
        from st_biomed.linking.conditions import Conditions

        catalog = opened.catalog
        allowed = catalog.names_with(Conditions(**conditions).entries(catalog))
        matcher = TermMatcher.of_names(catalog.names, allowed, opened.manifest.catalog_sha256, nlp.lang)
    return ConceptLinker(opened, settings, matcher, name)


def _another(name: str) -> str:
    return f"a saved pipeline takes another one by spacy.load(..., config={{'components.{name}.index': FOLDER}})"
