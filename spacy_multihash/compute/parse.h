/* spaCy's greedy dependency parser (arc-eager): from state to state, the valid action with the best
   score, the first of equals. A state's features are tokens, each with its own weights:

       sums    =  over features f, in order: W_f X[token of f], or pad_f;  then + b
       hidden  =  the largest piece of each sum
       scores  =  upper(hidden), or hidden itself in a model without `upper`

   All sums are taken in spaCy's order: a product's terms are added one after the other, by fused
   multiply-adds where the machine has them, as BLIS does. So weights are packed as in panels.h for
   any number of rows, anew in each call, and a doc's parse doesn't depend on its batch. `b` comes
   last here, and the rows are interleaved, so these products have loops of their own.

   A token's products with the weights of all features are computed once, for a run of tokens, and
   kept in a ring of rows. While the stack and the tokens put back are empty, only tokens from the
   next on and its left children can still be features, so the rows before these are free. */

enum { ARCS = 1 << LEFT | 1 << RIGHT };
/* Beside a bit for each kind of valid actions: whether those with the label "subtok" are invalid */
enum { NO_SUBTOK = 1 << 5, SETS = 1 << 6 };
enum { SENT_START, HEAD, DEP, PARSE_ATTRS };
enum {
    FEATURES = 13,     /* the most of a state */
    PANEL = WIDE * VL, /* columns of a panel of `lower` */
    HIGH = 4,          /* rows that are multiplied at once */
    BROAD = 8,         /* vectors of scores that are computed at once */
    TOKENS = 32,       /* whose products are computed at once */
    FIRST_RING = 128   /* rows of the ring at first, a power of 2 */
};

#if defined(__GNUC__)
INLINE vec_of_int larger(vec a, vec b) { return a > b; }
INLINE vec_of_int choose_int(vec_of_int mask, vec_of_int a, vec_of_int b) {
    return (mask & a) | (~mask & b);
}
INLINE vec choose(vec_of_int mask, vec a, vec b) {
    return (vec)choose_int(mask, (vec_of_int)a, (vec_of_int)b);
}
#else
INLINE vec_of_int larger(vec a, vec b) { return a > b; }
INLINE vec_of_int choose_int(vec_of_int mask, vec_of_int a, vec_of_int b) { return mask ? a : b; }
INLINE vec choose(vec_of_int mask, vec a, vec b) { return mask ? a : b; }
#endif

/* Memory for a product of sizes, NULL if there is not so much. */
static void *get_memory(size_t rows, size_t columns, size_t size) {
    if (columns && rows > SIZE_MAX / columns) return NULL;
    rows *= columns;
    return rows > SIZE_MAX / size ? NULL : malloc(rows ? rows * size : 1);
}

/* The weights of a parser, packed, and what a thread needs to go from state to state. */
typedef struct {
    const Parser *m;
    size_t H, O, S;             /* nH and nO in whole vectors; nF * nP * H in whole panels */
    unsigned kinds;             /* a bit for each kind of action that the model has */
    int has_subtok;
    int is_packed;              /* whether W is kept; a run of few tokens packs each panel in turn */
    float *W;                   /* (S / PANEL, 1 + nI, PANEL), or a panel: pieces apart, each (H) */
    float *b, *pad;             /* (nP * H), (S) */
    float *upper;               /* (1 + nH, O), or NULL */
    float *biases;              /* (SETS, O): -inf for actions that are invalid or never seen */
    int first[SETS];            /* the first valid column; -1 for a set that had no state yet */
    float *inputs;              /* (TOKENS / HIGH, nI, HIGH) */
    float *sums, *hidden, *scores; /* (nP * H), (H), (O) */

    const float *X;             /* (N, nI) of the batch */
    int64_t N, done, base;      /* the ring has the rows of the tokens [base, done) */
    int64_t size;               /* of the ring, a power of 2 */
    float *ring;                /* (size, S), or (N, S) if there are fewer tokens */
} Scorer;

/* A state of a doc, as in spaCy's StateC. */
typedef struct {
    int n, next;                /* tokens; the first that was never on the stack */
    int depth, back;            /* sizes of `stack` and `put_back` */
    int *stack, *put_back;      /* the tokens put back in front of the buffer, the first at the end */
    int *head, *action;         /* (n) of each token, -1 for none */
    int *left, *right;          /* (n) its latest child on each side, -1 for none */
    int *before;                /* (n) the child of its head, on its side, that came before it */
    int8_t *start;              /* (n) 1 for tokens that begin a sentence, -1 for those that can't */
    uint8_t *was_put_back;      /* (n) */
} ParseState;
enum { STATE_LISTS = 7 };

/* ------------------------------------------------------------------ products, in spaCy's order */

/* Interleaves n <= 4 rows (n, K), `by` apart -> columns (K, n), `ld` apart */
static void interleave(int n, const float *rows, size_t by, size_t K, float *columns, size_t ld) {
    size_t k = 0;
    for (; n == 4 && k + 4 <= K; k += 4) transpose(rows + k, by, columns + k * ld, ld);
    for (; k < K; k++)
        for (int i = 0; i < n; i++) columns[k * ld + i] = rows[i * by + k];
}

/* Y (R, C * VL) = X (K, R)' W (K, C * VL); rows of X, W and Y are `of_X`, `of_W` and `of_Y` apart */
INLINE void sum_in_order(const int R, const int C, const float *X, const int of_X, size_t K,
                         const float *W, size_t of_W, float *Y, size_t of_Y) {
    vec acc[HIGH][BROAD];
    UNROLL for (int r = 0; r < R; r++) UNROLL for (int c = 0; c < C; c++) acc[r][c] = zero();
    for (size_t k = 0; k < K; k++, X += of_X, W += of_W) {
        vec w[BROAD];
        UNROLL for (int c = 0; c < C; c++) w[c] = load(W + c * VL);
        UNROLL for (int r = 0; r < R; r++)
            UNROLL for (int c = 0; c < C; c++) acc[r][c] += X[r] * w[c];
    }
    UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int c = 0; c < C; c++) store(Y + r * of_Y + c * VL, acc[r][c]);
}

/* Packs a panel of `lower` (1 + nI, PANEL), first biases of 0: columns from j on, of which (f, p, h)
   is row (f, h, p) of W. Columns beyond the last are 0. */
static void pack_panel(const Scorer *s, size_t j, float *panel) {
    const size_t K = s->m->scorer.nI, nP = s->m->scorer.nP, nH = s->m->scorer.nH;
    for (int c = 0; c < WIDE; c++, j += VL) {
        const size_t f = j / s->H / nP, p = j / s->H % nP, h = j % s->H;
        const size_t row = f < (size_t)s->m->scorer.nF ? (f * nH + h) * nP + p : 0;
        const size_t n = f < (size_t)s->m->scorer.nF ? nH - h : 0;
        pack_vector(s->m->scorer.W + row * K, nP * K, NULL, 0, n < VL ? (int)n : VL, K, panel + c * VL,
                    PANEL);
    }
}

/* The products of n tokens with the weights of all features: X (n, nI) -> Y (n, S) */
static void multiply_features(const Scorer *s, const float *X, int n, float *Y) {
    const size_t K = s->m->scorer.nI;
    for (int i = 0; i < n; i += HIGH)
        interleave(n - i < HIGH ? n - i : HIGH, X + i * K, K, K, s->inputs + i * K, HIGH);
    for (size_t j = 0; j < s->S; j += PANEL) {
        float *panel = s->is_packed ? s->W + j * (1 + K) : s->W;
        if (!s->is_packed) pack_panel(s, j, panel);
        const float *W = panel + PANEL;
        for (int i = 0; i < n; i += HIGH) {
            const float *x = s->inputs + i * K;
            float *y = Y + i * s->S + j;
            switch (n - i) {
                case 1: sum_in_order(1, WIDE, x, HIGH, K, W, PANEL, y, s->S); break;
                case 2: sum_in_order(2, WIDE, x, HIGH, K, W, PANEL, y, s->S); break;
                case 3: sum_in_order(3, WIDE, x, HIGH, K, W, PANEL, y, s->S); break;
                default: sum_in_order(HIGH, WIDE, x, HIGH, K, W, PANEL, y, s->S);
            }
        }
    }
}

/* hidden (H), from the products of each feature's token */
INLINE void hide_features(const int nF, const int nP, const Scorer *s, const float *const *rows) {
    const size_t H = s->H;
    for (int p = 0; p < nP; p++)
        for (size_t h = p * H; h < (p + 1) * H; h += VL) {
            vec sum = load(rows[0] + h);
            UNROLL for (int f = 1; f < nF; f++) sum += load(rows[f] + h);
            store(s->sums + h, sum + load(s->b + h));
        }
    for (size_t h = 0; h < H; h += VL) {
        vec best = load(s->sums + h);
        for (int p = 1; p < nP; p++) {
            const vec sum = load(s->sums + p * H + h);
            /* Of two pieces, spaCy takes the second unless the first is larger, NaN or not */
            best = nP == 2 ? choose(larger(best, sum), best, sum)
                           : choose(larger(sum, best), sum, best);
        }
        store(s->hidden + h, best);
    }
}

/* scores (O) of the hidden layer, with the biases of a set of valid actions */
static void score_actions(const Scorer *s, const float *biases) {
    const Parser *m = s->m;
    const int V = (int)(s->O / VL);
    for (int v = 0; m->scorer.upper && v < V; v += BROAD) {
        const float *W = s->upper + s->O + v * VL; /* after biases of 0 */
        float *y = s->scores + v * VL;
#define CASE(c) \
    case c: sum_in_order(1, c, s->hidden, 1, m->scorer.nH, W, s->O, y, 0); break;
        switch (V - v) {
            CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7)
            default: sum_in_order(1, BROAD, s->hidden, 1, m->scorer.nH, W, s->O, y, 0);
        }
#undef CASE
    }
    const float *sums = m->scorer.upper ? s->scores : s->hidden; /* without upper, H is O */
    for (size_t o = 0; o < s->O; o += VL)
        store(s->scores + o, load(sums + o) + load(biases + o));
}

/* The column of the largest score, the first of equals; -1 if none is above -inf. NaN is none. */
static int largest_of(const float *scores, size_t O) {
    vec best = zero() - INFINITY;
    vec_of_int from = {0};
    for (size_t o = 0; o < O; o += VL) {
        const vec score = load(scores + o);
        const vec_of_int more = larger(score, best), here = (vec_of_int){0} + (int32_t)o;
        best = choose(more, score, best);
        from = choose_int(more, here, from);
    }
    float lanes[VL], top = -INFINITY;
    int32_t columns[VL], column = -1;
    store(lanes, best);
    memcpy(columns, &from, sizeof from);
    for (int i = 0; i < VL; i++) {
        const int32_t c = columns[i] + i;
        if (lanes[i] > top || (lanes[i] == top && column >= 0 && c < column)) {
            top = lanes[i];
            column = c;
        }
    }
    return column;
}

/* ------------------------------------------------------------------ the weights, packed */

static void pack_pads(Scorer *s) {
    const Parser *m = s->m;
    const size_t nF = m->scorer.nF, nP = m->scorer.nP, nH = m->scorer.nH, H = s->H;
    memset(s->b, 0, nP * H * sizeof *s->b);
    memset(s->pad, 0, s->S * sizeof *s->pad);
    for (size_t h = 0; h < nH; h++)
        for (size_t p = 0; p < nP; p++) {
            s->b[p * H + h] = m->scorer.b[h * nP + p];
            for (size_t f = 0; f < nF; f++)
                s->pad[(f * nP + p) * H + h] = m->scorer.pad[(f * nH + h) * nP + p];
        }
}

static void pack_actions(Scorer *s) {
    const Parser *m = s->m;
    const int nH = m->scorer.nH, nO = m->scorer.nO;
    s->kinds = 0;
    s->has_subtok = 0;
    for (int o = 0; o < nO; o++) {
        s->kinds |= 1u << m->kinds[o];
        s->has_subtok |= m->is_subtok[o];
    }
    for (int i = 0; i < SETS; i++) s->first[i] = -1;
    if (!m->scorer.upper) return;
    for (int o = 0; o < nO; o += VL)
        pack_vector(m->scorer.upper + (size_t)o * nH, nH, NULL, 0, nO - o < VL ? nO - o : VL, nH,
                    s->upper + o, (int)s->O);
}

/* The biases of a set of valid actions. Actions never seen in training have the lowest score of all
   in spaCy, so they're only taken if no other action is valid. */
static const float *biases_of(Scorer *s, unsigned set) {
    const Parser *m = s->m;
    float *biases = s->biases + set * s->O;
    if (s->first[set] >= 0) return biases;
    for (size_t o = 0; o < s->O; o++) {
        const int is_valid = o < (size_t)m->scorer.nO && set >> m->kinds[o] & 1 &&
                             !(set & NO_SUBTOK && m->is_subtok[o]);
        if (is_valid && s->first[set] < 0) s->first[set] = (int)o;
        biases[o] = !is_valid || (m->scorer.unseen && m->scorer.unseen[o]) ? -INFINITY
                    : m->scorer.upper                               ? m->scorer.upper_b[o]
                                                             : 0;
    }
    return biases;
}

/* Gets all memory for D docs of N tokens, which free_scorer frees. Returns -1 if there isn't enough. */
static int prepare_scorer(Scorer *s, const Parser *m, const float *X, int64_t N) {
    const size_t nP = m->scorer.nP;
    *s = (Scorer){.m = m, .X = X, .N = N, .size = FIRST_RING};
    s->H = whole_vectors(m->scorer.nH);
    s->O = whole_vectors(m->scorer.nO);
    s->S = (m->scorer.nF * nP * s->H + PANEL - 1) / PANEL * PANEL;
    if (s->O > INT32_MAX) return -1;
    s->is_packed = N > TOKENS;
    s->W = get_memory(s->is_packed ? s->S : PANEL, 1 + (size_t)m->scorer.nI, sizeof(float));
    s->b = get_memory(2 * nP * s->H + s->H + s->O + s->S, 1, sizeof(float));
    s->upper = m->scorer.upper ? get_memory(s->O, 1 + (size_t)m->scorer.nH, sizeof(float)) : NULL;
    s->biases = get_memory(s->O, SETS, sizeof(float));
    s->inputs = get_memory(m->scorer.nI, TOKENS, sizeof(float));
    s->ring = get_memory(s->S, s->size < N ? s->size : N, sizeof(float));
    if (!s->W || !s->b || (m->scorer.upper && !s->upper) || !s->biases || !s->inputs || !s->ring)
        return -1;
    s->sums = s->b + nP * s->H;
    s->hidden = s->sums + nP * s->H;
    s->scores = s->hidden + s->H;
    s->pad = s->scores + s->O;
    pack_pads(s);
    pack_actions(s);
    for (size_t j = 0; s->is_packed && j < s->S; j += PANEL) pack_panel(s, j, s->W + j * (1 + m->scorer.nI));
    return 0;
}

static void free_scorer(Scorer *s) {
    free(s->W);
    free(s->b);
    free(s->upper);
    free(s->biases);
    free(s->inputs);
    free(s->ring);
}

/* ------------------------------------------------------------------ the ring of products */

static float *row_of(const Scorer *s, int64_t token) {
    return s->ring + (size_t)(token & (s->size - 1)) * s->S;
}

/* Doubles the ring, for a long sentence. */
static int grow_ring(Scorer *s) {
    Scorer larger = *s;
    larger.size *= 2;
    larger.ring = get_memory(s->S, larger.size < s->N ? larger.size : s->N, sizeof(float));
    if (!larger.ring) return -1;
    for (int64_t t = s->base; t < s->done; t++)
        memcpy(row_of(&larger, t), row_of(s, t), s->S * sizeof(float));
    free(s->ring);
    *s = larger;
    return 0;
}

/* Computes the products up to a token of the batch. */
static int compute_products(Scorer *s, int64_t token) {
    if (s->done < s->base) s->done = s->base;
    while (s->done <= token) {
        int64_t n = s->N - s->done < TOKENS ? s->N - s->done : TOKENS;
        if (s->done + n - s->base > s->size && grow_ring(s)) return -1;
        const int64_t rest = s->size - (s->done & (s->size - 1)); /* up to the end of the ring */
        if (n > rest) n = rest;
        multiply_features(s, s->X + (size_t)s->done * s->m->scorer.nI, (int)n, row_of(s, s->done));
        s->done += n;
    }
    return 0;
}

/* ------------------------------------------------------------------ states */

INLINE int of_stack(const ParseState *s, int i) {
    return i < s->depth ? s->stack[s->depth - 1 - i] : -1;
}

INLINE int of_buffer(const ParseState *s, int i) {
    if (i < s->back) return s->put_back[s->back - 1 - i];
    const int token = s->next + i - s->back;
    return token < s->n ? token : -1;
}

INLINE int child(const int *latest, int token) { return token < 0 ? -1 : latest[token]; }

/* The tokens of a state's features, -1 for none: StateC.set_context_tokens. */
static void list_features(const ParseState *s, int nF, int *tokens) {
    const int b0 = of_buffer(s, 0), s0 = of_stack(s, 0), s1 = of_stack(s, 1);
    tokens[0] = b0;
    tokens[1] = of_buffer(s, 1);
    tokens[2] = s0;
    tokens[3] = s1;
    tokens[4] = of_stack(s, 2);
    if (nF == 8) {
        tokens[5] = child(s->left, b0);
        tokens[6] = child(s->left, s0);
        tokens[7] = child(s->right, s0);
    } else { /* spaCy sets the feature 6 twice, and so has no second left child of s0 */
        tokens[5] = child(s->left, s0);
        tokens[6] = child(s->right, s0);
        tokens[7] = child(s->left, b0);
        tokens[8] = child(s->before, tokens[6]);
        tokens[9] = child(s->left, s1);
        tokens[10] = child(s->before, tokens[9]);
        tokens[11] = child(s->right, s1);
        tokens[12] = child(s->before, tokens[11]);
    }
}

/* The kinds of actions that are valid, a bit for each: `is_valid` of spaCy's arc_eager.pyx. */
static unsigned valid_kinds(const ParseState *s) {
    const int size = s->n - s->next + s->back, b0 = of_buffer(s, 0), b1 = of_buffer(s, 1);
    const int starts = b0 >= 0 && s->start[b0] == 1;
    unsigned valid = 0;
    if (s->depth == 0)
        valid |= 1 << SHIFT;
    else {
        if (size >= 2 && !starts && !s->was_put_back[b0]) valid |= 1 << SHIFT;
        if (size == 0 || s->depth > 1 || s->start[b0] != -1) valid |= 1 << REDUCE;
        if (size > 0 && !starts) valid |= ARCS;
    }
    if (size >= 2 && b1 == b0 + 1 && s->start[b1] == 0) valid |= 1 << BREAK;
    return valid;
}

static void push(ParseState *s) {
    s->stack[s->depth++] = s->back ? s->put_back[--s->back] : s->next++;
}

/* Adds an arc to `latest`, the left or right children of each token. */
static void add_arc(ParseState *s, int *latest, int head, int token, int action) {
    s->head[token] = head;
    s->action[token] = action;
    s->before[token] = latest[head];
    latest[head] = token;
}

/* Takes an action: `transition` of spaCy's arc_eager.pyx. */
static void act(ParseState *s, int kind, int action) {
    const int s0 = of_stack(s, 0), b0 = of_buffer(s, 0);
    switch (kind) {
        case SHIFT: push(s); break;
        case REDUCE:
            s->depth--;
            if (s->head[s0] < 0 && s->depth > 0) {
                s->put_back[s->back++] = s0;
                s->was_put_back[s0] = 1;
            }
            break;
        case LEFT: /* in the place of another arc, which is the latest of its head */
            if (s->head[s0] >= 0) s->right[s->head[s0]] = s->before[s0];
            add_arc(s, s->left, b0, s0, action);
            s->was_put_back[b0] = 0;
            s->depth--;
            break;
        case RIGHT: /* a token with a head is never put back, so b0 has none */
            add_arc(s, s->right, s0, b0, action);
            push(s);
            break;
        case BREAK: s->start[of_buffer(s, 1)] = 1; break;
    }
}

/* The best of the valid actions of a state, in a doc whose first token is `offset`. */
static int best_action(const ParseState *s, Scorer *w, int64_t offset, unsigned valid) {
    const Parser *m = w->m;
    int tokens[FEATURES];
    const float *rows[FEATURES];
    list_features(s, m->scorer.nF, tokens);
    for (int f = 0; f < m->scorer.nF; f++)
        rows[f] = (tokens[f] < 0 ? w->pad : row_of(w, offset + tokens[f])) + f * m->scorer.nP * w->H;
    if (m->scorer.nF == 8 && m->scorer.nP == 2)
        hide_features(8, 2, w, rows);
    else
        hide_features(m->scorer.nF, m->scorer.nP, w, rows);
    if (w->has_subtok && of_stack(s, 0) != of_buffer(s, 0) - 1) valid |= NO_SUBTOK;
    score_actions(w, biases_of(w, valid));
    /* spaCy begins with the first valid action, and stays with it if its score is NaN */
    const int first = w->first[valid], best = largest_of(w->scores, w->O);
    const int stays = isnan(w->scores[first]) && !(m->scorer.unseen && m->scorer.unseen[first]);
    return best < 0 || stays ? first : best;
}

static int parse_doc(ParseState *s, Scorer *w, int64_t offset) {
    s->next = s->depth = s->back = 0;
    while (s->depth > 0 || s->back > 0 || s->next < s->n) {
        const unsigned valid = valid_kinds(s) & w->kinds;
        int kind = SHIFT, action = -1;
        if (!valid) { /* spaCy gives up, except for the tokens that were put back */
            if (s->depth == 0 && s->next == s->n) return 0;
            s->depth = 0;
            s->next = s->n;
            continue;
        }
        if (s->depth == 0 && s->back == 0)
            w->base = offset + (s->left[s->next] < 0 ? s->next : s->left[s->next]);
        if (valid & ARCS || valid & (valid - 1)) {
            const int last = s->next + 1 < s->n ? s->next + 1 : s->n - 1;
            if (compute_products(w, offset + last)) return -1;
            action = best_action(s, w, offset, valid);
            kind = w->m->kinds[action];
        } else /* a single valid action needs no scores */
            while (!(valid >> kind & 1)) kind++;
        act(s, kind, action);
    }
    return 0;
}

static int parse(const Parser *m, const Parsing *d) {
    size_t longest = 0, N = 0;
    for (ptrdiff_t i = 0; i < d->D; N += d->lengths[i++])
        if ((size_t)d->lengths[i] > longest) longest = d->lengths[i];
    ParseState s = {0};
    Scorer w;
    int *lists = get_memory(longest, STATE_LISTS * sizeof(int) + 2, 1);
    int failed = prepare_scorer(&w, m, d->X, N) || !lists;
    if (!failed) {
        int **const list_of[STATE_LISTS] = {&s.head, &s.action,   &s.left, &s.right,
                                            &s.before, &s.stack, &s.put_back};
        for (int i = 0; i < STATE_LISTS; i++) *list_of[i] = lists + i * longest;
        s.start = (int8_t *)(lists + STATE_LISTS * longest);
        s.was_put_back = (uint8_t *)s.start + longest;
    }
    int64_t offset = 0;
    for (ptrdiff_t i = 0; i < d->D && !failed; offset += d->lengths[i++]) {
        const int n = s.n = (int)d->lengths[i];
        const uint64_t *attrs = d->attrs + PARSE_ATTRS * offset;
        for (int *list = s.head; list < s.stack; list += longest) memset(list, -1, n * sizeof *list);
        memset(s.was_put_back, 0, n);
        for (int t = 0; t < n; t++) {
            const int64_t start = (int64_t)attrs[PARSE_ATTRS * t + SENT_START];
            s.start[t] = (int8_t)((start == 1) - (start == -1));
        }
        failed = parse_doc(&s, &w, offset);
        for (int t = 0; t < n; t++) { /* a token without an arc keeps its head */
            const int action = s.action[t];
            const uint64_t *kept = attrs + PARSE_ATTRS * t;
            int64_t *head = d->heads + offset + t;
            *head = action < 0 ? (int32_t)kept[HEAD] : s.head[t] - t;
            d->deps[offset + t] = !*head ? m->root : action < 0 ? kept[DEP] : m->labels[action];
            d->is_decorated[offset + t] = action < 0 ? *head != 0 : m->is_decorated[action];
        }
    }
    free(lists);
    free_scorer(&w);
    return -failed;
}
