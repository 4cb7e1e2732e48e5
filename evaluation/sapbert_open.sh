#!/usr/bin/env bash
# SapBERT's objective on open ontologies, and the paper's ablations on one budget. ST_BIOMED_DATA names the folder with the
# files of data.yaml. Usage: bash evaluation/sapbert_open.sh [all | ablations | united | medic], one seed: the figures of
# results/sapbert_open.md; or [experiment | pretrain | finetune | scorecard]: mining, losses and adapters with the seeds of
# SEEDS ("0 1 2"), then fine-tuning in several ways. A model that is there is not trained again. The scorecard and the results
# are left in out/sapbert_experiment. CELLS has the models of the experiment to train (all of them), e.g. "ms no_mining
# ncbi_disease-ms". MORE has further arguments for every training, e.g. MORE="--smoke true" OUT=out/sapbert_smoke, in a folder (OUT)
# of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
. evaluation/trained.sh
base=sentence-transformers/all-MiniLM-L6-v2 open=out/open
out="${OUT:-out/sapbert_experiment}" seeds="${SEEDS:-0 1 2}"
if [ -n "${MORE:-}" ] && [ -z "${OUT:-}" ]; then
    echo "MORE needs OUT, a folder of its own: its models would be taken for those of the experiment" >&2
    exit 2
fi
read_ontologies() {
    if [ -f $open/united/terminology.json ]; then return; fi # the last that is made
    while read -r reader file name; do
        st-biomed read "$reader" "$ST_BIOMED_DATA/ontologies/$file" --output $open/"$name" --overwrite
    done <<'FILES'
obograph hp.v2024-04-26.json.gz hp
obo doid.2024-01-31.obo.gz doid
obograph ncit-disease-2018-06-08.json.gz ncit
obograph ordo-2_6-2018-07-12.json.gz ordo
obograph maxo.2024-05-24.json.gz maxo
obo uberon.2015-04-23.obo.gz uberon
drugbank drugbank_vocabulary.csv.gz drugbank
FILES
    parts=$(echo $open/{hp,doid,ncit,ordo,maxo,uberon,drugbank})
    # shellcheck disable=SC2086
    st-biomed merge $parts --output $open/all --overwrite
    # shellcheck disable=SC2086
    st-biomed merge $parts --output $open/united --overwrite --crosswalk xref --through UMLS --same-name lower
}
train() { # terminology, arguments
    read_ontologies
    python recipes/sapbert.py recipes/configs/sapbert_open.yaml --terminology $open/"$1" --held_out_names 0 \
        --relatedness benchmarks_dev/similarity/MayoSRS.csv --disable_tqdm true --overwrite true "${@:2}"
}
unmeasured="--eval_strategy no --save_strategy no --load_best_model_at_end false"
pretrain() { # name, seed, arguments; 100 steps
    if ! wanted "$1"; then return 0; fi
    read_ontologies
    if [ -n "${MORE:-}" ] && [ -f "$out/$1-$2/run.json" ]; then
        return
    elif trained "$out/$1-$2" $open/all; then
        same "$out/$1-$2" 100 $base
    else
        # shellcheck disable=SC2086
        train all $unmeasured --max_steps 100 --seed "$2" --output_dir "$out/$1-$2" "${@:3}" ${MORE:-}
    fi
}
finetune() { # data set, name, seed, base model, arguments; the folds of a data set in folds are trained one by one
    local folder="$out/$1-$2-$3" start=$4
    [ ! -f "$4/run.json" ] || start=$(sha256sum <"$4/run.json")
    if wanted "$1-$2" && [ -s "$folder.finished" ] && [ "$(cat "$folder.finished")" != "$start" ]; then
        echo "$folder: was not fine-tuned from the present $4; move it and $folder.finished elsewhere to train it anew" >&2
        exit 2
    fi
    if wanted "$1-$2" && [ ! -f "$folder/run.json" ] && [ ! -f "$folder.finished" ]; then
        # shellcheck disable=SC2086
        python recipes/sapbert_finetune.py "recipes/configs/sapbert_finetune_${way:-paper}.yaml" --linking "$1" --base_model "$4" \
            --seed "$3" --eval_strategy no --disable_tqdm true --overwrite true --cache_dir "$out/evaluation/vectors" \
            --output_dir "$folder" "${@:5}" ${MORE:-}
        echo "$start" >"$folder.finished" # beside it: a release has no other files, and folds have no release
    fi
}
available() { # benchmarks; those whose files are there
    python - "$@" <<'PYTHON'
import sys

from st_biomed.evaluators.benchmark import Benchmark

for name in sys.argv[1:]:
    if missing := Benchmark.read(name).missing():
        print(f"{name} is left out: no {', '.join(missing)}", file=sys.stderr)
    else:
        print(name)
PYTHON
}
both="evaluation/benchmarks/ncbi_disease.yaml evaluation/benchmarks/ncbi_disease_with_mentions.yaml"
losses="infonce nca lifted lifted_generalized circle triplet"
# COMETA's protocol is that of Table 1, the stratified general split, with 10 epochs; Table 6 has the zero-shot split,
# on which nothing is fine-tuned.
sets="ncbi_disease bc5cdr_disease bc5cdr_chemical cometa_stratified"
measured="ncbi_disease_with_mentions bc5cdr_disease_with_mentions bc5cdr_chemical_with_mentions cometa_zeroshot mayosrs"
# shellcheck disable=SC2046,SC2086
check_cells ms no_mining $losses cosine adapter_large adapter_small \
    $(for set in $sets; do printf "$set-%s " base ms no_mining $losses cosine lora biosyn biosyn_short; done)
case "${1:-ablations}" in
all)
    for step in ablations united medic; do bash evaluation/sapbert_open.sh "$step"; done
    ;;
experiment)
    for step in pretrain finetune scorecard; do bash evaluation/sapbert_open.sh "$step"; done
    ;;
united) # concepts of several ontologies made one first; 400 steps
    # shellcheck disable=SC2086
    train united --linking $both --output_dir out/sapbert_open/united
    ;;
medic) # the synonyms of the dictionary itself, which UMLS has too, as one more terminology; 400 steps
    read_ontologies
    gzip -dc "$ST_BIOMED_DATA"/benchmarks_dev/ncbi_disease/medic_06Jul2012.txt.gz |
        awk -F'\\|\\|' '{split($1, id, "|"); n = split($2, name, "|"); for (i = 1; i <= n; i++) if (name[i] != "") print id[1] "||" name[i]}' \
            > out/open/medic.txt
    st-biomed read parent_child out/open/medic.txt --option name=MEDIC --output $open/medic --overwrite
    st-biomed merge $open/all $open/medic --output $open/all_medic --overwrite
    # shellcheck disable=SC2086
    train all_medic --linking $both $unmeasured --output_dir out/sapbert_open/medic
    ;;
ablations) # 100 steps each
    short="--linking $both --max_steps 100 $unmeasured"
    # shellcheck disable=SC2086
    {
        train all $short --output_dir out/sapbert_open/ms
        train all $short --miner none --output_dir out/sapbert_open/no_mining
        train all $short --loss infonce --output_dir out/sapbert_open/infonce
        train all $short --adapter bottleneck --adapter_size large --output_dir out/sapbert_open/adapter
    }
    ;;
pretrain) # Table 2 (mining), Table 6 (losses, in the published form), the adapter variants of Table 1
    for seed in $seeds; do
        pretrain ms "$seed"
        pretrain no_mining "$seed" --miner none
        for loss in $losses; do pretrain "$loss" "$seed" --loss "$loss" --loss_form published; done
        pretrain cosine "$seed" --loss cosine
        for size in large small; do pretrain adapter_$size "$seed" --adapter bottleneck --adapter_size $size; done
    done
    ;;
finetune) # each data set that is there: without pretraining, mining on and off, the losses, an adapter, BioSyn's way
    # shellcheck disable=SC2086
    present=$(available $sets)
    for seed in $seeds; do
        for set in $present; do
            finetune "$set" base "$seed" $base
            finetune "$set" ms "$seed" "$out/ms-$seed"
            finetune "$set" no_mining "$seed" "$out/ms-$seed" --miner none
            for loss in $losses; do finetune "$set" "$loss" "$seed" "$out/ms-$seed" --loss "$loss"; done
            finetune "$set" cosine "$seed" "$out/ms-$seed" --loss cosine --loss_form pairs
            finetune "$set" lora "$seed" "$out/ms-$seed" --adapter lora
            # BioSyn's way; the vectors of the base model have length one
            way=biosyn finetune "$set" biosyn "$seed" "$out/ms-$seed" --loss_options scale=20
            way=biosyn finetune "$set" biosyn_short "$seed" "$out/ms-$seed" --loss_options scale=20 --num_train_epochs 3 # as many as the others
        done
    done
    ;;
scorecard) # every model that is there, on every benchmark that has its data; the base model is the one to beat
    # shellcheck disable=SC2046,SC2086
    {
        models=()
        for folder in "$out"/*-*/; do
            if [ -f "$folder"run.json ]; then models+=("$(basename "$folder")=$folder"); fi
        done
        st-biomed evaluate "${models[@]}" --scorecard --base base=$base --bf16 --data "$ST_BIOMED_DATA" -o "$out/evaluation" \
            $(for name in $(available $sets $measured); do echo "-b $name"; done)
    }
    for file in "$out"/evaluation/scorecard.*; do cp "$file" "$out/scorecard.${file##*.}"; done
    for reference in base ms no_mining ncbi_disease-base ncbi_disease-ms; do # over seeds
        [ "$reference" = base ] || [ -d "$out/$reference-${seeds%% *}" ] || continue
        python evaluation/cells.py "$out/evaluation" --reference $reference -o "$out/against_$reference.md"
    done
    ;;
*)
    echo "no stage $1: all, ablations, united, medic, experiment, pretrain, finetune, scorecard" >&2
    exit 2
    ;;
esac
