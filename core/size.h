// core/size.h: sizes that may carry a symbol: where a number comes from, for whoever records a program that is to hold for other sizes.
#pragma once
#include "core/span.h"

namespace KINDLING_VISIBLE kindling {

struct TensorImpl;
class Tensor;
struct Value;

/// A number, and its symbol: what it is called in a program that is being recorded; 0 where nobody records, or the number is always the
/// same. Arithmetic goes on recording. Who needs the bare number says so: `number` notes that what was recorded holds for it alone.
class Size {
public:
    constexpr Size() = default;
    constexpr Size(int64_t value) : value_(value) {}
    constexpr Size(int64_t value, int64_t symbol) : value_(value), symbol_(symbol) {}

    int64_t number() const { return symbol_ ? specialise() : value_; }
    /// The number in this run, for what does not change the program: how much memory to reserve, say.
    constexpr int64_t hint() const { return value_; }
    constexpr int64_t symbol() const { return symbol_; }

private:
    int64_t specialise() const;
    int64_t value_ = 0, symbol_ = 0;
};

/// Sizes of a call: values, and their symbols behind them if any of them has one. It converts from and to IntList for nothing. It never
/// outlives the call it is passed to.
class SizeList {
public:
    constexpr SizeList() = default;
    SizeList(IntList list) : data_(list.data()), size_(list.size()) {}
    SizeList(std::initializer_list<int64_t> list) : SizeList(IntList(list)) {}
    SizeList(const std::vector<int64_t>& list) : SizeList(IntList(list)) {}
    template <size_t N> SizeList(const SmallVector<int64_t, N>& list) : SizeList(IntList(list)) {}
    template <size_t N> SizeList(const int64_t (&list)[N]) : SizeList(IntList(list)) {}
    /// `data`: of as many symbols behind its values.
    static SizeList with_symbols(const int64_t* data, size_t size) {
        SizeList list{IntList(data, size)};
        list.size_ |= marked;
        return list;
    }

    size_t size() const { return size_ & ~marked; }
    bool empty() const { return size() == 0; }
    bool symbolic() const { return size_ & marked; }
    const int64_t* data() const { return data_; }
    Size operator[](size_t i) const { return {data_[i], symbolic() ? data_[size() + i] : 0}; }
    /// The values, and no word to whoever records.
    IntList hints() const { return {data_, size()}; }
    /// The values, each of which `Size::number` is said of.
    IntList numbers() const { return symbolic() ? specialise() : hints(); }

private:
    IntList specialise() const;
    static constexpr size_t marked = size_t{1} << 63;
    const int64_t* data_ = nullptr;
    size_t size_ = 0;
};

/// Sizes while they are being worked out.
class SizeVector {
public:
    SizeVector() = default;
    SizeVector(std::initializer_list<Size> list) {
        for (const Size& each : list) push_back(each);
    }
    size_t size() const { return size_; }
    Size operator[](size_t i) const { return {numbers_[i], symbolic() ? numbers_[size_ + i] : 0}; }
    void push_back(Size size);
    operator SizeList() const {
        return symbolic() ? SizeList::with_symbols(numbers_.data(), size_) : SizeList(IntList(numbers_.data(), size_));
    }

private:
    bool symbolic() const { return numbers_.size() > size_; }
    Sizes numbers_; // values; then their symbols, if there are any
    size_t size_ = 0;
};

/// What a recorder does with sizes. Symbols are numbers that no other recorder of the process has; 0 is none.
class SizeRecorder {
public:
    enum class Step : uint8_t { Add, Sub, Mul, FloorDiv, Mod };
    enum class Relation : uint8_t { Equal, Less };
    /// The symbol of a tensor's size, 0 if it does not know the tensor.
    virtual int64_t size_of(const TensorImpl* tensor, int64_t dim) = 0;
    /// A header without memory that a derivative keeps in place of a tensor: of the same sizes.
    virtual void stands_for(const TensorImpl* shape, const TensorImpl* tensor) = 0;
    virtual int64_t step(Step step, Size a, Size b) = 0;
    /// The program went on as it does where this holds.
    virtual void decided(Relation relation, Size a, Size b, bool outcome) = 0;
    /// What was recorded holds for this number alone.
    virtual void specialised(Size size) = 0;

protected:
    ~SizeRecorder() = default;
};
/// Makes it this thread's, and gives back who was that before; null: nobody records sizes.
SizeRecorder* exchange_recorder(SizeRecorder* recorder);

Size operator+(Size a, Size b);
Size operator-(Size a, Size b);
Size operator*(Size a, Size b);
/// Towards minus infinity, as Python's //; the divisor is not 0.
Size operator/(Size a, Size b);
Size operator%(Size a, Size b);
bool operator==(Size a, Size b);
bool operator<(Size a, Size b);

/// A tensor's sizes as a recorder sees them. Dimensions count from the end if negative; IndexError beyond.
Size size_of(const Tensor& tensor, int64_t dim);
SizeVector sizes_of(const Tensor& tensor);
Size numel_of(const Tensor& tensor);

} // namespace kindling
