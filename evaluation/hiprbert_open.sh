#!/usr/bin/env bash
# HiPrBERT's own test on open data: 100 integer phecodes held out, with the titles of ICD codes as synonyms. What each part of the
# training buys at one budget, linking beside: the figures of results/hiprbert_open.md. ST_BIOMED_DATA names the folder with the
# files of data.yaml. A cell that is there is not trained again; --smoke takes two steps each, to see that the commands start.
# codes is the same on the phecodes that the published code holds out, with a control, the hierarchy with its concepts at other places, and
# what the paper compares with, SapBERT's loss and mining on the same names; it is measured on pairs that are drawn uniformly, and on pairs
# of which each phecode has at most five at a distance, as in the published code. CELLS="synonyms both" trains and measures these alone.
# relations is the test of relations, on the NCI Thesaurus: related concepts of which no relation is trained on, with and without the others in
# training, and with these others shuffled.
# Usage: [SEEDS="0 1 2"] bash evaluation/hiprbert_open.sh [all | data | cells | cell NAME SEED | report | codes | relations] [--smoke]
set -euo pipefail
known="all data cells cell report codes relations"
if [[ " $known " != *" ${1:-all} "* ]]; then
    echo "no step $1: $known" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
. evaluation/trained.sh
base=sentence-transformers/all-MiniLM-L6-v2 terms=out/hiprbert/phecode config=hiprbert_phecode_open.yaml cells=out/hiprbert_cells seeds="${SEEDS:-0 1 2}" smoke=() suffix=""
[ "${!#}" = --smoke ] && smoke=(--smoke true) suffix=_smoke cells=${cells}_smoke
trees="$ST_BIOMED_DATA/hierarchies"
if [ ! -f out/hiprbert/phecode/terminology.json ]; then
    st-biomed read phecode "$trees/phecode1.2_pheinfo.csv.gz" --option icd_map="$trees/phecode1.2_map_icd9cm_icd10cm.csv.gz" \
        --option icd9cm_titles="$trees/icd9cm_hierarchy.csv.gz" --option icd10cm_titles="$trees/icd10cm2019.csv.gz" \
        --output out/hiprbert/phecode
fi
# The objectives; both with distances by the depth of the common ancestor, with distances split by depth (section 5 of the paper; the split by
# the hierarchy's own depth is the same with one hierarchy), and with retention.
names="synonyms hierarchy both both_decimals both_depth both_retained"
# Two levels for each distance make five cuts of three: a new one is halfway between its neighbors and shares the weight of a cut.
split="--alpha 0.5 1 1 1 1 --base 0.85 0.75 0.65 0.475 0.3 --cut_weights 3 1.5 1.5 0.5 0.5"
even="--mixing_temperature 100" # as many steps of each part
retention="--distillation 8 --distillation_removed 1 --average 0.6"
cell() { # name, seed, arguments: the same steps and batches in all cells
    local arguments terms=$terms
    case $1 in
    synonyms) arguments="--parts synonyms" ;;
    synonyms_sapbert) arguments="--parts synonyms --synonym_preset sapbert" ;;
    synonyms_retained) arguments="--parts synonyms $retention" ;;
    hierarchy) arguments="--parts hierarchy" ;;
    both) arguments="--parts synonyms hierarchy" ;;
    both_shuffled) terms=out/hiprbert/shuffled arguments="" ;;
    relations) arguments="--parts synonyms relations hierarchy" ;; # in proportion to their batches, of which relations have 4%
    relations_even) arguments="--parts synonyms relations hierarchy $even" ;;
    relations_even_shuffled) terms=out/hiprbert/relations/shuffled arguments="--parts synonyms relations hierarchy $even" ;;
    both_decimals) arguments="--distance lca_depth" ;; # by common decimals, not the distance of that name
    both_depth) arguments="--level_function depth $split" ;;
    both_paper) arguments="--alpha 2 --beta 2 --base 0.5 --cut_weights 1 1 1 --reduction sum" ;; # 3.5 of the paper
    both_retained) arguments=$retention ;;
    *)
        echo "no cell $1: $names synonyms_sapbert synonyms_retained both_paper both_shuffled relations{,_even{,_shuffled}}" >&2
        exit 2
        ;;
    esac
    if trained "$cells/$1-$2" "$terms"; then return; fi
    # shellcheck disable=SC2086
    python recipes/hiprbert.py recipes/configs/$config --terminology "$terms" --disable_tqdm true --eval_strategy no --seed "$2" \
        --output_dir "$cells/$1-$2" --overwrite true --cache_dir $cells/evaluation/vectors $arguments "${@:3}" "${smoke[@]}"
}
models() { # names: those that are there, with each seed
    for name in "$@"; do for seed in $seeds; do [ ! -f "$cells/$name-$seed/run.json" ] || echo "$name-$seed=$cells/$name-$seed"; done; done
}
measure() { # models, benchmarks: against the base, with the differences from each cell of $references, seed by seed
    # shellcheck disable=SC2046,SC2086
    st-biomed evaluate $1 --scorecard --base base=$base --bf16 --data "$ST_BIOMED_DATA" -o $cells/evaluation $(printf -- '-b %s ' $2)
    for reference in $references; do
        [[ "$1" = *"$reference-"* ]] || continue
        python evaluation/cells.py $cells/evaluation --reference "$reference" -o "$cells/against_$reference.md"
    done
}
case "${1:-all}" in
all)
    for step in cells report codes relations; do bash evaluation/hiprbert_open.sh $step; done
    ;;
data) ;;
cell) # those of the step cells
    if [[ " $names " != *" $2 "* ]]; then
        echo "no cell $2: $names (CELLS chooses those of codes and relations)" >&2
        exit 2
    fi
    cell "$2" "$3"
    ;;
cells)
    for seed in $seeds; do for name in $names; do cell "$name" "$seed"; done; done
    ;;
report) # against the base, and each cell against synonyms alone and against both parts, seed by seed
    measured=phecode_icd_tree references="synonyms both"
    [ ${#smoke[@]} = 0 ] && measured="$measured phecode_icd_tree_siblings ncbi_disease mayosrs umnsrs_similarity_modified icd10cm_tree"
    # shellcheck disable=SC2086
    measure "$(models $names)" "$measured"
    ;;
codes)
    cells=out/hiprbert_codes$suffix references="synonyms synonyms_sapbert synonyms_retained both both_shuffled"
    names=${CELLS:-synonyms hierarchy both both_shuffled synonyms_sapbert both_paper both_decimals both_retained synonyms_retained}
    codes=evaluation/hiprbert_codes.yaml
    [ ! out/hiprbert/phecode/terminology.json -nt out/hiprbert/shuffled/terminology.json ] ||
        python evaluation/hiprbert_shuffled.py out/hiprbert/phecode $codes --output out/hiprbert/shuffled
    for seed in $seeds; do for name in $names; do cell "$name" "$seed" --benchmark $codes; done; done
    sed "s/^name: .*/&_siblings/; s/by the depth of the common ancestor/by siblings and parents/; s/lca_depth/sibling_parent/" $codes >out/hiprbert/codes_siblings.yaml
    # shellcheck disable=SC2086
    measure "$(models $names)" "$codes out/hiprbert/codes_siblings.yaml evaluation/hiprbert_published.yaml"
    ;;
relations)
    cells=out/hiprbert_relations$suffix config=hiprbert_ncit_open.yaml terms=out/hiprbert/relations/train references="both relations_even relations_even_shuffled synonyms_sapbert"
    names=${CELLS:-both relations relations_even relations_even_shuffled synonyms_sapbert}
    [ -f out/hiprbert/ncit/terminology.json ] ||
        st-biomed read obograph "$ST_BIOMED_DATA"/ontologies/ncit-disease-2018-06-08.json.gz --output out/hiprbert/ncit
    [ ! out/hiprbert/ncit/terminology.json -nt out/hiprbert/relations/relations.yaml ] ||
        python evaluation/hiprbert_relations.py out/hiprbert/ncit out/hiprbert/relations
    for seed in $seeds; do for name in $names; do cell "$name" "$seed"; done; done
    # shellcheck disable=SC2086
    measure "$(models $names)" "out/hiprbert/relations/relations.yaml mayosrs umnsrs_similarity_modified"
    ;;
esac
