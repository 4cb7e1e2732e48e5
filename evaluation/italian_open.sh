#!/usr/bin/env bash
# The Italian system on open data: the figures of results/italian_open.md. ST_BIOMED_DATA names the folder with the files of
# data.yaml. Usage: bash evaluation/italian_open.sh
# [all | data | systems | table2 | losses | seeds | ablations | multilingual | evaluate]
set -euo pipefail
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
read=out/italian
if [ ! -f $read/all/terminology.json ]; then
    hp=ontologies/hp.v2024-04-26.json.gz
    while read -r name reader file options; do
        # shellcheck disable=SC2086
        st-biomed read "$reader" "$ST_BIOMED_DATA/$file" $options --output $read/"$name" --overwrite
    done <<FILES
icd9 icd9cm italian/icd9cm_it_tree.tsv.gz
hl7 fsh italian/hl7it_icd9cm_diagnosi.fsh.gz --option name=ICD9CM_HL7_IT --option prefix=ICD9CM --option language=it --option replace=@=À,PIY=PIÙ
hpit babelon multilingual/hpo/hp-it.babelon.tsv.gz --option statuses=OFFICIAL,TRANSLATED,CANDIDATE --option synonyms=$ST_BIOMED_DATA/multilingual/hpo/hp-it.synonyms.tsv.gz
hp obograph $hp
doid obo ontologies/doid.2024-01-31.obo.gz
ncit obograph ontologies/ncit-disease-2018-06-08.json.gz
ordo obograph ontologies/ordo-2_6-2018-07-12.json.gz
hpoa hpoa kg/phenotype.hpoa.2023-01-27.gz --option ontology=$ST_BIOMED_DATA/$hp
FILES
    parts=$(echo $read/{icd9,hl7,hpit,hp,doid,ncit,ordo,hpoa})
    # shellcheck disable=SC2086
    st-biomed merge $parts --output $read/all --overwrite --crosswalk xref,exactMatch --through UMLS --without-cycles
fi
[ -f $read/mayosrs_it.yaml ] || python evaluation/translate_pairs.py \
    "$ST_BIOMED_DATA"/benchmarks_dev/similarity/MayoSRS.csv $read/all it $read/mayosrs_it
corpus="$ST_BIOMED_DATA/italian/e3c_it_layer3.jsonl.gz $ST_BIOMED_DATA/italian/e3c_it_layer2_xmi.tar.gz"
out=out/italian_open
run() {
    # shellcheck disable=SC2086
    python recipes/italian_kge.py recipes/configs/italian_kge_open.yaml --terminology $read/all --corpus $corpus --overwrite true \
        --cache_dir $out/vectors --disable_tqdm true "$@"
}
again() { # a later stage with other settings, in a folder of its own; what it gives is measured by `evaluate`
    run --earlier $out --output_dir $out-"$1" --benchmarks $read/mayosrs_it.yaml "${@:2}"
}
contrast() { # half as many steps as the others
    again short-"$1" --stage contrastive --max_steps 200 "${@:2}"
}
inject() { # the same of injection, by graph embedding
    # shellcheck disable=SC2086
    st-biomed train knowledge_injection knowledge_injection_open.yaml --base_model $out/vocabulary --kge $out/kge/"$2" \
        --terminology $out/terminology --corpus $corpus --language it --output_dir $out-short-"$1"/injected --overwrite true \
        --max_steps 200 --warmup_steps 30 "${@:3}"
}
case "${1:-systems}" in
all)
    for step in systems table2 losses seeds ablations multilingual evaluate; do bash evaluation/italian_open.sh "$step"; done
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
    # shellcheck disable=SC2086
    contrast multilingual --language "" --corpus $corpus "$ST_BIOMED_DATA"/text_en/e3c_en_layer3.jsonl.gz
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
