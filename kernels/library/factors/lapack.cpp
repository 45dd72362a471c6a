// kernels/library/factors/lapack.cpp: calls of LAPACK with workspaces; where LU, Cholesky, QR, inverses and triangular systems of our own
// are taken.
// Compiled for size.
#include "kernels/library/factors/lapack.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "kernels/library/factors/reflectors.h"
#include "kernels/library/factors/small_factors.h"
#include "kernels/library/factors/triangle.h"
#include "kernels/library/scratch.h"
#include "runtime/blas.h"
#include "runtime/threads.h"

namespace kindling::library::lapack {
namespace {

int as_int(int64_t value) {
    KINDLING_CHECK(Runtime, value >= 0 && value <= std::numeric_limits<int32_t>::max(),
                   "linear algebra: a matrix with a dimension of %ld is too large for LAPACK", static_cast<long>(value));
    return static_cast<int>(value);
}
int leading(int64_t value) { return std::max(as_int(value), 1); }

// Fortran passes everything by address, and the lengths of strings behind the last argument.
struct Character {
    char value;
};

/// A real number of either precision.
struct Real {
    bool single;
    float narrow;
    double wide;
    Real(DType dtype, double value) : single(to_real(dtype) == DType::Float32), narrow(static_cast<float>(value)), wide(value) {}
};
/// An argument that only the routines for complex numbers have.
struct ForComplex {
    bool given;
    const void* address;
};

template <class T> const void* fortran(T* const& pointer) { return pointer; }
template <class T> const void* fortran(const T& value) { return &value; }
const void* fortran(const Real& value) { return value.single ? static_cast<const void*>(&value.narrow) : &value.wide; }

template <class T> void put(const void**& list, const T& value) { *list++ = fortran(value); }
void put(const void**& list, const ForComplex& value) {
    if (value.given) *list++ = value.address;
}

// As many arguments as any routine has, and enough lengths for every string among them. Those that a routine does not
// read do no harm.
constexpr size_t most_arguments = 16, lengths = 4;

template <size_t... I> void enter(void* routine, const void* const* list, std::index_sequence<I...>) {
    reinterpret_cast<void (*)(decltype(static_cast<void>(I), static_cast<const void*>(nullptr))...)>(routine)(list[I]...);
}

void call_with(void* routine, const void* const* list) {
    struct Call {
        void* routine;
        const void* const* list;
        static void run(void* context) {
            auto* c = static_cast<Call*>(context);
            enter(c->routine, c->list, std::make_index_sequence<most_arguments + lengths>());
        }
    } call{routine, list};
    if (stack_left() >= ample_stack_bytes || !run_on_thread(Call::run, &call)) Call::run(&call);
}

template <class... A> void call(void* routine, const A&... arguments) {
    static_assert(sizeof...(A) <= most_arguments);
    const void *list[most_arguments + lengths] = {}, **end = list;
    (put(end, arguments), ...);
    for (size_t i = 0; i < lengths; ++i) *end++ = reinterpret_cast<const void*>(1);
    call_with(routine, list);
}

void* routine(DType dtype, const char* real, const char* complex = nullptr) {
    char letter = dtype == DType::Float32      ? 's'
                  : dtype == DType::Float64    ? 'd'
                  : dtype == DType::Complex64  ? 'c'
                  : dtype == DType::Complex128 ? 'z'
                                               : 0;
    KINDLING_CHECK(NotImplemented, letter, "\"%s\" not implemented for '%s'", real, scalar_type_name(dtype));
    // Batches of small matrices ask for the same one or two again and again; names are string literals.
    struct Found {
        const char* name;
        char letter;
        void* address;
    };
    constinit static thread_local Found kept[4] = {};
    constinit static thread_local unsigned oldest = 0;
    const char* wanted = complex && is_complex(dtype) ? complex : real;
    for (const Found& known : kept)
        if (known.name == wanted && known.letter == letter) return known.address;
    char name[32];
    snprintf(name, sizeof name, "%c%s", letter, wanted);
    void* address = blas_routine(name);
    kept[oldest++ % 4] = {wanted, letter, address};
    return address;
}

/// Of the dtypes whose factors are our own.
bool is_real(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

int checked(int info, const char* name) {
    if (info < 0) fail(ErrorKind::Internal, "%s: argument %d had an illegal value. Please report it.", name, -info);
    return info;
}

// Calls f with a value of the dtype's real type.
template <class F> int by_real(DType dtype, F f) { return to_real(dtype) == DType::Float64 ? f(double{}) : f(float{}); }

// Calls run(work, lwork) twice: to ask for the size, and for the work. `ample` numbers, if given, are enough for any
// size of block, so that nothing is asked.
void with_work(DType dtype, int64_t least, void (*run)(const void* context, void* work, int size), const void* context, int64_t ample) {
    int64_t size = ample;
    if (!ample) {
        alignas(16) char answer[16] = {};
        run(context, answer, -1);
        double wanted =
            to_real(dtype) == DType::Float64 ? *reinterpret_cast<double*>(answer) : static_cast<double>(*reinterpret_cast<float*>(answer));
        // A float can't hold every size: adds what it may have lost.
        size = static_cast<int64_t>(wanted * (to_real(dtype) == DType::Float32 ? 1.0000005 : 1.0)) + 1;
        size = std::max(size, std::max<int64_t>(least, 1));
    }
    Scratch<char> work(size * static_cast<int64_t>(item_size(dtype)));
    run(context, work.data, as_int(size));
}
template <class Run> void with_work(DType dtype, int64_t least, const Run& run, int64_t ample = 0) {
    with_work(
        dtype, least, [](const void* context, void* work, int size) { (*static_cast<const Run*>(context))(work, size); }, &run, ample);
}

} // namespace

namespace {
// For the routines of QR of few columns: blocks have at most 64.
int64_t ample_for(int64_t columns) { return columns <= 64 ? 64 * std::max<int64_t>(columns, 1) : 0; }
} // namespace

int getrf(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, int32_t* pivots, const void* rows) {
    if (m == 0 || n == 0) return 0;
    if (is_real(dtype)) return factor_by_halves(dtype, m, n, a, lda, pivots, rows);
    int info = 0;
    call(routine(dtype, "getrf"), as_int(m), as_int(n), a, leading(lda), pivots, &info);
    return checked(info, "getrf");
}

int getrs(DType dtype, char trans, int64_t n, int64_t nrhs, const void* lu, int64_t lda, const int32_t* pivots, void* b, int64_t ldb,
          const void* rows) {
    if (n == 0 || nrhs == 0) return 0;
    if (solves_triangles(dtype, n, nrhs)) {
        const bool transposed = trans != 'N';
        const int64_t row = transposed ? lda : 1, column = transposed ? 1 : lda;
        const TriangularMatrix unit{lu, row, column, !transposed, true}, other{lu, row, column, transposed, false};
        return solve_triangle({dtype, n, nrhs, transposed ? other : unit, b, 1, ldb, transposed ? &unit : &other,
                               transposed ? nullptr : pivots, transposed ? pivots : nullptr, Part{const_cast<void*>(rows), nrhs, 1}}),
               0;
    }
    if (is_small(dtype, n, nrhs)) return small_getrs(dtype, trans != 'N', n, nrhs, lu, lda, pivots, b, ldb), 0;
    int info = 0;
    call(routine(dtype, "getrs"), Character{trans}, as_int(n), as_int(nrhs), lu, leading(lda), pivots, b, leading(ldb), &info);
    return checked(info, "getrs");
}

int getri(DType dtype, int64_t n, void* lu, int64_t lda, const int32_t* pivots) {
    if (n == 0) return 0;
    if (n <= small_inverse && is_real(dtype)) return small_getri(dtype, n, lu, lda, pivots), 0;
    if (solves_triangles(dtype, n, n)) { // more arithmetic than the library's way, but all of it in products
        const auto item = static_cast<int64_t>(item_size(dtype));
        Scratch<char> factors(n * n * item);
        copy_part(dtype, n, n, {lu, 1, lda}, {factors.data, 1, n});
        const TriangularMatrix upper{factors.data, 1, n, false, false};
        return solve_triangle({.dtype = dtype,
                               .size = n,
                               .count = n,
                               .first = {factors.data, 1, n, true, true},
                               .b = lu,
                               .along = 1,
                               .across = lda,
                               .second = &upper,
                               .exchanged_before = pivots,
                               .identity = true}),
               0;
    }
    int info = 0;
    void* f = routine(dtype, "getri");
    with_work(dtype, n, [&](void* work, int size) { call(f, as_int(n), lu, leading(lda), pivots, work, size, &info); });
    return checked(info, "getri");
}

int potrf(DType dtype, char uplo, int64_t n, void* a, int64_t lda) {
    if (n == 0) return 0;
    if (is_real(dtype)) return cholesky_by_halves(dtype, uplo == 'U', n, a, lda);
    int info = 0;
    call(routine(dtype, "potrf"), Character{uplo}, as_int(n), a, leading(lda), &info);
    // NaN is no positive number either, which not every LAPACK notices.
    for (int64_t d = 0, at = 0; d < n && !info; d++, at += 2 * (lda + 1))
        if (std::isnan(dtype == DType::Complex64 ? static_cast<const float*>(a)[at] : static_cast<const double*>(a)[at]))
            info = static_cast<int>(d + 1);
    return checked(info, "potrf");
}

int potrs(DType dtype, char uplo, int64_t n, int64_t nrhs, const void* a, int64_t lda, void* b, int64_t ldb) {
    if (n == 0 || nrhs == 0) return 0;
    if (solves_triangles(dtype, n, nrhs)) {
        const TriangularMatrix lower{a, uplo == 'L' ? 1 : lda, uplo == 'L' ? lda : 1, true, false},
            upper{a, lower.column, lower.row, false, false};
        solve_triangle({dtype, n, nrhs, lower, b, 1, ldb, &upper});
        return 0;
    }
    int info = 0;
    call(routine(dtype, "potrs"), Character{uplo}, as_int(n), as_int(nrhs), a, leading(lda), b, leading(ldb), &info);
    return checked(info, "potrs");
}

int potri(DType dtype, char uplo, int64_t n, void* a, int64_t lda) {
    if (n == 0) return 0;
    int info = 0;
    call(routine(dtype, "potri"), Character{uplo}, as_int(n), a, leading(lda), &info);
    return checked(info, "potri");
}

int sytrf(DType dtype, bool hermitian, char uplo, int64_t n, void* a, int64_t lda, int32_t* pivots) {
    if (n == 0) return 0;
    int info = 0;
    void* f = routine(dtype, "sytrf", hermitian ? "hetrf" : nullptr);
    with_work(dtype, n, [&](void* work, int size) { call(f, Character{uplo}, as_int(n), a, leading(lda), pivots, work, size, &info); });
    return checked(info, "sytrf");
}

int sytrs(DType dtype, bool hermitian, char uplo, int64_t n, int64_t nrhs, const void* a, int64_t lda, const int32_t* pivots, void* b,
          int64_t ldb) {
    if (n == 0 || nrhs == 0) return 0;
    int info = 0;
    call(routine(dtype, "sytrs", hermitian ? "hetrs" : nullptr), Character{uplo}, as_int(n), as_int(nrhs), a, leading(lda), pivots, b,
         leading(ldb), &info);
    return checked(info, "sytrs");
}

int geqrf(DType dtype, int64_t m, int64_t n, void* a, int64_t lda, void* tau) {
    if (m == 0 || n == 0) return 0;
    if (is_real(dtype)) return factor_by_reflectors(dtype, m, n, a, lda, tau), 0;
    int info = 0;
    void* f = routine(dtype, "geqrf");
    with_work(
        dtype, n, [&](void* work, int size) { call(f, as_int(m), as_int(n), a, leading(lda), tau, work, size, &info); }, ample_for(n));
    return checked(info, "geqrf");
}

int orgqr(DType dtype, int64_t m, int64_t n, int64_t k, void* a, int64_t lda, const void* tau) {
    if (m == 0 || n == 0) return 0;
    if (is_real(dtype)) return form_reflectors(dtype, m, n, k, a, lda, tau), 0;
    int info = 0;
    void* f = routine(dtype, "orgqr", "ungqr");
    with_work(
        dtype, n, [&](void* work, int size) { call(f, as_int(m), as_int(n), as_int(k), a, leading(lda), tau, work, size, &info); },
        ample_for(n));
    return checked(info, "orgqr");
}

int ormqr(DType dtype, char side, char trans, int64_t m, int64_t n, int64_t k, const void* a, int64_t lda, const void* tau, void* c,
          int64_t ldc) {
    if (m == 0 || n == 0 || k == 0) return 0;
    int info = 0;
    if (trans != 'N') trans = is_complex(dtype) ? 'C' : 'T';
    void* f = routine(dtype, "ormqr", "unmqr");
    with_work(dtype, side == 'L' ? n : m, [&](void* work, int size) {
        call(f, Character{side}, Character{trans}, as_int(m), as_int(n), as_int(k), a, leading(lda), tau, c, leading(ldc), work, size,
             &info);
    });
    return checked(info, "ormqr");
}

int gesdd(DType dtype, char job, int64_t m, int64_t n, void* a, int64_t lda, void* s, void* u, int64_t ldu, void* vt, int64_t ldvt) {
    int64_t small = std::min(m, n), large = std::max(m, n);
    if (small == 0) return 0;
    int info = 0;
    void* f = routine(dtype, "gesdd");
    Scratch<int> integers(8 * small);
    int64_t reals = job == 'N' ? 7 * small : std::max(5 * small * small + 7 * small, 2 * large * small + 2 * small * small + small);
    Scratch<char> real_work(is_complex(dtype) ? reals * static_cast<int64_t>(item_size(to_real(dtype))) : 0);
    const int64_t ample = large <= 32 ? 1 << 12 : 0; // the library asks for at most 3,296
    with_work(
        dtype, 0,
        [&](void* work, int size) {
            call(f, Character{job}, as_int(m), as_int(n), a, leading(lda), s, u, leading(ldu), vt, leading(ldvt), work, size,
                 ForComplex{is_complex(dtype), real_work.data}, integers.data, &info);
        },
        ample);
    return checked(info, "gesdd");
}

int gesvd(DType dtype, char job, int64_t m, int64_t n, void* a, int64_t lda, void* s, void* u, int64_t ldu, void* vt, int64_t ldvt) {
    int64_t small = std::min(m, n);
    if (small == 0) return 0;
    int info = 0;
    void* f = routine(dtype, "gesvd");
    Scratch<char> real_work(is_complex(dtype) ? 5 * small * static_cast<int64_t>(item_size(to_real(dtype))) : 0);
    with_work(dtype, 0, [&](void* work, int size) {
        call(f, Character{job}, Character{job}, as_int(m), as_int(n), a, leading(lda), s, u, leading(ldu), vt, leading(ldvt), work, size,
             ForComplex{is_complex(dtype), real_work.data}, &info);
    });
    return checked(info, "gesvd");
}

int syevd(DType dtype, char job, char uplo, int64_t n, void* a, int64_t lda, void* w) {
    if (n == 0) return 0;
    int info = 0;
    void* f = routine(dtype, "syevd", "heevd");
    // The sizes of the three workspaces are the formulas of the routine's documentation.
    bool vectors = job == 'V';
    int64_t integers = vectors ? 3 + 5 * n : 1;
    int64_t reals = vectors ? 1 + 5 * n + 2 * n * n : n;
    Scratch<int> integer_work(integers);
    Scratch<char> real_work(is_complex(dtype) ? std::max<int64_t>(reals, 1) * static_cast<int64_t>(item_size(to_real(dtype))) : 0);
    int64_t least = is_complex(dtype) ? (vectors ? 2 * n + n * n : n + 1) : (vectors ? 1 + 6 * n + 2 * n * n : 2 * n + 1);
    with_work(dtype, least, [&](void* work, int size) {
        const int real_size = size < 0 ? -1 : as_int(reals);
        call(f, Character{job}, Character{uplo}, as_int(n), a, leading(lda), w, work, size, ForComplex{is_complex(dtype), real_work.data},
             ForComplex{is_complex(dtype), &real_size}, integer_work.data, size < 0 ? -1 : as_int(integers), &info);
    });
    return checked(info, "syevd");
}

int geev(DType dtype, int64_t n, void* a, int64_t lda, void* w, void* vectors) {
    if (n == 0) return 0;
    int info = 0;
    void* f = routine(dtype, "geev");
    Character left{'N'}, right{vectors ? 'V' : 'N'};
    if (is_complex(dtype)) {
        Scratch<char> real_work(2 * n * static_cast<int64_t>(item_size(to_real(dtype))));
        with_work(dtype, 2 * n, [&](void* work, int size) {
            call(f, left, right, as_int(n), a, leading(lda), w, static_cast<void*>(nullptr), 1, vectors, as_int(n), work, size,
                 static_cast<void*>(real_work.data), &info);
        });
        return checked(info, "geev");
    }
    return by_real(dtype, [&](auto type) {
        using R = decltype(type);
        Scratch<R> real(n), imaginary(n), packed(vectors ? n * n : 0);
        with_work(dtype, 4 * n, [&](void* work, int size) {
            call(f, left, right, as_int(n), a, leading(lda), real.data, imaginary.data, static_cast<void*>(nullptr), 1, packed.data,
                 as_int(n), work, size, &info);
        });
        auto* values = static_cast<R*>(w);
        for (int64_t i = 0; i < n; ++i) {
            values[2 * i] = real[i];
            values[2 * i + 1] = imaginary[i];
        }
        if (vectors) {
            // A conjugate pair of values shares two real columns: the real and the imaginary part.
            auto* out = static_cast<R*>(vectors);
            for (int64_t j = 0; j < n; ++j) {
                bool pair = imaginary[j] != 0 && j + 1 < n;
                for (int64_t i = 0; i < n; ++i) {
                    R x = packed[j * n + i], y = pair ? packed[(j + 1) * n + i] : R{0};
                    out[2 * (j * n + i)] = x;
                    out[2 * (j * n + i) + 1] = y;
                    if (pair) {
                        out[2 * ((j + 1) * n + i)] = x;
                        out[2 * ((j + 1) * n + i) + 1] = -y;
                    }
                }
                if (pair) ++j;
            }
        }
        return checked(info, "geev");
    });
}

int gels(DType dtype, char trans, int64_t m, int64_t n, int64_t nrhs, void* a, int64_t lda, void* b, int64_t ldb) {
    if (std::min(m, n) == 0 || nrhs == 0) return 0;
    int info = 0;
    if (trans != 'N') trans = is_complex(dtype) ? 'C' : 'T';
    void* f = routine(dtype, "gels");
    with_work(dtype, 0, [&](void* work, int size) {
        call(f, Character{trans}, as_int(m), as_int(n), as_int(nrhs), a, leading(lda), b, leading(ldb), work, size, &info);
    });
    return checked(info, "gels");
}

int gelsy(DType dtype, int64_t m, int64_t n, int64_t nrhs, void* a, int64_t lda, void* b, int64_t ldb, int32_t* pivots, double rcond,
          int32_t* rank) {
    *rank = 0;
    if (std::min(m, n) == 0 || nrhs == 0) return 0;
    int info = 0;
    void* f = routine(dtype, "gelsy");
    Scratch<char> real_work(is_complex(dtype) ? 2 * n * static_cast<int64_t>(item_size(to_real(dtype))) : 0);
    const Real condition(dtype, rcond);
    with_work(dtype, 0, [&](void* work, int size) {
        call(f, as_int(m), as_int(n), as_int(nrhs), a, leading(lda), b, leading(ldb), pivots, condition, rank, work, size,
             ForComplex{is_complex(dtype), real_work.data}, &info);
    });
    return checked(info, "gelsy");
}

int gelsd(DType dtype, int64_t m, int64_t n, int64_t nrhs, void* a, int64_t lda, void* b, int64_t ldb, void* s, double rcond,
          int32_t* rank) {
    *rank = 0;
    int64_t small = std::min(m, n);
    if (small == 0 || nrhs == 0) return 0;
    int info = 0;
    void* f = routine(dtype, "gelsd");
    int64_t levels = 1;
    while ((small >> levels) > 0) ++levels;
    Scratch<int> integers(3 * small * levels + 11 * small + 1);
    int64_t reals = 10 * std::max(m, n) + 2 * 25 * small + 8 * small * levels + 3 * 25 * nrhs +
                    std::max<int64_t>(26 * 26, small * (1 + nrhs) + 2 * nrhs);
    Scratch<char> real_work(is_complex(dtype) ? reals * static_cast<int64_t>(item_size(to_real(dtype))) : 0);
    Real condition(dtype, rcond);
    // With NaN it keeps every value, but says of zeros on stderr that it can't divide by them: keeps all but those.
    if (std::isnan(rcond))
        condition.narrow = std::numeric_limits<float>::denorm_min(), condition.wide = std::numeric_limits<double>::denorm_min();
    with_work(dtype, 0, [&](void* work, int size) {
        call(f, as_int(m), as_int(n), as_int(nrhs), a, leading(lda), b, leading(ldb), s, condition, rank, work, size,
             ForComplex{is_complex(dtype), real_work.data}, integers.data, &info);
    });
    return checked(info, "gelsd");
}

int gelss(DType dtype, int64_t m, int64_t n, int64_t nrhs, void* a, int64_t lda, void* b, int64_t ldb, void* s, double rcond,
          int32_t* rank) {
    *rank = 0;
    int64_t small = std::min(m, n);
    if (small == 0 || nrhs == 0) return 0;
    int info = 0;
    void* f = routine(dtype, "gelss");
    Scratch<char> real_work(is_complex(dtype) ? 5 * small * static_cast<int64_t>(item_size(to_real(dtype))) : 0);
    const Real condition(dtype, rcond);
    with_work(dtype, 0, [&](void* work, int size) {
        call(f, as_int(m), as_int(n), as_int(nrhs), a, leading(lda), b, leading(ldb), s, condition, rank, work, size,
             ForComplex{is_complex(dtype), real_work.data}, &info);
    });
    return checked(info, "gelss");
}

int trtri(DType dtype, char uplo, char diag, int64_t n, void* a, int64_t lda) {
    if (n == 0) return 0;
    int info = 0;
    call(routine(dtype, "trtri"), Character{uplo}, Character{diag}, as_int(n), a, leading(lda), &info);
    return checked(info, "trtri");
}

namespace {

// Substitution, a right-hand side at a time.
template <class T> void solve(const TriangularMatrix& t, bool conjugate, int64_t size, int64_t count, T* x, int64_t along, int64_t across) {
    (void)conjugate;
    auto at = [&](int64_t i, int64_t j) {
        T value = static_cast<const T*>(t.a)[i * t.row + j * t.column];
        if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
            if (conjugate) value = std::conj(value);
        return value;
    };
    for (; count > 0; --count, x += across)
        for (int64_t step = 0; step < size; ++step) {
            const int64_t i = t.lower ? step : size - 1 - step;
            T sum = x[i * along];
            const int64_t begin = t.lower ? 0 : i + 1, end = t.lower ? i : size;
            for (int64_t j = begin; j < end; ++j) sum -= at(i, j) * x[j * along];
            x[i * along] = t.unit ? sum : sum / at(i, i);
        }
}

} // namespace

void trsm(DType dtype, char side, char uplo, char trans, char diag, int64_t m, int64_t n, const void* a, int64_t lda, void* b, int64_t ldb,
          const void* rows) {
    if (m == 0 || n == 0) return;
    const bool right = side == 'R', upper = uplo == 'U', conjugate = trans == 'C';
    const int64_t size = right ? n : m, count = right ? m : n, along = right ? ldb : 1, across = right ? 1 : ldb;
    const bool turned = (trans != 'N') != right; // from the right, x op(a) = b is op(a)' x' = b'
    const TriangularSystem system{.dtype = dtype,
                                  .size = size,
                                  .count = count,
                                  .first = {a, turned ? lda : 1, turned ? 1 : lda, upper == turned, diag == 'U'},
                                  .b = b,
                                  .along = along,
                                  .across = across,
                                  .from = {const_cast<void*>(rows), right ? 1 : n, right ? n : 1}};
    if (solves_triangles(dtype, size, count)) return solve_triangle(system);
    const TriangularMatrix& t = system.first;
    constexpr int64_t whole = 64;
    if (size > whole) {
        // Half of the unknowns, then their part in the others' equations, which is a product, then the others.
        const auto item = static_cast<int64_t>(item_size(dtype));
        const int64_t half = (size / 2 + whole - 1) / whole * whole, rest = size - half;
        auto* from = static_cast<char*>(const_cast<void*>(a));
        auto* to = static_cast<char*>(b);
        const auto solve_part = [&](int64_t first, int64_t unknowns) {
            trsm(dtype, side, uplo, trans, diag, right ? m : unknowns, right ? unknowns : n, from + first * (lda + 1) * item, lda,
                 to + first * along * item, ldb);
        };
        const int64_t known = t.lower ? 0 : half, others = half - known;
        const int64_t known_count = t.lower ? half : rest, other_count = size - known_count;
        solve_part(known, known_count);
        multiply(dtype, other_count, count, known_count, {from + (others * t.row + known * t.column) * item, t.row, t.column},
                 {to + known * along * item, along, across}, {to + others * along * item, along, across}, true, conjugate);
        solve_part(others, other_count);
        return;
    }
    // Worth the library, which is opened at its first use.
    if (size * size * count >= 16384 && blas_available()) {
        const double one[2] = {1, 0};
        const float one_float[2] = {1, 0};
        const void* alpha = to_real(dtype) == DType::Float64 ? static_cast<const void*>(one) : one_float;
        call(routine(dtype, "trsm"), Character{side}, Character{uplo}, Character{trans}, Character{diag}, as_int(m), as_int(n), alpha, a,
             leading(lda), b, leading(ldb));
        return;
    }
    auto run = [&](auto type) {
        using T = decltype(type);
        solve(t, conjugate, size, count, static_cast<T*>(b), along, across);
    };
    switch (dtype) {
    case DType::Float32: return run(float{});
    case DType::Float64: return run(double{});
    case DType::Complex64: return run(std::complex<float>{});
    case DType::Complex128: return run(std::complex<double>{});
    default: fail(ErrorKind::NotImplemented, "\"triangular_solve\" not implemented for '%s'", scalar_type_name(dtype));
    }
}

} // namespace kindling::library::lapack
