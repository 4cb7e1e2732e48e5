"""Tables and figure of a few-shot experiment whose seeds ran as separate commands.

python evaluation/fewshot_tables.py out/fewshot/minilm-tables out/fewshot/minilm/seed*-training/results.json
"""

from __future__ import annotations

import sys
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.few_shot.result_files import write_tables
from st_biomed.few_shot.saved_outcomes import merged_outcomes
from st_biomed.settings.recipe import run_recipe


def main() -> None:
    if len(sys.argv) < 3:
        raise InputError("usage: fewshot_tables.py FOLDER RESULTS.json [RESULTS.json ...]")
    folder, *paths = sys.argv[1:]
    outcomes = merged_outcomes(paths)
    outcomes.save(Path(folder) / "results.json")
    write_tables(outcomes, {}, {}, Path(folder))


if __name__ == "__main__":
    run_recipe(main)
