// autograd/few.h: a list that is usually short: the first N live inside it. Grows, never shrinks, owns its elements.
#pragma once
#include <cstddef>
#include <new>
#include <utility>

namespace kindling {

template <class T, size_t N> class Few {
public:
    Few() = default;
    Few(const Few&) = delete;
    ~Few() {
        for (size_t i = size_; i-- > 0;) data_[i].~T();
        if (!is_inline()) ::operator delete(data_);
    }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return data_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    T& back() { return data_[size_ - 1]; }
    template <class... A> T& emplace_back(A&&... arguments) {
        if (size_ == capacity_) reserve(capacity_ * 2);
        return *new (data_ + size_++) T(std::forward<A>(arguments)...);
    }
    void push_back(T value) { emplace_back(std::move(value)); }
    void resize(size_t size) {
        reserve(size);
        while (size_ < size) new (data_ + size_++) T();
    }
    void reserve(size_t capacity) {
        if (capacity <= capacity_) return;
        T* fresh = static_cast<T*>(::operator new(capacity * sizeof(T)));
        for (size_t i = 0; i < size_; i++) {
            new (fresh + i) T(std::move(data_[i]));
            data_[i].~T();
        }
        if (!is_inline()) ::operator delete(data_);
        data_ = fresh;
        capacity_ = capacity;
    }

private:
    bool is_inline() const { return data_ == reinterpret_cast<const T*>(inline_); }
    alignas(T) unsigned char inline_[N * sizeof(T)];
    T* data_ = reinterpret_cast<T*>(inline_);
    size_t size_ = 0, capacity_ = N;
};

} // namespace kindling
