/* What this machine can do on one thread, for limits.py: copies and sums of arrays, and multiply-adds in registers. */
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef float Vector __attribute__((vector_size(WIDTH), aligned(4), may_alias));

static inline void put(char* to, Vector value, int past_cache) {
#if defined(__AVX512F__)
    if (past_cache) { _mm512_stream_ps((float*)to, (__m512)value); return; }
#elif defined(__AVX__)
    if (past_cache) { _mm256_stream_ps((float*)to, (__m256)value); return; }
#elif defined(__SSE__)
    if (past_cache) { _mm_stream_ps((float*)to, (__m128)value); return; }
#endif
    *(Vector*)to = value;
}

/* Arrays begin at multiples of 64 bytes and are as many long. */
void stream_copy(char* to, const char* a, size_t bytes, int past_cache) {
    for (size_t i = 0; i < bytes; i += WIDTH) put(to + i, *(const Vector*)(a + i), past_cache);
}
void stream_add(char* to, const char* a, const char* b, size_t bytes, int past_cache) {
    for (size_t i = 0; i < bytes; i += WIDTH) put(to + i, *(const Vector*)(a + i) + *(const Vector*)(b + i), past_cache);
}

/* Returns how many multiply-adds of floats it did: as many chains side by side as there are registers for. */
int64_t multiply_add(int64_t rounds, float* result) {
    enum { chains = WIDTH == 64 ? 24 : 12 };
    typedef float Register __attribute__((vector_size(WIDTH)));
    Register sums[chains], x = {0}, y = {0};
    for (int i = 0; i < (int)(WIDTH / sizeof(float)); i++) x[i] = 0.999f, y[i] = 1e-3f * (float)(i + 1);
    for (int c = 0; c < chains; c++) sums[c] = y * (float)c;
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 24
        for (int c = 0; c < chains; c++) sums[c] = sums[c] * x + y;
    }
    for (int c = 1; c < chains; c++) sums[0] += sums[c];
    *result = sums[0][0];
    return rounds * chains * (int64_t)(WIDTH / sizeof(float));
}
