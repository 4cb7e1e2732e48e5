"""How often the nearest prototype is that of a name's own concept: what a few-shot encoder is worth without a benchmark."""

from __future__ import annotations

import numpy as np

from st_biomed.evaluators.embedders import Embed
from st_biomed.losses.few_shot_comparisons import concept_prototypes
from st_biomed.metrics.cosine import unit_rows
from st_biomed.training_data.fewshot import FewShotSplit


def prototype_accuracy(embed: Embed, split: FewShotSplit) -> float:
    """Share of the validation names whose most similar prototype, by cosine, is that of their own concept.

    Prototypes are means of the training names' vectors at length 1. The training stops by the validation names' loss, so
    that this is a little better than for names that no run has seen. With C concepts of equal size chance is 1 / C.

    Args:
        embed: Vectors of names.
        split: The names that were trained on, and those of validation.
    """
    prototypes = concept_prototypes(unit_rows(embed(list(split.train["text"]))), list(split.train["label"])).numpy()
    names = unit_rows(embed(list(split.validation["text"])))
    nearest = np.argmax(names @ unit_rows(prototypes).T, axis=1)
    return float(np.mean(nearest == np.array(split.validation["label"])))
