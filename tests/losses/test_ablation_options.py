"""Options of the losses of the comparison."""

from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.losses.by_name import LOSSES, loss_by_name


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_a_misspelled_option_is_one_line(name: str):
    """Would catch a traceback after the base model was measured for minutes."""
    with pytest.raises(InputError, match=f"loss '{name}' has no option 'alpa'"):
        loss_by_name(name, None, alpa=2.0)
