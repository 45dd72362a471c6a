// script/run/operator_call.cpp: a call of a tensor operator with items: boxed, by the ordinary call path.
#include <memory>

#include "core/dispatch.h"
#include "generated/functions.h"
#include "script/graph/codes.h"
#include "script/run/instructions.h"

namespace kindling::script {
namespace {

/// Lists of a call, for as long as it runs.
class Lists {
public:
    template <class T> T* make(size_t count) {
        static_assert(alignof(T) <= 16);
        const size_t bytes = (count * sizeof(T) + 15) & ~size_t{15};
        if (used_ + bytes <= sizeof near_) {
            T* at = reinterpret_cast<T*>(near_ + used_);
            used_ += bytes;
            return at;
        }
        far_.push_back(std::make_unique<char[]>(bytes + 16));
        return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(far_.back().get()) + 15) & ~uintptr_t{15});
    }
    Tensor* tensors(size_t count) {
        tensors_.push_back(std::vector<Tensor>(count));
        return tensors_.back().data();
    }

private:
    alignas(16) char near_[512];
    size_t used_ = 0;
    std::vector<std::unique_ptr<char[]>> far_;
    std::vector<std::vector<Tensor>> tensors_;
};

kindling::Value one(const Argument& argument, const Item& item) {
    using kindling::Value;
    switch (argument.type) {
    case kindling::Type::Tensor: {
        if (item.is(Item::Tag::Tensor)) return Value(item.tensor_impl());
        Value number(scalar_of(item));
        number.wrapped = true;
        return number;
    }
    case kindling::Type::Int: return Value(item.integer());
    case kindling::Type::Float: return Value(item.number());
    case kindling::Type::Bool: return Value(item.truth());
    case kindling::Type::Scalar: return Value(scalar_of(item));
    case kindling::Type::Text: return Value(kindling::Text(item.text()));
    case kindling::Type::DType: return Value(dtype_of_code(item.integer()));
    case kindling::Type::Layout: return Value(layout_of_code(item.integer()));
    case kindling::Type::MemoryFormat: return Value(memory_format_of_code(item.integer()));
    case kindling::Type::Device: return Value(item.device());
    case kindling::Type::Generator: return Value(&generator_of(item));
    default: fail(ErrorKind::NotImplemented, "scripts cannot hand over argument '%s' yet", argument.name);
    }
}

kindling::Value list(const Argument& argument, const Item& item, Lists& lists) {
    using kindling::Value;
    if (!item.is(Item::Tag::List) && !item.is(Item::Tag::Tuple)) { // one number stands for a list
        const size_t count = argument.list_size > 0 ? static_cast<size_t>(argument.list_size) : 1;
        if (argument.type == kindling::Type::Float) {
            double* all = lists.make<double>(count);
            for (size_t i = 0; i < count; i++) all[i] = item.number();
            return Value(Span<double>(all, count));
        }
        int64_t* all = lists.make<int64_t>(count);
        for (size_t i = 0; i < count; i++) all[i] = item.integer();
        return Value(IntList(all, count));
    }
    const std::vector<Item>& items = item.items();
    const size_t count = items.size();
    switch (argument.type) {
    case kindling::Type::Tensor: {
        Tensor* all = lists.tensors(count);
        for (size_t i = 0; i < count; i++) all[i] = items[i].tensor();
        return Value(kindling::TensorList(all, count));
    }
    case kindling::Type::Int: {
        int64_t* all = lists.make<int64_t>(count);
        for (size_t i = 0; i < count; i++) all[i] = items[i].integer();
        return Value(IntList(all, count));
    }
    case kindling::Type::Float: {
        double* all = lists.make<double>(count);
        for (size_t i = 0; i < count; i++) all[i] = items[i].number();
        return Value(Span<double>(all, count));
    }
    case kindling::Type::Bool: {
        bool* all = lists.make<bool>(count);
        for (size_t i = 0; i < count; i++) all[i] = items[i].truth();
        return Value(Span<bool>(all, count));
    }
    case kindling::Type::Scalar: {
        Scalar* all = lists.make<Scalar>(count);
        for (size_t i = 0; i < count; i++) all[i] = scalar_of(items[i]);
        return Value(Span<Scalar>(all, count));
    }
    default: fail(ErrorKind::NotImplemented, "scripts cannot hand over the list '%s' yet", argument.name);
    }
}

Item item_of(kindling::Value& value) {
    using Tag = kindling::Value::Tag;
    switch (value.tag) {
    case Tag::Tensor: return Item(value.take_tensor());
    case Tag::None: return {};
    case Tag::Bool: return Item(value.integer != 0);
    case Tag::Int:
    case Tag::UInt: return Item(value.integer);
    case Tag::Float: return Item(value.real);
    case Tag::Complex: return Item(std::complex<double>(value.real, value.imag));
    case Tag::DType: return Item(code_of(value.dtype));
    case Tag::Layout: return Item(code_of(value.layout));
    case Tag::Device: return Item(value.device);
    case Tag::Text: return Item(std::string(value.text, value.size));
    case Tag::IntList: {
        std::vector<Item> all;
        for (uint32_t i = 0; i < value.size; i++) all.emplace_back(value.integers[i]);
        return Item::list(list_of(type_of(TypeKind::Int)), std::move(all));
    }
    case Tag::TensorList: {
        std::vector<Item> all;
        for (const Tensor& each : value.take_list()) all.emplace_back(each);
        return Item::list(list_of(type_of(TypeKind::Tensor)), std::move(all));
    }
    default: fail(ErrorKind::NotImplemented, "scripts cannot take such a result yet");
    }
}

} // namespace

Generator* (*generator_in)(void* object) = nullptr;
Item (*make_generator)() = nullptr;
Generator& generator_of(const Item& item) {
    Generator* found =
        item.is(Item::Tag::Foreign) && generator_in ? generator_in(static_cast<Item::Foreign*>(item.object())->object) : nullptr;
    KINDLING_CHECK(Runtime, found, "a generator of random numbers was expected in place of %s", str(item).c_str());
    return *found;
}

bool is_plain(const TensorImpl* impl) {
    if (impl->device.type != DeviceType::CPU || impl->layout != Layout::Strided || !impl->storage) return false;
    uint32_t watched = key::watching;
    if (!thread_state.grad_mode) watched &= ~static_cast<uint32_t>(key::Autograd);
    return !(key_of(impl) & watched);
}

void call_operator(const Signature& signature, const Item* const* inputs, size_t count, Item* const* outputs, size_t results) {
    const kindling::Operator& op = *signature.op;
    constexpr size_t most = 40;
    const std::vector<Argument>& arguments = op.schema->arguments;
    const std::vector<uint8_t>& places = signature.places;
    KINDLING_CHECK(Runtime,
                   (places.empty() ? arguments.size() : places.size()) == count && arguments.size() <= most &&
                       op.schema->results.size() <= 16,
                   "aten::%s was called with %zu arguments, it has %zu", op.name(), count, arguments.size());
    kindling::Value values[most], made[16];
    Lists lists;
    bool number = false;
    for (size_t i = places.empty() ? count : 0; i < arguments.size(); i++) values[i] = arguments[i].default_value;
    for (size_t n = 0; n < count; n++) {
        const size_t i = places.empty() ? n : places[n];
        const Item& item = *inputs[n];
        KINDLING_CHECK(Runtime, !item.is_none() || arguments[i].optional || arguments[i].type != kindling::Type::Tensor,
                       "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #%zu '%s'", n,
                       arguments[i].name);
        values[i] = item.is_none() ? kindling::Value() : arguments[i].list ? list(arguments[i], item, lists) : one(arguments[i], item);
        number |= values[i].wrapped;
    }
    Tensor self;
    if (number && values[0].wrapped) { // somebody has to say what the result is
        bool tensors = false;
        for (int i = 0; i < op.tensor_count; i++) tensors |= values[op.tensor_positions[i]].is_tensor();
        if (!tensors) values[0] = kindling::Value(self = wrap_number(values[0].scalar()));
    }
    if (signature.on_copy) values[0] = kindling::Value(self = clone(inputs[0]->tensor()));
    call(op, values, made);
    const size_t given = op.schema->results.size();
    for (size_t i = 0; i < given; i++) {
        if (i < results) *outputs[i] = item_of(made[i]);
        else made[i].discard();
    }
}

} // namespace kindling::script
