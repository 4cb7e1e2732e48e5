#!/usr/bin/env bash
# The Italian system on open data, whose results are not measured yet. ST_BIOMED_DATA names the folder with the files of
# data.yaml. Usage: bash evaluation/italian_open.sh [data | systems | losses | evaluate | table2]
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
run() {
    python recipes/italian_kge.py recipes/configs/italian_open.yaml --terminology $read/all --disable_tqdm true \
        --corpus "$ST_BIOMED_DATA"/italian/e3c_it_layer3.jsonl.gz "$ST_BIOMED_DATA"/italian/e3c_it_layer2_xmi.tar.gz \
        --overwrite true "$@"
}
case "${1:-systems}" in
data) ;;
systems) # every stage, v3 in the contrastive one
    run --stage all
    ;;
losses) # Table 3: v1, v2 and a loss without negatives from the same extended encoder; mentions pooled by the first token
    for loss in v1 v2 barlow_twins; do
        run --stage contrastive --loss $loss --earlier out/italian_open --output_dir out/italian_open_$loss
    done
    run --stage contrastive --pooling cls --earlier out/italian_open --output_dir out/italian_open_cls
    ;;
evaluate) # Tables 3 to 5: what each stage and each loss leaves
    st-biomed evaluate base=sentence-transformers/all-MiniLM-L6-v2 extended=out/italian_open/vocabulary \
        injected=out/italian_open/injected v3=out/italian_open/contrastive pipelined=out/italian_open/pipelined \
        $(for loss in v1 v2 barlow_twins cls; do
            [ -d out/italian_open_$loss/contrastive ] && echo $loss=out/italian_open_$loss/contrastive
        done) --bf16 --data "$ST_BIOMED_DATA" -o out/italian_open/evaluation \
        -b mcsm_hpo_it -b mcsm_icd9_it -b clustering_icd9_it -b icd9cm_it_tree -b $read/mayosrs_it.yaml
    ;;
table2) # Table 2: four graph embeddings
    st-biomed train kge italian_kge_open.yaml --terminology $read/all --models transe complex rotate simple \
        --benchmarks mcsm_hpo $read/mayosrs_it.yaml --output_dir out/italian_open_table2 --overwrite true
    ;;
esac
