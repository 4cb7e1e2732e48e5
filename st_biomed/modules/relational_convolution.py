"""The relational convolution of torch-geometric, with a cost proportional to the edges. It needs the extra ``graph``."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import RGCNConv


class EdgewiseRGCNConv(RGCNConv):
    r"""Schlichtkrull et al. 2018, Eq. 2. Parameters, initial values and results are those of ``RGCNConv``.

    ::

        x_i' = W_0 x_i + sum_r 1 / |N_r(i)| sum_{j in N_r(i)} W_r x_j + b

    That class multiplies every node by the matrix of every relation; this class multiplies the source of an edge by
    the matrix of its relation. A terminology has hundreds of relations, a step some hundred edges. Unlike
    ``FastRGCNConv``, it creates no tensor of the size edges x matrices.
    """

    def forward(self, x: Tensor, edge_index: Tensor, edge_type: Tensor) -> Tensor:
        """States ``[N, D]``, edges ``[2, E]`` and their relations ``[E]`` to states ``[N, D']``."""
        source, target = edge_index
        _, group, size = (target * self.num_relations + edge_type).unique(return_inverse=True, return_counts=True)
        order = edge_type.argsort(stable=True)
        present, counts = edge_type.unique(return_counts=True)
        weights = self._weights(present)
        rows = order.split(counts.tolist())
        messages = [self._product(x[source[edges]], weight) for edges, weight in zip(rows, weights)]
        out = x @ self.root + self.bias
        if not messages:
            return out
        shares = torch.cat(messages) / size[group[order], None]
        return out.index_add(0, target[order], shares.to(out.dtype))

    def _weights(self, relations: Tensor) -> Tensor:
        """The matrices of some relations: ``[R', D, D']``, or their blocks ``[R', blocks, D / blocks, D' / blocks]``."""
        if self.num_bases is None:
            return self.weight[relations]
        return torch.einsum("rb,bij->rij", self.comp[relations], self.weight)

    def _product(self, states: Tensor, weight: Tensor) -> Tensor:
        """``[E', D]`` to ``[E', D']``."""
        if self.num_blocks is None:
            return states @ weight
        blocks = states.view(len(states), self.num_blocks, -1)
        return torch.einsum("ebi,bij->ebj", blocks, weight).flatten(1)
