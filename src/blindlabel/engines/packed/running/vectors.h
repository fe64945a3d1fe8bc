/* One version of all of it; `periodic.c` says with which vectors. */

#define COLUMNS (2 * LANES)
#define vector NAME(vector)
#define unsigned_vector NAME(unsigned_vector)
#define narrow_vector NAME(narrow_vector)

typedef i64 vector __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int32_t narrow_vector __attribute__((vector_size(8 * LANES), may_alias));
typedef u64 unsigned_vector __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

/* Values below the prime in two signed halves, both in one word: low below, high above. */
static inline vector NAME(halves)(vector values, u64 prime) {
    vector small = values - ((values > (i64)(prime / 2)) & (i64)prime);
    vector high = (small + (1 << (HALF - 1))) >> HALF;
    return high << 32 | ((small - (high << HALF)) & 0xffffffff);
}

/* values * factor modulo the prime, below four times the prime: the quotient, of which what the lower halves add is left
   out, is too small by less than 3.5. Values below 2^63. */
static inline vector NAME(times)(vector values, factor by, u64 prime) {
    vector zero = {0}, above = (vector)((unsigned_vector)values >> 32);
    vector share_above = (i64)(by.share >> 32) - zero, share_below = (i64)by.share - zero;
    vector quotient = TIMES_UNSIGNED(above, share_above);
    quotient += (vector)((unsigned_vector)TIMES_UNSIGNED(above, share_below) >> 32);
    quotient += (vector)((unsigned_vector)TIMES_UNSIGNED(values, share_above) >> 32);
    return values * (i64)by.value - quotient * (i64)prime;
}

/* What is at least so much, less by that. */
static inline vector NAME(less)(vector values, u64 most) {
    return values - ((values >= (i64)most) & (i64)most);
}

/* sums[row][digit] of ROWS rows by COLUMNS columns over the whole inner dimension, as low and high * 2^32. */
static void NAME(summed)(const int32_t *const left[ROWS], const u64 *right, long inner, vector sums[ROWS][3][2][2]) {
    narrow_vector narrow = {0};
    vector low[ROWS][3][2] = {0};
    for (int row = 0; row < ROWS; row++)
        for (int digit = 0; digit < 3; digit++) sums[row][digit][1][0] = sums[row][digit][1][1] = (vector){0};
    for (long start = 0; start < inner; start += FLUSH) {
        long end = start + FLUSH < inner ? start + FLUSH : inner;
        for (long k = start; k < end; k++) {
            vector below[2], above[2];
            for (int j = 0; j < 2; j++) {
                below[j] = *(const vector *)(right + k * COLUMNS + j * LANES);
                above[j] = below[j] >> 32;
            }
            for (int row = 0; row < ROWS; row++) {
                vector own = (vector)(left[row][2 * k] - narrow), own_above = (vector)(left[row][2 * k + 1] - narrow);
                for (int j = 0; j < 2; j++) {
                    low[row][0][j] += TIMES(own, below[j]);
                    low[row][1][j] += TIMES(own, above[j]) + TIMES(own_above, below[j]);
                    low[row][2][j] += TIMES(own_above, above[j]);
                }
            }
        }
        for (int row = 0; row < ROWS; row++)
            for (int digit = 0; digit < 3; digit++)
                for (int j = 0; j < 2; j++) {
                    sums[row][digit][1][j] += low[row][digit][j] >> 32;
                    low[row][digit][j] &= 0xffffffff;
                }
    }
    for (int row = 0; row < ROWS; row++)
        for (int digit = 0; digit < 3; digit++)
            for (int j = 0; j < 2; j++) sums[row][digit][0][j] = low[row][digit][j];
}

/* Sums put together and added to what was there before, below the prime. */
static inline vector NAME(reduced)(const powers *by, vector sums[3][2][2], int j, vector before, u64 prime) {
    vector middle = sums[1][0][j] + ((sums[0][1][j] + (1ll << BIAS)) << 2);
    vector high = sums[2][0][j] + ((sums[1][1][j] + (1ll << BIAS)) << 2);
    vector total = NAME(less)(NAME(times)(middle, by->middle, prime) + NAME(times)(high, by->high, prime), 4 * prime);
    total = NAME(less)(total + NAME(times)(sums[2][1][j] + (1ll << BIAS), by->highest, prime), 4 * prime);
    total += NAME(times)(sums[0][0][j], (factor){1, (u64)(((u128)1 << 64) / prime)}, prime);
    total = NAME(less)(NAME(less)(total, 4 * prime) + before + (i64)by->less, 4 * prime);
    return NAME(less)(NAME(less)(total, 2 * prime), prime);
}

/* out[row] += left[stretch][row][inner] * words[inner], each word[part][prime][stretch][length], of one prime: a
   stretch s and its mirror 2 * stride - 1 - s, of both parts, are columns of the same product. */
static int NAME(add_products)(const u64 *left, const u64 *words, u64 *out, long rows, long inner, long primes,
                              long index, long stride, long length, u64 prime) {
    long degree = 2 * stride * length, word = 2 * primes * degree;
    u64 *right = malloc(sizeof(u64) * inner * COLUMNS);
    if (!right) return 1;
    powers by = powers_of(prime);
    for (long stretch = 0; stretch < stride; stretch++)
        for (long first = 0; first < 4 * length; first += COLUMNS) {
            long place[COLUMNS];
            for (long column = 0; column < COLUMNS; column++) {
                long segment = (first + column) / length, at = (first + column) % length;
                long own = segment & 1 ? 2 * stride - 1 - stretch : stretch;
                place[column] = ((segment >> 1) * primes + index) * degree + own * length + at;
            }
            for (long k = 0; k < inner; k++) {
                vector *to = (vector *)(right + k * COLUMNS);
                for (long column = 0; column < COLUMNS; column++) ((u64 *)to)[column] = words[k * word + place[column]];
                for (int j = 0; j < 2; j++) to[j] = NAME(halves)(to[j], prime);
            }
            for (long top = 0; top < rows; top += ROWS) {
                long count = rows - top < ROWS ? rows - top : ROWS;
                const int32_t *own[ROWS];
                vector sums[ROWS][3][2][2], before = {0};
                for (long row = 0; row < ROWS; row++)
                    own[row] = (const int32_t *)(left + (stretch * rows + top + (row < count ? row : 0)) * inner);
                NAME(summed)(own, right, inner, sums);
                for (long row = 0; row < count; row++)
                    for (int j = 0; j < 2; j++) {
                        u64 *to = out + (top + row) * word;
                        for (int lane = 0; lane < LANES; lane++) before[lane] = (i64)to[place[j * LANES + lane]];
                        before = NAME(reduced)(&by, sums[row], j, before, prime);
                        for (int lane = 0; lane < LANES; lane++) to[place[j * LANES + lane]] = (u64)before[lane];
                    }
            }
        }
    free(right);
    return 0;
}

/* coefficients[pattern][place] of slots[pattern][column], signed: the inverse transform modulo the plaintext modulus,
   some patterns beside each other. `places` says at which two of the 2 * stride points a column stands. */
static int NAME(coefficients)(const u64 *slots, int32_t *out, long count, long stride, u64 prime,
                              const factor *roots, const int32_t *places) {
    u64 *x = malloc(sizeof(u64) * 2 * stride * BESIDE);
    if (!x) return 1;
    for (long first = 0; first < count; first += BESIDE) {
        long beside = count - first < BESIDE ? count - first : BESIDE;
        for (long column = 0; column < stride; column++)
            for (long b = 0; b < BESIDE; b++)
                x[places[column] * BESIDE + b] = x[places[stride + column] * BESIDE + b] =
                    slots[(first + (b < beside ? b : 0)) * stride + column];
        for (long half = 1, groups = stride; groups; half *= 2, groups /= 2)
            for (long group = 0; group < groups; group++)
                for (long at = 0; at < half * BESIDE; at += LANES) {
                    vector *one = (vector *)(x + 2 * group * half * BESIDE + at);
                    vector *other = (vector *)((u64 *)one + half * BESIDE), left = *one, right = *other;
                    *one = NAME(less)(left + right, 4 * prime);
                    *other = NAME(times)(left - right + (i64)(4 * prime), roots[groups + group], prime);
                }
        for (long at = 0; at < stride * BESIDE; at += LANES) {
            vector *one = (vector *)(x + at);
            *one = NAME(less)(NAME(less)(NAME(times)(*one, roots[0], prime), 2 * prime), prime);
        }
        for (long b = 0; b < beside; b++)
            for (long place = 0; place < stride; place++) {
                i64 value = (i64)x[place * BESIDE + b];
                out[(first + b) * stride + place] = (int32_t)(value > (i64)prime / 2 ? value - (i64)prime : value);
            }
    }
    free(x);
    return 0;
}

/* left[stretch][pattern], as halves, of coefficients[pattern][place]: the first half of the points of the transform. */
static int NAME(constants)(const int32_t *small, u64 *out, long count, long stride, u64 prime,
                           const factor *roots) {
    u64 *x = malloc(sizeof(u64) * 2 * stride * BESIDE);
    if (!x) return 1;
    for (long first = 0; first < count; first += BESIDE) {
        long beside = count - first < BESIDE ? count - first : BESIDE;
        for (long place = 0; place < stride; place++)
            for (long b = 0; b < BESIDE; b++) {
                i64 value = small[(first + (b < beside ? b : 0)) * stride + place];
                x[place * BESIDE + b] = (u64)(value < 0 ? value + (i64)prime : value);
                u64 mirrored = place ? (u64)(value > 0 ? (i64)prime - value : -value) : 0;
                x[(2 * stride - (place ? place : stride)) * BESIDE + b] = mirrored;
            }
        for (long groups = 1, half = stride; half; groups *= 2, half /= 2)
            for (long group = 0; group < (groups > 1 ? groups / 2 : 1); group++)
                for (long at = 0; at < half * BESIDE; at += LANES) {
                    vector *one = (vector *)(x + 2 * group * half * BESIDE + at);
                    vector *other = (vector *)((u64 *)one + half * BESIDE), kept = NAME(less)(*one, 4 * prime);
                    vector turned = NAME(times)(*other, roots[groups + group], prime);
                    *one = kept + turned;
                    *other = kept - turned + (i64)(4 * prime);
                }
        for (long stretch = 0; stretch < stride; stretch++)
            for (long at = 0; at < BESIDE; at += LANES) {
                vector value = *(vector *)(x + stretch * BESIDE + at);
                value = NAME(less)(NAME(less)(NAME(less)(value, 4 * prime), 2 * prime), prime);
                value = NAME(halves)(value, prime);
                for (long b = at; b < at + LANES && b < beside; b++)
                    out[stretch * count + first + b] = (u64)value[b - at];
            }
    }
    free(x);
    return 0;
}

#undef COLUMNS
#undef vector
#undef unsigned_vector
#undef narrow_vector
