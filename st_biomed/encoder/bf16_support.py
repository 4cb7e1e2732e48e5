"""The precision of hardware multiplication on this machine."""

from __future__ import annotations


def computes_bf16(device: str | None = None) -> bool:
    """Whether bfloat16 is multiplied in hardware: by the GPU, or by AVX512-BF16 or AMX in the processor.

    Args:
        device: Where it would be, e.g. ``"cpu"``; by default the GPU if there is one.
    """
    import torch

    if torch.cuda.is_available() and device != "cpu":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
