"""Documents of chosen licenses out of a file of documents, as JSON Lines.

    python evaluation/open_texts.py DATA/text_en/e3c_en_layer3.jsonl.gz "CC BY" "CC BY 4.0" -o out/open_texts.jsonl

Every line of the file has the keys ``id``, ``text`` and ``licence``. Documents of other licenses are counted by license.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files import lock, replace_text
from st_biomed.settings.recipe import run_recipe

KEYS = ("id", "text", "licence")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, help="JSON Lines, gzipped")
    parser.add_argument("licenses", nargs="+", help="licenses of the documents to keep")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    kept, left_out = chosen(arguments.documents, arguments.licenses)
    with lock(arguments.output, wait=True):
        replace_text(arguments.output, "".join(f"{line}\n" for line in kept))
    others = ", ".join(f"{count:,} of {name}" for name, count in left_out.most_common())
    print(f"{arguments.output}: {len(kept):,} documents; left out: {others or 'none'}")


def chosen(path: Path, licenses: list[str]) -> tuple[list[str], Counter[str]]:
    """The lines of the chosen licenses, reduced to id, text and license, and the number of other documents by license.

    Args:
        path: The file.
        licenses: The licenses to keep, as the file writes them.

    Raises:
        InputError: With file and line: no JSON object, or one without its keys; or no document of these licenses.
    """
    kept: list[str] = []
    left_out: Counter[str] = Counter()
    try:
        lines = gzip.decompress(path.read_bytes()).decode("utf-8").rstrip("\n").split("\n")
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path}: expected a gzipped file of JSON Lines, found {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            document = json.loads(line)
            fields = {key: str(document[key]) for key in KEYS}
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}:{number}: expected an object with {', '.join(KEYS)}, found {error}") from error
        if fields["licence"] in licenses:
            kept.append(json.dumps(fields, ensure_ascii=False))
        else:
            left_out[fields["licence"]] += 1
    if not kept:
        raise InputError(
            f"{path}: no document has one of the licenses {', '.join(licenses)}; found {', '.join(left_out)}"
        )
    return kept, left_out


if __name__ == "__main__":
    run_recipe(main)
