"""Re-ranks the concepts of a mention by its context, with a model that was trained on marked mentions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from st_biomed.corpus.blocks import MARKERS
from st_biomed.corpus.mentions import WINDOW
from st_biomed.encoder import load_encoder
from st_biomed.errors import InputError, check_integer
from st_biomed.linking.catalog import Catalog
from st_biomed.linking.concept_search import Match
from st_biomed.linking.context_texts import marked_contexts
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.vector_index import rows_for_search
from st_biomed.modules.mention_pooling import marker_ids


class ContextRanker:
    r"""Orders the candidates of a mention by a mean of two cosines.

    A candidate c of mention m has the score

    .. math:: (1 - w) \cos(m, n) + w \cos(u, p_c)

    The first cosine is that of the index, between m and c's nearest name n. In the second, u is the vector of the
    mention between markers in its context (Amore Bondarenko et al. 2022, section 3.1), and :math:`p_c` the mean of the
    unit vectors of c's names, both by the model of this class. Concepts that share the name n, between which the index
    cannot choose, differ in :math:`p_c`.

    Vectors of concepts are encoded when they are first needed and kept.

    Args:
        model: A model whose tokenizer has the markers, such as ``contrastive-training/trained`` of the recipe
            ``italian_kge``, or its name.
        weight: The weight w of the context, from 0 to 1.
        candidates: Number of concepts of the index that are ordered.
        window: Tokens of a context, including the mention.
        device: Device of a model that is given by name; ``None`` for the best available.
        trust_remote_code: Whether such a model may run third-party code.

    Raises:
        InputError: An argument out of range, or a model that does not know markers.
    """

    def __init__(
        self,
        model: SentenceTransformer | str | Path,
        *,
        weight: float = 0.5,
        candidates: int = 10,
        window: int = WINDOW,
        device: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        if not 0 <= weight <= 1:
            raise InputError(f"weight must be at least 0 and at most 1, found {weight}")
        check_integer("candidates", candidates)
        check_integer("window", window)
        loaded = (
            model
            if isinstance(model, SentenceTransformer)
            else load_encoder(model, device=device, trust_remote_code=trust_remote_code)
        )
        _check_markers(loaded, "the model" if isinstance(model, SentenceTransformer) else str(model))
        self.weight, self.candidates, self.window = weight, candidates, window
        self.encoder = NameEncoder(loaded)
        self._catalog: Catalog | None = None
        self._concepts: dict[str, np.ndarray] = {}

    def rank(
        self,
        catalog: Catalog,
        mentions: Sequence[str],
        contexts: Sequence[str | None],
        found: Sequence[Sequence[Match]],
    ) -> tuple[list[list[Match]], list[bool]]:
        """The candidates in their new order.

        Args:
            catalog: The names of the candidates.
            mentions: N mentions as written in their contexts.
            contexts: The context of each, or ``None``.
            found: The candidates of each, with cosines as scores.

        Returns:
            The candidates of each mention with their new scores, best first, and whether its context was used. A
            mention without a context, or one that does not stand in it, keeps its candidates as they are.
        """
        texts = marked_contexts(mentions, contexts, window=self.window, tokenizer=self.encoder.model.tokenizer)
        used = [row for row, text in enumerate(texts) if text is not None and found[row]]
        out = [list(matches) for matches in found]
        if used:
            queries = self._encode([str(texts[row]) for row in used])
            self._learn(catalog, [match.concept for row in used for match in found[row]])
            for row, query in zip(used, queries):
                out[row] = self._ordered(query, found[row])
        return out, [text is not None for text in texts]

    def _ordered(self, query: np.ndarray, matches: Sequence[Match]) -> list[Match]:
        """The matches of one mention, whose vector is ``[D]``; equal scores keep their order."""
        context = np.stack([self._concepts[match.concept] for match in matches]) @ query
        index = np.array([match.score for match in matches])
        scores = (1 - self.weight) * index + self.weight * context
        order = np.argsort(-scores, kind="stable")
        return [matches[i]._replace(score=float(scores[i])) for i in order]

    def _learn(self, catalog: Catalog, concepts: Sequence[str]) -> None:
        """Encode the names of concepts that are new."""
        if catalog is not self._catalog:
            self._catalog, self._concepts = catalog, {}
        new = [concept for concept in dict.fromkeys(concepts) if concept not in self._concepts]
        if not new:
            return
        places = np.array([catalog.place(concept) for concept in new])
        entry, names = catalog.concept_names.take(places)
        vectors = self._encode(catalog.texts(names))
        total = np.zeros((len(new), vectors.shape[1]), dtype=np.float32)
        np.add.at(total, entry, vectors)
        self._concepts.update(zip(new, rows_for_search(total, "cosine")))

    def _encode(self, texts: list[str]) -> np.ndarray:
        """Unit vectors ``[N, D]``, equal texts once. Contexts and names are alike to such a model."""
        place: dict[str, int] = {}
        rows = [place.setdefault(text, len(place)) for text in texts]
        return rows_for_search(self.encoder.encode(list(place), task="query"), "cosine")[rows]


def _check_markers(model: SentenceTransformer, name: str) -> None:
    kinds = [type(module).__name__ for module in model]
    try:
        marker_ids(model.tokenizer, MARKERS)
    except (ValueError, AttributeError) as error:
        raise InputError(
            f"{name}: its tokenizer has no markers {' and '.join(MARKERS)}; expected a model that was trained on marked "
            "mentions, such as contrastive-training/trained of the recipe italian_kge"
        ) from error
    if "WordWeights" in kinds:
        raise InputError(f"{name}: is the plain form of a model, for bare terms; expected the form that was trained")
