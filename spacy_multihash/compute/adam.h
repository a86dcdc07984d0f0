/* The loops of Adam. A part of plain.c, which includes it for each instruction set, and names the
   functions by NAMED. `RESTRICT`, constants in variables and loops without branches let compilers
   vectorize them. */

/* The step of n numbers: moments first, then weights. Operations, order and rounding are those of
   thinc's optimizer. */
static void NAMED(step_weights)(const Adam *p, int n, float *RESTRICT weights,
                                const float *RESTRICT gradient, float *RESTRICT mom1,
                                float *RESTRICT mom2) {
    const float clip = p->clip, beta1 = p->beta1, beta2 = p->beta2, eps = p->eps;
    const float rest1 = 1 - beta1, rest2 = 1 - beta2, learn_rate = p->learn_rate;
    const float decay = p->decay;
    for (int i = 0; i < n; i++) {
        const float slope = gradient[i] * clip;
        mom1[i] = mom1[i] * beta1 + slope * rest1;
        mom2[i] = mom2[i] * beta2 + rest2 * (slope * slope);
        const float weight = weights[i] - learn_rate * (mom1[i] / (sqrtf(mom2[i]) + eps));
        weights[i] = weight - decay * weight;
    }
}

static void NAMED(step_averages)(float rest, int n, const float *RESTRICT weights,
                                 float *RESTRICT averages) {
    for (int i = 0; i < n; i++) averages[i] = averages[i] - rest * (averages[i] - weights[i]);
}

/* Without a gradient and moments, only the decay is left. */
static void NAMED(step_blocks)(const Adam *p, ptrdiff_t n, float *weights, float *gradient,
                               float *mom1, float *mom2, float *averages, const uint8_t *is_zero,
                               uint8_t *has_moments) {
    for (ptrdiff_t first = 0; first < n; first += ADAM_BLOCK, is_zero++, has_moments++) {
        const int size = n - first < ADAM_BLOCK ? (int)(n - first) : ADAM_BLOCK;
        float *w = weights + first;
        *has_moments |= !*is_zero;
        if (*has_moments)
            NAMED(step_weights)(p, size, w, gradient + first, mom1 + first, mom2 + first);
        else if (p->decay != 0)
            for (int i = 0; i < size; i++) w[i] = w[i] - p->decay * w[i];
        if (!*is_zero) memset(gradient + first, 0, sizeof *gradient * (size_t)size);
        if (averages) NAMED(step_averages)(p->average_rest, size, w, averages + first);
    }
}

/* The sum of the squares of n numbers; and of each block, whether they are all 0. */
static double NAMED(squares)(ptrdiff_t n, const float *x, uint8_t *is_zero) {
    double total[LANES] = {0}, sum = 0;
    float last[ADAM_BLOCK] = {0};
    for (ptrdiff_t first = 0; first < n; first += ADAM_BLOCK, x += ADAM_BLOCK, is_zero++) {
        float sums[LANES] = {0};
        uint32_t bits = 0;
        if (n - first < ADAM_BLOCK) x = memcpy(last, x, sizeof *x * (size_t)(n - first));
        for (int i = 0; i < ADAM_BLOCK; i++) {
            uint32_t number;
            memcpy(&number, x + i, sizeof number);
            bits |= number;
        }
        *is_zero = (bits & 0x7fffffff) == 0; /* 0 or -0 */
        if (*is_zero) continue;
        for (int i = 0; i < ADAM_BLOCK; i += LANES)
            for (int j = 0; j < LANES; j++) sums[j] += x[i + j] * x[i + j];
        for (int j = 0; j < LANES; j++) total[j] += sums[j];
    }
    for (int j = 0; j < LANES; j++) sum += total[j];
    return sum;
}
