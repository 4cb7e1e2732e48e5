"""What every loss has to do, as tests that its own test class inherits."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.similarity import unit_rows


class LossContract:
    """Inherit as ``TestXContract``, name the class, and say what differs from a loss on plain classes.

    Attributes:
        loss_class: The class under contract; it is made without a model.
        arguments: Its arguments.
        nothing_to_learn: Batches (labels) that must give a zero that hangs on the graph.
        after_labels: What ``compute_loss_from_embeddings`` needs after embeddings and labels, where they are refused.
    """

    loss_class: ClassVar[Any]
    arguments: ClassVar[dict[str, Any]] = {}
    nothing_to_learn: ClassVar[dict[str, list[int]]] = {"one row": [3]}
    after_labels: ClassVar[tuple[Any, ...]] = ()

    @pytest.fixture
    def loss(self) -> nn.Module:
        return type(self).loss_class(None, **self.arguments)

    def batch(self, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
        """Embeddings ``[12, 6]`` in which names of one concept are no nearer than others, and their labels."""
        generator = torch.Generator().manual_seed(11)
        embeddings = torch.randn(12, 6, generator=generator, dtype=torch.float64).to(dtype)
        return embeddings.requires_grad_(), torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 4])

    def levels(self, labels: Tensor) -> list[Tensor]:
        """Masks ``[B, B]`` of pairs from near to far, which training has to order."""
        same = labels[:, None] == labels[None, :]
        return [same & ~torch.eye(len(labels), dtype=torch.bool), ~same]

    def value(self, loss: nn.Module, embeddings: Tensor, labels: Tensor) -> Tensor:
        return loss.compute_loss_from_embeddings([embeddings], labels)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
    def test_value_and_gradient_are_finite_and_not_zero(self, loss, dtype):
        """Would catch a loss computed in half precision, or one that is cut off the graph."""
        embeddings, labels = self.batch(dtype)
        value = self.value(loss, embeddings, labels)
        value.backward()
        assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert value.isfinite() and value > 0
        assert embeddings.grad.isfinite().all() and embeddings.grad.abs().max() > 0

    def test_gradient_is_the_derivative_of_the_value(self, loss):
        embeddings, labels = self.batch()
        assert torch.autograd.gradcheck(lambda rows: self.value(loss, rows, labels), embeddings)

    @pytest.mark.parametrize("number", [torch.nan, torch.inf])
    def test_a_diverged_vector_has_no_finite_loss(self, loss, number: float):
        """Would catch mining that finds no pair among NaN: a loss of 0, by which a diverged checkpoint is the best."""
        embeddings, labels = self.batch()
        embeddings.data[0, 0] = number
        assert not self.value(loss, embeddings, labels).isfinite()

    def test_order_of_the_rows_does_not_matter(self, loss):
        embeddings, labels = self.batch()
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(2))
        value = self.value(loss, embeddings, labels)
        (gradient,) = torch.autograd.grad(value, embeddings)
        shuffled = embeddings.detach()[order].requires_grad_()
        shuffled_value = self.value(loss, shuffled, labels[order])
        (shuffled_gradient,) = torch.autograd.grad(shuffled_value, shuffled)
        torch.testing.assert_close(shuffled_value, value)
        torch.testing.assert_close(shuffled_gradient, gradient[order])

    def test_autocast_changes_nothing(self, loss):
        """Would catch cosines or exponentials in bfloat16."""
        embeddings, labels = self.batch(torch.float32)
        value = self.value(loss, embeddings, labels)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mixed = self.value(loss, embeddings, labels)
        gradients = [torch.autograd.grad(loss, embeddings)[0] for loss in (mixed, value)]
        assert torch.equal(mixed, value) and torch.equal(*gradients)

    @pytest.mark.parametrize("labels", [[3], [3, 3], [3, 3, 3, 3], [0, 1, 2, 3]], ids=str)
    def test_degenerate_batches_are_finite(self, loss, labels):
        """One row, one class, no positives: the places where a mean of nothing or a log of 0 would show."""
        embeddings = torch.randn(len(labels), 6, generator=torch.Generator().manual_seed(3)).requires_grad_()
        value = self.value(loss, embeddings, torch.tensor(labels))
        value.backward()
        assert value.isfinite() and value >= 0 and embeddings.grad.isfinite().all()

    def test_nothing_to_learn_is_a_zero_on_the_graph(self, loss):
        """A constant would break the backward pass of every process that waits for its gradient."""
        for name, labels in self.nothing_to_learn.items():
            embeddings = torch.randn(len(labels), 6, generator=torch.Generator().manual_seed(4)).requires_grad_()
            value = self.value(loss, embeddings, torch.tensor(labels))
            value.backward()
            assert value == 0 and embeddings.grad is not None and not embeddings.grad.any(), name

    def test_equal_and_zero_embeddings_are_finite(self, loss):
        """A model that has collapsed, or gives a zero, must not turn the weights into NaN."""
        labels = torch.tensor([0, 0, 1, 1, 2])
        for embeddings in (torch.ones(5, 6), torch.zeros(5, 6)):
            value = self.value(loss, embeddings.requires_grad_(), labels)
            value.backward()
            assert value.isfinite() and embeddings.grad.isfinite().all()

    def test_ten_steps_order_the_distances(self, loss):
        """Would catch a sign the wrong way round, for positives or for negatives."""
        embeddings, labels = self.batch(torch.float32)
        optimizer = torch.optim.Adam([embeddings], lr=0.2)

        def similarities() -> list[float]:
            unit = unit_rows(embeddings.detach())
            return [(unit @ unit.T)[level].mean().item() for level in self.levels(labels)]

        assert similarities() != sorted(similarities(), reverse=True), "the batch is in order before training"
        before = self.value(loss, embeddings, labels).item()
        for _ in range(10):
            optimizer.zero_grad()
            self.value(loss, embeddings, labels).backward()
            optimizer.step()
        assert similarities() == sorted(similarities(), reverse=True)
        assert self.value(loss, embeddings, labels).item() < before

    def test_a_matrix_in_no_list_is_refused(self, loss):
        """Catches torch's own message, which does not say what is missing."""
        with pytest.raises(InputError, match="embeddings must be a list of"):
            loss.compute_loss_from_embeddings(*self.batch(), *self.after_labels)

    def test_config_goes_into_a_card(self, loss):
        config = loss.get_config_dict()
        assert json.loads(json.dumps(config)) == config

    def test_citation_is_bibtex(self, loss):
        citation = loss.citation.strip()
        assert citation.startswith("@") and citation.count("{") == citation.count("}")

    def test_model_is_kept_under_the_name_the_host_looks_for(self):
        """sentence-transformers replaces ``loss.model`` by its wrapped form; under another name nothing would be synchronized."""
        model = nn.Sequential(nn.Linear(2, 2))
        loss = type(self).loss_class(model, **self.arguments)
        assert loss.model is model and any(parameter is model[0].weight for parameter in loss.parameters())
