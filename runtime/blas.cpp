// runtime/blas.cpp: finds and opens the BLAS and LAPACK library.
// Compiled for size.
#include "runtime/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace kindling {
namespace {

constinit pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
constinit void* library = nullptr;
constinit bool looked = false;
constinit bool asked = false; // find_blas
constinit char wanted[1024] = "";
constinit char found[1024] = "";
constinit const char* prefix = "";

struct Lock {
    Lock() { pthread_mutex_lock(&lock); }
    ~Lock() { pthread_mutex_unlock(&lock); }
    Lock(const Lock&) = delete;
};

bool try_open(const char* path) {
    if (!path || !*path) return false;
    // OpenBLAS starts its threads as it is loaded, unless told not to by the environment.
    const char* given = getenv("OPENBLAS_NUM_THREADS");
    char kept[32];
    snprintf(kept, sizeof kept, "%s", given ? given : "");
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (given) setenv("OPENBLAS_NUM_THREADS", kept, 1);
    else unsetenv("OPENBLAS_NUM_THREADS");
    if (!handle) return false;
    for (const char* p : {"scipy_", ""}) {
        char name[64];
        snprintf(name, sizeof name, "%sdgetrf_", p);
        if (!dlsym(handle, name)) continue;
        snprintf(name, sizeof name, "%sopenblas_set_num_threads", p);
        if (void* set = dlsym(handle, name)) reinterpret_cast<void (*)(int)>(set)(1);
        library = handle;
        prefix = p;
        snprintf(found, sizeof found, "%s", path);
        return true;
    }
    dlclose(handle);
    return false;
}

void look() {
    if (looked) return;
    looked = true;
    if (*wanted && try_open(wanted)) return;
    if (try_open(getenv("KINDLING_BLAS"))) return;
    Dl_info self{};
    if (dladdr(reinterpret_cast<const void*>(&set_blas_path), &self) && self.dli_fname) {
        // <site-packages>/kindling/libkindling.so -> <site-packages>/scipy_openblas32/lib/libscipy_openblas.so
        char folder[1024], path[1200];
        snprintf(folder, sizeof folder, "%s", self.dli_fname);
        for (int up = 0; up < 2; ++up) {
            char* slash = strrchr(folder, '/');
            if (!slash) break;
            *slash = 0;
        }
        snprintf(path, sizeof path, "%s/scipy_openblas32/lib/libscipy_openblas.so", folder);
        if (try_open(path)) return;
    }
    for (const char* path : {"libscipy_openblas.so", "libopenblas.so.0", "libopenblas.so", "liblapack.so.3"})
        if (try_open(path)) return;
}

/// OpenBLAS ends the process if it gets no memory for its buffer (32 MB for each thread that is in it at a time), or for what it
/// loads. So that much is mapped and given back first, which takes 2 us: each thread looks a routine up once.
void need_memory() {
    constexpr size_t buffer = 40u << 20, loaded = 32u << 20;
    const size_t bytes = library ? buffer : buffer + loaded;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    KINDLING_CHECK(OutOfMemory, memory != MAP_FAILED, "can't allocate memory: the LAPACK library needs %zu bytes", bytes);
    munmap(memory, bytes);
}

// The interpreter is asked without our lock: it may wait for a thread that wants the lock.
void look_further() {
    {
        Lock guard;
        look();
        if (library || asked) return;
    }
    char path[1024] = "";
    if (!find_blas || !find_blas(path, sizeof path)) return;
    if (*path) set_blas_path(path);
    Lock guard;
    asked = true;
}

} // namespace

bool (*find_blas)(char* path, size_t size) = nullptr;

void set_blas_path(const char* path) {
    Lock guard;
    if (library) return;
    snprintf(wanted, sizeof wanted, "%s", path ? path : "");
    looked = false;
}

bool blas_available() {
    look_further();
    Lock guard;
    look();
    return library != nullptr;
}

const char* blas_path() { return *found ? found : nullptr; }

void* blas_routine(const char* name) {
    look_further();
    void* address = nullptr;
    bool open;
    {
        Lock guard;
        need_memory();
        look();
        open = library != nullptr;
        if (open) {
            char symbol[64];
            snprintf(symbol, sizeof symbol, "%s%s_", prefix, name);
            address = dlsym(library, symbol);
        }
    }
    KINDLING_CHECK(Runtime, open,
                   "This needs LAPACK, and no library that has it was found: install scipy-openblas32, or name one in the "
                   "environment variable KINDLING_BLAS");
    KINDLING_CHECK(Runtime, address, "The LAPACK library %s has no routine '%s'", found, name);
    return address;
}

} // namespace kindling
