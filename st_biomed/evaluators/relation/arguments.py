"""Recipe arguments for the relations that are held out of training and measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.evaluators.base import EvaluatorOptions
from st_biomed.evaluators.relation.draw import RelationDrawSettings, draw_relation_pairs
from st_biomed.evaluators.relation.evaluator import RelationEvaluator
from st_biomed.evaluators.relation.settings import LISTS
from st_biomed.settings.checks import COUNT, SIZE, about, one_of
from st_biomed.terminology import Terminology
from st_biomed.training_data.held_out_relations import draw_related, without_relations_of

NAME = "held-out-relations"


class HeldOutRelations(NamedTuple):
    """The terminology for training, and the evaluator.

    Attributes:
        train: Without any relation of a held-out concept.
        test: Measures pairs of held-out concepts; ``None`` without a list of relations if none
            has enough of them.
    """

    train: Terminology
    test: RelationEvaluator | None


@dataclass
class RelationArguments:
    """The held-out concepts, and the relations between them that are measured (HiPrBERT, section 4.2)."""

    held_out_relations: int = field(
        default=0,
        metadata=about(
            "relations drawn at random; none of their concepts has a trained relation, like those of held-out trees",
            SIZE,
        ),
    )
    relation_list: str = field(
        default="",
        metadata=about(
            "measured relations (4.2): hiprbert_28 or hiprbert_clinical; all by default", one_of("", *LISTS)
        ),
    )
    least_relation_pairs: int = field(
        default=50,
        metadata=about("least pairs of held-out concepts for a relation to be measured, without a list", COUNT),
    )

    def hold_out_relations(
        self,
        whole: Terminology,
        train: Terminology,
        held_out: np.ndarray,
        seed: int,
        **options: Unpack[EvaluatorOptions],
    ) -> HeldOutRelations:
        """Hold out the relations of concepts: a pair is trained if neither of its concepts is held out, and measured if
        both are.

        Args:
            whole: Concepts, names and relations, of training and of everything that is held out.
            held_out: Whether a concept of ``whole`` is held out already, boolean ``[C]``.

        Raises:
            InputError: Fewer relations than to be held out, or a list without a pair.
        """
        n = self.held_out_relations if train.relations.num_rows else 0  # a hierarchy alone has none to hold out
        drawn = draw_related(train, n, seed) if n else []
        of_drawn = pc.is_in(whole.concepts["code"], value_set=pa.array(drawn, pa.string())).to_numpy()
        chosen = held_out | of_drawn
        train = without_relations_of(train, whole.concepts["code"].filter(pa.array(chosen)).to_pylist())
        relations = LISTS[self.relation_list] if self.relation_list else None
        least = self.least_relation_pairs
        draw = RelationDrawSettings(min_pairs=least, seed=seed)
        options["name"] = NAME
        if relations is not None:
            test = RelationEvaluator.from_terminology(whole, relations, draw, concepts=chosen, **options)
            return HeldOutRelations(train, test)
        if not whole.relations.num_rows or (chosen & whole.has_name).sum() < 2:
            return HeldOutRelations(train, None)  # there is no pair to draw
        pairs = draw_relation_pairs(whole, None, draw, concepts=chosen)
        enough = any(len(related) >= least for related in pairs.positives.values())
        return HeldOutRelations(train, RelationEvaluator.from_drawn(pairs, None, least, **options) if enough else None)
