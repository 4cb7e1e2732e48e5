"""An index of concepts by the vectors of their names. It is built once and then searched with mentions."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from sentence_transformers import SentenceTransformer

from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.encoder.exported import export_of
from st_biomed.errors import InputError, unknown_name
from st_biomed.files import lock, read_one_version, replacing
from st_biomed.linking.catalog import Catalog
from st_biomed.linking.earlier import earlier_manifest
from st_biomed.linking.encode_names import encode_names, resumed_options
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.manifest import FAISS_FILE, HEADER, PARTS, Manifest, check_folder
from st_biomed.linking.mention_search import MentionSearch
from st_biomed.linking.pair_scores import Similarity
from st_biomed.linking.recall import build_searchable_index
from st_biomed.linking.same_vectors import check_same_vectors
from st_biomed.linking.settings import DEFAULTS, EncodingOptions
from st_biomed.linking.vector_index import Kind, VectorIndex, check_kind
from st_biomed.linking.vectors import PROGRESS, open_matrix

if TYPE_CHECKING:
    from st_biomed.linking_data.records import LinkingDictionary
    from st_biomed.terminology import Terminology

logger = logging.getLogger(__name__)


class ConceptIndex(MentionSearch):
    """Finds the nearest concepts of a mention. Create one with :meth:`build` or :meth:`load`.

    :meth:`search` gives all that is known of the matches, :meth:`link` columns for a table of mentions. FAISS uses as many threads as torch (``torch.set_num_threads``).

    Attributes:
        folder: The folder of the index: parquet tables, a ``.npy`` matrix, a FAISS file and ``index.json``.
        manifest: Its content, and the recall measured at build time.
        catalog: Names, concepts, labels, types, parents, and languages and sources of names.
        vectors: The search index over the matrix.
        trust_remote_code: Whether an encoder that is loaded by name may run third-party code.

    Example:
        ::

            index = ConceptIndex.build(Terminology.read("icd10cm"), "org/encoder", "icd10cm.index")
            index = ConceptIndex.load("icd10cm.index")
            for match in index.search(["heart attack"], k=3)[0]:
                print(match.concept, match.label, match.score)
    """

    def __init__(
        self, folder: Path, manifest: Manifest, catalog: Catalog, vectors: VectorIndex, encoder: NameEncoder | None
    ) -> None:
        super().__init__(catalog, vectors, encoder)
        self.folder, self.manifest = folder, manifest
        self.trust_remote_code = False
        self._reopened_with: SentenceTransformer | str | None = None
        if encoder is not None and not manifest.model:
            self._reopened_with = encoder.model

    # ------------------------------------------------------------------ making one

    @classmethod
    def build(
        cls,
        source: Terminology | LinkingDictionary | Catalog,
        model: SentenceTransformer | str | Path,
        folder: str | Path,
        *,
        kind: Kind | Literal["auto"] = "auto",
        similarity: Similarity | None = None,
        recall: float = 0.99,
        encoding: EncodingOptions = DEFAULTS,
        overwrite: bool = False,
    ) -> ConceptIndex:
        """Encode all names and index them. After an interruption, the same call continues from the last commit.

        Args:
            source: Concepts and their names.
            model: The encoder, or a name for :func:`~st_biomed.encoder.load_encoder`; only a name is recorded.
            folder: A new or empty folder. The index is built next to it, in ``.NAME.begun``, and moved when it is
                complete.
            kind: ``exact``, ``hnsw``, ``ivfpq``, or ``auto``: by number and size of the vectors, and recall.
            similarity: ``cosine``, ``dot`` or ``euclidean``; ``None`` for the model's own.
            recall: Target recall@1 of an approximate index, measured against exact search on two thousand names with
                one character left out.
            encoding: Options of the encoding.
            overwrite: Whether to replace an index in the folder, and to remove an interrupted encoding of another
                index.

        Raises:
            InputError: An argument out of range, a folder in use, an interrupted encoding of another index, or an
                earlier index that is not an index, damaged, or of another encoder or precision.
        """
        catalog = Catalog.of(source)
        check_kind(kind, len(catalog))
        if not 0 < recall <= 1:
            raise InputError(f"recall must be above 0 and at most 1, found {recall}")
        folder = Path(folder)
        with lock(folder):
            check_folder(folder, overwrite=overwrite)
            if encoding.earlier is not None:
                earlier_manifest(encoding.earlier)
            loaded = (
                model
                if isinstance(model, SentenceTransformer)
                else load_encoder(
                    model, device=encoding.device, trust_remote_code=encoding.trust_remote_code, exported=True
                )
            )
            similarity = similarity or cast(Similarity, loaded.similarity_fn_name or "cosine")
            if similarity not in get_args(Similarity):
                raise unknown_name("similarity", similarity, get_args(Similarity))
            digest = model_digest(loaded)
            with replacing(folder, resumable=True) as draft:
                encoding = resumed_options(draft, encoding, catalog, digest, anew=overwrite)
                encoder = NameEncoder(loaded, bf16=encoding.bf16, tokens_per_forward=encoding.tokens_per_forward)
                matrix = encode_names(draft, catalog, encoder, digest, similarity, encoding, anew=overwrite)
                vectors, measured = build_searchable_index(matrix, catalog, encoder, kind, similarity, recall)
                catalog.save(draft)
                vectors.save(draft / FAISS_FILE)
                shutil.rmtree(draft / PARTS, ignore_errors=True)
                manifest = Manifest(
                    kind=vectors.kind,
                    similarity=similarity,
                    effort=vectors.effort,
                    depth=vectors.depth,
                    names=len(catalog),
                    concepts=len(catalog.concepts),
                    dimension=matrix.shape[1],
                    dtype=encoding.dtype,
                    bf16=encoder.bf16,
                    model="" if isinstance(model, SentenceTransformer) else _recorded(model),
                    model_sha256=digest,
                    catalog_sha256=catalog.digest,
                    recall=measured.to_dict(),
                    sources=[source.to_dict() for source in catalog.sources],
                ).write(draft)
            (folder / PROGRESS).unlink()  # only now: a kill before would have begun the encoding anew
        index = cls(folder, manifest, catalog, vectors, encoder)
        logger.log(logging.INFO if measured.recall_at_1 >= recall else logging.WARNING, "%s", index.summary)
        return index

    @classmethod
    def load(
        cls,
        folder: str | Path,
        model: SentenceTransformer | str | Path | None = None,
        *,
        verify: bool = True,
        trust_remote_code: bool = False,
    ) -> ConceptIndex:
        """Open an index.

        Args:
            folder: A folder written by :meth:`build` or :meth:`save`.
            model: The encoder of the mentions, which must be the encoder of the names or its export; by default it is loaded by its
                recorded name on the first :meth:`search`.
            verify: Whether to compare the checksums of the vectors and the FAISS file, which reads them completely.
                Their sizes and the checksums of the other files are always compared.
            trust_remote_code: Whether the encoder may run third-party code; permission at build time does not carry
                over.

        Raises:
            InputError: No index, an interrupted encoding, a missing, truncated or changed file, or another model.
        """
        index = read_one_version(folder, lambda folder: cls._read(folder, verify))
        index.trust_remote_code = trust_remote_code
        if model is not None:
            index.use(model)
        return index

    @classmethod
    def _read(cls, folder: Path, verify: bool) -> ConceptIndex:
        manifest = Manifest.read(folder, verify=verify)
        catalog = Catalog.load(folder, list(manifest.source_infos))
        if (len(catalog), len(catalog.concepts)) != (manifest.names, manifest.concepts):
            raise InputError(f"{folder}: holds {len(catalog):,} names, but index.json records {manifest.names:,}")
        exact = manifest.kind == "exact"
        faiss_index = None if exact else VectorIndex.read_faiss_index(folder / FAISS_FILE, manifest.shape)
        vectors = VectorIndex(
            open_matrix(folder, manifest.shape),
            cast(Kind, manifest.kind),
            cast(Similarity, manifest.similarity),
            faiss_index=faiss_index,
            effort=manifest.effort,
            depth=manifest.depth,
        )
        return cls(folder, manifest, catalog, vectors, None)

    def use(self, model: SentenceTransformer | str | Path | None = None, *, device: str | None = None) -> NameEncoder:
        """Use this model to encode mentions.

        It must be the encoder of the names, or an export of it whose vectors are compared with those of the index.

        Args:
            model: The model, or its name; by default the recorded one.
            device: Device of a model that is given by name; ``None`` for the best available.

        Raises:
            InputError: The model is not the one that encoded the names, an export gives other vectors, or none is
                recorded.
        """
        recorded = self.manifest.model
        if not (model := model or recorded):
            raise InputError(f"{self.folder}: was built with a model given as an object; give it to load()")
        loaded = (
            model
            if isinstance(model, SentenceTransformer)
            else load_encoder(model, device=device, trust_remote_code=self.trust_remote_code, exported=True)
        )
        digest, expected = model_digest(loaded), self.manifest.model_sha256
        encoder = NameEncoder(loaded, bf16=None if self.manifest.bf16 else False)
        if digest != expected and (export := export_of(loaded)) is not None and export.source_sha256 == expected:
            matrix, texts = self.vectors.matrix, self.catalog.texts
            check_same_vectors(self.folder, encoder, matrix, texts, cast(Similarity, self.manifest.similarity))
        elif digest != expected:
            raise InputError(
                f"{self.folder}: was built with model {self.manifest.model or 'given as an object'} (sha256 "
                f"{expected[:12]}), this one has sha256 {digest[:12]}; give that model or build the index again"
            )
        self._encoder = encoder
        given = model if isinstance(model, SentenceTransformer) else _recorded(model)
        self._reopened_with = None if given == recorded else given
        return self._encoder

    def _recorded_encoder(self) -> NameEncoder:
        return self.use()

    def __reduce__(self) -> tuple[Any, ...]:
        """An index is pickled as its folder and opened again, so that ``Dataset.map`` need not copy its vectors."""
        digests = self.manifest.catalog_sha256, self.manifest.model_sha256
        return _reopened, (type(self), self.folder.resolve(), digests, self._reopened_with, self.trust_remote_code)

    def save(self, folder: str | Path) -> Path:
        """Copy the index atomically to a new or empty folder.

        Raises:
            InputError: The folder is in use, or the index was built again since it was loaded.
        """
        folder = Path(folder)
        with lock(folder):
            check_folder(folder, overwrite=False)
            with replacing(folder) as draft:
                for name in (HEADER, *Manifest.read(self.folder, verify=False).needed):
                    shutil.copyfile(self.folder / name, draft / name)
                if Manifest.read(draft, verify=True).files != self.manifest.files:
                    raise InputError(f"{self.folder}: is another index than the one that was loaded; load it again")
        return folder

    # ------------------------------------------------------------------ looking at it

    @property
    def summary(self) -> str:
        """Size, kind and measured recall on one line."""
        made, recall = self.manifest, self.manifest.recall
        text = f"{made.names:,} names of {made.concepts:,} concepts, {made.dimension} dimensions, {made.kind}"
        if made.kind == "exact":
            return f"{text}: recall@1 1 by construction"
        knob = "efSearch" if made.kind == "hnsw" else "nprobe"
        return (
            f"{text}: recall@1 {recall['recall_at_1']:.4f} against exact search on {recall['n_queries']:,} queries at "
            f"{knob} {made.effort}, {recall['times_faster']:.1f} times as fast"
        )

    def __len__(self) -> int:
        """Number of concepts."""
        return len(self.catalog.concepts)

    def __repr__(self) -> str:
        return f"ConceptIndex({self.summary})"


def _reopened(
    kind: type[ConceptIndex],
    folder: Path,
    digests: tuple[str, str],
    model: SentenceTransformer | str | None,
    trust_remote_code: bool,
) -> ConceptIndex:
    index = kind.load(folder, model, verify=False, trust_remote_code=trust_remote_code)
    if (index.manifest.catalog_sha256, index.manifest.model_sha256) != digests:
        raise InputError(f"{folder}: is another index than the one that was pickled")
    return index


def _recorded(model: str | Path) -> str:
    """A folder by its whole path, so that the index finds it from anywhere; an id as it is."""
    return str(Path(model).resolve()) if Path(model).is_dir() else str(model)
