"""Projection of vectors to another width, by a random matrix that is never trained."""

from __future__ import annotations

from math import sqrt

import torch
from sentence_transformers.base.modules import Dense
from torch import nn

from st_biomed.errors import check_integer


def random_projection(width: int, new_width: int, *, seed: int = 0) -> Dense:
    r"""A module of sentence-transformers that multiplies vectors by a random matrix.

    The bag of random embedding projections of Wieting and Kiela::

        h = W u        W [new_width, width], each number uniform in [-1/sqrt(width), 1/sqrt(width)]

    They project words and take the mean; the projection is linear, so projecting the mean is the same. Fivez et al.
    name it for an input that is narrower than the output ("random projections, which work well for increasing the
    dimensionality of neural encoder inputs", section 2.2). Lengths change: the expected squared length of a vector is
    multiplied by ``new_width / (3 * width)``; the encoder's ``Normalize`` follows.

    Args:
        width: Width of the input vectors.
        new_width: Width of the output vectors; it may also be smaller.
        seed: Seed of the matrix, which is the same on every machine.

    Returns:
        A ``Dense`` without bias or activation, frozen. It is saved with the model and loads without a flag.

    Raises:
        InputError: A width below 1.

    References:
        - Wieting and Kiela 2019, No training required: exploring random encoders for sentence classification (ICLR).
          Their code (facebookresearch/randsent) uses this distribution by default, and sets the bias to 0.
        - Fivez et al. 2021, Scalable few-shot learning of robust biomedical name representations (BioNLP), section 2.2.
    """
    for name, value in (("width", width), ("new_width", new_width)):
        check_integer(name, value)
    generator = torch.Generator().manual_seed(seed)
    matrix = (2 * torch.rand(new_width, width, generator=generator) - 1) / sqrt(width)
    with torch.random.fork_rng(devices=[]):  # what the layer draws for itself is thrown away
        module = Dense(width, new_width, bias=False, activation_function=nn.Identity(), init_weight=matrix)
    module.requires_grad_(False)
    return module
