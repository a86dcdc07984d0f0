/* spaCy's greedy recognizer: token by token, the valid action with the best score. The rules, the
   features and the order of columns are those of ner/transition. A state that's outside of entities
   depends on its token alone, so these are computed for a run of tokens at once, before the loop
   knows which of them are visited. */

enum { BEGIN = 1, UNIT, OUT, BLOCK };

typedef struct {
    int run;                     /* how many tokens are computed at once */
    int columns;                 /* how many actions there are outside */
    int64_t *column;             /* (columns), ascending */
    int64_t *label;              /* (columns) */
    uint8_t *kind;               /* (columns) */
    float *W, *b;                /* (columns, nH), (columns): their rows of `upper` */
    float *added;                /* (nH * nP) bias and pads of a state outside */
    float *open, *last;          /* (nH * nP) of a state in an entity: what stays, what changes */
    float *sums, *hidden, *scores; /* (run, nH * nP), (run, nH), (run, columns) */
    uint8_t *which;              /* (nH) */
    Linear lower, outside;       /* of the first feature; the `columns` of `upper` */
    void *memory, *panels;
} Workspace;

static int64_t begin_of(const Decoding *d, ptrdiff_t part) {
    return d->begins ? d->begins[part] : part ? d->ends[part - 1] : 0;
}

static int prepare(const Recognizer *m, const Decoding *d, Workspace *w) {
    w->run = 0; /* little memory for short docs: much of it is slow to get */
    for (ptrdiff_t part = 0; part < d->S; part++) {
        const int64_t length = d->ends[part] - begin_of(d, part);
        if (length > w->run) w->run = (int)(length < RUN ? length : RUN);
    }
    const size_t nS = (size_t)m->scorer.nH * m->scorer.nP, nC = m->scorer.nO;
    const size_t floats = nC * m->scorer.nH + nC + 3 * nS + w->run * (nS + m->scorer.nH + nC);
    char *memory = w->memory = malloc(nC * (2 * sizeof(int64_t) + 1) + m->scorer.nH + sizeof(float) * floats);
    if (!memory) return -1;
    w->column = (int64_t *)memory;
    w->label = w->column + nC;
    w->W = (float *)(w->label + nC);
    w->b = w->W + nC * m->scorer.nH;
    w->added = w->b + nC;
    w->open = w->added + nS;
    w->last = w->open + nS;
    w->sums = w->last + nS;
    w->hidden = w->sums + w->run * nS;
    w->scores = w->hidden + w->run * m->scorer.nH;
    w->kind = (uint8_t *)(w->scores + w->run * nC);
    w->which = w->kind + nC;
    memset(w->kind, 0, nC);
    for (size_t c = 0; c < nC; c++) w->label[c] = NO_LABEL;
    for (int k = 0; k < m->K; k++) {
        if (m->B[k] != NO_ACTION) w->kind[m->B[k]] = BEGIN, w->label[m->B[k]] = k;
        if (m->U[k] != NO_ACTION) w->kind[m->U[k]] = UNIT, w->label[m->U[k]] = k;
    }
    if (m->O != NO_ACTION) w->kind[m->O] = OUT;
    if (m->blocked != NO_ACTION) w->kind[m->blocked] = BLOCK;
    w->columns = 0;
    for (int64_t c = 0; c < m->scorer.nO; c++) {
        const int j = w->columns;
        if (!w->kind[c]) continue;
        w->kind[j] = w->kind[c];
        w->label[j] = w->label[c];
        w->column[j] = c;
        if (m->scorer.upper) {
            memcpy(w->W + (size_t)j * m->scorer.nH, m->scorer.upper + c * m->scorer.nH, sizeof(float) * (size_t)m->scorer.nH);
            w->b[j] = m->scorer.upper_b[c];
        }
        w->columns++;
    }
    for (size_t h = 0; h < nS; h++) {
        w->added[h] = m->scorer.b[h];
        for (int f = 1; f < m->scorer.nF; f++) w->added[h] += m->scorer.pad[f * nS + h];
    }
    const Linear lower = {m->scorer.W, NULL, NULL, (int)nS, 1, m->scorer.nI};
    const Linear outside = {w->W, w->b, NULL, w->columns, 1, m->scorer.nH};
    Linear functions[2] = {lower, outside};
    if (pack_all(functions, m->scorer.upper ? 2 : 1, d->batch, &w->panels)) {
        free(w->memory);
        return -1;
    }
    w->lower = functions[0];
    w->outside = functions[1];
    return 0;
}

/* hidden (nH) = the largest piece, NaN if one is NaN; the first of equals. Then dropout. */
static void hidden_layer(const Recognizer *m, const float *a, const float *b, const float *c,
                 const float *mask, float *hidden, uint8_t *which) {
    for (int h = 0; h < m->scorer.nH; h++) {
        float best = 0;
        for (int p = 0; p < m->scorer.nP; p++) {
            const int i = h * m->scorer.nP + p;
            const float sum = c ? a[i] + b[i] + c[i] : a[i] + b[i];
            if (p == 0 || sum > best || sum != sum) {
                best = sum;
                which[h] = (uint8_t)p;
            }
        }
        if (m->scorer.nP == 1 && m->relu) {
            which[h] = best >= 0;
            best *= which[h];
        }
        hidden[h] = mask ? best * mask[h] : best;
    }
}

/* out (N) = W x + b, with W (N, K) and b (N) or NULL */
static void multiply_one(const float *x, int K, const float *W, const float *b, int N, float *out) {
    const Linear f = {W, b, NULL, N, 1, K};
    multiply_rows(&f, x, 1, out);
}

static float score(const Recognizer *m, const float *hidden, int64_t column) {
    float sum;
    if (m->scorer.unseen && m->scorer.unseen[column]) return -FLT_MAX;
    if (!m->scorer.upper) return hidden[column];
    multiply_one(hidden, m->scorer.nH, m->scorer.upper + column * m->scorer.nH, m->scorer.upper_b + column, 1, &sum);
    return sum;
}

/* The features of the state after token t of an entity that began at s. */
static void advance(const Recognizer *m, Workspace *w, int64_t s, int64_t t) {
    const size_t nS = (size_t)m->scorer.nH * m->scorer.nP, size = nS * m->scorer.nI;
    const float *x = m->X + t * m->scorer.nI;
    if (t == s) memcpy(w->open, m->scorer.b, sizeof(float) * nS);
    if (m->scorer.nF == 3) { /* the tokens s and t */
        if (t == s) multiply_one(x, m->scorer.nI, m->scorer.W + size, m->scorer.b, (int)nS, w->open);
        multiply_one(x, m->scorer.nI, m->scorer.W + 2 * size, NULL, (int)nS, w->last);
    } else if (t - s < m->scorer.nF - 1) { /* the tokens s, s + 1, ... t; pads for the others */
        const int f = 1 + (int)(t - s);
        multiply_one(x, m->scorer.nI, m->scorer.W + f * size, NULL, (int)nS, w->last);
        for (size_t h = 0; h < nS; h++) {
            w->open[h] += w->last[h];
            w->last[h] = 0;
            for (int g = f + 1; g < m->scorer.nF; g++) w->last[h] += m->scorer.pad[g * nS + h];
        }
    }
}

/* The place of the best valid action at token i, or -1; the first of equals. */
static int best_outside(const Recognizer *m, const Workspace *w, const float *scores, int64_t i) {
    int best = -1;
    float highest = 0;
    for (int j = 0; j < w->columns; j++) {
        const int64_t begins = m->begins[i], units = m->units[i], label = w->label[j];
        switch (w->kind[j]) {
            case BEGIN: if (begins != ANY_LABEL && begins != label) continue; break;
            case UNIT: if (units != ANY_LABEL && units != label) continue; break;
            case OUT: if (!m->may_be_outside[i]) continue; break;
            case BLOCK: if (!m->is_blocked[i]) continue; break;
        }
        const float s = m->scorer.unseen && m->scorer.unseen[w->column[j]] ? -FLT_MAX : scores[j];
        if (best < 0 || s > highest) {
            best = j;
            highest = s;
        }
    }
    return best;
}

static int64_t best_inside(const Recognizer *m, int64_t i, int64_t label, const float *hidden) {
    const int64_t on = m->goes_on[i], closing = m->closes[i] == ANY_LABEL ? label : m->closes[i];
    const int64_t I = on == ANY_LABEL || on == label ? m->I[label] : NO_ACTION;
    const int64_t L = closing == NO_LABEL ? NO_ACTION : m->L[closing];
    if (I == NO_ACTION || L == NO_ACTION) return I == NO_ACTION ? L : I;
    const int64_t first = I < L ? I : L, second = I < L ? L : I;
    return score(m, hidden, second) > score(m, hidden, first) ? second : first;
}

static void decode_part(const Recognizer *m, Decoding *d, Workspace *w, ptrdiff_t part,
                        ptrdiff_t row) {
    const size_t nS = (size_t)m->scorer.nH * m->scorer.nP;
    const int64_t begin = begin_of(d, part), end = d->ends[part];
    int64_t label = d->begins ? d->labels[part] : NO_LABEL, start = d->begins ? d->starts[part] : 0;
    if (begin == end) return;
    if (label != NO_LABEL)
        for (int64_t t = start; t < begin; t++) advance(m, w, start, t);
    for (int64_t first = begin; first < end; first += w->run) {
        const int n = (int)(end - first < w->run ? end - first : w->run);
        multiply_rows(&w->lower, m->X + first * m->scorer.nI, n, w->sums);
        const ptrdiff_t offset = row;
        float *hidden = d->hidden ? d->hidden + row * m->scorer.nH : w->hidden;
        for (int k = 0; k < n; k++)
            hidden_layer(m, w->sums + k * nS, w->added, NULL, d->mask ? d->mask + (row + k) * m->scorer.nH : NULL,
                 hidden + k * m->scorer.nH, d->which ? d->which + (row + k) * m->scorer.nH : w->which);
        if (m->scorer.upper)
            multiply_rows(&w->outside, hidden, n, w->scores);
        else
            for (int k = 0; k < n; k++)
                for (int j = 0; j < w->columns; j++)
                    w->scores[k * w->columns + j] = hidden[k * m->scorer.nH + w->column[j]];
        for (int64_t i = first; i < first + n; i++, row++) {
            int64_t action;
            const ptrdiff_t k = row - offset;
            if (d->state_starts) {
                d->state_starts[row] = label == NO_LABEL ? -1 : start;
                d->state_labels[row] = label;
            }
            if (label == NO_LABEL) {
                const int j = best_outside(m, w, w->scores + k * w->columns, i);
                action = j < 0 ? NO_ACTION : w->column[j];
                if (j >= 0 && (w->kind[j] == BEGIN || w->kind[j] == UNIT)) {
                    d->ent_starts[d->entities] = start = i;
                    d->ent_labels[d->entities] = w->label[j];
                    if (w->kind[j] == BEGIN) {
                        label = w->label[j];
                        if (i + 1 < end) advance(m, w, i, i);
                    } else
                        d->ent_ends[d->entities++] = i + 1;
                }
            } else {
                hidden_layer(m, w->sums + k * nS, w->open, w->last,
                     d->mask ? d->mask + row * m->scorer.nH : NULL, hidden + k * m->scorer.nH,
                     d->which ? d->which + row * m->scorer.nH : w->which);
                action = best_inside(m, i, label, hidden + k * m->scorer.nH);
                if (action != NO_ACTION && action == m->I[label]) {
                    if (i + 1 < end) advance(m, w, start, i);
                } else if (action != NO_ACTION) {
                    d->ent_starts[d->entities] = start;
                    d->ent_labels[d->entities] = label;
                    d->ent_ends[d->entities++] = i + 1;
                    label = NO_LABEL;
                }
            }
            if (d->actions) d->actions[row] = action;
            if (action == NO_ACTION) return; /* spaCy gives up the rest of the doc */
        }
    }
    if (label != NO_LABEL) { /* still open at the end */
        d->ent_starts[d->entities] = start;
        d->ent_labels[d->entities] = label;
        d->ent_ends[d->entities++] = end;
    }
}

static int decode(const Recognizer *m, Decoding *d) {
    Workspace w;
    if (prepare(m, d, &w)) return -1;
    ptrdiff_t row = 0;
    for (ptrdiff_t part = 0; part < d->S; part++) {
        decode_part(m, d, &w, part, row);
        row += d->ends[part] - begin_of(d, part);
    }
    free(w.panels);
    free(w.memory);
    return 0;
}
