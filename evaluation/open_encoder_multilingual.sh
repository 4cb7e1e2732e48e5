#!/usr/bin/env bash
# The multilingual open encoder with three seeds against the model that it starts from, and against the same training on English names
# alone. The report is left in out/open_encoder_multilingual_seeds. ST_BIOMED_DATA names the folder with the files of data.yaml, BASE the
# folder of multilingual-e5-small or its id (with HF_HUB_OFFLINE=0), STEPS the steps of sapbert. The names of 500 concepts of HPO in six languages are held
# out and linked to English ones. They are held out here, before training, so that all models and the control have the same split; the
# recipe holds out none itself (--held_out_translations 0).
# Usage: BASE=FOLDER [SEEDS="0 1 2"] bash evaluation/open_encoder_multilingual.sh [all | data | train | english | sapbert | report]
set -euo pipefail
known="all data train english sapbert report"
if [[ " $known " != *" ${1:-all} "* ]]; then
    echo "no step $1: $known" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
base="${BASE:-intfloat/multilingual-e5-small}" seeds="${SEEDS:-0 1 2}" data=out/multilingual out=out/open_encoder_multilingual_seeds
export HF_HUB_OFFLINE="${HF_HUB_OFFLINE:-1}" TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
st-biomed unite evaluation/open_terminology_multilingual.yaml --data "$ST_BIOMED_DATA" --output out/open_multilingual --if-changed
if [ out/open_multilingual/terminology.json -nt $data/train/terminology.json ]; then
    python evaluation/translated_names.py out/open_multilingual HP: 500 $data es fr de it nl pt
fi
if [ $data/train/terminology.json -nt $data/english/terminology.json ]; then
    st-biomed subset $data/train --languages en --output $data/english --overwrite
fi
. evaluation/trained.sh
train() { # name, terminology, seed
    if trained $out/"$1"-"$3" "$2"; then
        same $out/"$1"-"$3" 400 "$base"
    else
        python recipes/open_encoder.py recipes/configs/open_encoder_multilingual.yaml --disable_tqdm true --seed "$3" --runs 1 \
            --base_model "$base" --terminology "$2" --output_dir $out/"$1"-"$3" --overwrite true --keep_trained true \
            --held_out_translations 0 --average_curve false --cache_dir $out/evaluation/vectors
    fi
}
models() { # names
    for name in "$@"; do for seed in $seeds; do
        [ ! -f "$out/$name-$seed/run.json" ] || echo "$name-$seed=$out/$name-$seed"
    done; done
}
case "${1:-all}" in
all)
    found "$base"
    for step in train english report; do bash evaluation/open_encoder_multilingual.sh $step; done
    ;;
data) ;;
train) # a run of each seed; the release is the average of their trained weights, then with the base
    several_seeds "$seeds"
    for seed in $seeds; do train multilingual $data/train "$seed"; done
    # shellcheck disable=SC2046
    st-biomed average $(for seed in $seeds; do echo $out/multilingual-"$seed"-training/trained; done) --output $out/runs --overwrite
    share=$(average_share recipes/configs/open_encoder_multilingual.yaml)
    st-biomed average "$base" $out/runs --weights "$(python -c "print(1 - $share)"),$share" --output $out/released --overwrite
    ;;
english) # the control: the same settings, steps and held-out concepts, without a name or definition in another language
    for seed in $seeds; do train english $data/english "$seed"; done
    ;;
sapbert) # cross-lingual SapBERT (sapbert_multilingual_open.yaml) on the same names: synonyms and translations alone
    for seed in $seeds; do
        if trained $out/sapbert-"$seed" $data/train; then
            same $out/sapbert-"$seed" "${STEPS:-400}" "$base"
        else
            python recipes/sapbert.py recipes/configs/sapbert_multilingual_open.yaml --disable_tqdm true --seed "$seed" \
                --base_model "$base" --terminology $data/train --held_out_names 0 --eval_strategy no --save_strategy no \
                --load_best_model_at_end false ${STEPS:+--max_steps "$STEPS"} --output_dir $out/sapbert-"$seed" --overwrite true
        fi
    done
    ;;
report)
    # shellcheck disable=SC2046
    st-biomed evaluate released=$out/released $(models multilingual english sapbert) --scorecard --base base="$base" --bf16 \
        --data "$ST_BIOMED_DATA" -o $out/evaluation --selection $(printf -- "-b $data/translations%s.yaml " "" -{de,es,fr,it,nl,pt}) \
        $(printf -- "-b %s " ncbi_disease mayosrs umnsrs_similarity_modified umnsrs_relatedness_modified icd10cm_tree \
            doid_tree hpo_tree icd9cm_it_tree relations_ncit)
    python evaluation/cells.py $out/evaluation --reference english -o $out/report.md
    ;;
*)
    echo "no step $1: all, data, train, english, sapbert, report" >&2
    exit 2
    ;;
esac
