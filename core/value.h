// core/value.h: the one boxed calling form. A call is an operator, an array of Values in schema order, and an array for
// results; modes, scripts, capture and plug-ins all use it, and the typed C++ functions are thin shells around it.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/export.h"
#include "core/scalar.h"
#include "core/size.h"
#include "core/tensor.h"

namespace KINDLING_VISIBLE kindling {

class Generator;

/// A borrowed piece of text.
using Text = std::string_view;

using TensorList = Span<Tensor>;

/// Arguments are borrowed; results are owned by whoever receives them (`take_*`).
struct Value {
    enum class Tag : uint8_t {
        None,
        Tensor,
        Bool,
        Int,
        UInt,
        Float,
        Complex,
        Text,
        DType,
        Layout,
        Device,
        MemoryFormat,
        Generator,
        Storage,
        Python,
        IntList,
        FloatList,
        BoolList,
        ScalarList,
        TensorList,
        TextList,
    };
    Tag tag = Tag::None;
    bool wrapped = false;  // a number given where the schema has a Tensor
    bool symbolic = false; // a number with a symbol behind it, a list with as many (core/size.h)
    uint32_t size = 0;     // of lists and text
    union {
        TensorImpl* tensor;
        struct {
            int64_t integer, symbol;
        };
        struct {
            double real, imag;
        };
        const char* text;
        const int64_t* integers;
        const double* floats;
        const bool* bools;
        const Scalar* scalars;
        Tensor* tensors; // results: an owned array made by `new Tensor[size]`
        const Text* texts;
        Generator* generator;
        Storage* storage;
        void* python;
        DType dtype;
        Layout layout;
        Device device;
        MemoryFormat format;
    };

    Value() : integer(0) {}
    Value(const Tensor& t) : tag(t.defined() ? Tag::Tensor : Tag::None), tensor(t.impl()) {}
    Value(TensorImpl* t) : tag(t ? Tag::Tensor : Tag::None), tensor(t) {}
    Value(bool b) : tag(Tag::Bool), integer(b) {}
    Value(Size s) : tag(Tag::Int), symbolic(s.symbol() != 0), integer(s.hint()), symbol(s.symbol()) {}
    Value(int64_t i) : tag(Tag::Int), integer(i) {}
    Value(int i) : Value(static_cast<int64_t>(i)) {}
    Value(double d) : tag(Tag::Float), real(d) {}
    Value(const Scalar& s);
    Value(Text t) : tag(Tag::Text), size(static_cast<uint32_t>(t.size())), text(t.data()) {}
    Value(const char* t) : Value(Text(t)) {}
    Value(DType d) : tag(d == kindling::DType::None ? Tag::None : Tag::DType), dtype(d) {}
    Value(kindling::Layout l) : tag(Tag::Layout), layout(l) {}
    Value(kindling::Device d) : tag(Tag::Device), device(d) {}
    Value(kindling::MemoryFormat f) : tag(Tag::MemoryFormat), format(f) {}
    Value(kindling::Generator* g) : tag(g ? Tag::Generator : Tag::None), generator(g) {}
    Value(const Ref<kindling::Storage>& s) : tag(Tag::Storage), storage(s.get()) {}
    Value(IntList l) : tag(Tag::IntList), size(static_cast<uint32_t>(l.size())), integers(l.data()) {}
    Value(SizeList l) : Value(l.hints()) { symbolic = l.symbolic(); }
    Value(Span<double> l) : tag(Tag::FloatList), size(static_cast<uint32_t>(l.size())), floats(l.data()) {}
    Value(Span<bool> l) : tag(Tag::BoolList), size(static_cast<uint32_t>(l.size())), bools(l.data()) {}
    Value(Span<Scalar> l) : tag(Tag::ScalarList), size(static_cast<uint32_t>(l.size())), scalars(l.data()) {}
    Value(kindling::TensorList l) : tag(Tag::TensorList), size(static_cast<uint32_t>(l.size())), tensors(const_cast<Tensor*>(l.data())) {}
    template <class T> Value(const std::optional<T>& value) : Value() {
        if (value) *this = Value(*value);
    }

    bool is_none() const { return tag == Tag::None; }
    bool is_tensor() const { return tag == Tag::Tensor; }
    bool is_number() const { return tag >= Tag::Bool && tag <= Tag::Complex; }
    Scalar scalar() const;
    /// Of an int, or a list of them.
    Size as_size() const { return {integer, symbolic ? symbol : 0}; }
    SizeList as_sizes() const { return symbolic ? SizeList::with_symbols(integers, size) : SizeList(IntList(integers, size)); }

    // Results only.
    static Value own(Tensor&& t) {
        Value v;
        v.tag = t.defined() ? Tag::Tensor : Tag::None;
        v.tensor = t.take();
        return v;
    }
    static Value own(std::vector<Tensor>&& list);
    Tensor take_tensor() {
        if (tag != Tag::Tensor) return {};
        tag = Tag::None;
        return Tensor(Ref<TensorImpl>::adopt(tensor));
    }
    std::vector<Tensor> take_list();
    /// Lets go of an owned result nobody took.
    void discard();
};

/// A number as a 0-d tensor that is weak in promotion.
Tensor wrap_number(const Scalar& number);

} // namespace kindling
