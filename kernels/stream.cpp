// kernels/stream.cpp: strided and broadcast elements to and from contiguous tiles, by element size.
#include "kernels/stream.h"

namespace kindling {

namespace {

struct Sixteen { uint64_t halves[2]; };

template <class T> void gather_run(char* to, const char* from, int64_t stride, int64_t n) {
    if (stride == static_cast<int64_t>(sizeof(T))) {
        if (n * static_cast<int64_t>(sizeof(T)) >= 128) {
            std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
            return;
        }
        for (int64_t i = 0; i < n; i++)
            std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), from + i * static_cast<int64_t>(sizeof(T)),
                        sizeof(T));
        return;
    }
    if (stride == 0) {
        T value;
        std::memcpy(&value, from, sizeof value);
        for (int64_t i = 0; i < n; i++) std::memcpy(to + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
        return;
    }
    for (; n >= 4; n -= 4, from += 4 * stride, to += 4 * sizeof(T)) {
        T a, b, c, d;
        std::memcpy(&a, from, sizeof a);
        std::memcpy(&b, from + stride, sizeof b);
        std::memcpy(&c, from + 2 * stride, sizeof c);
        std::memcpy(&d, from + 3 * stride, sizeof d);
        std::memcpy(to, &a, sizeof a);
        std::memcpy(to + sizeof(T), &b, sizeof b);
        std::memcpy(to + 2 * sizeof(T), &c, sizeof c);
        std::memcpy(to + 3 * sizeof(T), &d, sizeof d);
    }
    for (; n > 0; n--, from += stride, to += sizeof(T)) std::memcpy(to, from, sizeof(T));
}

template <class T> void scatter_run(char* to, int64_t stride, const char* from, int64_t n) {
    if (stride == static_cast<int64_t>(sizeof(T))) {
        std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
        return;
    }
    for (; n > 0; n--, from += sizeof(T), to += stride) std::memcpy(to, from, sizeof(T));
}

template <class T> void gather_all(Stream& stream, char* to, int64_t n) {
    int64_t stride = stream.run_stride();
    while (n > 0) {
        int64_t run = stream.run_left();
        if (run > n) run = n;
        gather_run<T>(to, stream.at, stride, run);
        stream.skip(run);
        to += run * static_cast<int64_t>(sizeof(T));
        n -= run;
    }
}

template <class T> void scatter_all(Stream& stream, const char* from, int64_t n) {
    int64_t stride = stream.run_stride();
    while (n > 0) {
        int64_t run = stream.run_left();
        if (run > n) run = n;
        scatter_run<T>(stream.at, stride, from, run);
        stream.skip(run);
        from += run * static_cast<int64_t>(sizeof(T));
        n -= run;
    }
}

}  // namespace

void Stream::gather(void* to, int64_t n) {
    char* out = static_cast<char*>(to);
    switch (item) {
        case 1: gather_all<uint8_t>(*this, out, n); break;
        case 2: gather_all<uint16_t>(*this, out, n); break;
        case 4: gather_all<uint32_t>(*this, out, n); break;
        case 8: gather_all<uint64_t>(*this, out, n); break;
        default: gather_all<Sixteen>(*this, out, n); break;
    }
}

void Stream::scatter(const void* from, int64_t n) {
    const char* in = static_cast<const char*>(from);
    switch (item) {
        case 1: scatter_all<uint8_t>(*this, in, n); break;
        case 2: scatter_all<uint16_t>(*this, in, n); break;
        case 4: scatter_all<uint32_t>(*this, in, n); break;
        case 8: scatter_all<uint64_t>(*this, in, n); break;
        default: scatter_all<Sixteen>(*this, in, n); break;
    }
}

void Stream::count(int64_t* to, int64_t n) {
    int64_t stride = run_stride();
    while (n > 0) {
        int64_t run = run_left();
        if (run > n) run = n;
        int64_t value = at - static_cast<char*>(nullptr);
        for (int64_t i = 0; i < run; i++) to[i] = value + i * stride;
        skip(run);
        to += run;
        n -= run;
    }
}

}  // namespace kindling
