# For scripts that skip what is trained already.
trained() { # folder, terminology: whether the folder has a run; one on another terminology ends the script
    [ -f "$1/run.json" ] || return 1
    local digest
    digest=$(python -c "import json, sys; print(json.load(open(sys.argv[1]))['digest'])" "$2/terminology.json")
    if ! grep -q "$digest" "$1/run.json"; then
        echo "$1: was not trained on the present $2; move the run elsewhere to train it anew" >&2
        exit 2
    fi
}
