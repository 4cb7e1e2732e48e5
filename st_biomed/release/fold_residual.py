"""Converts a residual feed-forward into two layers of sentence-transformers."""

from __future__ import annotations

import torch
from sentence_transformers.base.modules import Dense
from torch import nn

from st_biomed.modules.residual_feed_forward import ResidualFeedForward


@torch.no_grad()
def fold_residual(module: ResidualFeedForward) -> list[Dense]:
    r"""Two ``Dense`` with the same vectors as a residual feed-forward without dropout, up to rounding.

    With ``u = relu(u) - relu(-u)`` the input passes through the hidden layer::

        (W2 relu(W1 u + b1) + b2 + u) / 2 = [W2/2, I/2, -I/2] relu([W1; I; -I] u + [b1; 0; 0]) + b2/2

    With a share a of the network, W2 and b2 have the factor a, and I has 2 - a.

    Args:
        module: The module, of width D with a hidden layer of H; it is not changed.

    Returns:
        D to H + 2D with ReLU, then H + 2D to D with no activation, on the device and in the precision of the module.
    """
    first, second, share = module.first, module.second, module.share
    same = torch.eye(module.width, dtype=first.weight.dtype, device=first.weight.device)
    inner = module.hidden + 2 * module.width
    return [
        Dense(
            module.width,
            inner,
            activation_function=nn.ReLU(),
            init_weight=torch.cat([first.weight, same, -same]),
            init_bias=torch.cat([first.bias, first.bias.new_zeros(2 * module.width)]),
        ),
        Dense(
            inner,
            module.width,
            activation_function=nn.Identity(),
            init_weight=torch.cat([share * second.weight, (2 - share) * same, (share - 2) * same], dim=1) / 2,
            init_bias=share * second.bias / 2,
        ),
    ]
