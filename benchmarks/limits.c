/* What this machine can do: copies and sums of arrays and multiply-adds in registers on one thread, for limits.py; memory read and written
   and multiply-adds on some threads, for peers/bounds.py. */
#include <pthread.h>
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

/* As many chains side by side as there are registers for. */
enum { chains = WIDTH == 64 ? 24 : 12 };
typedef float Register __attribute__((vector_size(WIDTH)));
static int64_t multiply_adds(int64_t rounds) { return rounds * chains * (int64_t)(WIDTH / sizeof(float)); }

/* Returns how many multiply-adds of floats it did. */
int64_t multiply_add(int64_t rounds, float* result) {
    Register sums[chains], x = {0}, y = {0};
    for (int i = 0; i < (int)(WIDTH / sizeof(float)); i++) x[i] = 0.999f, y[i] = 1e-3f * (float)(i + 1);
    for (int c = 0; c < chains; c++) sums[c] = y * (float)c;
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 24
        for (int c = 0; c < chains; c++) sums[c] = sums[c] * x + y;
    }
    for (int c = 1; c < chains; c++) sums[0] += sums[c];
    *result = sums[0][0];
    return multiply_adds(rounds);
}

/* Products of AMX tiles, two by two, that are loaded from the first cache: `data` are 4 KB of bfloat16, or of int8 if `bytes`. The clock
   depends on the numbers. Returns how many multiply-adds it did, 0 without AMX. */
#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
int64_t tile_products(int64_t rounds, int bytes, const char* data) {
    struct { uint8_t palette, start, none[14]; uint16_t row_bytes[16]; uint8_t rows[16]; } shapes __attribute__((aligned(64))) = {.palette = 1};
    for (int i = 0; i < 8; i++) shapes.row_bytes[i] = 64, shapes.rows[i] = 16;
    if (syscall(SYS_arch_prctl, 0x1023 /* ARCH_REQ_XCOMP_PERM */, 18 /* tile data */)) return 0;
    _tile_loadconfig(&shapes);
    for (int64_t r = 0; r < rounds; r++) {
        _tile_loadd(4, data, 64);
        _tile_loadd(6, data + 2048, 64);
        _tile_loadd(7, data + 3072, 64);
        _tile_loadd(5, data + 1024, 64);
        if (bytes) {
            _tile_dpbssd(0, 4, 6);
            _tile_dpbssd(1, 4, 7);
            _tile_dpbssd(2, 5, 6);
            _tile_dpbssd(3, 5, 7);
        } else {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_release();
    return rounds * 4 * 16 * 16 * (bytes ? 64 : 32);
}
#else
int64_t tile_products(int64_t rounds, int bytes, const char* data) { return 0 * (rounds + bytes + data[0]); }
#endif

enum { most_threads = 64, piece = 4096 };

struct Task {
    char* to;
    const char* from; /* arrays of `read` bytes, one behind the other */
    size_t written, read; /* bytes, multiples of 64 */
    int arrays;
    int past_cache;
    int64_t rounds; /* of multiply-adds, instead */
};
float sink[most_threads * 16]; /* visible outside, so that nothing is left out */

/* Reads and writes in turns, a piece of the larger at a time and as much of the other as keeps pace. Task `me` of `count` does its part. */
static float traffic(const struct Task* t, size_t me, size_t count) {
    const size_t read = t->read / count / 64 * 64, written = t->written / count / 64 * 64;
    const size_t larger = read > written ? read : written, pieces = (larger + piece - 1) / piece;
    const char* from = t->from + me * read;
    char* to = t->to + me * written;
    Vector sums[4] = {{0}};
    size_t at = 0, put_at = 0;
    for (size_t p = 1; p <= pieces; p++) {
        const size_t read_to = read * p / pieces / 256 * 256, write_to = written * p / pieces / 64 * 64;
        for (; at < read_to; at += 4 * WIDTH)
            for (int array = 0; array < t->arrays; array++)
                for (int k = 0; k < 4; k++) sums[k] += *(const Vector*)(from + array * t->read + at + k * WIDTH);
        for (; put_at < write_to; put_at += WIDTH) put(to + put_at, sums[0], t->past_cache);
    }
    sums[0] += sums[1] + sums[2] + sums[3];
    return sums[0][0];
}

static void work(int me, const struct Task* t, int threads) {
    if (t->rounds) multiply_add(t->rounds, &sink[16 * me]);
    else sink[16 * me] = traffic(t, (size_t)me, (size_t)threads);
}

/* Threads that wait without sleeping, so that starting them costs nothing that counts. */
static struct Task task;
static int threads = 1, started = 1;
static volatile int generation, done, stop;
static pthread_t handles[most_threads];

static void* wait_for_work(void* which) {
    const int me = (int)(intptr_t)which;
    for (int seen = 0;;) {
        while (__atomic_load_n(&generation, __ATOMIC_ACQUIRE) == seen)
            if (__atomic_load_n(&stop, __ATOMIC_RELAXED)) return NULL;
        seen = generation;
        if (me < threads) work(me, &task, threads);
        __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
    }
}

/* Ends the waiting threads: they would take processors from whoever is measured next. */
void finish(void) {
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 1; i < started; i++) pthread_join(handles[i], NULL);
    started = 1, stop = 0, generation = 0;
}

/* One run on so many threads. Returns how many multiply-adds were done, if any. */
int64_t run(int count, char* to, const char* from, size_t written, int arrays, size_t read, int past_cache, int64_t rounds) {
    if (count > most_threads) count = most_threads;
    for (; started < count; started++) pthread_create(&handles[started], NULL, wait_for_work, (void*)(intptr_t)started);
    task = (struct Task){to, from, written, read, arrays, past_cache, rounds};
    threads = count;
    __atomic_store_n(&done, 0, __ATOMIC_RELEASE);
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    work(0, &task, threads);
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < started - 1) {}
    return multiply_adds(rounds) * threads;
}
