"""Losses on the embeddings of a batch, their miners, and the callbacks for training with them.

The names below are imported on first use. The mathematics needs only torch; sentence-transformers is needed only to embed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from st_biomed.losses import miners as miners
    from st_biomed.losses.barlow_twins import BarlowTwinsLoss as BarlowTwinsLoss
    from st_biomed.losses.bergamot import BergamotLoss as BergamotLoss
    from st_biomed.losses.by_name import loss_by_name as loss_by_name
    from st_biomed.losses.by_name import miner_by_name as miner_by_name
    from st_biomed.losses.cached import CachedInfoNCELoss as CachedInfoNCELoss
    from st_biomed.losses.cached import CachedKGEMarginMultiSimilarityLoss as CachedKGEMarginMultiSimilarityLoss
    from st_biomed.losses.cached import CachedMultiSimilarityLoss as CachedMultiSimilarityLoss
    from st_biomed.losses.cached import CachedOrdinalMultiSimilarityLoss as CachedOrdinalMultiSimilarityLoss
    from st_biomed.losses.cached_bergamot import CachedBergamotLoss as CachedBergamotLoss
    from st_biomed.losses.circle import CircleLoss as CircleLoss
    from st_biomed.losses.cosine import CosineLoss as CosineLoss
    from st_biomed.losses.distilled import CachedDistilledLoss as CachedDistilledLoss
    from st_biomed.losses.distilled import DistilledLoss as DistilledLoss
    from st_biomed.losses.entity_linking import EntityLinkingLoss as EntityLinkingLoss
    from st_biomed.losses.few_shot import FewShotLoss as FewShotLoss
    from st_biomed.losses.few_shot_callbacks import FewShotNegativesCallback as FewShotNegativesCallback
    from st_biomed.losses.few_shot_callbacks import FewShotValidationCallback as FewShotValidationCallback
    from st_biomed.losses.generalized_lifted_structure import (
        GeneralizedLiftedStructureLoss as GeneralizedLiftedStructureLoss,
    )
    from st_biomed.losses.info_nce import InfoNCELoss as InfoNCELoss
    from st_biomed.losses.kge_margin_multi_similarity import (
        KGEMarginMultiSimilarityLoss as KGEMarginMultiSimilarityLoss,
    )
    from st_biomed.losses.knowledge_injection import KnowledgeInjectionLoss as KnowledgeInjectionLoss
    from st_biomed.losses.lifted_structure import LiftedStructureLoss as LiftedStructureLoss
    from st_biomed.losses.loss_parameters_callback import LossParametersCallback as LossParametersCallback
    from st_biomed.losses.max_margin_triplet import MaxMarginTripletLoss as MaxMarginTripletLoss
    from st_biomed.losses.multi_similarity import MultiSimilarityLoss as MultiSimilarityLoss
    from st_biomed.losses.nca import NCALoss as NCALoss
    from st_biomed.losses.ordinal_multi_similarity import OrdinalMultiSimilarityLoss as OrdinalMultiSimilarityLoss
    from st_biomed.losses.self_distillation import CachedSelfDistillationLoss as CachedSelfDistillationLoss
    from st_biomed.losses.self_distillation import SelfDistillationLoss as SelfDistillationLoss
    from st_biomed.losses.synonym_marginalization import SynonymMarginalizationLoss as SynonymMarginalizationLoss
    from st_biomed.losses.terminology_digest_callback import TerminologyDigestCallback as TerminologyDigestCallback

_HOME = {
    "MultiSimilarityLoss": "st_biomed.losses.multi_similarity",
    "OrdinalMultiSimilarityLoss": "st_biomed.losses.ordinal_multi_similarity",
    "CachedMultiSimilarityLoss": "st_biomed.losses.cached",
    "CachedOrdinalMultiSimilarityLoss": "st_biomed.losses.cached",
    "KGEMarginMultiSimilarityLoss": "st_biomed.losses.kge_margin_multi_similarity",
    "CachedKGEMarginMultiSimilarityLoss": "st_biomed.losses.cached",
    "BarlowTwinsLoss": "st_biomed.losses.barlow_twins",
    "BergamotLoss": "st_biomed.losses.bergamot",
    "CachedBergamotLoss": "st_biomed.losses.cached_bergamot",
    "InfoNCELoss": "st_biomed.losses.info_nce",
    "CachedInfoNCELoss": "st_biomed.losses.cached",
    "NCALoss": "st_biomed.losses.nca",
    "LiftedStructureLoss": "st_biomed.losses.lifted_structure",
    "GeneralizedLiftedStructureLoss": "st_biomed.losses.generalized_lifted_structure",
    "CircleLoss": "st_biomed.losses.circle",
    "MaxMarginTripletLoss": "st_biomed.losses.max_margin_triplet",
    "CosineLoss": "st_biomed.losses.cosine",
    "SynonymMarginalizationLoss": "st_biomed.losses.synonym_marginalization",
    "EntityLinkingLoss": "st_biomed.losses.entity_linking",
    "KnowledgeInjectionLoss": "st_biomed.losses.knowledge_injection",
    "FewShotLoss": "st_biomed.losses.few_shot",
    "SelfDistillationLoss": "st_biomed.losses.self_distillation",
    "CachedSelfDistillationLoss": "st_biomed.losses.self_distillation",
    "DistilledLoss": "st_biomed.losses.distilled",
    "CachedDistilledLoss": "st_biomed.losses.distilled",
    "FewShotNegativesCallback": "st_biomed.losses.few_shot_callbacks",
    "FewShotValidationCallback": "st_biomed.losses.few_shot_callbacks",
    "loss_by_name": "st_biomed.losses.by_name",
    "miner_by_name": "st_biomed.losses.by_name",
    "LossParametersCallback": "st_biomed.losses.loss_parameters_callback",
    "TerminologyDigestCallback": "st_biomed.losses.terminology_digest_callback",
}

__all__ = ["miners", *_HOME]


def __getattr__(name: str) -> Any:
    if name == "miners":
        return importlib.import_module("st_biomed.losses.miners")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'st_biomed.losses' has no attribute {name!r}; it has {', '.join(sorted(__all__))}")


def __dir__() -> list[str]:
    return sorted(__all__)
