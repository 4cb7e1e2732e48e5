# For scripts of many trainings: which of them are wanted (CELLS), and which are there already.
wanted() { [[ " ${CELLS:-$1} " == *" $1 "* ]]; } # name: whether CELLS has it, or is empty
check_cells() { # the names that there are: ends the script if CELLS has another
    local cell
    for cell in ${CELLS:-}; do
        if [[ " $* " != *" $cell "* ]]; then
            echo "no cell $cell: $*" >&2
            exit 2
        fi
    done
}
several_seeds() { # SEEDS: ends the script if there is one, before runs are trained whose average cannot be made
    if [[ $1 != *\ * ]]; then
        echo "SEEDS=$1: an average of runs needs two seeds or more" >&2
        exit 2
    fi
}
average_share() { # configuration: its share of the trained weights
    python - "$1" <<'PYTHON'
import sys
from pathlib import Path

from st_biomed.settings.extended_yaml import extended_yaml

print(extended_yaml(Path(sys.argv[1]))["average"])
PYTHON
}
found() { # model: ends the script if it is not there, before hours of other work
    python - "$1" <<'PYTHON' || exit 2
import sys

from st_biomed.encoder import find_model
from st_biomed.errors import InputError

try:
    find_model(sys.argv[1])
except InputError as error:
    sys.exit(f"BASE: {error}")
PYTHON
}
trained() { # folder, terminology: whether the folder has a run; one on another terminology ends the script
    [ -f "$1/run.json" ] || return 1
    local digest
    digest=$(python -c "import json, sys; print(json.load(open(sys.argv[1]))['digest'])" "$2/terminology.json") || exit 2
    if ! grep -q "$digest" "$1/run.json"; then
        echo "$1: was not trained on the present $2; move the run elsewhere to train it anew" >&2
        exit 2
    fi
}
same() { # folder, steps, base model (neither is compared if it is empty): ends the script if its run has others
    python - "$@" <<'PYTHON' || exit 2
import json
import sys
from pathlib import Path

folder, steps, base = sys.argv[1:]
run = json.load(open(f"{folder}/run.json"))
found = run["training_arguments"]["max_steps"], Path(run["base_model"]).name
wanted = int(steps or found[0]), Path(base).name or found[1]
if found != wanted:
    sys.exit(
        f"{folder}: was trained with {found[0]} steps from {found[1]}, not with {wanted[0]} from {wanted[1]}; "
        "move the run elsewhere to train it anew"
    )
PYTHON
}
