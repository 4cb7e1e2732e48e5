"""The terminology that its tests share; some of them have another under this name."""

from __future__ import annotations

import pytest

from st_biomed.terminology import Terminology
from tests.terminology.rhinitis import RECORDS, SOURCE


@pytest.fixture
def terminology() -> Terminology:
    return Terminology.from_records(RECORDS, SOURCE)
