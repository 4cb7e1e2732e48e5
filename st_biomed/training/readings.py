"""How each recipe interprets what its paper leaves open: sentences for the model card of the release."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from st_biomed.losses.by_name import parse_loss_options
from st_biomed.losses.miners import TripletMarginMiner
from st_biomed.losses.multi_similarity import PRESETS
from st_biomed.training.part_distillation import PartDistillationArguments

_KEPT = {
    "all": "not at least the margin farther than the positive",
    "hard": "not farther than the positive",
    "semihard": "farther than the positive, by no more than the margin",
    "easy": "farther than the positive by more than the margin",
    "violate": "nearer than the positive by at least the margin",
}
"""Triplets by the mode of :class:`~st_biomed.losses.miners.TripletMarginMiner`."""
_LEVEL_SOURCES = {"depth": "all hierarchies", "hierarchy": "its own hierarchy"}


def sapbert_readings(recipe: Any) -> list[str]:
    """Sentences on SapBERT's loss and miner, and on batches that are not the paper's."""
    sentences = []
    if recipe.loss == "ms":
        options = {**PRESETS["sapbert"], **parse_loss_options(recipe.loss_options)}
        sentences.append(
            f"Equation 2 prints alpha and beta with exchanged roles; alpha ({options['alpha']:g}) is the steepness of positives "
            f"and beta ({options['beta']:g}) that of negatives, as in the published code and in the paper the loss comes from."
        )
    if recipe.miner == "triplet":
        sentences.append(
            "Equation 1 as printed keeps triplets whose negative is nearer than the positive by more than the margin; kept "
            "are those whose negative is not at least .2 farther, in distances of unit vectors, as in the published code."
        )
    if recipe.neighbors:
        sentences.append(
            f"Batches are those of CODER++ (arXiv:2204.00391), not the paper's: {recipe.prototypes} prototypes, each with "
            f"{recipe.positives} of its names and the {recipe.neighbors} names nearest to it under the weights of the time."
        )
    return [*sentences, *distillation_readings(recipe)]


def hiprbert_readings(recipe: Any, parts: Collection[str]) -> list[str]:
    """Sentences on HiPrBERT's hard pairs, distances and ordinal loss, for the trained parts."""
    sentences = []
    if "synonyms" in parts or "relations" in parts:
        sentences.append(_hard_pairs(recipe, parts))
    if "hierarchy" in parts:
        own = "".join(f", by {d} for {s}" for s, d in sorted(recipe.distance_type_of_source().items()))
        levels = ", ".join(f"{level.replace('_', ' ')} {i}" for i, level in enumerate(recipe.levels, 1))
        if recipe.level_function != "none":
            own += f", each in two levels by the depth of the pair in {_LEVEL_SOURCES[recipe.level_function]}, deep pairs nearer"
        sentences += [
            f"Distances: synonyms 0, {levels}, everything else {len(recipe.levels) + 1}{own}; the smallest where several apply."
            if recipe.distance == "sibling_parent"
            else f"Distances are by {recipe.distance}{own}; the smallest where several apply.",
            "An anchor is compared with "
            + ("the whole batch" if recipe.group_size is None else f"its group of {recipe.group_size} rows")
            + ": within one source a pair without a nearer relation is at the largest distance, across trees too; "
            "pairs of different sources and identical strings are left out.",
            f"The ordinal loss is in its {recipe.form} form, alpha {recipe.alpha}, beta {recipe.beta}, base {recipe.base}, "
            f"weights of the cuts {recipe.cut_weights or 1}; the paper has 2, 2, .5 and equal weights.",
        ]
    return sentences


def _hard_pairs(recipe: Any, parts: Collection[str]) -> str:
    """The pairs of synonyms and relations that mining keeps."""
    kinds = {"synonyms": recipe.synonym_preset, "relations": recipe.relation_preset}
    miners = [PRESETS[preset]["miner"] for part, preset in kinds.items() if part in parts]
    of_triplets = (recipe.margin, recipe.mining, recipe.mine) != (None, None, None)
    sentence = "Hard pairs are mined from the embeddings of the current step."
    if of_triplets or all(isinstance(miner, TripletMarginMiner) for miner in miners):
        sentence += (
            " The paper's sentence, read literally, keeps triplets that are separated already; kept here are those whose "
            f"negative is {_KEPT[recipe.mining or 'all']}."
        )
    return sentence + (" All positives are kept." if recipe.mine == "negatives" else "")


def open_encoder_readings(recipe: Any) -> list[str]:
    """Sentences on the parts, the self-distillation from the base model, and the average of several runs."""
    mined = [part for part in recipe.parts if part != "synonyms" or recipe.synonym_temperature is None]
    sentences = hiprbert_readings(recipe, mined)
    if mined != recipe.parts:
        sentences.append(
            "A synonym is contrasted with all names of other concepts in the batch (InfoNCE, temperature "
            f"{recipe.synonym_temperature:g}), without mining."
        )
    if recipe.runs > 1 or recipe.parts_alone(recipe.parts):
        sentences.append(_averaged(recipe))
    if "definitions" in recipe.parts:
        sentences.append(_definitions(recipe))
    if recipe.corpus:
        sentences.append(
            f"Passages of {recipe.passage_words} words around a name, at most {recipe.passages_per_concept} of a concept, count "
            "as definitions of its concept; a mask stands in the place of the name."
        )
    if "texts" in recipe.parts:
        sentences.append(
            f"Passages of {recipe.passage_words} words of raw text are a part of their own, without a loss but self-distillation."
        )
    return [
        *sentences,
        *distillation_readings(recipe, "texts" if "texts" in recipe.parts else "names and definitions"),
    ]


def distillation_readings(recipe: Any, texts: str = "names") -> list[str]:
    """A sentence on self-distillation, if it is used.

    Args:
        texts: A noun for the texts of a batch.
    """
    if not recipe.distillation:
        return []
    removed = recipe.distillation_removed
    mapped = "" if removed is None else f" (centered, without {removed} leading principal components)"
    part = "" if recipe.distillation_share == 1 else f"a share of {recipe.distillation_share:g} of "
    return [
        f"The {recipe.distillation_target} of {part}the {texts} of each batch are held near those of the base model{mapped} with weight "
        f"{recipe.distillation:g}{_of_parts(recipe)}."
    ]


def _of_parts(recipe: Any) -> str:
    """The other weights of self-distillation of single parts."""
    weights = recipe.weights_of_parts() if isinstance(recipe, PartDistillationArguments) else {}
    others = {part: weight for part, weight in weights.items() if part in recipe.parts}
    return "".join(f", {weight:g} in batches of the part {part}" for part, weight in others.items())


def biolord_readings(recipe: Any) -> list[str]:
    """Sentences on BioLORD-2023's three phases."""
    learned = f"the {recipe.components} main principal components of the" if recipe.components else "the"
    rates = ", ".join(f"{rate:g}" for rate in recipe.student_learning_rates)
    averaged = "released" if recipe.average == "none" else "trained"
    held = distillation_readings(recipe, "names and definitions")
    return [
        " ".join([f"Phase 1, contrastive: {_definitions(recipe)}", *held]),
        f"Phase 2, self-distillation: each student begins as the base model and learns {learned} vectors that the model of "
        "phase 1 gives all names and definitions; its loss is one minus the cosine of the two vectors of a text.",
        f"Phase 3, averaging: the {averaged} weights are the mean of those of the students (learning rates {rates}), each of "
        "which has an order of batches of its own.",
    ]


def _definitions(recipe: Any) -> str:
    """Sentences on the contrastive training on definitions."""
    return (
        "A definition is contrasted with the names and definitions of the batch (InfoNCE, temperature "
        f"{recipe.definition_temperature}); those of a concept that shares a name with its own count for nothing. "
        f"{recipe.siblings:.0%} of the concepts of a batch are siblings of others in it."
    )


def bergamot_readings(recipe: Any) -> list[str]:
    """Sentences on BERGAMOT's text loss, and on its graph if there is one."""
    sentences = [
        "the multi-similarity loss (2, 50, .5) with the triplet miner of SapBERT (.2), mined anew in every term"
        + (
            ""
            if recipe.intermodal_miner or recipe.graph == "none"
            else " but the intermodal one, where all pairs count"
        )
    ]
    if recipe.graph != "none":
        if recipe.neighborhood == "shuffled":
            sentences.append(
                "a control: neighbors are exchanged at random, so that they carry no information about the concept"
            )
        if recipe.neighborhood == "none":
            sentences.append("a control: each concept is alone in its graph, without neighbors")
        if not recipe.graph.startswith("published_") and recipe.graph_residual:
            sentences.append("each layer of the graph encoder adds its input to its output, unlike the published ones")
        sentences += [
            f"a text is paired with the graph of {'the other view' if recipe.cross_view else 'its own view'}",
            "each view has a corruption of its own",
            f"lambda of deep graph infomax is {recipe.dgi_weight:g}",
        ]
        if recipe.neighborhood != "none":
            sentences.append("neighbors are drawn, not edges: several relations to a neighbor do not make it likelier")
    return [*sentences, *distillation_readings(recipe)]


def injection_readings(recipe: Any) -> list[str]:
    """Sentences on the injection of a graph between two layers."""
    scaled = "unscaled" if recipe.temperature == 1 else f"divided by {recipe.temperature:g}"
    return [
        "bare terms are one mention as a whole",
        f"the {recipe.candidates} nearest entities are mixed, their similarities {scaled}",
        "mentions of ambiguous terms are injected but not linked",
    ]


def italian_readings(recipe: Any, pipelined: bool, pools_mentions: bool) -> list[str]:
    """Sentences on the Italian paper's contrastive training, in one of its two stages.

    Args:
        pools_mentions: Whether the vector is a mean over the tokens of the mention, not the first token.
    """
    sentences = [f"at most {recipe.prototypes_per_concept} prototypes of a concept"]
    if pools_mentions:
        sentences.append("bare terms are pooled over all their tokens")
    if recipe.loss != "barlow_twins":
        sentences.append("contexts of one and the same term are positives")
    if recipe.loss == "v3":
        margin = "a number without a gradient" if recipe.detach_margin else "differentiated as it is printed"
        sentences.append(f"Eq. 3's margin is {margin}; pairs without a vector have the thresholds of {recipe.missing}")
        if recipe.graph_vectors == "shuffled":
            sentences.append("a control: the vectors of the graph are exchanged among concepts at random")
        if recipe.graph_vectors == "zeros":
            sentences.append("a control: the similarity in the graph of any two concepts with a vector is 0")
    if pools_mentions and not pipelined:
        sentences.append("the released model pools all tokens of a text: it is that of the training for bare terms")
    return [*sentences, *distillation_readings(recipe, "mentions in context")]


def few_shot_readings(recipe: Any) -> list[str]:
    """Sentences on the vectors, prototypes, validation and share of few-shot encoders."""
    rest = 1 - recipe.average
    averaged = f"The output of each trained stage is averaged with its input, {recipe.average:g} to {rest:g}."
    return [
        "Vectors are brought to length 1 before every stage, as the published code does with whatever it is given.",
        "Prototypes are means over the training names alone, as in the published code."
        if recipe.prototypes == "training"
        else "Prototypes are means over all names of a concept, as in Eq. 3.",
        "An anchor is compared with all other training names of its concept.",
        "Validation is in evaluation mode with negatives that are drawn once.",
        *([averaged] if rest else []),
    ]


def _averaged(recipe: Any) -> str:
    """A sentence on the trainings whose weights are averaged."""
    several, alone = recipe.runs > 1, recipe.parts_alone(recipe.parts)
    runs = f"{recipe.runs} runs, which differ in their seeds" if several else "one run"
    if not alone:
        return f"The trained weights are the mean of those of {runs}."
    number = f"{recipe.runs} encoders that were" if several else "an encoder that was"
    parts = ", and of ".join(f"{number} trained on the part {part} alone" for part in alone)
    return (
        f"The trained weights are an average of those of {runs}, and of {parts}, without self-distillation (weight "
        f"{recipe.alone_weight:g} each, where a run has 1)."
    )
