// core/span.h: borrowed and small owned lists; lighter to compile than <vector> and <span>.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "core/export.h"

namespace KINDLING_VISIBLE kindling {

/// A borrowed list. Never outlives the call it is passed to.
template <class T> struct Span {
    const T* data_ = nullptr;
    size_t size_ = 0;
    constexpr Span() = default;
    constexpr Span(const T* data, size_t size) : data_(data), size_(size) {}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime" // a borrowed list lives as long as the call it is written in
    constexpr Span(std::initializer_list<T> list) : data_(list.begin()), size_(list.size()) {}
#pragma GCC diagnostic pop
    Span(const std::vector<T>& list) : data_(list.data()), size_(list.size()) {}
    template <size_t N> constexpr Span(const T (&list)[N]) : data_(list), size_(N) {}
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T* data() const { return data_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    const T& operator[](size_t i) const { return data_[i]; }
    const T& back() const { return data_[size_ - 1]; }
    bool operator==(Span other) const {
        if (size_ != other.size_) return false;
        for (size_t i = 0; i < size_; i++)
            if (!(data_[i] == other.data_[i])) return false;
        return true;
    }
    std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
};

using IntList = Span<int64_t>;

namespace generated {
/// A default value such as `int[2] stride=1`, as a function so that no pointer needs relocating at load.
template <int64_t... I> inline IntList ints() {
    static constexpr int64_t list[] = {I...};
    return IntList(list, sizeof...(I));
}
} // namespace generated

/// Sizes or strides while they are being worked out: inline up to 8 dimensions. Trivial element types only.
template <class T, size_t N = 8> class SmallVector {
public:
    SmallVector() = default;
    explicit SmallVector(size_t size, T fill = T{}) { resize(size, fill); }
    SmallVector(std::initializer_list<T> list) { assign(list.begin(), list.size()); }
    SmallVector(Span<T> list) { assign(list.data(), list.size()); }
    SmallVector(const SmallVector& other) { assign(other.data(), other.size()); }
    SmallVector(SmallVector&& other) noexcept { take(other); }
    SmallVector& operator=(const SmallVector& other) {
        if (this != &other) assign(other.data(), other.size());
        return *this;
    }
    SmallVector& operator=(SmallVector&& other) noexcept {
        if (this != &other) {
            release();
            take(other);
        }
        return *this;
    }
    ~SmallVector() { release(); }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    T& back() { return data_[size_ - 1]; }
    const T& back() const { return data_[size_ - 1]; }
    operator Span<T>() const { return {data_, size_}; }
    void push_back(T value) {
        if (size_ == capacity_) grow(capacity_ * 2);
        data_[size_++] = value;
    }
    void pop_back() { size_--; }
    void clear() { size_ = 0; }
    void resize(size_t size, T fill = T{}) {
        if (size > capacity_) grow(size);
        for (size_t i = size_; i < size; i++) data_[i] = fill;
        size_ = size;
    }
    void insert(size_t at, T value) {
        push_back(value);
        for (size_t i = size_ - 1; i > at; i--) data_[i] = data_[i - 1];
        data_[at] = value;
    }
    void erase(size_t at) {
        for (size_t i = at; i + 1 < size_; i++) data_[i] = data_[i + 1];
        size_--;
    }
    bool operator==(const SmallVector& other) const { return Span<T>(*this) == Span<T>(other); }

private:
    void assign(const T* from, size_t size) {
        if (size > capacity_) grow(size);
        if (size) std::memmove(static_cast<void*>(data_), from, size * sizeof(T));
        size_ = size;
    }
    void grow(size_t capacity) {
        T* fresh = static_cast<T*>(::operator new(capacity * sizeof(T)));
        if (size_) std::memcpy(static_cast<void*>(fresh), data_, size_ * sizeof(T));
        release();
        data_ = fresh;
        capacity_ = capacity;
    }
    void release() {
        if (data_ != inline_) ::operator delete(data_);
    }
    void take(SmallVector& other) {
        if (other.data_ == other.inline_) {
            data_ = inline_;
            capacity_ = N;
            std::memcpy(static_cast<void*>(inline_), other.inline_, sizeof(inline_));
        } else {
            data_ = other.data_;
            capacity_ = other.capacity_;
        }
        size_ = other.size_;
        other.data_ = other.inline_;
        other.capacity_ = N;
        other.size_ = 0;
    }
    T inline_[N];
    T* data_ = inline_;
    size_t size_ = 0, capacity_ = N;
};

using Sizes = SmallVector<int64_t, 8>;

} // namespace kindling
