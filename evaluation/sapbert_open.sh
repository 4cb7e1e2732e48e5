#!/usr/bin/env bash
# SapBERT's objective on open ontologies, and the paper's ablations on one budget: the figures of results/sapbert_open.md.
# ST_BIOMED_DATA names the folder with the files of data.yaml. Usage: bash evaluation/sapbert_open.sh [all | ablations | united | medic]
set -euo pipefail
cd "$(dirname "$0")/.."
: "${ST_BIOMED_DATA:?names the folder with the files of evaluation/data.yaml}"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false
PATH="$PWD/.venv/bin:$PATH"
open=out/open
if [ ! -f $open/all/terminology.json ]; then
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
    st-biomed merge $parts --output $open/all --overwrite
    st-biomed merge $parts --output $open/united --overwrite --crosswalk xref --through UMLS --same-name lower
fi
train() {
    python recipes/sapbert.py recipes/configs/sapbert_open.yaml --terminology $open/"$1" --held_out_names 0 \
        --relatedness benchmarks_dev/similarity/MayoSRS.csv --disable_tqdm true --overwrite true "${@:2}"
}
both="evaluation/benchmarks/ncbi_disease.yaml evaluation/benchmarks/ncbi_disease_with_mentions.yaml"
case "${1:-ablations}" in
all)
    for step in ablations united medic; do bash evaluation/sapbert_open.sh "$step"; done
    ;;
united) # concepts of several ontologies made one first; 400 steps
    train united --linking $both --output_dir out/sapbert_open/united
    ;;
medic) # the synonyms of the dictionary itself, which UMLS has too, as one more terminology; 400 steps
    gzip -dc "$ST_BIOMED_DATA"/benchmarks_dev/ncbi_disease/medic_06Jul2012.txt.gz |
        awk -F'\\|\\|' '{split($1, id, "|"); n = split($2, name, "|"); for (i = 1; i <= n; i++) if (name[i] != "") print id[1] "||" name[i]}' \
            > out/open/medic.txt
    st-biomed read parent_child out/open/medic.txt --option name=MEDIC --output $open/medic --overwrite
    st-biomed merge $open/all $open/medic --output $open/all_medic --overwrite
    train all_medic --linking $both --eval_strategy no --save_strategy no --load_best_model_at_end false \
        --output_dir out/sapbert_open/medic
    ;;
ablations) # 100 steps each
    short="--linking $both --max_steps 100 --eval_strategy no --save_strategy no --load_best_model_at_end false"
    train all $short --output_dir out/sapbert_open/ms
    train all $short --miner none --output_dir out/sapbert_open/no_mining
    train all $short --loss infonce --output_dir out/sapbert_open/infonce
    train all $short --adapter bottleneck --adapter_size large --output_dir out/sapbert_open/adapter
    ;;
esac
