"""Labels that are no text ids of the terminology of a hierarchy."""

from __future__ import annotations

import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from tests.hierarchy.chains import chain


@pytest.mark.parametrize("wrong", [-1, 9])
def test_a_label_that_is_no_text_id_is_refused(wrong: int):
    """Catches -1, the name that a grouping node does not have, as the last name of all."""
    hierarchy, labels = Hierarchy(chain(("X:1", "X:0"))), torch.arange(2)
    for pair in ((labels, torch.tensor([wrong])), (torch.tensor([wrong]), labels)):
        with pytest.raises(InputError, match=f"found {wrong} to {wrong}"):
            hierarchy.distance(*pair)
