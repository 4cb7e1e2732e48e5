"""BibTeX entries of losses, some of which evaluators cite, too."""

from __future__ import annotations

ITALIAN = """
@misc{amorebondarenko2022combining,
    title = {Combining Contrastive Learning and Knowledge Graph Embeddings to develop medical word embeddings for the Italian language},
    author = {Amore Bondarenko, Denys and Ferrod, Roger and Di Caro, Luigi},
    year = {2022},
    eprint = {2211.05035},
    archivePrefix = {arXiv},
    primaryClass = {cs.CL}
}
"""

BIOLORD = """
@article{remy2024biolord,
    title = {{BioLORD-2023}: semantic textual representations fusing large language models and clinical knowledge graph insights},
    author = {Remy, François and Demuynck, Kris and Demeester, Thomas},
    journal = {Journal of the American Medical Informatics Association},
    year = {2024},
    doi = {10.1093/jamia/ocae029}
}
"""

BERGAMOT = """
@inproceedings{sakhovskiy2024biomedical,
    title = {Biomedical Entity Representation with Graph-Augmented Multi-Objective Transformer},
    author = {Sakhovskiy, Andrey and Semenova, Natalia and Kadurin, Artur and Tutubalina, Elena},
    booktitle = {Findings of the Association for Computational Linguistics: NAACL 2024},
    pages = {4626--4643},
    year = {2024}
}
"""

HIPRBERT = """
@article{cai2023hiprbert,
    title = {Hierarchical Pretraining for Biomedical Term Embeddings},
    author = {Cai, Bryan and Zeng, Sihang and Lin, Yucong and Yuan, Zheng and Zhou, Doudou and Tian, Lu},
    journal = {arXiv preprint arXiv:2307.00266},
    year = {2023}
}
"""

BIOSYN = """
@inproceedings{sung2020biosyn,
    title = {Biomedical Entity Representations with Synonym Marginalization},
    author = {Sung, Mujeen and Jeon, Hwisang and Lee, Jinhyuk and Kang, Jaewoo},
    booktitle = {Proceedings of the 58th Annual Meeting of the Association for Computational Linguistics},
    pages = {3641--3650},
    year = {2020}
}
"""
