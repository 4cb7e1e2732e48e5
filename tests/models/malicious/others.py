"""Adapters of peft, templates, generation, and files of code beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.models.malicious.workshop import TRANSFORMER, Workshop, auto_map, case, edit, modules


@case(runs_with_flag=True)
def adapter_of_another_repository(at: Workshop) -> Path:
    folder, base = at.own_file(at.folder()), at.root / f"base{at.number}"
    at.with_code(shutil.copytree(at.model, base))
    edit(base / "config.json", model_type=at.evil, auto_map=auto_map(at.evil))
    (folder / "config.json").unlink()
    settings = {"peft_type": "LORA", "r": 2, "target_modules": ["query"], "task_type": "FEATURE_EXTRACTION"}
    edit(folder / "adapter_config.json", base_model_name_or_path=at.repository(base), **settings)
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    return folder


@case()
def adapter_that_imports_by_name(at: Workshop) -> Path:
    folder = at.own_file(at.with_code())
    edit(
        folder / "adapter_config.json",
        peft_type="LORA",
        base_model_name_or_path=str(at.model),
        target_modules=["query"],
        megatron_config={"x": 1},
        megatron_core=at.evil,
        auto_mapping={"base_model_class": "EvilModel", "parent_library": at.evil},
    )
    return folder


@case()
def template_that_climbs_out(at: Workshop) -> Path:
    folder = at.folder()
    climbs = (
        "{{ ''.__class__.__mro__[1].__subclasses__() }}{% for c in ''.__class__.__base__.__subclasses__() %}"
        f"{{{{ c.__init__.__globals__['__builtins__']['open']('{at.marker}', 'w') }}}}{{% endfor %}}"
    )
    edit(folder / "tokenizer_config.json", chat_template=climbs)
    (folder / "chat_template.jinja").write_text(climbs)
    return folder


@case()
def generation_of_the_folder(at: Workshop) -> Path:
    folder = at.own_file(at.folder())
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate" / "generate.py").write_text(at.code)
    code = at.code_repository()
    edit(folder / "config.json", custom_generate=code)
    edit(folder / "generation_config.json", custom_generate=code)
    return folder


@case()
def tokenizer_class_within_reach(at: Workshop) -> Path:
    folder = at.own_file(at.with_code())
    edit(folder / "tokenizer_config.json", tokenizer_class=f"{at.evil}.EvilTokenizer")
    return folder


@case()
def code_of_a_release_that_was_changed(at: Workshop) -> Path:
    """A release of ours whose files of code are another's now: the classes that are installed load it."""
    folder = at.folder()
    (folder / "mention_pooling.py").write_text(at.code)
    edit(folder / "2_" / "config.json", markers=["[CLS]", "[SEP]"])
    modules(folder, TRANSFORMER, ("mention_pooling.MentionPooling", "2_"))
    return folder
