// startup/audit.cpp: the native side of `kindling startup`: a library for the dynamic loader's audit interface (LD_AUDIT, rtld-audit(7)).
//
// It notes when each shared library is looked for, mapped and relocated, and times each of its static constructors. For
// that it points DT_INIT and DT_INIT_ARRAY of a library, still writable when la_objopen is called, at a thunk of its
// own, which later calls the originals one by one with the clock in between.
//
// Freestanding: the loader gives an audit library its own name space, so a C library would be loaded a second time for
// it, which costs more than all the rest. Hence system calls, and no function of libc. Records go into a mapped file
// (KINDLING_STARTUP_NATIVE), so that a crash loses none.
//
// Built twice. With KINDLING_STARTUP_THREADS it notes each pthread_create, too. For that it has la_symbind64, and where an
// audit library has that at all, the loader keeps 32 bytes of book for every function a library calls: page faults that
// the runs which are timed must not pay (116 of 3,500 for numpy).

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr unsigned SLOTS = 2048;
constexpr unsigned THUNK_BYTES = 5;
constexpr uint32_t NO_SLOT = 0xffffffff;

enum Kind : uint32_t { SEARCH = 1, OPEN, ACTIVITY, INIT, INIT_END, PREINIT, CLOSE, THREAD, SAMPLE, SELF };

struct Header {
    char magic[8];
    int64_t owner; // the process that records; children inherit the variables and the mapping, but stay out
    uint64_t used;
    uint64_t capacity;
    uint64_t dropped;
    uint64_t hertz; // set by who made the file: samples of the main thread's stack a second, or 0
    uint64_t unused[2];
};

struct Record {
    uint32_t kind;
    uint32_t bytes; // with what follows: a name, or constructors
    uint32_t thread;
    uint32_t slot;
    uint64_t time;
    uint64_t value; // OPEN: load address; ACTIVITY: flag; INIT: number of constructors
    uint64_t faults;
};

struct Constructor {
    uint64_t offset;   // from the load address
    uint64_t duration; // ns; 0 until it has returned
};

using Function = void (*)(int, char**, char**);

struct Library {
    Function entry; // what DT_INIT_ARRAY points at: the thunk
    uintptr_t address;
    Function init;
    const Function* array;
    uint32_t count;
    bool ran_init;
};

Library libraries[SLOTS];
uint32_t opened;
Header* header;

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    long result;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
}

uint64_t now() {
    timespec time;
    call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&time));
    return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

uint64_t faults() {
    rusage usage;
    call(SYS_getrusage, RUSAGE_SELF, reinterpret_cast<long>(&usage));
    return uint64_t(usage.ru_minflt + usage.ru_majflt);
}

bool recording() { return header != nullptr && header->owner == call(SYS_getpid); }

Record* add(Kind kind, uint32_t slot, uint64_t value, uint64_t more = 0, bool usage = false) {
    if (!recording()) return nullptr;
    uint64_t bytes = (sizeof(Record) + more + 7) & ~uint64_t(7);
    uint64_t at = __atomic_fetch_add(&header->used, bytes, __ATOMIC_RELAXED);
    if (at + bytes > header->capacity) {
        __atomic_fetch_sub(&header->used, bytes, __ATOMIC_RELAXED);
        header->dropped++;
        return nullptr;
    }
    auto* record = reinterpret_cast<Record*>(reinterpret_cast<char*>(header) + at);
    record->bytes = uint32_t(bytes);
    record->thread = uint32_t(call(SYS_gettid));
    record->slot = slot;
    record->value = value;
    record->faults = usage ? faults() : 0;
    record->time = now();
    record->kind = kind;
    return record;
}

// ---- samples of the main thread's stack: registers and raw memory; unwinding is left to who reads them

constexpr uint64_t STACK_BYTES = 64 << 10;
uintptr_t stack_end;

struct Action { // as the kernel has it
    uintptr_t handler;
    unsigned long flags;
    uintptr_t restorer;
    unsigned long mask;
};

extern "C" __attribute__((visibility("hidden"))) void kindling_startup_return();

void sample(int, siginfo_t*, void* context) {
    const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    uint64_t stack = uint64_t(registers[REG_RSP]) & ~uint64_t(7);
    if (stack >= stack_end) return; // on another stack than the thread's own
    uint64_t bytes = stack_end - stack < STACK_BYTES ? stack_end - stack : STACK_BYTES;
    const int kept[] = {REG_RSP, REG_RBP, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15};
    if (Record* record = add(SAMPLE, NO_SLOT, uint64_t(registers[REG_RIP]), sizeof(kept) / sizeof(int) * 8 + bytes)) {
        auto* words = reinterpret_cast<uint64_t*>(record + 1);
        for (int each : kept) *words++ = uint64_t(registers[each]);
        for (uint64_t at = 0; at < bytes; at += 8) *words++ = *reinterpret_cast<const uint64_t*>(stack + at);
    }
    // The recorder in Python notes its stack for SIGVTALRM, once it has asked for that signal.
    Action there;
    call(SYS_rt_sigaction, SIGVTALRM, 0, reinterpret_cast<long>(&there), 8);
    if (there.handler > 1) call(SYS_tgkill, call(SYS_getpid), call(SYS_gettid), SIGVTALRM);
}

void start_sampling() {
    Action action = {reinterpret_cast<uintptr_t>(&sample), SA_SIGINFO | SA_RESTART | 0x04000000,
                     reinterpret_cast<uintptr_t>(&kindling_startup_return), 0};
    call(SYS_rt_sigaction, SIGPROF, reinterpret_cast<long>(&action), 0, 8);
    struct {
        uint64_t value;
        int signal, notify, thread, rest[11];
    } event = {0, SIGPROF, 4 /* SIGEV_THREAD_ID */, int(call(SYS_gettid)), {}};
    int timer = 0;
    call(SYS_timer_create, CLOCK_MONOTONIC, reinterpret_cast<long>(&event), reinterpret_cast<long>(&timer));
    timespec each = {0, long(1000000000 / header->hertz)};
    itimerspec times = {each, each};
    call(SYS_timer_settime, timer, 0, reinterpret_cast<long>(&times), 0);
}

bool contains(const char* text, const char* word) {
    for (; *text; text++) {
        const char *a = text, *b = word;
        while (*b && *a == *b) a++, b++;
        if (!*b) return true;
    }
    return false;
}

} // namespace

// One thunk a library, all the same call: the return address tells which.
asm(".text\n.balign 16\n"
    ".globl kindling_startup_thunks\n.hidden kindling_startup_thunks\n"
    "kindling_startup_thunks:\n"
    ".rept 2048\n.byte 0xe8\n.long 1f - . - 4\n.endr\n"
    "1: pop %rcx\n"
    "jmp kindling_startup_init\n"
    // Where the kernel lets a signal handler return to: rt_sigreturn.
    ".globl kindling_startup_return\n.hidden kindling_startup_return\n"
    "kindling_startup_return: mov $15, %eax\nsyscall\n");
extern "C" __attribute__((visibility("hidden"))) const char kindling_startup_thunks[];

extern "C" __attribute__((visibility("hidden"), used)) void kindling_startup_init(int count, char** words, char** environ,
                                                                                  const char* back) {
    uint32_t slot = uint32_t(back - kindling_startup_thunks) / THUNK_BYTES - 1;
    Library& library = libraries[slot];
    if (library.init && !library.ran_init) {
        library.ran_init = true;
        Record* record = add(INIT, slot, 1, sizeof(Constructor), true);
        uint64_t begin = record ? record->time : 0;
        auto* times = reinterpret_cast<Constructor*>(record + 1);
        if (record) times->offset = reinterpret_cast<uintptr_t>(library.init) - library.address;
        library.init(count, words, environ);
        if (record) times->duration = now() - begin;
        if (!library.count) add(INIT_END, slot, 0, 0, true);
        return;
    }
    Record* record = add(INIT, slot, library.count, library.count * sizeof(Constructor), true);
    auto* times = reinterpret_cast<Constructor*>(record + 1);
    uint64_t begin = record ? record->time : 0;
    for (uint32_t index = 0; index < library.count; index++) {
        Function function = library.array[index];
        if (record) times[index].offset = reinterpret_cast<uintptr_t>(function) - library.address;
        // As in the loader itself: entries of 0 and -1 are called by nobody.
        if (reinterpret_cast<uintptr_t>(function) + 1 > 1) function(count, words, environ);
        if (record) {
            uint64_t end = now();
            times[index].duration = end - begin;
            begin = end;
        }
    }
    add(INIT_END, slot, 0, 0, true);
}

extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start; // by the linker: where this file lies

// The library's own DT_INIT: the only place where an audit library without a C library meets the environment.
extern "C" __attribute__((visibility("hidden"), used)) void kindling_startup_begin(int, char**, char** environ) {
    stack_end = reinterpret_cast<uintptr_t>(environ) & ~uintptr_t(7); // they lie at the outer end of the stack
    const char wanted[] = "KINDLING_STARTUP_NATIVE=";
    for (; *environ; environ++) {
        const char *a = *environ, *b = wanted;
        while (*b && *a == *b) a++, b++;
        if (*b) continue;
        long file = call(SYS_open, reinterpret_cast<long>(a), O_RDWR | O_CLOEXEC);
        if (file < 0) return;
        long bytes = call(SYS_lseek, file, 0, SEEK_END);
        long place = call(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        call(SYS_close, file);
        if (place < 0 && place > -4096) return;
        auto* there = reinterpret_cast<Header*>(place);
        int64_t nobody = 0;
        if (!__atomic_compare_exchange_n(&there->owner, &nobody, int64_t(call(SYS_getpid)), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            call(SYS_munmap, place, bytes);
            return;
        }
        const char magic[8] = {'k', 's', 't', 'a', 'r', 't', '0', '1'};
        for (int index = 0; index < 8; index++) there->magic[index] = magic[index];
        there->used = sizeof(Header);
        there->capacity = uint64_t(bytes);
        header = there;
        add(SELF, NO_SLOT, reinterpret_cast<uintptr_t>(&__ehdr_start));
        return;
    }
}

// 0 lets the loader drop this library: there is nothing to record.
EXPORT unsigned la_version(unsigned version) { return header ? version : 0; }

EXPORT char* la_objsearch(const char* name, uintptr_t*, unsigned flag) {
    if (flag == LA_SER_ORIG) add(SEARCH, NO_SLOT, 0);
    return const_cast<char*>(name);
}

EXPORT unsigned la_objopen(struct link_map* map, Lmid_t, uintptr_t* cookie) {
    *cookie = NO_SLOT;
    const char* name = map->l_name ? map->l_name : "";
    uint32_t length = 0;
    while (name[length]) length++;
    // The loader's and the kernel's own objects are set up already and write protected.
    bool fixed = contains(name, "linux-vdso") || contains(name, "linux-gate") || contains(name, "/ld-linux");
    uint32_t slot = recording() && !fixed ? opened : NO_SLOT;
    if (slot < SLOTS) {
        Library& library = libraries[slot];
        ElfW(Dyn)* init = nullptr, *array = nullptr, *size = nullptr;
        for (auto* entry = const_cast<ElfW(Dyn)*>(map->l_ld); entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag == DT_INIT) init = entry;
            if (entry->d_tag == DT_INIT_ARRAY) array = entry;
            if (entry->d_tag == DT_INIT_ARRAYSZ) size = entry;
        }
        opened++;
        library.address = map->l_addr;
        library.entry = reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(kindling_startup_thunks) + slot * THUNK_BYTES);
        if (array && size && size->d_un.d_val >= sizeof(Function)) {
            library.array = reinterpret_cast<const Function*>(map->l_addr + array->d_un.d_ptr);
            library.count = uint32_t(size->d_un.d_val / sizeof(Function));
            array->d_un.d_ptr = reinterpret_cast<uintptr_t>(&library.entry) - map->l_addr;
            size->d_un.d_val = sizeof(Function);
        }
        if (init) {
            library.init = reinterpret_cast<Function>(map->l_addr + init->d_un.d_ptr);
            init->d_un.d_ptr = reinterpret_cast<uintptr_t>(library.entry) - map->l_addr;
        }
        *cookie = slot;
    }
    if (Record* record = add(OPEN, slot < SLOTS ? slot : NO_SLOT, map->l_addr, length + 1)) {
        auto* text = reinterpret_cast<char*>(record + 1);
        for (uint32_t index = 0; index <= length; index++) text[index] = name[index];
    }
    if (!KINDLING_STARTUP_THREADS) return 0;
    // Bindings are shown (la_symbind64) of names in the C library only: pthread_create is there, and they are few.
    return LA_FLG_BINDFROM | (contains(name, "/libc.so") || contains(name, "/libpthread") ? LA_FLG_BINDTO : 0);
}

#if KINDLING_STARTUP_THREADS
namespace {

using StartThread = int (*)(void*, const void*, void* (*)(void*), void*);
StartThread real_start;

// In place of pthread_create, for every library: the value is the function that the thread runs, then who asked for it.
int start_thread(void* thread, const void* attributes, void* (*function)(void*), void* argument) {
    if (Record* record = add(THREAD, NO_SLOT, reinterpret_cast<uintptr_t>(function), sizeof(uint64_t)))
        *reinterpret_cast<uint64_t*>(record + 1) = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    return real_start(thread, attributes, function, argument);
}

bool same(const char* a, const char* b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

} // namespace

EXPORT uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned, uintptr_t*, uintptr_t*, unsigned* flags, const char* name) {
    *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
    if (name[0] != 'p' || !same(name, "pthread_create")) return symbol->st_value;
    real_start = reinterpret_cast<StartThread>(symbol->st_value);
    return reinterpret_cast<uintptr_t>(&start_thread);
}
#endif

EXPORT void la_activity(uintptr_t*, unsigned flag) { add(ACTIVITY, NO_SLOT, flag, 0, true); }

EXPORT void la_preinit(uintptr_t*) {
    add(PREINIT, NO_SLOT, 0, 0, true);
    if (recording() && header->hertz && header->hertz <= 10000) start_sampling();
}

EXPORT unsigned la_objclose(uintptr_t* cookie) {
    add(CLOSE, uint32_t(*cookie), 0);
    return 0;
}
