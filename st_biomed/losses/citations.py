"""BibTeX entries shared by several losses."""

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
