#!/usr/bin/env bash
# BERGAMOT on open ontologies with translations, beside the same encoder and budget with the text loss alone: the figures of
# results/bergamot_open.md. ST_BIOMED_DATA names the folder with the files of data.yaml.
# Usage: bash evaluation/bergamot_open.sh [all | data | train | ablations | evaluate]
# and, for what each part of the graph buys with the same targets, from a multilingual encoder (BASE: a folder of
# multilingual-e5-small; without it HF_HUB_OFFLINE=0 and the Hub are needed) with several seeds (SEEDS):
# bash evaluation/bergamot_open.sh [cells | cell NAME SEED | report] [--smoke]; a cell that is there is not trained again.
# CELLS="text published-original-0.1" trains these cells alone, STEPS=100 for 100 steps in place of 250; MEASURED="ncbi_disease mayosrs" measures these
# benchmarks alone, and those that were measured before are kept. --smoke takes two steps on invented terms, to see that the commands start.
set -euo pipefail
known="all data train ablations evaluate cells cell report"
if [[ " $known " != *" ${1:-train} "* ]]; then
    echo "no step $1: $known" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
export HF_HUB_OFFLINE="${HF_HUB_OFFLINE:-1}" TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
. evaluation/trained.sh
open=out/bergamot cells=out/bergamot_cells seeds="${SEEDS:-0 1 2 3 4}" smoke=()
base=${BASE:-intfloat/multilingual-e5-small} steps=(--max_steps "${STEPS:-250}")
[ "${!#}" = --smoke ] && smoke=(--terminology toy --smoke true --pivot_language "" --per_device_train_batch_size 8) cells=${cells}_smoke
if [ ${#smoke[@]} = 0 ] && [ ! -f $open/train/terminology.json ]; then
    hpo=$(printf %q "$ST_BIOMED_DATA")/multilingual/hpo
    stated="--option statuses=OFFICIAL,TRANSLATED,CANDIDATE,MANUALLY\ TRANSLATED"
    while read -r name reader file options; do
        eval st-biomed read "$reader" "$(printf %q "$ST_BIOMED_DATA/$file")" "$options" --output $open/"$name" --overwrite
    done <<FILES
hp obograph ontologies/hp.v2024-04-26.json.gz
es babelon multilingual/hpo/hp-es.babelon.tsv.gz $stated
fr babelon multilingual/hpo/hp-fr.babelon.tsv.gz $stated --option synonyms=$hpo/hp-fr.synonyms.tsv.gz
de babelon multilingual/hpo/hp-de.babelon.tsv.gz $stated --option synonyms=$hpo/hp-de.synonyms.tsv.gz
it babelon multilingual/hpo/hp-it.babelon.tsv.gz $stated --option synonyms=$hpo/hp-it.synonyms.tsv.gz
nl babelon multilingual/hpo/hp-nl.babelon.older.tsv.gz $stated --option synonyms=$hpo/hp-nl.synonyms.tsv.gz
pt babelon multilingual/hpo/hp-pt.babelon.tsv.gz $stated
doid obo ontologies/doid.2024-01-31.obo.gz
doides babelon multilingual/doid-es-translated.tsv.gz $stated
ordo obograph ontologies/ordo-2_6-2018-07-12.json.gz
ncit obograph ontologies/ncit-disease-2018-06-08.json.gz
icd9 icd9cm italian/icd9cm_it_tree.tsv.gz
FILES
    parts=$(echo $open/{hp,es,fr,de,it,nl,pt,doid,doides,ordo,ncit,icd9})
    # shellcheck disable=SC2086
    st-biomed merge $parts --output $open/all --overwrite --crosswalk xref,exactMatch --through UMLS --without-cycles
    python evaluation/translated_names.py $open/all HP: 500 $open es fr de it nl pt
fi
train() {
    python recipes/bergamot.py recipes/configs/bergamot_open.yaml --terminology $open/train --disable_tqdm true \
        --node_weight 1 --intermodal_weight 1 --output_dir out/bergamot_open/"$1" "${@:2}"
}
names() { # text; encoder x neighborhood x weight; each loss left out; text and graph with retention
    if [ -n "${CELLS:-}" ]; then
        echo "$CELLS"
        return
    fi
    echo text
    for encoder in published residual plain; do
        for neighborhood in original shuffled none; do
            for weight in 1 0.1; do echo $encoder-$neighborhood-$weight; done
        done
    done
    for part in text node intermodal dgi; do echo no_$part; done
    echo retained_text retained_graph
}
cell() { # name, seed: the same steps on the same targets in all cells
    local encoder neighborhood weight arguments retention="--distillation 8 --distillation_removed 1 --average 0.6"
    local model="--graph published_gat" keeps="--distillation 0 --average none"
    IFS=- read -r encoder neighborhood weight <<<"$1"
    if [ ${#smoke[@]} -gt 0 ]; then
        if [ -f "$cells/$1-$2/run.json" ]; then return; fi
    elif trained "$cells/$1-$2" $open/train; then
        same "$cells/$1-$2" "${steps[1]}" "$base"
        return
    fi
    case $encoder in
    published) ;;
    residual) model="--graph gat --relation_features false" ;;
    plain) model="--graph gat --relation_features false --graph_residual false" ;;
    text) model="--graph none" ;;
    no_text | no_node | no_intermodal | no_dgi) weight=0.1 ;;
    retained_text) model="--graph none" keeps=$retention ;;
    retained_graph) weight=0.1 keeps=$retention ;;
    *)
        echo "no cell $1: $(CELLS='' names | tr '\n' ' ')" >&2
        exit 2
        ;;
    esac
    arguments="--node_weight ${weight:-1} --intermodal_weight ${weight:-1} --neighborhood ${neighborhood:-original}"
    [[ $encoder = no_* ]] && arguments="$arguments --${encoder#no_}_weight 0"
    # shellcheck disable=SC2086
    python recipes/bergamot.py recipes/configs/bergamot_multilingual_open.yaml --base_model "$base" --terminology $open/train \
        --disable_tqdm true --seed "$2" --output_dir "$cells/$1-$2" --overwrite true $model $keeps $arguments "${steps[@]}" "${smoke[@]}"
}
case "${1:-train}" in
all) # the older runs, then the cells of the first table
    found "$base"
    for step in train ablations evaluate; do bash evaluation/bergamot_open.sh "$step"; done
    export SEEDS="${SEEDS:-0 1 2}" STEPS="${STEPS:-100}" CELLS="${CELLS:-$(echo text published-{original,shuffled,none}-0.1 retained_{text,graph})}"
    for step in cells report; do bash evaluation/bergamot_open.sh $step; done
    ;;
data) ;;
train) # the same steps with each graph encoder and without; and without one as many names as with one (some 370 a step), and more
    for graph in none sage rgcn gat; do train $graph --graph $graph; done
    for names in 368 512; do train none_$names --graph none --per_device_train_batch_size $names; done
    ;;
ablations) # each loss left out, attention without relations, and texts paired with the graph of the other view
    for part in text node intermodal dgi; do train no_$part --${part}_weight 0; done
    train blind --relation_features false
    train cross_view --cross_view true
    ;;
cell) cell "$2" "$3" ;;
cells)
    for seed in $seeds; do for name in $(names); do cell "$name" "$seed"; done; done
    ;;
report) # differences from the text loss alone and from neighbors at random, seed by seed; the scorecard of all cells against BASE
    models=$(for name in $(names); do for seed in $seeds; do [ ! -f "$cells/$name-$seed/run.json" ] || echo "$name-$seed=$cells/$name-$seed"; done; done)
    benchmarks=$(if [ ${#smoke[@]} = 0 ]; then
        all=$(echo $open/translations{,-es,-fr,-de,-it,-nl,-pt}.yaml ncbi_disease mayosrs hpo_tree icd9cm_it_tree relations_ncit)
        for one in ${MEASURED:-$all}; do
            echo "-b $one"
        done
    else echo "-b hpo_tree"; fi)
    # shellcheck disable=SC2086
    st-biomed evaluate $models --scorecard --base base="$base" --bf16 --data "$ST_BIOMED_DATA" -o $cells/evaluation $benchmarks
    for reference in text published-shuffled-0.1 retained_text; do
        [ -d "$cells/$reference-${seeds%% *}" ] || continue
        python evaluation/cells.py $cells/evaluation --reference $reference -o $cells/against_$reference.md
    done
    ;;
evaluate)
    models=$(for one in out/bergamot_open/*/; do if [ -f "$one"run.json ]; then basename "$one"; fi; done)
    # shellcheck disable=SC2046,SC2086
    st-biomed evaluate base=sentence-transformers/all-MiniLM-L6-v2 \
        $(for one in $models; do echo $one=out/bergamot_open/$one; done) --bf16 --data "$ST_BIOMED_DATA" \
        -o out/bergamot_open/evaluation $(for one in es fr de it nl pt; do echo "-b $open/translations-$one.yaml"; done) -b $open/translations.yaml \
        -b ncbi_disease -b mayosrs -b hpo_tree -b icd9cm_it_tree -b relations_ncit
    ;;
esac
