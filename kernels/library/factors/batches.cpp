// kernels/library/factors/batches.cpp: which matrices of a batch are factored side by side, and in which thread.
// Compiled for calls.
#include "kernels/library/factors/batches.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/isa.h"
#include "kernels/library/factors/lanes_isa.h"
#include "kernels/library/factors/lapack.h"
#include "kernels/library/factors/small_factors.h"
#include "kernels/library/factors/triangle.h"
#include "kernels/library/scratch.h"
#include "kernels/tile/move.h"
#include "runtime/threads.h"

namespace kindling::library {

constexpr int64_t least = 150'000, call = 2'000, large = 50'000'000; // a second thread's start, a call, what is shared out itself

void each_matrix(int64_t count, int64_t work, void (*run)(const void* context, int64_t i), const void* context) {
    if (count) run(context, 0); // alone: it may open the library, which is best looked for in this thread
    parallel_for(1, count, work > large ? count : 1 + least / (work + call), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) run(context, i);
    });
}

namespace lapack {
namespace {

/// What is done to matrix i, or to `some` from i on, for which `room` is given; those may say no.
struct Work {
    void (*one)(const void* context, int64_t i);
    bool (*in_lanes)(const void* context, const LaneFactors& lanes, int64_t i, int64_t some, void* room);
    const void* context;
};

void each(DType dtype, int64_t count, int64_t size, int64_t products, const Work& work) {
    if (count < 2 || !is_small(dtype, size, size) || isa() == Isa::Baseline) return each_matrix(count, products, work.one, work.context);
    const LaneFactors& factors = isa_avx2::lane_factors[dtype == DType::Float64];
    const int64_t lanes = factors.lanes, groups = (count + lanes - 1) / lanes;
    parallel_for(0, groups, 1 + least / (lanes * products / 4 + call), [&](int64_t begin, int64_t end) {
        Scratch<char> room(lane_room);
        for (int64_t first = begin * lanes; first < std::min(end * lanes, count); first += lanes) {
            const int64_t some = std::min(lanes, count - first);
            if (some == 1 || !work.in_lanes(work.context, factors, first, some, room.data))
                for (int64_t i = first; i < first + some; ++i) work.one(work.context, i);
        }
    });
}
template <class InLanes, class One>
void each(DType dtype, int64_t count, int64_t size, int64_t products, const InLanes& in_lanes, const One& one) {
    const std::pair<const InLanes&, const One&> both{in_lanes, one};
    each(dtype, count, size, products,
         {[](const void* context, int64_t i) { static_cast<const decltype(both)*>(context)->second(i); },
          [](const void* context, const LaneFactors& lanes, int64_t i, int64_t some, void* room) {
              return static_cast<const decltype(both)*>(context)->first(lanes, i, some, room);
          },
          &both});
}

bool answer(int32_t* infos, int64_t count, bool usual) {
    if (usual) std::fill_n(infos, count, 0);
    return usual;
}

/// Numbers of a dtype.
struct Numbers {
    char* data;
    int64_t item;
    Numbers(DType dtype, const void* from)
        : data(static_cast<char*>(const_cast<void*>(from))), item(static_cast<int64_t>(item_size(dtype))) {}
    char* at(int64_t i) const { return data + i * item; }
    const char* if_any(int64_t i) const { return data ? at(i) : nullptr; }
    /// Matrix i by rows, if there are any and they are taken `so`; or they go to `columns`, and none are left.
    [[gnu::noinline]] const char* taken(bool so, int64_t m, int64_t n, int64_t i, const Numbers& columns) const {
        const char* from = if_any(i * m * n);
        if (!from || so) return from;
        find_plane_copy(static_cast<int>(item))({columns.at(i * m * n), from, {m, n}, {item, m * item}, {n * item, item}});
        return nullptr;
    }
};

} // namespace

void keep_triangle(bool upper, int64_t m, int64_t n, int64_t item, void* matrix) {
    for (int64_t j = 0; j < n; ++j) {
        char* column = static_cast<char*>(matrix) + j * m * item;
        const int64_t kept = std::min(j + upper, m), first = upper ? kept : 0, last = upper ? m : kept;
        std::memset(column + first * item, 0, static_cast<size_t>((last - first) * item));
    }
}

bool factors_rows(DType dtype, int64_t m, int64_t n) {
    return (dtype == DType::Float32 || dtype == DType::Float64) && (n > few_columns || is_small(dtype, m, n));
}

void getrf_all(DType dtype, int64_t count, int64_t m, int64_t n, void* matrices, int32_t* pivots, int32_t* infos, const void* rows) {
    const int64_t steps = std::min(m, n);
    const Numbers a(dtype, matrices), from(dtype, rows);
    each(
        dtype, count, std::max(m, n), m * n * steps,
        [&](const LaneFactors& lanes, int64_t i, int64_t some, void* room) {
            return answer(infos + i, some, lanes.lu(some, m, n, from.if_any(i * m * n), a.at(i * m * n), pivots + i * steps, room));
        },
        [&](int64_t i) {
            const char* given = from.taken(n > few_columns, m, n, i, a);
            infos[i] = getrf(dtype, m, n, a.at(i * m * n), m, pivots + i * steps, given);
        });
}

bool solves_rows(DType dtype, int64_t n, int64_t right) { return solves_triangles(dtype, n, right) || is_small(dtype, n, right); }

void getrs_all(DType dtype, char trans, int64_t count, int64_t n, int64_t right, const void* factors, const int32_t* pivots, void* sides,
               const void* rows) {
    const Numbers lu(dtype, factors), b(dtype, sides), from(dtype, rows);
    each(
        dtype, count, trans == 'N' ? std::max(n, right) : largest_in_lanes + 1, n * n * right,
        [&](const LaneFactors& lanes, int64_t i, int64_t some, void* room) {
            return lanes.solve(some, n, right, lu.at(i * n * n), pivots + i * n, from.if_any(i * n * right), b.at(i * n * right), room);
        },
        [&](int64_t i) {
            const char* given = from.taken(solves_triangles(dtype, n, right), n, right, i, b);
            getrs(dtype, trans, n, right, lu.at(i * n * n), n, pivots + i * n, b.at(i * n * right), n, given);
        });
}

void invert_all(DType dtype, int64_t count, int64_t n, void* matrices, int32_t* pivots, int32_t* infos, const void* rows) {
    const Numbers a(dtype, matrices), from(dtype, rows);
    each(
        dtype, count, n, n * n * n,
        [&](const LaneFactors& lanes, int64_t i, int64_t some, void* room) {
            return answer(infos + i, some, lanes.inverse(some, n, from.if_any(i * n * n), a.at(i * n * n), room));
        },
        [&](int64_t i) {
            infos[i] = getrf(dtype, n, n, a.at(i * n * n), n, pivots + i * n, from.taken(n > few_columns, n, n, i, a));
            if (!infos[i]) infos[i] = getri(dtype, n, a.at(i * n * n), n, pivots + i * n);
        });
}

void potrf_all(DType dtype, char uplo, int64_t count, int64_t n, void* matrices, int32_t* infos) {
    const Numbers a(dtype, matrices);
    each(
        dtype, count, n, n * n * n,
        [&](const LaneFactors& lanes, int64_t i, int64_t some, void* room) {
            return answer(infos + i, some, lanes.cholesky(some, uplo == 'U', n, a.at(i * n * n), room));
        },
        [&](int64_t i) {
            infos[i] = potrf(dtype, uplo, n, a.at(i * n * n), n);
            keep_triangle(uplo == 'U', n, n, a.item, a.at(i * n * n));
        });
}

void qr_all(DType dtype, int64_t count, int64_t m, int64_t n, int64_t width, void* matrices, void* taus, void* orthogonal,
            void* triangles) {
    const int64_t steps = std::min(m, n);
    const Numbers a(dtype, matrices), tau(dtype, taus), q(dtype, orthogonal), r(dtype, triangles);
    each(
        dtype, count, std::max(m, n), m * n * steps,
        [&](const LaneFactors& lanes, int64_t i, int64_t some, void* room) {
            return lanes.qr(some, m, n, width, a.at(i * m * n), orthogonal ? q.at(i * m * width) : nullptr, r.at(i * width * n), room);
        },
        [&](int64_t i) {
            char* matrix = a.at(i * m * n);
            geqrf(dtype, m, n, matrix, m, tau.at(i * steps));
            for (int64_t j = 0; j < n; ++j)
                std::memcpy(r.at((i * n + j) * width), matrix + j * m * a.item, static_cast<size_t>(width * a.item));
            keep_triangle(true, width, n, a.item, r.at(i * width * n));
            if (!orthogonal) return;
            std::memcpy(q.at(i * m * width), matrix, static_cast<size_t>(m * steps * a.item));
            orgqr(dtype, m, width, steps, q.at(i * m * width), m, tau.at(i * steps));
        });
}

} // namespace lapack
} // namespace kindling::library
