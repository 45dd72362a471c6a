// script/graph/value.h: a value of a running script: 16 bytes, numbers in place, all else counted.
#pragma once
#include <atomic>
#include <complex>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "script/graph/type.h"

namespace kindling::script {

class KINDLING_VISIBLE Item {
public:
    enum class Tag : uint8_t {
        None,
        Bool,
        Int,
        Float,
        Device,
        Tensor,
        /* counted by Object: */ Complex,
        Str,
        List,
        Tuple,
        Dict,
        Instance,
        Future,
        Foreign
    };

    struct Object {
        std::atomic<uint32_t> count{1};
        virtual ~Object() = default;
    };
    struct Complex final : Object {
        std::complex<double> number;
    };
    struct Str final : Object {
        std::string text;
    };
    struct Items : Object {
        std::vector<Item> items;
        TypeRef type = nullptr;
    }; // of a List, of a Tuple
    struct Dict; // below
    struct Instance final : Object {
        TypeRef type = nullptr;
        std::vector<Item> slots;
    }; // of a class or a module: its attributes, in the order of Class::attributes
    /// What only the surroundings know: a Python object. `free` lets go of it.
    struct Foreign final : Object {
        void* object = nullptr;
        void (*free)(void*) = nullptr;
        ~Foreign() override {
            if (free) free(object);
        }
    };

    Item() : integer_(0) {}
    Item(bool b) : tag_(Tag::Bool), integer_(b) {}
    Item(int64_t i) : tag_(Tag::Int), integer_(i) {}
    Item(double d) : tag_(Tag::Float), number_(d) {}
    Item(std::complex<double> c);
    Item(std::string text);
    Item(const char* text) : Item(std::string(text)) {}
    Item(Device device);
    Item(const Tensor& tensor) : tag_(tensor.defined() ? Tag::Tensor : Tag::None), tensor_(Tensor(tensor).take()) {}
    static Item list(TypeRef type, std::vector<Item> items) { return items_of(Tag::List, type, std::move(items)); }
    static Item tuple(TypeRef type, std::vector<Item> items) { return items_of(Tag::Tuple, type, std::move(items)); }
    static Item dict(TypeRef type);
    static Item instance(TypeRef type, size_t slots);
    /// Takes over the object's first count.
    static Item adopt(Tag tag, Object* object) { return {tag, object}; }
    Item(const Item& other) : tag_(other.tag_), integer_(other.integer_) {
        if (tag_ >= Tag::Tensor) keep();
    }
    Item(Item&& other) noexcept : tag_(other.tag_), integer_(other.integer_) { other.tag_ = Tag::None; }
    Item& operator=(Item other) noexcept {
        std::swap(tag_, other.tag_);
        std::swap(integer_, other.integer_);
        return *this;
    }
    ~Item() {
        if (tag_ >= Tag::Tensor) let_go();
    }

    Tag tag() const { return tag_; }
    bool is(Tag tag) const { return tag_ == tag; }
    bool is_none() const { return tag_ == Tag::None; }
    bool truth() const { return integer_ != 0; }
    int64_t integer() const { return integer_; }
    double number() const { return tag_ == Tag::Float ? number_ : static_cast<double>(integer_); }
    std::complex<double> complex() const;
    const std::string& text() const { return static_cast<Str*>(object_)->text; }
    kindling::Device device() const;
    Tensor tensor() const { return tag_ == Tag::Tensor ? Tensor::share(tensor_) : Tensor(); }
    std::vector<Item>& items() const { return static_cast<Items*>(object_)->items; }
    inline Dict& dict() const;
    Instance& instance() const { return *static_cast<Instance*>(object_); }
    Object* object() const { return object_; }
    TensorImpl* tensor_impl() const { return tag_ == Tag::Tensor ? tensor_ : nullptr; }
    /// Where the number of a Bool, Int or Float lies, and the tag in front of it. For loops in machine code, which read and write those of
    /// lists in place.
    static constexpr int number_at() {
        static_assert(offsetof(Item, tag_) == 0);
        return offsetof(Item, integer_);
    }
    bool same_object(const Item& other) const { return tag_ == other.tag_ && integer_ == other.integer_; }
    TypeRef type() const;

private:
    static Item items_of(Tag tag, TypeRef type, std::vector<Item> items);
    Item(Tag tag, Object* object) : tag_(tag), object_(object) {}
    void keep();
    void let_go();

    Tag tag_ = Tag::None;
    union {
        int64_t integer_;
        double number_;
        Object* object_;
        TensorImpl* tensor_;
    };
};

/// A Dict's pairs in the order in which they came. A pair that was taken out leaves a hole (a key that is None) until there are many;
/// above eight pairs, a table says where a key may be.
struct Item::Dict final : Object {
    using Pair = std::pair<Item, Item>;
    TypeRef type = nullptr;

    size_t size() const { return live_; }
    Item* find(const Item& key);
    /// Puts a new pair at the end; one that is there keeps its place.
    void set(const Item& key, Item value);
    /// Takes out the pair at which `find` pointed, and gives what it held.
    Item take(Item* value);
    void clear();

    template <class P> struct Cursor {
        P *at, *end;
        Cursor& skip() {
            while (at != end && at->first.is_none()) at++;
            return *this;
        }
        P& operator*() const { return *at; }
        Cursor& operator++() {
            at++;
            return skip();
        }
        bool operator!=(const Cursor& other) const { return at != other.at; }
    };
    Cursor<Pair> begin() { return Cursor<Pair>{pairs_.data() + first_, pairs_.data() + pairs_.size()}.skip(); }
    Cursor<Pair> end() { return {pairs_.data() + pairs_.size(), pairs_.data() + pairs_.size()}; }
    Pair& first(); // RuntimeError if there is none

private:
    void index();
    std::vector<Pair> pairs_;
    std::vector<uint32_t> table_;   // 1 + the place of a pair, 0: nothing; a power of two, at most half full; empty: walk
    size_t first_ = 0;              // where the first pair is: holes are before it
    size_t live_ = 0, entries_ = 0; // entries of the table, those of pairs that are gone included
};
inline Item::Dict& Item::dict() const { return *static_cast<Dict*>(object_); }

/// How many items a list of that length has so many times. RuntimeError where no vector holds as many; a negative number is such a one, as
/// in PyTorch.
size_t repeated_length(size_t length, int64_t times);

/// The number that a Bool, Int, Float or Complex is. RuntimeError for others.
Scalar scalar_of(const Item& item);

/// Equal as scripts compare: numbers by value whatever their types, tensors as dict keys are, by identity.
bool equal(const Item& a, const Item& b);

/// Equal as constants of a graph are: of one type and the same value.
KINDLING_VISIBLE bool operator==(const Item& a, const Item& b);
/// As a graph shows a constant: "2.", "\"text\"", "[1, 2]".
KINDLING_VISIBLE std::string str(const Item& item);
/// A number with a point as TorchScript writes one: "1.", "0.10000000000000001".
KINDLING_VISIBLE std::string float_text(double number);
KINDLING_VISIBLE std::string device_text(Device device);
KINDLING_VISIBLE std::string quoted(const std::string& text);
/// A tensor as PyTorch's C++ prints it, with "CPUFloatType" or "torch.FloatTensor" behind it (tensor_text.cpp).
std::string stream_text(const Tensor& tensor, bool as_type = false);
/// As a constant of a graph: "{2}", a short one in full, or "<Tensor>".
std::string constant_text(const Tensor& tensor);

} // namespace kindling::script
