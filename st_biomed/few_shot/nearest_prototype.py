"""The share of names whose nearest prototype is that of their concept: a measure that needs no benchmark."""

from __future__ import annotations

import numpy as np

from st_biomed.evaluators.embedders import Embed
from st_biomed.losses.few_shot_names import concept_prototypes
from st_biomed.metrics.cosine import unit_rows
from st_biomed.training_data.few_shot import FewShotSplit


def prototype_accuracy(embed: Embed, split: FewShotSplit) -> float:
    """Share of the validation names whose most similar prototype, by cosine, is that of their own concept.

    Prototypes are means of the normalized vectors of the training names. Training stops by the loss of the validation
    names, so this is slightly better than for unseen names. With C concepts of equal size, chance is 1 / C.
    """
    prototypes = concept_prototypes(unit_rows(embed(list(split.train["text"]))), list(split.train["label"])).numpy()
    names = unit_rows(embed(list(split.validation["text"])))
    nearest = np.argmax(names @ unit_rows(prototypes).T, axis=1)
    return float(np.mean(nearest == np.array(split.validation["label"])))
