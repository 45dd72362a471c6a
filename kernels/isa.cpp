// kernels/isa.cpp: detects instruction sets by cpuid and xgetbv; __builtin_cpu_supports would need a static
// constructor.
// Compiled for size.
#include "kernels/isa.h"

#include "kernels/capability.h"

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kindling {

Isa machine_isa() {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return Isa::Baseline;
    constexpr unsigned fma = 1u << 12, movbe = 1u << 22, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
    constexpr unsigned wanted = fma | movbe | osxsave | avx | f16c;
    if ((c & wanted) != wanted) return Isa::Baseline;
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 0x6) != 0x6) return Isa::Baseline; // the system saves xmm and ymm registers
    unsigned a1, b1, c1, d1;
    if (!__get_cpuid(0x80000001, &a1, &b1, &c1, &d1) || !(c1 & (1u << 5))) return Isa::Baseline; // lzcnt
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return Isa::Baseline;
    constexpr unsigned bmi1 = 1u << 3, avx2 = 1u << 5, bmi2 = 1u << 8;
    if ((b & (bmi1 | avx2 | bmi2)) != (bmi1 | avx2 | bmi2)) return Isa::Baseline;
    constexpr unsigned avx512 = 1u << 16 /* f */ | 1u << 17 /* dq */ | 1u << 28 /* cd */ | 1u << 30 /* bw */ | 1u << 31 /* vl */;
    return (b & avx512) == avx512 && (low & 0xE6) == 0xE6 ? Isa::Avx512 : Isa::Avx2;
#else
    return Isa::Baseline;
#endif
}

namespace {
Isa choose() {
    Isa best = machine_isa();
    const char* wish = std::getenv("KINDLING_ISA");
    if (!wish) return best;
    constexpr Isa all[] = {Isa::Baseline, Isa::Avx2, Isa::Avx512};
    for (Isa isa : all)
        if (!std::strcmp(wish, name(isa)) && isa <= best) return isa;
    return best;
}
constinit uint8_t chosen = 255;
} // namespace

Isa isa() {
    uint8_t have = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (have == 255) [[unlikely]]
        __atomic_store_n(&chosen, have = static_cast<uint8_t>(choose()), __ATOMIC_RELAXED);
    return static_cast<Isa>(have);
}

bool has_bf16_products() {
#if defined(__x86_64__)
    constinit static uint8_t known = 255;
    uint8_t have = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (have == 255) {
        unsigned a = 0, b, c, d;
        have = isa() == Isa::Avx512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 5);
        __atomic_store_n(&known, have, __ATOMIC_RELAXED);
    }
    return have != 0;
#else
    return false;
#endif
}

#if defined(__x86_64__) && defined(__linux__)
namespace {
bool ask_for_tiles() {
    unsigned a = 0, b, c, d, low, high;
    if (!has_bf16_products() || std::getenv("KINDLING_ISA") || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    constexpr unsigned tiles = 1u << 24, bf16 = 1u << 22, int8 = 1u << 25, vbmi = 1u << 1; // all of them came together
    if ((d & (tiles | bf16 | int8)) != (tiles | bf16 | int8) || !(c & vbmi)) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    constexpr unsigned saved = 3u << 17; // the system saves tile configuration and tile data
    if ((low & saved) != saved || !__get_cpuid_count(0x1d, 1, &a, &b, &c, &d)) return false;
    if (b >> 16 < 8 || (b & 0xFFFF) < 64 || (c & 0xFFFF) < 16) return false; // eight tiles of 16 rows of 64 bytes
    // Tile data is large: a process must ask for it before the kernel makes room, in all its threads and children.
    constexpr int request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
} // namespace

bool has_tiles() {
    constinit static uint8_t known = 255;
    uint8_t have = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (have == 255) __atomic_store_n(&known, have = ask_for_tiles(), __ATOMIC_RELAXED);
    return have != 0;
}
#else
bool has_tiles() { return false; }
#endif

const char* name(Isa isa) { return isa == Isa::Avx512 ? "avx512" : isa == Isa::Avx2 ? "avx2" : "baseline"; }

const char* cpu_capability() {
    Isa used = isa();
    return used == Isa::Avx512 ? "AVX512" : used == Isa::Avx2 ? "AVX2" : "DEFAULT";
}

} // namespace kindling
