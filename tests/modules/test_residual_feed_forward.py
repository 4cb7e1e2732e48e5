"""The few-shot encoder: equation 1 by hand, stacks, saving, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize
from torch import nn

from st_biomed.errors import InputError
from st_biomed.modules.random_projection import random_projection
from st_biomed.modules.residual_feed_forward import ResidualFeedForward

NAMES = ["flu", "acute gout of the ear", "zoster", "q"]


def test_the_output_is_the_average_of_network_and_input():
    """Equation 1 by hand; catches a sum, which has the same direction but other lengths, and a lost ReLU."""
    module = ResidualFeedForward(2, hidden=2).eval()
    module.first.weight.data = torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    module.first.bias.data = torch.tensor([0.5, 1.0])
    module.second.weight.data = torch.tensor([[2.0, 1.0], [0.0, 3.0]])
    module.second.bias.data = torch.tensor([0.25, -1.0])
    # u = (1, 3): hidden (1.5, relu(-2) = 0), network (3.25, -1), and the mean with u
    out = module({"sentence_embedding": torch.tensor([[1.0, 3.0]])})["sentence_embedding"]
    assert torch.equal(out, torch.tensor([[2.125, 1.0]]))


@pytest.mark.parametrize("share", [0, 0.25, 1])
def test_a_share_averages_the_output_with_the_input(share):
    """Against the module of the paper; catches the two shares in the other order, and the half of Eq. 1 counted twice."""
    module, vectors = ResidualFeedForward(4, hidden=6).eval(), torch.randn(3, 4)
    whole = module({"sentence_embedding": vectors})["sentence_embedding"]
    module.share = share
    out = module({"sentence_embedding": vectors})["sentence_embedding"]
    torch.testing.assert_close(out, share * whole + (1 - share) * vectors)


def test_sizes_are_the_papers():
    module = ResidualFeedForward(384)
    assert (module.hidden, module.dropout, module.get_embedding_dimension()) == (9600, 0.5, 384)
    assert sum(p.numel() for p in module.parameters()) == 2 * 384 * 9600 + 9600 + 384


def test_dropout_is_on_the_hidden_layer_in_training_only():
    """Catches dropout on the input or the output: with the second layer at 0 nothing may move."""
    torch.manual_seed(0)
    module, vectors = ResidualFeedForward(4, hidden=50), torch.randn(3, 4)

    def encode() -> torch.Tensor:
        return module({"sentence_embedding": vectors})["sentence_embedding"]

    assert not torch.equal(encode(), encode())
    module.eval()
    assert torch.equal(encode(), encode())
    nn.init.zeros_(module.second.weight)
    nn.init.zeros_(module.second.bias)
    module.train()
    assert torch.equal(encode(), vectors / 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropout_leaves_out_its_share_and_scales_the_rest(dtype):
    """Against torch's own; catches a mask without the scale, the share that is kept, and a mask that is drawn once."""
    module = ResidualFeedForward(1, hidden=40_000, dropout=0.3).to(dtype)
    nn.init.ones_(module.first.weight)
    nn.init.zeros_(module.first.bias)
    hidden: list[torch.Tensor] = []
    module.second.register_forward_pre_hook(lambda _, inputs: hidden.append(inputs[0]))
    vectors = torch.ones(1, 1, dtype=dtype)
    for _ in range(2):
        module({"sentence_embedding": vectors})
    values, other = hidden
    assert values.dtype == dtype and set(values.unique().tolist()) == set(
        nn.functional.dropout(torch.ones(99, dtype=dtype), 0.3).unique().tolist()
    )
    assert (values == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert ((values == 0) & (other == 0)).float().mean().item() == pytest.approx(0.09, abs=0.01)


def test_a_stack_is_saved_and_loaded(tiny_bert, tmp_path):
    """Catches a module that forgets a size, or weights that are drawn anew."""
    modules = [*tiny_bert, Normalize(), ResidualFeedForward(16, 30, 0.25, 0.6), ResidualFeedForward(16, hidden=8)]
    model = SentenceTransformer(modules=modules, device="cpu")
    assert model.get_embedding_dimension() == 16
    model.save_pretrained(str(tmp_path), create_model_card=False)
    loaded = SentenceTransformer(str(tmp_path), device="cpu", trust_remote_code=True)
    assert isinstance(loaded[3], ResidualFeedForward)
    assert [(m.hidden, m.dropout, m.share) for m in list(loaded)[3:]] == [(30, 0.25, 0.6), (8, 0.5, 1)]
    assert np.array_equal(loaded.encode(NAMES), model.encode(NAMES))


def test_half_precision():
    """Catches a dtype that is mixed: under autocast the network is in bfloat16 and the input is not."""
    module, vectors = ResidualFeedForward(4, hidden=6).eval(), torch.randn(3, 4)
    full = module({"sentence_embedding": vectors})["sentence_embedding"]
    with torch.autocast("cpu", torch.bfloat16):
        mixed = module({"sentence_embedding": vectors})["sentence_embedding"]
    assert mixed.dtype == torch.float32
    torch.testing.assert_close(mixed, full, atol=0.02, rtol=0.02)
    half = module.bfloat16()({"sentence_embedding": vectors.bfloat16()})["sentence_embedding"]
    assert half.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width must be an integer of at least 1, found 0"),
        ({"width": True}, "width must be an integer of at least 1, found True"),
        ({"width": 4, "hidden": 2.5}, r"hidden must be an integer of at least 1, found 2\.5"),
        ({"width": 4, "dropout": 1}, "dropout must be at least 0 and below 1, found 1"),
        ({"width": 4, "dropout": float("nan")}, "dropout must be at least 0 and below 1, found nan"),
        ({"width": 4, "share": 1.5}, r"share must be .*1.*, found 1\.5"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        ResidualFeedForward(**arguments)


def test_vectors_of_another_width_are_one_line():
    """Catches torch's message on shapes of matrices."""
    with pytest.raises(InputError, match="of width 4 was given vectors of 3 dimensions: .* random_projection"):
        ResidualFeedForward(4, hidden=2)({"sentence_embedding": torch.ones(1, 3)})


def test_a_random_projection_is_uniform_and_the_same_for_a_seed():
    """Catches Gaussian numbers, another bound than 1/sqrt(D), and a draw from torch's global generator."""
    matrix = random_projection(25, 400, seed=3).linear.weight
    assert matrix.shape == (400, 25) and not matrix.requires_grad
    # uniform in [-.2, .2]: variance .04/3, a quarter of the numbers in each quarter of the range
    assert 0.1995 < matrix.max() <= 0.2 and -0.2 <= matrix.min() < -0.1995
    assert matrix.var().item() == pytest.approx(0.04 / 3, rel=0.03)
    quarters = torch.histc(matrix, 4, -0.2, 0.2) / matrix.numel()
    torch.testing.assert_close(quarters, torch.full((4,), 0.25), atol=0.02, rtol=0)
    state = torch.get_rng_state()
    assert torch.equal(random_projection(25, 400, seed=3).linear.weight, matrix)
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(random_projection(25, 400, seed=4).linear.weight, matrix)


def test_a_random_projection_is_a_matrix_and_nothing_else(tiny_bert, tmp_path):
    """Catches sentence-transformers' default of tanh, and a bias; loads without a flag."""
    model = SentenceTransformer(modules=[*tiny_bert, random_projection(16, 40)], device="cpu")
    expected = tiny_bert.encode(NAMES) @ model[2].linear.weight.numpy().T
    np.testing.assert_allclose(model.encode(NAMES), expected, atol=1e-6)
    model.save_pretrained(str(tmp_path), create_model_card=False)
    np.testing.assert_allclose(SentenceTransformer(str(tmp_path), device="cpu").encode(NAMES), expected, atol=1e-6)
    with pytest.raises(InputError, match="new_width must be an integer of at least 1, found 0"):
        random_projection(16, 0)
