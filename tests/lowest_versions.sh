#!/usr/bin/env bash
# The tests with the lowest versions that pyproject.toml declares, in an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${VENV_LOWEST:-.venv-lowest}
python=${PYTHON:-python3.11}
test -x "$venv/bin/python" || "$python" -m venv "$venv"
"$venv/bin/python" - > "$venv/lowest.txt" <<'PY'
import re, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = (project["optional-dependencies"][name] for name in ("test", "ablation", "graph", "peft", "skos", "spacy", "viz"))
for requirement in sum(extras, project["dependencies"]):
    name, _, rest = re.match(r"([\w.-]+)(\[[\w,]+\])?(.*)", requirement).groups()
    if name != "torch" and (floor := re.search(r">=([\w.]+)", rest)):
        print(f"{name}=={floor[1]}{'.0' * (2 - floor[1].count('.'))}")
PY
"$venv/bin/python" -m pip install --quiet --constraint constraints.txt torch
"$venv/bin/python" -m pip install --quiet --constraint "$venv/lowest.txt" --editable '.[test,quickstart]'
HF_HUB_OFFLINE=1 "$venv/bin/python" -m pytest -q "$@"
