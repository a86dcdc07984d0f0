/* All kernels, for the instruction set of the file that includes this. */
#include "simd.h"

#include "product.h"

#include "panels.h"

#include "decode.h"

#include "maxout.h"

#include "embed.h"

#include "mix.h"

#include "viterbi.h"

#include "parse.h"

const Kernels TABLE = {
    .name = NAME,
    .affine = affine,
    .decode = decode,
    .maxout = maxout,
    .back_to_sums = back_to_sums,
    .back_to_input = back_to_input,
    .back_to_weights = back_to_weights,
    .encode = encode,
    .hash_embed = hash_embed,
    .hash_embed_backward = hash_embed_backward,
    .gather_sum = gather_sum,
    .scatter_sum = scatter_sum,
    .gather_dot = gather_dot,
    .hash_rows = hash_rows,
    .hash_ngrams = hash_ngrams,
    .look_up = look_up,
    .mix = mix,
    .viterbi = viterbi,
    .parse = parse,
};
