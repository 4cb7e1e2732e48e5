"""Loads encoders, by one loader for every path, with clear messages for failures."""

from __future__ import annotations

from st_biomed.encoder.bf16_support import computes_bf16
from st_biomed.encoder.foreign_code import ForeignCode
from st_biomed.encoder.load import POOLINGS, load_encoder, load_model
from st_biomed.encoder.own_code import OWN_CODE, is_own_code
from st_biomed.encoder.sources import (
    PACKAGED,
    PACKAGED_SHA256,
    Source,
    find_model,
    has_own_pooling,
    model_folder,
)

__all__ = [
    "OWN_CODE",
    "PACKAGED",
    "PACKAGED_SHA256",
    "POOLINGS",
    "ForeignCode",
    "Source",
    "computes_bf16",
    "find_model",
    "has_own_pooling",
    "is_own_code",
    "load_encoder",
    "load_model",
    "model_folder",
]
