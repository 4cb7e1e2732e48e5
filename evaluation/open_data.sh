#!/usr/bin/env bash
# HiPrBERT and SapBERT on open data, three seeds each, on every benchmark that has its data; the figures of results/open_data.md are
# those of MEASURED="icd10cm_tree doid_tree ...". ST_BIOMED_DATA names the folder with the files of data.yaml. SEEDS has the seeds
# ("0 1 2"), MODELS the kinds of models ("hiprbert sapbert"). The tables are left in out/open_data.
# Usage: bash evaluation/open_data.sh [all | train | report]
set -euo pipefail
known="all train report"
if [[ " $known " != *" ${1:-all} "* ]]; then
    echo "no step $1: $known" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
. evaluation/trained.sh
base=sentence-transformers/all-MiniLM-L6-v2 out=out/open_data seeds="${SEEDS:-0 1 2}"
case "${1:-all}" in
all)
    for step in train report; do bash evaluation/open_data.sh $step; done
    ;;
train) # the hierarchy of ICD-10-CM alone, and the synonyms of seven ontologies alone
    for seed in $seeds; do
        if [ -f "$out/hiprbert-$seed/run.json" ]; then
            same "$out/hiprbert-$seed" 650 $base
        else
            python recipes/hiprbert.py recipes/configs/hiprbert_open.yaml --disable_tqdm true --eval_strategy no \
                --seed "$seed" --output_dir "$out/hiprbert-$seed" --cache_dir $out/evaluation/vectors
        fi
    done
    OUT=$out CELLS=ms SEEDS=$seeds bash evaluation/sapbert_open.sh pretrain
    ;;
report) # differences from the base, seed by seed
    # shellcheck disable=SC2046
    st-biomed evaluate $(for kind in ${MODELS:-hiprbert sapbert}; do
        for seed in $seeds; do echo "$kind-$seed=$out/${kind/sapbert/ms}-$seed"; done
    done) $(for name in ${MEASURED:-}; do echo "-b $name"; done) \
        --scorecard --base base=$base --bf16 --data "$ST_BIOMED_DATA" -o $out/evaluation
    python evaluation/cells.py $out/evaluation --reference base -o $out/report.md
    ;;
esac
