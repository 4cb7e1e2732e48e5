# Each target makes its own virtual environment when it is missing or older than the project file, and re-uses it.
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV ?= .venv
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
DATA ?= data
WORKERS ?= 2
export HF_HUB_DISABLE_PROGRESS_BARS = 1
export TOKENIZERS_PARALLELISM = false
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: quickstart open-encoder replicate-hiprbert test test-long realdata lint format bench docs test-lowest release-check fuzz clean

$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

quickstart: $(STAMP)  ## train and evaluate a hierarchical term encoder on ICD-10-CM in a few minutes
	HF_HUB_OFFLINE=1 $(BIN)/python recipes/hiprbert.py recipes/configs/hiprbert_quickstart.yaml

PYTEST = HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

test: $(STAMP)  ## the tests that take a second at most, of all parts, without a network or the development data; WORKERS processes of one thread
	$(PYTEST) -m "not long and not realdata and not slow"

test-long: $(STAMP)  ## the other tests without the development data: whole recipes, the pages, several processes, simulations
	$(PYTEST) -m "long and not realdata and not slow"

realdata: $(STAMP)  ## the tests on the open development data (ST_BIOMED_DATA); WORKERS processes of one thread
	$(BIN)/python -m pip download --quiet --no-deps --dest $(VENV)/wheels pykeen==1.11.1 || echo "pykeen, whose package has public graphs, is not available: their tests are skipped"
	$(PYTEST) -m realdata

replicate-hiprbert: $(STAMP)  ## the committed figures of HiPrBERT, three seeds: ICD-10-CM comes with the package
	for seed in 0 1 2; do HF_HUB_OFFLINE=1 $(BIN)/python recipes/hiprbert.py recipes/configs/hiprbert_open.yaml \
		--seed $$seed --output_dir out/seed$$seed || exit; done

open-encoder: $(STAMP)  ## unite the open terminologies in DATA and train recipes/configs/open_encoder_english.yaml on them, with a scorecard on its card; resumes where it stopped
	$(BIN)/python evaluation/fetch.py $(DATA) || true
	$(BIN)/st-biomed unite evaluation/open_terminology.yaml --data $(DATA) --output out/open_terminology --if-changed
	$(BIN)/python evaluation/open_texts.py $(DATA)/text_en/e3c_en_layer3.jsonl.gz "CC BY" "CC BY 4.0" -o out/open_texts.jsonl
	HF_HUB_OFFLINE=1 ST_BIOMED_DATA=$(abspath $(DATA)) $(BIN)/python recipes/open_encoder.py recipes/configs/open_encoder_english.yaml \
		$(if $(wildcard out/open_encoder-training/phases/*/run.json out/open_encoder-training/phases/*/checkpoint-*/checkpoint_files.json),--resume_from_checkpoint true)
	HF_HUB_OFFLINE=1 $(BIN)/st-biomed evaluate out/open_encoder --scorecard --bf16 --data $(DATA) --output out/open_encoder-evaluation
	HF_HUB_OFFLINE=1 $(BIN)/st-biomed release out/open_encoder --scorecard out/open_encoder-evaluation

replicate-%: $(STAMP)  ## repeat committed results: replicate-sapbert, -italian, -bergamot, -fewshot; DATA is the folder of their files
	$(BIN)/python evaluation/fetch.py $(DATA) || true
	ST_BIOMED_DATA=$(abspath $(DATA)) bash evaluation/$*_open.sh all

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/typos

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.docs-installed: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

docs: $(VENV)/.docs-installed  ## the documentation site, docs/_build/html/index.html
	HF_HUB_OFFLINE=1 $(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(STAMP)  ## speed and memory against named peers; writes benchmarks/results
	HF_HUB_OFFLINE=1 $(BIN)/python -m benchmarks

test-lowest:  ## the tests with the lowest declared versions
	OMP_NUM_THREADS=1 bash tests/lowest_versions.sh --numprocesses $(WORKERS) --dist loadfile

fuzz: $(STAMP)  ## slow: new damaged inputs for every reader
	ST_BIOMED_EXAMPLES=fuzz HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -q -k damage tests/readers

release-check: $(STAMP) test-lowest  ## slow: the lowest declared versions, and the wheel with each extra in a clean environment
	$(PYTEST) -m slow

clean:
	rm -rf .venv .venv-* build dist out docs/_build docs/reference .mypy_cache .ruff_cache .pytest_cache
