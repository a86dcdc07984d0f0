/* What the kernels take and return, the same for every instruction set. All arrays are contiguous
   and row-major. Functions that return an int return 0, or -1 if there isn't enough memory. */
#ifndef SPACY_MULTIHASH_KERNELS_H
#define SPACY_MULTIHASH_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* Vectors and other extensions of GCC and Clang, unless a build does without them, as compilers must
   that have none: CI checks these files in plain C. */
#if defined(__GNUC__) && !defined(SPACY_MULTIHASH_PLAIN_C)
#define EXTENSIONS 1
#else
#define EXTENSIONS 0
#endif
#if EXTENSIONS && defined(__x86_64__)
#define EXTENSIONS_X86_64 1
#else
#define EXTENSIONS_X86_64 0
#endif

#if defined(_MSC_VER)
#define RESTRICT __restrict
#else
#define RESTRICT restrict
#endif

#undef I /* of complex.h, which numpy's headers include: here it's a kind of action */

/* In place of the column of an action, as in ner/transition/rules.py; likewise for labels. */
enum { NO_ACTION = -1, ANY_LABEL = -1, NO_LABEL = -2 };

/* What scores the states of a transition system, by nF of their tokens (ner/transition/states.py). */
typedef struct {
    const float *W, *b, *pad;         /* (nF, nH * nP, nI), (nH * nP), (nF, nH * nP) */
    const float *upper, *upper_b;     /* (nO, nH), (nO), or NULL: then nO = nH */
    const uint8_t *unseen;            /* (nO), or NULL */
    int nI, nF, nH, nP, nO;
} StateScorer;

/* A recognizer's weights and actions, and what the N tokens of a batch allow (decode.h). */
typedef struct {
    StateScorer scorer;
    const float *X;                   /* (N, nI) */
    const int64_t *B, *I, *L, *U;     /* (K) columns */
    int64_t O, blocked;               /* columns */
    const int64_t *begins, *units;    /* (N) labels, and so on: Rules in ner/transition/rules.py */
    const int64_t *goes_on, *closes, *may_be_outside, *is_blocked;
    int K;
    int relu;                         /* whether a single piece is a ReLU, as in training */
} Recognizer;

/* Parts of docs to decode, and the states and entities found there (decode.h). */
typedef struct {
    const int64_t *ends;              /* (S) tokens */
    const int64_t *begins;            /* (S) tokens, or NULL: a part begins where one has ended */
    const int64_t *starts, *labels;   /* (S) the entity that's open at the first token, NO_LABEL */
    ptrdiff_t S, batch;               /* parts; tokens of the batch that these are a part of */
    const float *mask;                /* (R, nH) or NULL; R is the number of tokens of all parts */
    int64_t *state_starts;            /* (R) first token of the open entity, -1 outside; or NULL */
    int64_t *state_labels, *actions;  /* (R) label, column; NO_ACTION if the state isn't visited */
    float *hidden;                    /* (R, nH), or NULL */
    uint8_t *which;                   /* (R, nH), or NULL */
    int64_t *ent_starts, *ent_ends, *ent_labels; /* (R) */
    ptrdiff_t entities;               /* how many there are */
} Decoding;

/* The kinds of a parser's actions, in the order of parse/actions.py. */
enum { SHIFT, REDUCE, LEFT, RIGHT, BREAK };

/* A dependency parser's weights and actions (parse.h). */
typedef struct {
    StateScorer scorer;
    const uint8_t *kinds;             /* (nO) SHIFT, ... BREAK */
    const uint8_t *is_subtok;         /* (nO) whether an arc has the label "subtok", */
    const uint8_t *is_decorated;      /* (nO) or one that nonproj.deprojectivize splits */
    const uint64_t *labels;           /* (nO) */
    uint64_t root;                    /* the label of tokens that are their own head */
} Parser;

/* Docs to parse, one after the other, and their parses (parse.h). */
typedef struct {
    const float *X;                   /* (N, nI) */
    const uint64_t *attrs;            /* (N, 3) SENT_START, HEAD and DEP */
    const int64_t *lengths;           /* (D) */
    ptrdiff_t D;
    int64_t *heads;                   /* (N) as offsets, 0 for roots */
    uint64_t *deps;                   /* (N) */
    uint8_t *is_decorated;            /* (N) whether nonproj.deprojectivize may change the token */
} Parsing;

/* A layer over windows of rows (maxout.h). */
typedef struct {
    const float *W, *b;               /* (nO, nP, (2 * window + 1) * nI), (nO, nP) */
    const float *G, *beta;            /* (nO) of layer norm, or NULL */
    int nI, nO, nP, window, dilation;
    int relu, residual;               /* whether a single piece is a ReLU; whether Y adds X */
} Layer;

/* Docs, one after the other: how many rows of padding are around each of them before the layer and
   after it, and whether one more row, the first of all, stands for the padding beyond these. Without
   it that's zeros. */
typedef struct {
    const int64_t *lengths;           /* (D) */
    ptrdiff_t D;
    int before, after, pad;
} Docs;

enum { MAX_HASHES = 16 };

/* The tables of A columns, or their gradients, and how ids are hashed into each (embed.h). */
typedef struct {
    float *const *tables;             /* (A): each (nV, W) */
    const uint32_t *nV, *seeds;       /* (A), (A, 4) */
    const int32_t *num_hashes;        /* (A) */
    int A, W;
} Tables;

/* The rows of a table that the symbols of tokens fall on (embed.h). */
typedef struct {
    const int32_t *rows;              /* (M, K) */
    const float *weights;             /* (M, K), or NULL */
    const int64_t *ends;              /* (U) where the symbols of each token end; NULL: one each */
    int K, W, mean;                   /* mean: whether to divide by the number of symbols */
} Bags;

/* How the symbols of a column become rows of a table, whose sum is the column's vector (mix.h). */
typedef struct {
    const float *table;               /* (nV, W) */
    const uint64_t *keys;             /* (V) ascending, of which each has a row; NULL: hashed to K */
    const int32_t *row_of;            /* (V); symbols that aren't among the keys have row 0 */
    ptrdiff_t V;
    const float *importance;          /* (importance_rows, K) by hashing: factors of rows; or NULL */
    uint32_t nV, importance_rows, seeds[MAX_HASHES / 4], importance_seed;
    int K, W, is_bag, mean;
    int is_appended;                  /* whether the sum of the factors follows, K more numbers */
} Column;

/* The symbols of U tokens, and vectors of theirs that aren't in tables (mix.h). */
typedef struct {
    const uint64_t *ids;              /* (U, columns with one symbol a token) */
    const uint64_t *const *bags;      /* of each other column (M), token by token, */
    const int64_t *const *ends;       /* and where those of each token end (U) */
    const float *given;               /* (U, width), or NULL */
    int width;
} Tokens;

/* What is known of a token, as bits: compute/viterbi.py (viterbi.h). */
enum { STARTS = 1, SPACES = 2, OUTSIDE = 4 };

/* The numbers of a step of Adam (plain.c). */
typedef struct {
    float clip, beta1, beta2, eps;
    float learn_rate;                 /* with the correction of the moments' bias */
    float decay, average_rest;        /* shares of the weights: that decays, in the averages */
} Adam;

enum { ADAM_BLOCK = 64 }; /* numbers; of each block, `is_zero` and `has_moments` are known */

double sum_squares(ptrdiff_t n, const float *x, uint8_t *is_zero);
void adam(const Adam *, ptrdiff_t n, float *weights, float *gradient, float *mom1, float *mom2,
          float *averages, const uint8_t *is_zero, uint8_t *has_moments);
ptrdiff_t distinct_rows(const uint64_t *ids, ptrdiff_t n, int C, int64_t *first,
                        int32_t *group_of);

/* Where n rows are a part of a batch, `batch` is the number of all its rows: how sums are taken
   depends on it (panels.h), and not on the part. */
typedef struct {
    const char *name;
    /* out (n, N) = X (n, K) W' + b, with W (N, K) and b (N) or NULL */
    int (*affine)(const float *X, ptrdiff_t n, ptrdiff_t batch, int K, const float *W,
                  const float *b, int N, float *out);
    int (*decode)(const Recognizer *, Decoding *);
    int (*maxout)(const Layer *, const Docs *, const float *X, ptrdiff_t first, ptrdiff_t last,
                  const float *mask, float *Y, uint8_t *which, float *Xhat, float *scale);
    void (*back_to_sums)(const Layer *, ptrdiff_t n, const float *dY, const float *Xhat,
                         const float *scale, const uint8_t *which, float *d);
    int (*back_to_input)(const Layer *, const Docs *, const float *d, const uint8_t *which,
                         const float *dY, ptrdiff_t first, ptrdiff_t last, float *dX);
    int (*back_to_weights)(const Layer *, const Docs *, const float *X, ptrdiff_t N,
                           const float *d, const uint8_t *which, const float *dY,
                           const float *Xhat, int low, int high, float *dW, float *db, float *dG,
                           float *dbeta);
    int (*encode)(const Layer *, int L, int pad, const int64_t *lengths, ptrdiff_t D,
                  ptrdiff_t batch, const float *X, float *Y);
    void (*hash_embed)(const Tables *, const uint64_t *ids, ptrdiff_t first, ptrdiff_t last,
                       int32_t *rows, float *vectors);
    void (*hash_embed_backward)(const Tables *, const int32_t *rows, const float *d_vectors,
                                ptrdiff_t U, int low, int high);
    void (*gather_sum)(const Bags *, const float *table, ptrdiff_t first, ptrdiff_t last,
                       float *out, ptrdiff_t stride);
    void (*scatter_sum)(const Bags *, float *table, ptrdiff_t U, const float *d, ptrdiff_t stride,
                        int low, int high);
    void (*gather_dot)(const Bags *, const float *table, ptrdiff_t first, ptrdiff_t last,
                       const float *d, ptrdiff_t stride, float *d_weights);
    void (*hash_rows)(const uint64_t *ids, ptrdiff_t n, uint32_t nV, const uint32_t *seeds, int K,
                      int32_t *rows);
    void (*hash_ngrams)(const uint64_t *ids, const int64_t *lengths, ptrdiff_t D,
                        const int32_t *orders, int num_orders, uint64_t *ngrams);
    void (*look_up)(const uint64_t *ids, ptrdiff_t n, const uint64_t *keys, const int32_t *row_of,
                    ptrdiff_t V, int32_t *rows);
    /* Also returns 1 if a table lacks a row of a symbol that was looked up. */
    int (*mix)(const Column *, int A, const Layer *, const Tokens *, ptrdiff_t first,
               ptrdiff_t last, ptrdiff_t batch, float *Y);
    int (*viterbi)(const float *scores, int K, const double *transitions, const uint8_t *known,
                   const int64_t *lengths, ptrdiff_t D, int64_t *tags);
    int (*parse)(const Parser *, const Parsing *);
} Kernels;

/* The kernels of an instruction set: "baseline", "avx2", "avx512", or NULL if the machine lacks it. */
const Kernels *find_kernels(const char *name);

/* The name of the set that's the fastest on processors of this kind, by what was measured: AVX-512 on
   Intel's, if GCC compiled it. (On AMD's Zen 4, AVX2 was faster. Clang keeps too few registers.) */
const char *best_kernels(void);

#endif
