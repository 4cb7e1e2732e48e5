"""Where bfloat16 is multiplied in hardware."""

from __future__ import annotations

import pytest
import torch

from st_biomed.encoder import computes_bf16


@pytest.mark.parametrize("processor", [False, True])
def test_the_device_that_computes_is_asked(processor: bool, monkeypatch: pytest.MonkeyPatch):
    """Catches a GPU whose ability is taken for that of the processor beside it."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: processor)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert computes_bf16() and computes_bf16("cuda")
    assert computes_bf16("cpu") == processor
