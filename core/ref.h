// core/ref.h: intrusive reference counting. Counts are atomic: kernels run with the interpreter lock released.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

class RefCounted {
public:
    void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
    /// True when this was the last reference.
    bool drop() const {
        if (references_.load(std::memory_order_acquire) == 1) return true; // nobody else can see it: skip the lock
        return references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    /// Of what only the caller holds: a second reference, without a locked instruction.
    void retain_alone() const { references_.store(2, std::memory_order_relaxed); }
    uint32_t use_count() const { return references_.load(std::memory_order_relaxed); }

protected:
    mutable std::atomic<uint32_t> references_{1};
};

/// Owning pointer to a RefCounted T; `void release(T*)` (found by argument-dependent look-up) drops a reference.
template <class T> class Ref {
public:
    constexpr Ref() = default;
    constexpr Ref(std::nullptr_t) {}
    static Ref adopt(T* pointer) {
        Ref ref;
        ref.pointer_ = pointer;
        return ref;
    } // takes over one reference
    static Ref share(T* pointer) {
        if (pointer) pointer->retain();
        return adopt(pointer);
    }
    Ref(const Ref& other) : pointer_(other.pointer_) {
        if (pointer_) pointer_->retain();
    }
    Ref(Ref&& other) noexcept : pointer_(other.pointer_) { other.pointer_ = nullptr; }
    Ref& operator=(Ref other) noexcept {
        T* mine = pointer_;
        pointer_ = other.pointer_;
        other.pointer_ = mine;
        return *this;
    }
    ~Ref() {
        if (pointer_) release(pointer_);
    }
    T* get() const { return pointer_; }
    T* operator->() const { return pointer_; }
    T& operator*() const { return *pointer_; }
    explicit operator bool() const { return pointer_ != nullptr; }
    bool operator==(const Ref& other) const { return pointer_ == other.pointer_; }
    T* take() {
        T* mine = pointer_;
        pointer_ = nullptr;
        return mine;
    } // gives its reference away

private:
    T* pointer_ = nullptr;
};

} // namespace kindling
