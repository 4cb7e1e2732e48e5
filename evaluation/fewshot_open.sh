#!/usr/bin/env bash
# The experiment of Fivez, Suster and Daelemans 2021 on open data: ICD-10-CM's 21 chapters, and NCIt's disorders by site in place of
# SNOMED CT's children of "disease" (one of 16 has fewer names than 15 shots need; the children of NCIt's "Disease or Disorder"
# itself share all but 2,488 of their names). Inputs: all-MiniLM-L6-v2, and fastText's vectors made here (with gensim) of 9,779
# English case reports and the definitions of HPO and NCIt, in place of those of MEDLINE. ST_BIOMED_DATA names the folder with the
# files of data.yaml.
# A cell is one input with one seed; a finished cell is skipped, so a stopped command goes on. Tables merge the cells.
# Usage: [SEEDS="0 1 2 3 4"] [SHOTS="1 3 5 10 15"] bash evaluation/fewshot_open.sh [STAGE [further arguments of the recipe]]
# SLOW="" leaves out linking and trees, which are measured with the largest number of shots; the paper has relatedness alone.
# Stages: all, vectors (word vectors), minilm, words (cells and tables of an input), averaged (MiniLM with 15 names, each stage
# averaged with its input), tables, evaluate (the released encoder, that of the first seed, beside its input).
set -euo pipefail
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
out=out/fewshot
# Table 3 of the paper has EHR-RelB, MayoSRS and the whole sets of UMNSRS; the modified sets are those of Pakhomov et al. 2016.
relatedness="mayosrs umnsrs_relatedness umnsrs_similarity umnsrs_relatedness_modified umnsrs_similarity_modified"
relatedness="$relatedness minimayosrs pedersen2007 hliaoutakis2005"
if [ -f "$ST_BIOMED_DATA"/benchmarks_dev/similarity/EHR-RelB.tsv ]; then
    relatedness="ehr_relb $relatedness"
else
    echo "ehr_relb is not measured: EHR-RelB.tsv is missing (evaluation/benchmarks/ehr_relb.yaml names its source)" >&2
fi
slow=${SLOW-ncbi_disease icd10cm_tree doid_tree hpo_tree}
ncit=ontologies/ncit-disease-2018-06-08.json.gz
minilm=sentence-transformers/all-MiniLM-L6-v2
read -ra seeds <<<"${SEEDS:-0 1 2 3 4}"
read -ra shots <<<"${SHOTS:-1 3 5 10 15}"
vectors() {
    if [ -f $out/text.bin ]; then return; fi
    python evaluation/word_vectors_of_text.py $out/text.draft.bin "$ST_BIOMED_DATA"/text_en/e3c_en_layer3.jsonl.gz \
        "$ST_BIOMED_DATA"/ontologies/hp.v2024-04-26.json.gz "$ST_BIOMED_DATA"/$ncit
    mv $out/text.draft.bin $out/text.bin
}
cell() { # NAME ENCODER SEED ARGUMENTS: the encoder in $out/NAME/seedSEED, its results in $out/NAME/seedSEED-training
    local settings="shots ${shots[*]}, slow ${slow:-none}, arguments ${*:4}" kept="$out/$1/seed$3.settings"
    if [ -f "$out/$1/seed$3/run.json" ]; then
        if [ -f "$kept" ] && [ "$(cat "$kept")" != "$settings" ]; then
            echo "$out/$1/seed$3: was trained with $(cat "$kept"), not with $settings; move the run elsewhere to train it anew" >&2
            exit 2
        fi
        echo "$1, seed $3: done already"
        return
    fi
    python recipes/fewshot_names.py recipes/configs/fewshot_names_open.yaml --base_model "$2" --output_dir "$out/$1/seed$3" \
        --training_sets NCIt="obograph:$ST_BIOMED_DATA/$ncit#NCIT:C27551" "ICD-10-CM=icd10cm?extensions=true" \
        --leave_out ICD10CM:22 NCIT:C35126 --shots "${shots[@]}" --seeds "$3" --release NCIt ICD-10-CM \
        --rankings "urinary hesitancy" "shortness of breath" "brittle nails" \
        --benchmarks $relatedness ${slow:+--slow_benchmarks $slow} --average 1 --cache_dir $out/vectors "${@:4}"
    echo "$settings" >"$kept"
}
tables() { # NAME: tables.md and figure.svg of all seeds, in $out/NAME-tables
    local files=("${seeds[@]/#/$out/$1/seed}")
    python evaluation/fewshot_tables.py "$out/$1-tables" "${files[@]/%/-training/results.json}"
}
run() { # NAME ENCODER ARGUMENTS
    for seed in "${seeds[@]}"; do cell "$1" "$2" "$seed" "${@:3}"; done
    tables "$1"
}
evaluate() { # with intervals and paired tests
    st-biomed evaluate MiniLM=$minilm fewshot=$out/minilm/seed"${seeds[0]}" --bf16 --data "$ST_BIOMED_DATA" \
        $(printf -- '-b %s ' $relatedness $slow) -o $out/evaluation
}
what=${1:-all}
shift || true
case "$what" in
vectors) vectors ;;
minilm) run minilm $minilm "$@" ;;
words)
    vectors
    run words $out/text.bin "$@"
    ;;
averaged)
    shots=(15)
    run minilm-average-0.5 $minilm --average 0.5 "$@"
    ;;
tables) for name in minilm words; do if [ -d $out/$name ]; then tables $name; fi; done ;;
evaluate) evaluate ;;
all)
    if [ ! -f $out/text.bin ] && ! python -c "import gensim" 2>/dev/null; then
        echo "the word vectors need gensim: pip install gensim" >&2
        exit 2
    fi
    run minilm $minilm "$@"
    vectors
    run words $out/text.bin "$@"
    evaluate
    bash evaluation/fewshot_open.sh averaged "$@"
    ;;
*)
    echo "unknown stage '$what': all, vectors, minilm, words, averaged, tables, evaluate" >&2
    exit 2
    ;;
esac
