#!/usr/bin/env bash
# The open encoder with three seeds against the model that it starts from, and what each of its parts buys. ST_BIOMED_DATA names the folder with the files of data.yaml.
# The scorecard of a step is left in out/open_encoder_seeds/STEP.md and STEP.json.
# SEEDS has the seeds ("0 1 2"), WORKERS the number of releases or ablations that are trained at once, CELLS the ablations (all of them),
# CONFIG the configuration (open_encoder_english.yaml).
# Usage: bash evaluation/open_encoder.sh [all | data | train | share | alone | longer | scorecard | unseen | biolord | releases | curve | ablations | controls]
set -euo pipefail
known="all data train share alone longer scorecard unseen biolord releases curve ablations controls"
if [[ " $known " != *" ${1:-all} "* ]]; then
    echo "no step $1: $known" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
base=sentence-transformers/all-MiniLM-L6-v2 out=out/open_encoder_seeds seeds="${SEEDS:-0 1 2}"
config="${CONFIG:-recipes/configs/open_encoder_english.yaml}"
mkdir -p $out
st-biomed unite evaluation/open_terminology.yaml --data "$ST_BIOMED_DATA" --output out/open_terminology --if-changed
# case reports of layer 3 of E3C with a license that asks for attribution alone
python evaluation/open_texts.py "$ST_BIOMED_DATA"/text_en/e3c_en_layer3.jsonl.gz "CC BY" "CC BY 4.0" -o out/open_texts.jsonl
. evaluation/trained.sh
train() { # name, seed, arguments
    if ! trained $out/"$1"-"$2" out/open_terminology; then
        python recipes/open_encoder.py "$config" --disable_tqdm true --seed "$2" \
            --output_dir $out/"$1"-"$2" --overwrite true --average_curve false --cache_dir $out/evaluation/vectors "${@:3}"
    fi
}
scorecard() { # name, models and options; vectors and figures of earlier steps are used again
    st-biomed evaluate "${@:2}" --scorecard --base base=$base --bf16 --data "$ST_BIOMED_DATA" -o $out/evaluation
    for file in $out/evaluation/scorecard.*; do cp "$file" "$out/$1.${file##*.}"; done
}
# shellcheck disable=SC2046
few() { # name, models; a benchmark or two of each family
    scorecard "$@" --selection $(printf -- "--benchmark %s " $slow mayosrs umnsrs_similarity_modified \
        umnsrs_relatedness_modified icd10cm_tree doid_tree hpo_tree phecode_tree relations_ncit)
}
slow="ncbi_disease clustering_doid clustering_hpo"
share=$(average_share "$config")
models() { # names
    for name in "$@"; do for seed in $seeds; do echo "$name-$seed=$out/$name-$seed"; done; done
}
average_runs() { # name, folder: the average of a run of each seed
    # shellcheck disable=SC2046
    st-biomed average $(for seed in $seeds; do echo $out/"$1"-"$seed"-training/trained; done) --output "$2" --overwrite
}
mix() { # folder, share of the trained weights
    st-biomed average $base $out/runs --weights "$(python -c "print(1 - $2)"),$2" --output "$1" --overwrite
}
shares() { # name, seeds, shares: averages of its runs, after + those on the hierarchy alone, and the base, on the dev parts
    local name=$1 file=$out/$1-shares.yaml
    for other in "${@:3}"; do
        python - "$out/$name" "$other" $2 <<'PYTHON'
import sys

name, both, *seeds = sys.argv[1:]
parts = []
for kind, share in zip((name, name.replace("full", "hierarchy")), both.split("+")):
    parts += [f"{kind}-{seed}-training/trained: {float(share) / len(seeds)}" for seed in seeds]
print(f"mean {both} of the seeds {', '.join(seeds)}: {{mix: {{{', '.join(parts)}}}}}")
PYTHON
    done >"$file"
    python evaluation/open_encoder_trials.py "$file" --config "$config" --output "${file%.yaml}"
}
alone() { # an encoder of each seed on the hierarchy alone, as those of --alone hierarchy --alone_steps 267
    for seed in $seeds; do
        train hierarchy "$seed" --runs 1 --keep_trained true --corpus none --parts hierarchy --shares 1 --distillation 0 --max_steps 267
    done
}
unseen="-b out/looser/looser-hp.yaml -b out/looser/looser-uberon.yaml -b out/drug_indications/drug_indications.yaml"
unseen() { # writes these benchmarks
    python evaluation/looser_synonyms.py obograph "$ST_BIOMED_DATA"/ontologies/hp.v2024-04-26.json.gz HP: out/open_terminology out/looser
    python evaluation/looser_synonyms.py obo "$ST_BIOMED_DATA"/ontologies/uberon.2015-04-23.obo.gz UBERON: out/open_terminology out/looser
    python evaluation/drug_indications.py out/drug_indications
}
case "${1:-all}" in
all)
    for step in train share alone longer scorecard unseen biolord releases curve ablations controls; do bash evaluation/open_encoder.sh "$step"; done
    ;;
data) ;;
train) # a run of each seed; with the seeds 0 1 2, their average is the release of the configuration, which trains the same runs
    several_seeds "$seeds"
    for seed in $seeds; do train full "$seed" --runs 1 --keep_trained true; done
    average_runs full $out/runs
    mix $out/released "$share"
    ;;
scorecard) # every benchmark that has its data, of the release; one or two of each family, of the run of each seed alone
    scorecard scorecard released=$out/released
    st-biomed picture scorecard $out/evaluation --output $out/scorecard.svg # before the folder's scorecard is another
    # shellcheck disable=SC2046
    slow=ncbi_disease few runs $(models full)
    ;;
unseen) # synonyms of other scopes than exact, which no training reads, and drugs with their diseases: the release and the run of each seed
    unseen
    # shellcheck disable=SC2046
    scorecard unseen released=$out/released $(models full) $unseen
    ;;
biolord) # BioLORD's three phases on the same terminology, from the same base, with each seed; beside the release if it is there, where neither trained on what is measured
    for seed in $seeds; do
        if ! trained $out/biolord-"$seed" out/open_terminology; then
            python recipes/biolord.py recipes/configs/biolord_open.yaml --disable_tqdm true --seed "$seed" \
                --output_dir $out/biolord-"$seed" --overwrite true --cache_dir $out/evaluation/vectors
        fi
    done
    unseen
    # shellcheck disable=SC2046
    scorecard biolord $([ ! -d $out/released ] || echo released=$out/released) $(models biolord) $unseen $(printf -- "-b %s " ncbi_disease mayosrs \
        umnsrs_similarity_modified umnsrs_relatedness_modified relations_ncit)
    ;;
releases) # three releases of the configuration, each of three runs with seeds of its own, on the dev parts and, with the average of all nine runs, on every benchmark that has its data
    for seed in 0 1 2 3 4 5 6 7 8; do echo "full-$seed: {arguments: --seed $seed, shares: [$share]}"; done >$out/releases.yaml
    python - "$share" >>$out/releases.yaml <<'PYTHON'
import sys

for release in range(3):
    runs = ", ".join(f"full-{3 * release + run}: {float(sys.argv[1]) / 3}" for run in range(3))
    print(f"released-{release}: {{mix: {{{runs}}}}}")
PYTHON
    python evaluation/open_encoder_trials.py $out/releases.yaml --config "$config" --output $out/releases --models $out/releases/models --workers "${WORKERS:-1}"
    # shellcheck disable=SC2046
    st-biomed average $out/releases/models/released-{0,1,2} --output $out/releases/models/nine --overwrite
    scorecard releases $(for release in 0 1 2; do echo "released-$release=$out/releases/models/released-$release"; done) nine=$out/releases/models/nine
    ;;
share) # the shares of the runs and of encoders on the hierarchy alone, chosen on the dev parts
    alone
    shares full "$seeds" 0.6 0.8 0.9 1 0.6+0.2 0.6+0.3
    ;;
longer) # two runs of twice the steps, on the dev parts, of the first two seeds
    two=$(echo "$seeds" | cut -d " " -f 1,2)
    for seed in $two; do train longer "$seed" --runs 1 --keep_trained true --max_steps 1600; done
    shares longer "$two" 0.6 0.8
    ;;
alone) # all benchmarks of the average with encoders on the hierarchy alone: .6 of the runs, .3 of these, .1 of the base
    several_seeds "$seeds"
    alone
    average_runs hierarchy $out/hierarchy
    st-biomed average $base $out/runs $out/hierarchy --weights .1,.6,.3 --output $out/with-hierarchy --overwrite
    scorecard alone with-hierarchy=$out/with-hierarchy
    ;;
curve) # other shares of the trained weights in the release
    for other in 0.25 0.5 1; do mix $out/share-$other $other; done
    few curve released=$out/released $(for other in 0.25 0.5 1; do echo share-$other=$out/share-$other; done)
    ;;
ablations) # a third of the steps, on the dev parts: with all parts, without each of them, without averaging (share 1), one part alone, and that of the hierarchy averaged with all parts
    check_cells all whole_distillation {free,light}_hierarchy no_{passages,definitions,hierarchy,relations,distillation} {synonyms,hierarchy,with}_alone
    for seed in $seeds; do
        while IFS=: read -r name share arguments; do
            # all parts are what every cell is compared with; with_alone averages them with hierarchy_alone
            if [ "$name" = all ] || wanted "$name" || { wanted with_alone && [ "$name" = hierarchy_alone ]; }; then
                echo "$name-$seed: {arguments: --max_steps 267 --seed $seed $arguments, shares: [$share]}"
            fi
        done <<'TRIALS'
all:0.8, 1:
no_passages:0.8:--corpus none
no_definitions:0.8:--corpus none --parts synonyms hierarchy relations --shares 4 4 1
no_hierarchy:0.8:--parts synonyms definitions relations --shares 4 3 1
no_relations:0.8:--parts synonyms definitions hierarchy --shares 4 3 4
no_distillation:0.8:--distillation 0
whole_distillation:0.8:--distillation_share 1
free_hierarchy:0.8:--part_distillation hierarchy=0
light_hierarchy:0.8:--part_distillation hierarchy=2
synonyms_alone:1:--corpus none --parts synonyms --shares 1 --distillation 0
hierarchy_alone:1:--corpus none --parts hierarchy --shares 1 --distillation 0
TRIALS
        if wanted with_alone; then echo "with_alone-$seed: {mix: {all-$seed: 0.6, hierarchy_alone-$seed: 0.3}}"; fi
    done >$out/ablations.yaml
    python evaluation/open_encoder_trials.py $out/ablations.yaml --config "$config" --output $out/ablations --workers "${WORKERS:-1}"
    python evaluation/cells.py $out/ablations/results.jsonl --reference "all 0.8" -o $out/ablations.md
    ;;
controls) # the same steps on names that belong to other concepts, and the base model without its first components
    if [ out/open_terminology/terminology.json -nt $out/shuffled/terminology.json ]; then
        python evaluation/shuffled_terminology.py out/open_terminology --output $out/shuffled
    fi
    # no held-out names: those of a concept are names of others
    printf "extends: '%s'\nterminology: ['%s']\nheld_out_dictionary: 0\nheld_out_names: 0\n" "$(realpath "$config")" $out/shuffled >$out/shuffled.yaml
    {
        for seed in $seeds; do echo "shuffled-$seed: {arguments: --max_steps 267 --seed $seed, shares: [0.8]}"; done
        echo "untrained: {removed: 1}"
    } >$out/controls.yaml
    python evaluation/open_encoder_trials.py $out/controls.yaml --config $out/shuffled.yaml --output $out/controls
    parts=$out/ablations/results.jsonl # beside the same steps with true names, where they were trained
    # shellcheck disable=SC2046
    python evaluation/cells.py $out/controls/results.jsonl $([ ! -f $parts ] || echo $parts) --reference "shuffled 0.8" -o $out/controls.md
    ;;
esac
