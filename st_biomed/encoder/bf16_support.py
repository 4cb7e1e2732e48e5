"""The precision of hardware multiplication on this machine."""

from __future__ import annotations


def computes_bf16() -> bool:
    """Whether this machine multiplies bfloat16 in hardware: by its GPU, or by AVX512-BF16 or AMX in the processor."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
