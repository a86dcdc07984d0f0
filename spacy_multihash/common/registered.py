"""The registered names that configs and messages need, each written once.

The entry points in setup.cfg register them: architectures, augmenters, callbacks, optimizers,
scorers and vectors.
"""

# Every name begins with it, except names from the paper by Miranda et al. 2022.
PREFIX = "spacy-multihash."

ITERATED_DILATED_ENCODER = "spacy-multihash.IteratedDilatedEncoder.v1"
MAXOUT_WINDOW_ENCODER = "spacy-multihash.MaxoutWindowEncoder.v1"
META_VECTORS = "spacy-multihash.MetaVectors.v1"
MULTI_EMBED = "spacy-multihash.MultiEmbed.v1"
MULTI_HASH_EMBED = "spacy-multihash.MultiHashEmbed.v1"
MULTI_WEIGHTED_HASH_EMBED = "spacy-multihash.MultiWeightedHashEmbed.v1"
TEXTCAT_HASH_EMBED = "spacy-multihash.TextCatHashEmbed.v1"
TOKEN_TAGGER = "spacy-multihash.TokenTagger.v1"

COMPRESSED_VECTORS = "spacy-multihash.CompressedVectors.v1"

INIT_TABLES = "spacy-multihash.init_tables.v1"
KEEP_COMPRESSED = "spacy-multihash.keep_compressed.v1"
LOAD_VECTORS = "spacy-multihash.load_vectors.v1"
REQUIRE_PACKAGE = "spacy-multihash.require_package.v1"
USE_PRODUCT_OPS = "spacy-multihash.use_product_ops.v1"

ADAM = "spacy-multihash.Adam.v1"
CHAR_NOISE = "spacy-multihash.char_noise.v1"
SEEN_UNSEEN_SCORER = "spacy-multihash.seen_unseen_scorer.v1"

# The report's own names: two architectures and a callback, see compat.py.
REPORT_MULTI_EMBED = "spacy.MultiEmbed.v1"
REPORT_MULTI_FEWER_HASH_EMBED = "spacy.MultiFewerHashEmbed.v1"
SET_ATTR = "set_attr"

# The factories of components, which their modules register.
BATCH_NER = "batch_ner"
BATCH_PARSER = "batch_parser"
INDEXED_ATTRIBUTE_RULER = "indexed_attribute_ruler"
TAGGER_NER = "tagger_ner"
