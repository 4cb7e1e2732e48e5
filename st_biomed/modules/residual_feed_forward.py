"""The few-shot encoder of biomedical names: a small network that keeps a vector close to its input."""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers.base.modules.module import Module
from torch import Tensor, nn
from torch.nn.functional import dropout, relu

from st_biomed.errors import InputError, check_dropout, check_integer, check_number
from st_biomed.modules.hub_arguments import hub_arguments

HIDDEN = 9600
""""All encoders were tuned to 9,600 hidden dimensions." (section 3.3)"""

DROPOUT = 0.5
""""...using a learning rate of 0.001 and a dropout rate of 0.5." (section 3.2)"""


class ResidualFeedForward(Module):
    r"""A feed-forward network whose output is averaged with its input: equation 1 of Fivez et al.

    ::

        f(u) = (FFN(u) + u) / 2        FFN(u) = W2 dropout(relu(W1 u + b1)) + b2

    The module reads and writes ``sentence_embedding``. The vector ``u`` is not scaled; in the published code it has
    length 1, so place a ``Normalize`` of sentence-transformers before the module. Several modules in sequence are the
    paper's continual learning ("we use the output of the first model as input representations to train the second
    model"). The earlier modules must then be frozen, without dropout: train the last one on a
    :class:`~st_biomed.modules.name_vectors.NameVectors` of their output, and append it to them.
    :func:`st_biomed.release.fold_modules.fold_modules` turns each module into two ``Dense``.

    Args:
        width: D, the width of input and output.
        hidden: Width of the hidden layer.
        dropout: Dropout of the hidden layer, in training.
        share: Share a of the paper's output in that of the module, the rest is the input, ``a f(u) + (1 - a) u``: what
            averaging with a base model is for other encoders. 1 for the paper's encoder.

    Raises:
        InputError: An argument out of range, or vectors of another width.

    References:
        - Fivez et al. 2021, Scalable few-shot learning of robust biomedical name representations (BioNLP), section 2.1.
    """

    config_keys = ["width", "hidden", "dropout", "share"]

    def __init__(self, width: int, hidden: int = HIDDEN, dropout: float = DROPOUT, share: float = 1.0) -> None:
        super().__init__()
        self.share = check_number("share", share, least=0, most=1)
        for name, value in (("width", width), ("hidden", hidden)):
            check_integer(name, value)
        self.width, self.hidden, self.dropout = width, hidden, check_dropout("dropout", dropout)
        self.first, self.second = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Replace ``sentence_embedding`` ``[B, D]``."""
        vectors: Tensor = features["sentence_embedding"]
        if vectors.shape[-1] != self.width:
            raise InputError(
                f"ResidualFeedForward of width {self.width} was given vectors of {vectors.shape[-1]} dimensions: "
                "make one of that width, or put a random_projection before it"
            )
        hidden = relu(self.first(vectors))
        if self.training and self.dropout:
            hidden = _dropped(hidden, self.dropout)
        features["sentence_embedding"] = (self.share * self.second(hidden) + (2 - self.share) * vectors) / 2
        return features

    def get_embedding_dimension(self) -> int:
        return self.width

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        """Write ``config.json`` and the weights."""
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=safe_serialization)

    @classmethod
    def load(cls, model_name_or_path: str, *args: Any, **kwargs: Any) -> ResidualFeedForward:
        """Load a module written by :meth:`save`, from a folder or the Hub."""
        where = hub_arguments(kwargs)
        module = cls(**cls.load_config(model_name_or_path, **where))
        cls.load_torch_weights(model_name_or_path, model=module, **where)
        return module


def _dropped(hidden: Tensor, share: float) -> Tensor:
    """Dropout: on the CPU, torch draws numbers and compares them in a quarter of the time that it draws a mask in."""
    if hidden.device.type != "cpu":
        return dropout(hidden, share)
    kept = torch.rand(hidden.shape) >= share
    return hidden * kept.to(hidden.dtype).div_(1 - share)
