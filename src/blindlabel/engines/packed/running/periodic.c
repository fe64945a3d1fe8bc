/* The linear step on words, exactly as `periodic.py` and `matrices.py` do it with NumPy, which say what is computed
   and why: here is only how. Residues modulo primes below 2^60; how often every loop runs is public. Nothing is read or
   written but the arrays that are given. Whoever changes a signature changes the function's name.

   Every value is made small, |v| <= 2^59, and cut into two signed halves, v = low + high * 2^30, each of at most 2^29.
   So a product of halves has 58 bits, FLUSH of them (twice as many in the middle) add up within 63, and what is above
   32 bits is then moved to a second sum. The two versions differ in the width of vectors alone. */

#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>

typedef uint64_t u64;
typedef int64_t i64;
typedef unsigned __int128 u128;

enum { HALF = 30, FLUSH = 15, BESIDE = 8, BIAS = 43 };

/* A factor modulo a prime, with its share of the prime: factor * 2^64 / prime. */
typedef struct {
    u64 value, share;
} factor;

static factor factor_of(u128 value, u64 prime) {
    u64 rest = (u64)(value % prime);
    return (factor){rest, (u64)(((u128)rest << 64) / prime)};
}

/* What sums are put together with: low0 + 2^30 * (low1 + 4 * high0) + 2^60 * (low2 + 4 * high1) + 2^92 * high2. Highs
   are made positive by 2^BIAS, for which `less` makes up. */
typedef struct {
    factor middle, high, highest;
    u64 less;
} powers;

static powers powers_of(u64 prime) {
    u128 one = 1;
    powers by = {factor_of(one << 30, prime), factor_of(one << 60, prime), factor_of(one << 92, prime), 0};
    u128 bias = (one << (BIAS + 32)) % prime + (one << (BIAS + 62)) % prime;
    bias += (one << BIAS) % prime * by.highest.value % prime;
    by.less = prime - (u64)(bias % prime);
    return by;
}

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq")
#define NAME(what) JOINED(what, _avx512)
#define ROWS 4
#define LANES 8
#define TIMES(a, b) (vector) _mm512_mul_epi32((__m512i)(a), (__m512i)(b))
#define TIMES_UNSIGNED(a, b) (vector) _mm512_mul_epu32((__m512i)(a), (__m512i)(b))
#include "vectors.h"
#undef NAME
#undef ROWS
#undef LANES
#undef TIMES
#undef TIMES_UNSIGNED
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2")
#define NAME(what) JOINED(what, _avx2)
#define ROWS 2
#define LANES 4
#define TIMES(a, b) (vector) _mm256_mul_epi32((__m256i)(a), (__m256i)(b))
#define TIMES_UNSIGNED(a, b) (vector) _mm256_mul_epu32((__m256i)(a), (__m256i)(b))
#include "vectors.h"
#pragma GCC pop_options

/* 2 or 1: which version this processor can run; 0: none. */
int version(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512dq") ? 2 : __builtin_cpu_supports("avx2") ? 1 : 0;
}

int add_products(int which, const u64 *left, const u64 *words, u64 *out, long rows, long inner, long primes, long index,
                 long stride, long length, u64 prime) {
    return (which == 2 ? add_products_avx512 : add_products_avx2)(left, words, out, rows, inner, primes, index, stride,
                                                                  length, prime);
}

int coefficients(int which, const u64 *slots, int32_t *out, long count, long stride, u64 prime, const factor *roots,
                 const int32_t *places) {
    return (which == 2 ? coefficients_avx512 : coefficients_avx2)(slots, out, count, stride, prime, roots, places);
}

int constants(int which, const int32_t *small, u64 *out, long count, long stride, u64 prime, const factor *roots) {
    return (which == 2 ? constants_avx512 : constants_avx2)(small, out, count, stride, prime, roots);
}
