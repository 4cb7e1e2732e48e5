"""Classes that ``auto_map`` names, wherever transformers looks for it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.models.malicious.workshop import Workshop, auto_map, case, edit


@case(runs_with_flag=True)
def auto_map_of_the_folder(at: Workshop) -> Path:
    folder = at.with_code()
    edit(folder / "config.json", model_type=at.evil, auto_map=auto_map(at.evil))
    return folder


@case(runs_with_flag=True)
def auto_map_beside_our_own_file(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    edit(folder / "config.json", model_type=at.evil, auto_map=auto_map(f"{at.code_repository()}--{at.evil}"))
    return folder


@case(runs_with_flag=True)
def auto_map_of_a_known_type(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    edit(folder / "config.json", auto_map={"AutoModel": f"{at.code_repository()}--{at.evil}.EvilModel"})
    return folder


@case()
def auto_map_of_our_adapters(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    where = f"{at.code_repository()}--{at.evil}"
    edit(folder / "config.json", model_type="bert_with_adapters", reduction_factor=4, auto_map=auto_map(where))
    return folder


@case()
def auto_map_of_our_release(at: Workshop) -> Path:
    folder = at.folder(at.adapted)
    where = f"{at.code_repository()}--{at.evil}"
    edit(folder / "config.json", auto_map=auto_map(where))
    edit(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, f"{where}.EvilTokenizer"]})
    return folder


@case(runs_with_flag=True)
def auto_map_to_an_absolute_path(at: Workshop) -> Path:
    (at.root / "elsewhere").mkdir()
    elsewhere = at.with_code(at.root / "elsewhere")
    folder = at.own_file(at.folder())
    edit(folder / "config.json", model_type=at.evil, auto_map=auto_map(f"{elsewhere}--{at.evil}"))
    return folder


@case(runs_with_flag=True)
def auto_map_of_a_plain_checkpoint(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    for file in ("modules.json", "config_sentence_transformers.json"):
        (folder / file).unlink()
    edit(folder / "config.json", model_type=at.evil, auto_map=auto_map(f"{at.code_repository()}--{at.evil}"))
    return folder


@case(runs_with_flag=True)
def auto_map_of_the_tokenizer(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    where = f"{at.code_repository()}--{at.evil}"
    edit(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": [None, f"{where}.EvilTokenizer"]})
    return folder


@case(runs_with_flag=True)
def auto_map_of_the_processor(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    where = f"{at.code_repository()}--{at.evil}"
    edit(folder / "processor_config.json", auto_map={"AutoProcessor": f"{where}.EvilTokenizer"})
    return folder


@case(runs_with_flag=True)
def auto_map_of_the_image_processor(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    where = f"{at.code_repository()}--{at.evil}"
    edit(folder / "preprocessor_config.json", auto_map={"AutoProcessor": f"{where}.EvilTokenizer"})
    return folder


@case()
def auto_map_of_a_part_of_the_configuration(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    part = {"model_type": at.evil, "auto_map": auto_map(f"{at.code_repository()}--{at.evil}")}
    edit(folder / "config.json", model_type="encoder-decoder", encoder=part, decoder=part)
    return folder


@case(runs_with_flag=True)
def auto_map_of_another_file_that_the_configuration_names(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    shutil.copyfile(folder / "config.json", folder / "config.4.0.0.json")
    where = f"{at.code_repository()}--{at.evil}"
    edit(folder / "config.4.0.0.json", model_type=at.evil, auto_map=auto_map(where))
    edit(folder / "config.json", configuration_files=["config.4.0.0.json"])
    return folder
