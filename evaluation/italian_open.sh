#!/usr/bin/env bash
# The Italian system on open data: the figures of results/italian_open.md. ST_BIOMED_DATA names the folder with the files of
# data.yaml. Usage: bash evaluation/italian_open.sh
# [all | data | systems | table2 | losses | seeds | ablations | multilingual | evaluate]
# and, for what each part costs and buys on concepts, documents and a source (HPO) that no cell is trained on, from a multilingual
# encoder (BASE, a folder of multilingual-e5-small; without it HF_HUB_OFFLINE=0 and the Hub are needed; injected after LAYER of its layers), with several
# seeds (SEEDS) and equally many steps (STEPS) in every training; CELLS="own-v2 own-v3" trains these cells alone, and
# MEASURED="mcsm_hpo_it ncbi_disease" measures these benchmarks alone, and those that were measured before are kept;
# KGE="transe complex" trains these graph embeddings alone:
# bash evaluation/italian_open.sh [cells | cell NAME SEED | graphs | report] [--smoke]; a cell that is there is not trained again.
# --smoke takes two steps on invented terms, to see that the commands start.
set -euo pipefail
known="all data systems table2 losses seeds ablations multilingual evaluate cells cell graphs report"
if [[ " $known " != *" ${1:-systems} "* ]]; then
    echo "no step $1: $known" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
export HF_HUB_OFFLINE="${HF_HUB_OFFLINE:-1}" TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
. evaluation/trained.sh
read=out/italian cells=out/italian_cells seeds="${SEEDS:-0 1 2}" steps="${STEPS:-200}" smoke=
base=${BASE:-intfloat/multilingual-e5-small}
if [ $# -gt 0 ] && [ "${!#}" = --smoke ]; then smoke=1 cells=${cells}_smoke seeds="${SEEDS:-0 1}"; fi
if [ -z "$smoke" ] && [ ! -f $read/all/terminology.json ]; then
    hp=ontologies/hp.v2024-04-26.json.gz
    data=$(printf %q "$ST_BIOMED_DATA")
    while read -r name reader file options; do
        eval st-biomed read "$reader" "$(printf %q "$ST_BIOMED_DATA/$file")" "$options" --output $read/"$name" --overwrite
    done <<FILES
icd9 icd9cm italian/icd9cm_it_tree.tsv.gz
hl7 fsh italian/hl7it_icd9cm_diagnosi.fsh.gz --option name=ICD9CM_HL7_IT --option prefix=ICD9CM --option language=it --option replace=@=À,PIY=PIÙ
hpit babelon multilingual/hpo/hp-it.babelon.tsv.gz --option statuses=OFFICIAL,TRANSLATED,CANDIDATE --option synonyms=$data/multilingual/hpo/hp-it.synonyms.tsv.gz
hp obograph $hp
doid obo ontologies/doid.2024-01-31.obo.gz
ncit obograph ontologies/ncit-disease-2018-06-08.json.gz
ordo obograph ontologies/ordo-2_6-2018-07-12.json.gz
hpoa hpoa kg/phenotype.hpoa.2023-01-27.gz --option ontology=$data/$hp
FILES
    parts=$(echo $read/{icd9,hl7,hpit,hp,doid,ncit,ordo,hpoa})
    # shellcheck disable=SC2086
    st-biomed merge $parts --output $read/all --overwrite --crosswalk xref,exactMatch --through UMLS --without-cycles
fi
[ -n "$smoke" ] || [ -f $read/mayosrs_it.yaml ] || python evaluation/translate_pairs.py \
    "$ST_BIOMED_DATA"/benchmarks_dev/similarity/MayoSRS.csv $read/all it $read/mayosrs_it
corpus=("$ST_BIOMED_DATA"/italian/e3c_it_layer3.jsonl.gz "$ST_BIOMED_DATA"/italian/e3c_it_layer2_xmi.tar.gz)
out=out/italian_open
run() {
    python recipes/italian_kge.py recipes/configs/italian_kge_open.yaml --terminology $read/all --corpus "${corpus[@]}" --overwrite true \
        --cache_dir $out/vectors --disable_tqdm true "$@"
}
again() { # a later stage with other settings, in a folder of its own; what it gives is measured by `evaluate`
    run --earlier $out --output_dir $out-"$1" --benchmarks $read/mayosrs_it.yaml "${@:2}"
}
contrast() { # half as many steps as the others
    again short-"$1" --stage contrastive --max_steps 200 "${@:2}"
}
inject() { # the same of injection, by graph embedding
    st-biomed train knowledge_injection knowledge_injection_open.yaml --base_model $out/vocabulary --kge $out/kge/"$2" \
        --terminology $out/terminology --corpus "${corpus[@]}" --language it --output_dir $out-short-"$1"/injected --overwrite true \
        --max_steps 200 --warmup_steps 30 "${@:3}"
}
held=$read/held layer3="$ST_BIOMED_DATA/italian/e3c_it_layer3.jsonl.gz" # documents of layer 2 are measured
if [ -n "$smoke" ]; then
    config=italian_kge_smoke.yaml own=(--terminology toy --kge_model transe) text=$cells/texts.txt
    inject_own=(knowledge_injection_smoke.yaml --language en) extend_own=extend_bert_smoke.yaml
else
    config=italian_kge_multilingual_open.yaml
    own=(--terminology $held/train --kge_model transe --max_steps "$steps" --benchmarks none --warmup_steps $((steps / 10))
        --refresh_steps $((steps / 2)) --cache_dir $cells/vectors --disable_tqdm true)
    inject_own=(knowledge_injection_multilingual_open.yaml --language it --layer "${LAYER:-8}" --max_steps "$steps" --warmup_steps $((steps / 10)))
    text=$layer3 extend_own=extend_bert_open.yaml
fi
cells_data() { # the terminology without HPO, in two parts, and linking by documents that are not trained on
    mkdir -p $cells
    if [ -n "$smoke" ]; then
        python -c 'from st_biomed.terminology import Terminology as T; print(*T.read("toy").strings, sep=".\n")' >$cells/texts.txt
    elif [ ! -f $held/tree_held.yaml ]; then
        # shellcheck disable=SC2046
        st-biomed merge $(echo $read/{icd9,hl7,doid,ncit,ordo}) --output $read/known --overwrite --crosswalk xref,exactMatch \
            --through UMLS --without-cycles
        python evaluation/italian_split.py $read/known $held
    fi
    [ -n "$smoke" ] || [ -f $read/e3c/e3c_it_reworded.yaml ] || python evaluation/e3c_linking.py \
        "$ST_BIOMED_DATA"/italian/e3c_it_layer2_xmi.tar.gz $read/all $read/e3c --corpus "$layer3"
}
names() { # each with the word pieces of BASE and with those of the vocabulary stage; extended-pipelined is the paper's order
    if [ -n "${CELLS:-}" ]; then
        echo "$CELLS"
        return
    fi
    for pieces in own extended; do
        for what in v1 v2 v3 v3_shuffled v3_zeros barlow_twins injected pipelined; do echo $pieces-$what; done
    done
    echo own-names own-retained own-v3_complex extended-swapped extended-vocabulary
}
place() { # name, seed: the folder of a cell's model
    case $1 in
    *-injected) echo "$cells/stages/${1%-*}-$2/injected" ;;
    *-swapped | *-vocabulary) echo "$cells/stages/${1%-*}-$2/${1#*-}" ;;
    *-pipelined) echo "$cells/$1-$2/pipelined" ;;
    *) echo "$cells/$1-$2/contrastive" ;;
    esac
}
started() { # name: the base model of its run.json; empty for a stage of this experiment, and for what starts from one
    case $1 in own-pipelined | extended-*) ;; *) echo "$base" ;; esac
}
train() { # a stage of a seed, with the arguments that all cells share
    python recipes/italian_kge.py recipes/configs/$config "${own[@]}" --base_model "$base" --overwrite true --seed "$seed" "$@"
}
graph() { # the terminology of the cells and its graph, with vectors of TransE
    [ -d "$cells/stages/own-$seed/kge/transe" ] || train --stage kge --output_dir "$cells/stages/own-$seed"
}
stages() { # word pieces: what cells with these pieces start from
    local folder=$cells/stages/$1-$seed
    graph
    if [ "$1" = extended ]; then
        if [ -d "$folder/vocabulary" ]; then
            [ -n "$smoke" ] || same "$folder/vocabulary" "" "$base" # its steps are those of its settings
        else
            train --stage vocabulary --corpus "$text" --output_dir "$folder"
        fi
        [ -d "$folder/kge" ] || ln -s "../own-$seed/kge" "$folder/kge"
    fi
}
injected() { # word pieces: the model that holds the graph's vectors between two layers
    local folder=$cells/stages/$1-$seed from=$base
    [ "$1" = own ] || from=$folder/vocabulary
    if [ -f "$folder/injected/run.json" ]; then
        [ -n "$smoke" ] || same "$folder/injected" "$steps" "$from"
        return
    fi
    st-biomed train knowledge_injection "${inject_own[@]}" --base_model "$from" --new_head true \
        --kge "$folder/kge/transe" --terminology "$folder/terminology" --corpus "$text" --overwrite true --seed "$seed" \
        --output_dir "$folder/injected"
}
graphs() { # graph embeddings: those of Table 2 that are asked for, each with its model's defaults, on the graph of the stage's TransE
    local folder=$cells/stages/own-$seed settings=(kge_italian_open.yaml --benchmarks mcsm_icd9_it)
    graph
    [ -z "$smoke" ] || settings=(kge_smoke.yaml)
    st-biomed train kge "${settings[@]}" --terminology "$folder/terminology" --models "$@" --output_dir "$folder/kge" --resume true --seed "$seed"
}
cell() { # name, seed: the same steps in every training
    local pieces=${1%%-*} what=${1#*-} seed=$2 stage=contrastive config=$config loss earlier
    if [ -n "$smoke" ] || [[ $what = swapped || $what = vocabulary ]]; then # of texts
        if [ -f "$(place "$1" "$2")/run.json" ]; then return; fi
    elif trained "$(place "$1" "$2")" $held/train; then
        same "$(place "$1" "$2")" "$steps" "$(started "$1")"
        return
    fi
    if [ "$what" = swapped ]; then # the new word pieces alone: a step that is too small to change a weight
        st-biomed train extend_bert "$extend_own" --base_model "$base" --new_head true --corpus "$text" --overwrite true --seed "$seed" \
            --max_steps 1 --learning_rate 1e-30 --output_dir "$(place "$1" "$2")"
        return
    fi
    loss=(--loss "${what%%_[sz]*}" --corpus "$text") earlier=(--earlier "$cells/stages/$pieces-$2")
    case $1 in
    own-v[12] | own-barlow_twins | own-names | own-retained) earlier=() ;; # neither a graph nor new word pieces
    *) stages "$pieces" ;;
    esac
    case $what in
    vocabulary) return ;;
    injected)
        injected "$pieces"
        return
        ;;
    names) loss=(--loss v2) ;;
    retained) # on names, as own-names
        loss=(--loss v2)
        [ -n "$smoke" ] || config=italian_kge_multilingual_retained_open.yaml
        ;;
    pipelined)
        injected "$pieces"
        stage=pipelined loss=(--loss v3 --corpus "$text")
        ;;
    v3_complex | v3_rotate | v3_simple)
        [ -d "$cells/stages/own-$2/kge/${what#v3_}" ] || graphs "${what#v3_}"
        loss=(--loss v3 --corpus "$text" --kge_model "${what#v3_}")
        ;;
    v3_*) loss+=(--graph_vectors "${what#v3_}") ;;
    esac
    train --stage $stage "${loss[@]}" --bare_names true "${earlier[@]}" --output_dir "$cells/$1-$2"
}
case "${1:-systems}" in
all) # the older runs, then the cells of the first table; own-v1 and own-barlow_twins with CELLS
    found "$base"
    for step in systems table2 losses seeds ablations multilingual evaluate; do bash evaluation/italian_open.sh "$step"; done
    export CELLS="${CELLS:-$(echo own-{v2,v3,v3_shuffled,v3_zeros,retained} extended-swapped)}"
    for step in cells report; do bash evaluation/italian_open.sh $step; done
    ;;
data) ;;
systems) # every stage, v3 in the contrastive one
    run --stage all
    ;;
table2) # Table 2: four graph embeddings, each with its model's defaults; TransE is the kge stage's
    st-biomed train kge kge_italian_open.yaml --terminology $out/terminology --models transe complex rotate simple \
        --benchmarks mcsm_hpo mcsm_icd9_it $read/mayosrs_it.yaml --output_dir $out/kge --resume true --seed 42
    ;;
losses) # Table 3: v1 and v2 from the same extended encoder, and a loss without negatives
    for loss in v1 v2 barlow_twins; do again $loss --stage contrastive --loss $loss; done
    ;;
seeds) # Table 3 with three seeds and half the steps; v3 with the first seed is an ablation's
    for loss in v1 v2; do contrast $loss --loss $loss; done
    for seed in 1 2; do
        for loss in v1 v2 v3; do contrast $loss-seed$seed --loss $loss --seed $seed; done
    done
    ;;
ablations) # one setting changed at a time
    contrast v3 --benchmarks mcsm_hpo_it mcsm_icd9_it clustering_icd9_it icd9cm_it_tree $read/mayosrs_it.yaml # on its card
    contrast quarter --max_steps 50 --warmup_steps 5 # as the paper's 4 epochs to 16
    contrast cls --pooling cls
    contrast detached --detach_margin true
    inject injected transe
    inject unmasked transe --masked_weight 0
    for model in complex rotate simple; do
        contrast v3-$model --kge_model $model
        inject injected-$model $model
    done
    ;;
multilingual) # names and mentions in Italian and English
    contrast multilingual --language "" --corpus "${corpus[@]}" "$ST_BIOMED_DATA"/text_en/e3c_en_layer3.jsonl.gz
    ;;
cell)
    cells_data
    cell "$2" "$3"
    ;;
cells)
    cells_data
    for seed in $seeds; do for name in $(names); do cell "$name" "$seed"; done; done
    ;;
graphs) # Table 2 on the graph of the cells, whose triples every seed parts anew
    cells_data
    models="${KGE:-transe complex rotate simple}"
    [[ " $models " == *" transe "* ]] || models="transe $models" # the reference, which is there
    # shellcheck disable=SC2086
    for seed in $seeds; do graphs $models; done
    # shellcheck disable=SC2046
    python evaluation/cells.py $(for seed in $seeds; do echo "$cells/stages/own-$seed/kge/results.json"; done) --reference transe \
        --also mcsm_icd9_it_mcsm -o $cells/graphs.md
    ;;
report) # differences from v2, with the base's pieces and the extended ones, from shuffled vectors and zeros, and from names alone, seed by seed
    models=$(for name in $(names); do for seed in $seeds; do
        [ ! -f "$(place "$name" "$seed")/run.json" ] || echo "$name-$seed=$(place "$name" "$seed")"
    done; done)
    all="$(echo $held/{mcsm,clustering,tree}_held.yaml) mcsm_hpo_it $(echo $read/e3c/e3c_it{,_reworded}.yaml) $read/mayosrs_it.yaml
        $(echo out/bergamot/translations{,-es,-fr,-de,-it,-nl,-pt}.yaml) ncbi_disease"
    benchmarks=$(if [ -n "$smoke" ]; then echo "-b hpo_tree"; else for one in ${MEASURED:-$all}; do echo "-b $one"; done; fi)
    if [[ $benchmarks == *out/bergamot/* ]]; then bash evaluation/bergamot_open.sh data; fi # names in six languages, of no cell
    # shellcheck disable=SC2086
    st-biomed evaluate $models --scorecard --base base="$base" --bf16 --data "$ST_BIOMED_DATA" -o $cells/evaluation $benchmarks
    for reference in own-v2 extended-v2 own-v3_shuffled own-v3_zeros own-names; do
        [ -d "$(place "$reference" "${seeds%% *}")" ] || continue
        python evaluation/cells.py $cells/evaluation --also pr_auc --reference $reference -o $cells/against_$reference.md
    done
    ;;
evaluate) # Tables 3 to 5: what each stage and each loss leaves
    models=$(for one in "$out"-*/{contrastive,injected}; do
        if [ -f "$one"/run.json ]; then echo "$(basename "$(dirname "$one")" | sed s/italian_open-//)=$one"; fi
    done)
    # shellcheck disable=SC2086
    st-biomed evaluate base=sentence-transformers/all-MiniLM-L6-v2 extended=$out/vocabulary injected=$out/injected \
        v3=$out/contrastive pipelined=$out/pipelined $models --bf16 --data "$ST_BIOMED_DATA" -o $out/evaluation \
        -b mcsm_hpo_it -b mcsm_icd9_it -b clustering_icd9_it -b icd9cm_it_tree -b $read/mayosrs_it.yaml
    ;;
esac
