// script/value.cpp: values: counting, comparison, text.
#include "script/value.h"

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
Item::Item(kindling::Device device) : tag_(Tag::Device), integer_(static_cast<int64_t>(device.type) << 8 | static_cast<uint8_t>(device.index)) {}
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

Item* Item::Dict::find(const Item& key) {
    for (auto& [known, value] : pairs)
        if (known == key) return &value;
    return nullptr;
}
void Item::Dict::set(const Item& key, const Item& value) {
    if (Item* known = find(key)) *known = value;
    else pairs.emplace_back(key, value);
}

std::complex<double> Item::complex() const { return tag_ == Tag::Complex ? static_cast<Complex*>(object_)->number : number(); }
kindling::Device Item::device() const {
    return {static_cast<DeviceType>(integer_ >> 8), static_cast<int8_t>(integer_)};
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
        case Tag::List: case Tag::Tuple: return static_cast<Items*>(object_)->type;
        case Tag::Dict: return dict().type;
        case Tag::Instance: return instance().type;
        case Tag::Future: case Tag::Foreign: return type_of(TypeKind::Any);
    }
    return nullptr;
}

bool operator==(const Item& a, const Item& b) {
    if (a.tag() != b.tag()) return false;
    switch (a.tag()) {
        case Item::Tag::None: return true;
        case Item::Tag::Float: return a.number() == b.number() && std::signbit(a.number()) == std::signbit(b.number());
        case Item::Tag::Complex: return a.complex() == b.complex();
        case Item::Tag::Str: return a.text() == b.text();
        case Item::Tag::List: case Item::Tag::Tuple: return a.type() == b.type() && a.items() == b.items();
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
        default: out += static_cast<unsigned char>(c) >= 32 && c != 127 ? std::string(1, c) : format("\\%03o", static_cast<unsigned char>(c));
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
        case Item::Tag::Tensor: return "<Tensor>";
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
            for (const auto& [key, value] : item.dict().pairs) out += (out.empty() ? "" : ", ") + str(key) + ": " + str(value);
            return "{" + out + "}";
        }
        case Item::Tag::Instance: return "<" + str(item.type()) + " object>";
        case Item::Tag::Future: return "<Future>";
        case Item::Tag::Foreign: return "<object>";
    }
    return "";
}

}  // namespace kindling::script
