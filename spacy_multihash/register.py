"""Register everything by hand, for applications without the package's metadata.

Frozen applications import it with the package. Elsewhere, entry points do it. The imports are
plain, so that freezing tools follow them.
"""

from spacy import registry
from srsly.msgpack import msgpack_decoders

from . import compat
from .common import registered
from .compute.adam import make_adam_v1
from .corpus.evaluation import make_seen_unseen_scorer_v1
from .corpus.noise import make_char_noise_v1
from .embed import architectures as embed
from .embed.vector_tables import make_load_vectors_v1
from .encode import architectures as encode
from .ner.tagger import factory as tagger_factory  # noqa: F401 (it registers itself)
from .ner.tagger.architectures import build_token_tagger_v1
from .ner.transition import factory as batch_factory  # noqa: F401
from .parse import factory as parse_factory  # noqa: F401
from .pipelines.accelerate import make_use_product_ops_v1
from .pipelines.compress import make_keep_compressed_v1
from .pipelines.config import make_require_package_v1
from .pipelines.packed_arrays import decode
from .tables.set_tables import make_init_tables_v1
from .textcat.architectures import build_textcat_hash_embed_v1
from .vectors.compressed import make_compressed_vectors_v1

for _registry, _functions in (
    (
        registry.architectures,
        {
            registered.ITERATED_DILATED_ENCODER: encode.build_iterated_dilated_encoder_v1,
            registered.MAXOUT_WINDOW_ENCODER: encode.build_maxout_window_encoder_v1,
            registered.META_VECTORS: embed.build_meta_vectors_v1,
            registered.MULTI_EMBED: embed.build_multi_embed_v1,
            registered.MULTI_HASH_EMBED: embed.build_multi_hash_embed_v1,
            registered.MULTI_WEIGHTED_HASH_EMBED: embed.build_multi_weighted_hash_embed_v1,
            registered.TEXTCAT_HASH_EMBED: build_textcat_hash_embed_v1,
            registered.TOKEN_TAGGER: build_token_tagger_v1,
            registered.REPORT_MULTI_EMBED: compat.build_report_multi_embed_v1,
            registered.REPORT_MULTI_FEWER_HASH_EMBED: compat.build_report_multi_fewer_hash_embed_v1,
        },
    ),
    (registry.augmenters, {registered.CHAR_NOISE: make_char_noise_v1}),
    (
        registry.callbacks,
        {
            registered.SET_ATTR: compat.make_set_attr,
            registered.INIT_TABLES: make_init_tables_v1,
            registered.KEEP_COMPRESSED: make_keep_compressed_v1,
            registered.LOAD_VECTORS: make_load_vectors_v1,
            registered.REQUIRE_PACKAGE: make_require_package_v1,
            registered.USE_PRODUCT_OPS: make_use_product_ops_v1,
        },
    ),
    (registry.optimizers, {registered.ADAM: make_adam_v1}),
    (registry.scorers, {registered.SEEN_UNSEEN_SCORER: make_seen_unseen_scorer_v1}),
    (registry.vectors, {registered.COMPRESSED_VECTORS: make_compressed_vectors_v1}),
    (msgpack_decoders, {"spacy-multihash": decode}),
):
    for _name, _function in _functions.items():
        _registry.register(_name, func=_function)  # type: ignore[union-attr]
