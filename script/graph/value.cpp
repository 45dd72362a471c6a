// script/graph/value.cpp: values: counting, comparison, text.
#include "script/graph/value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "core/storage.h"

namespace kindling::script {

Item::Item(std::complex<double> c) : tag_(Tag::Complex) {
    Complex* object = new Complex;
    object->number = c;
    object_ = object;
}
Item::Item(std::string text) : tag_(Tag::Str) {
    Str* object = new Str;
    object->text = std::move(text);
    object_ = object;
}
Item::Item(kindling::Device device)
    : tag_(Tag::Device), integer_(static_cast<int64_t>(device.type) << 8 | static_cast<uint8_t>(device.index)) {}
Item Item::items_of(Tag tag, TypeRef type, std::vector<Item> items) {
    Items* object = new Items;
    object->items = std::move(items);
    object->type = type;
    return {tag, object};
}
Item Item::dict(TypeRef type) {
    Dict* object = new Dict;
    object->type = type;
    return {Tag::Dict, object};
}

Item Item::instance(TypeRef type, size_t slots) {
    Instance* object = new Instance;
    object->type = type;
    object->slots.resize(slots);
    return {Tag::Instance, object};
}

void Item::keep() {
    if (tag_ == Tag::Tensor) Tensor::share(tensor_).take();
    else if (tag_ > Tag::Tensor) object_->count.fetch_add(1, std::memory_order_relaxed);
}
void Item::let_go() {
    if (tag_ == Tag::Tensor) Tensor(Ref<TensorImpl>::adopt(tensor_)).reset();
    else if (object_->count.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object_;
}

std::complex<double> Item::complex() const { return tag_ == Tag::Complex ? static_cast<Complex*>(object_)->number : number(); }
kindling::Device Item::device() const { return {static_cast<DeviceType>(integer_ >> 8), static_cast<int8_t>(integer_)}; }

Scalar scalar_of(const Item& item) {
    switch (item.tag()) {
    case Item::Tag::Bool: return Scalar(item.truth());
    case Item::Tag::Int: return Scalar(item.integer());
    case Item::Tag::Float: return Scalar(item.number());
    case Item::Tag::Complex: return Scalar(item.complex());
    default: fail(ErrorKind::Runtime, "a number was expected in place of %s", str(item).c_str());
    }
}

size_t repeated_length(size_t length, int64_t times) {
    const size_t all = length * static_cast<size_t>(times);
    KINDLING_CHECK(Runtime, all <= std::vector<Item>().max_size(), "vector::reserve");
    return all;
}

TypeRef Item::type() const {
    switch (tag_) {
    case Tag::None: return type_of(TypeKind::None);
    case Tag::Bool: return type_of(TypeKind::Bool);
    case Tag::Int: return type_of(TypeKind::Int);
    case Tag::Float: return type_of(TypeKind::Float);
    case Tag::Device: return type_of(TypeKind::Device);
    case Tag::Tensor: return type_of(TypeKind::Tensor);
    case Tag::Complex: return type_of(TypeKind::Complex);
    case Tag::Str: return type_of(TypeKind::Str);
    case Tag::List:
    case Tag::Tuple: return static_cast<Items*>(object_)->type;
    case Tag::Dict: return dict().type;
    case Tag::Instance: return instance().type;
    case Tag::Future:
    case Tag::Foreign: return type_of(TypeKind::Any);
    }
    return nullptr;
}

bool equal(const Item& a, const Item& b) {
    using Tag = Item::Tag;
    const auto number = [](const Item& item) {
        return item.is(Tag::Bool) || item.is(Tag::Int) || item.is(Tag::Float) || item.is(Tag::Complex);
    };
    if (a.tag() != b.tag()) {
        if (!number(a) || !number(b)) return false;
        return a.is(Tag::Complex) || b.is(Tag::Complex) ? a.complex() == b.complex() : a.number() == b.number();
    }
    switch (a.tag()) {
    case Tag::None: return true;
    case Tag::Float: return a.number() == b.number();
    case Tag::Complex: return a.complex() == b.complex();
    case Tag::Str: return a.text() == b.text();
    case Tag::List:
    case Tag::Tuple: return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), equal);
    default: return a.same_object(b);
    }
}

// ---- dicts

namespace {
size_t hash_of(const Item& item) {
    const auto mixed = [](uint64_t bits) { return static_cast<size_t>((bits ^ bits >> 32) * 0x9e3779b97f4a7c15u >> 16); };
    switch (item.tag()) {
    case Item::Tag::Float: return mixed(item.number() == 0 ? 0 : std::bit_cast<uint64_t>(item.number()));
    case Item::Tag::Complex: {
        const std::complex<double> c = item.complex();
        return hash_of(Item(c.real())) * 31 + hash_of(Item(c.imag()));
    }
    case Item::Tag::Str: return std::hash<std::string>()(item.text());
    case Item::Tag::Tuple:
    case Item::Tag::List: {
        size_t key = 7;
        for (const Item& each : item.items()) key = key * 1000003 ^ hash_of(each);
        return key;
    }
    default: return mixed(static_cast<uint64_t>(item.integer()));
    }
}
constexpr size_t walked = 8;
} // namespace

void Item::Dict::index() {
    std::erase_if(pairs_, [](const Pair& pair) { return pair.first.is_none(); });
    first_ = 0;
    table_.clear();
    if (pairs_.size() <= walked) return;
    size_t size = 32;
    while (size < pairs_.size() * 4) size *= 2;
    table_.resize(size);
    entries_ = pairs_.size();
    for (size_t i = 0; i < pairs_.size(); i++) {
        size_t at = hash_of(pairs_[i].first) & (size - 1);
        while (table_[at]) at = (at + 1) & (size - 1);
        table_[at] = static_cast<uint32_t>(i + 1);
    }
}

Item* Item::Dict::find(const Item& key) {
    if (table_.empty()) {
        for (auto& [other, value] : *this)
            if (equal(other, key)) return &value;
        return nullptr;
    }
    for (size_t at = hash_of(key) & (table_.size() - 1); table_[at]; at = (at + 1) & (table_.size() - 1))
        if (table_[at] <= pairs_.size())
            if (Pair& pair = pairs_[table_[at] - 1]; equal(pair.first, key)) return &pair.second;
    return nullptr;
}

void Item::Dict::set(const Item& key, Item value) {
    if (Item* found = find(key)) {
        *found = std::move(value);
        return;
    }
    pairs_.emplace_back(key, std::move(value));
    live_++;
    if (table_.empty() ? pairs_.size() > walked : ++entries_ * 2 > table_.size()) return index();
    if (table_.empty()) return;
    size_t at = hash_of(key) & (table_.size() - 1);
    while (table_[at]) at = (at + 1) & (table_.size() - 1);
    table_[at] = static_cast<uint32_t>(pairs_.size());
}

Item Item::Dict::take(Item* value) {
    Item held = std::move(*value);
    Pair* pair = reinterpret_cast<Pair*>(reinterpret_cast<char*>(value) - sizeof(Item));
    static_assert(sizeof(Pair) == 2 * sizeof(Item));
    const Item key = std::move(pair->first); // it may hold the last reference to what a destructor then looks at
    *pair = {};
    while (!pairs_.empty() && pairs_.back().first.is_none()) pairs_.pop_back();
    first_ = std::min(first_, pairs_.size());
    while (first_ < pairs_.size() && pairs_[first_].first.is_none()) first_++;
    if (--live_ * 2 < pairs_.size() && (pairs_.size() > walked || live_ == 0)) index();
    return held;
}

Item::Dict::Pair& Item::Dict::first() {
    KINDLING_CHECK(Runtime, live_, "popitem(): dictionary is empty");
    return pairs_[first_];
}

void Item::Dict::clear() {
    pairs_.clear();
    table_.clear();
    live_ = first_ = 0;
}

bool operator==(const Item& a, const Item& b) {
    if (a.tag() != b.tag()) return false;
    switch (a.tag()) {
    case Item::Tag::None: return true;
    case Item::Tag::Float: return a.number() == b.number() && std::signbit(a.number()) == std::signbit(b.number());
    case Item::Tag::Complex: return a.complex() == b.complex();
    case Item::Tag::Str: return a.text() == b.text();
    case Item::Tag::List:
    case Item::Tag::Tuple: return a.type() == b.type() && a.items() == b.items();
    default: return a.same_object(b);
    }
}

std::string float_text(double number) {
    if (std::isfinite(number) && std::abs(number) < 1e10 && static_cast<double>(static_cast<int64_t>(number)) == number)
        return format("%s%ld.", number == 0 && std::signbit(number) ? "-" : "", static_cast<long>(number));
    return format("%.17g", number);
}

std::string device_text(Device device) {
    const std::string type = name(device.type);
    return device.index >= 0 && device.type != DeviceType::CPU ? type + ":" + std::to_string(device.index) : type;
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) switch (c) {
        case '\\': out += "\\\\"; break;
        case '\'': out += "\\'"; break;
        case '"': out += "\\\""; break;
        case '\a': out += "\\a"; break;
        case '\b': out += "\\b"; break;
        case '\f': out += "\\f"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        case '\v': out += "\\v"; break;
        default:
            out += static_cast<unsigned char>(c) >= 32 && c != 127 ? std::string(1, c) : format("\\%03o", static_cast<unsigned char>(c));
        }
    return out + "\"";
}

std::string str(const Item& item) {
    const auto join = [](const std::vector<Item>& items) {
        std::string out;
        for (const Item& each : items) out += (out.empty() ? "" : ", ") + str(each);
        return out;
    };
    switch (item.tag()) {
    case Item::Tag::None: return "None";
    case Item::Tag::Bool: return item.truth() ? "True" : "False";
    case Item::Tag::Int: return std::to_string(item.integer());
    case Item::Tag::Float: return float_text(item.number());
    case Item::Tag::Device: return quoted(device_text(item.device()));
    case Item::Tag::Tensor: return constant_text(item.tensor());
    case Item::Tag::Complex: {
        const std::complex<double> c = item.complex();
        const std::string imaginary = float_text(c.imag());
        return float_text(c.real()) + (imaginary[0] == '-' ? "" : "+") + imaginary + "j";
    }
    case Item::Tag::Str: return quoted(item.text());
    case Item::Tag::List: return "[" + join(item.items()) + "]";
    case Item::Tag::Tuple: return "(" + join(item.items()) + (item.items().size() == 1 ? ",)" : ")");
    case Item::Tag::Dict: {
        std::string out;
        for (const auto& [key, value] : item.dict()) out += (out.empty() ? "" : ", ") + str(key) + ": " + str(value);
        return "{" + out + "}";
    }
    case Item::Tag::Instance:
        if (item.type()->is(TypeKind::Enum)) return item.type()->name + "." + item.instance().slots[0].text();
        return "<" + str(item.type()) + " object>";
    case Item::Tag::Future: return "<Future>";
    case Item::Tag::Foreign: return "<object>";
    }
    return "";
}

} // namespace kindling::script
