// script/builtins/builtins_containers.cpp: lists and dicts.
#include <algorithm>

#include "script/builtins/builtins.h"
#include "script/graph/class.h"
#include "script/run/run.h"

namespace kindling::script {
namespace {

using Tag = Item::Tag;

TypeRef element_of(const Item& list) { return list.type()->element(); }
Item like(const Item& list, std::vector<Item> items) { return Item::list(list.type(), std::move(items)); }
int64_t length(const std::vector<Item>& items) { return static_cast<int64_t>(items.size()); }

Item repeated(const Item& list, int64_t times) {
    std::vector<Item> items;
    const std::vector<Item>& from = list.items();
    items.reserve(repeated_length(from.size(), times));
    if (times > 0 && from.size() == 1) items.assign(static_cast<size_t>(times), from[0]);
    else
        for (int64_t i = 0; i < times && !from.empty(); i++) items.insert(items.end(), from.begin(), from.end());
    return like(list, std::move(items));
}
void extend(std::vector<Item>& list, const std::vector<Item>& other) {
    const size_t count = other.size(); // it may be the list itself
    list.reserve(list.size() + count);
    for (size_t i = 0; i < count; i++) list.push_back(other[i]);
}

bool before(const Item& a, const Item& b) {
    switch (a.tag()) {
    case Tag::Str: return a.text() < b.text();
    case Tag::Float: return a.number() < b.number();
    case Tag::Tensor: return truth_of(a.tensor().lt(b.tensor()));
    case Tag::Tuple:
        for (size_t i = 0; i < std::min(a.items().size(), b.items().size()); i++) {
            if (before(a.items()[i], b.items()[i])) return true;
            if (before(b.items()[i], a.items()[i])) return false;
        }
        return a.items().size() < b.items().size();
    case Tag::Bool:
    case Tag::Int: return a.integer() < b.integer();
    case Tag::Instance:
        if (Class* of = a.type()->definition) {
            Function* less = of->method("__lt__");
            const char* name = a.type()->name.c_str();
            KINDLING_CHECK(Runtime,
                           less && less->signature.formals.size() == 2 && less->signature.formals[1].type == b.type() &&
                               less->signature.results[0].type->is(TypeKind::Bool),
                           "To sort a list of %s it must define a __lt__ method with two inputs of type %s that returns a bool", name,
                           name);
            std::vector<Item> both;
            both.push_back(a);
            both.push_back(b);
            return run(*less, std::move(both)).truth();
        }
        [[fallthrough]];
    default:
        fail(ErrorKind::Runtime,
             "Only list of Tensors, ints, floats, bools, strs, a User Defined Class that defines the __lt__ compare method or Tuples of "
             "aforementioned types can be sorted, got list of %s",
             repr(a.type()).c_str());
    }
}
void sort(std::vector<Item>& items, bool reverse) {
    std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return reverse ? before(b, a) : before(a, b); });
}
Item sorted(const Item& list) {
    std::vector<Item> items = list.items();
    sort(items, false);
    return like(list, std::move(items));
}

size_t place_of(const std::vector<Item>& items, const Item& wanted) {
    size_t at = 0;
    while (at < items.size() && !alike(items[at], wanted)) at++;
    return at;
}
Item index_of(const std::vector<Item>& items, const Item& wanted) {
    const size_t at = place_of(items, wanted);
    const bool plain = wanted.is(Tag::Float) || wanted.is(Tag::Bool);
    KINDLING_CHECK(Runtime, at < items.size(), "'%s' is not in list",
                   plain ? format("%g", wanted.number()).c_str() : shown(wanted).c_str());
    return Item(static_cast<int64_t>(at));
}
Item taken(std::vector<Item>& items, int64_t index) {
    const int64_t at = index < 0 ? index + length(items) : index;
    KINDLING_CHECK(Runtime, !items.empty(), "pop index out of range");
    KINDLING_CHECK(Runtime, at >= 0 && at < length(items), "list index out of range");
    Item out = std::move(items[at]);
    items.erase(items.begin() + at);
    return out;
}

// ---- dicts

Item& at_key(const Item& dict, const Item& key) {
    Item* found = dict.dict().find(key);
    KINDLING_CHECK(Runtime, found, "KeyError: %s", shown(key).c_str());
    return *found;
}
Item pair_of(TypeRef dict, const Item& key, const Item& value) {
    return Item::tuple(tuple_of({dict->parts[0], dict->parts[1]}), {key, value});
}
Item copied(const Item& dict) {
    Item made = Item::dict(dict.type());
    for (const auto& [key, value] : dict.dict()) made.dict().set(key, value);
    return made;
}
Item from_pairs(const Item& list) {
    const TypeRef pair = element_of(list);
    Item made = Item::dict(dict_of(pair->parts[0], pair->parts[1]));
    for (const Item& each : list.items()) made.dict().set(each.items()[0], each.items()[1]);
    return made;
}
template <class F> Item listed(const Item& dict, TypeRef element, F f) {
    std::vector<Item> items;
    items.reserve(dict.dict().size());
    for (const auto& [key, value] : dict.dict()) items.push_back(f(key, value));
    return Item::list(list_of(element), std::move(items));
}

constexpr char keys[] = "str int bool float complex Tensor";

void dict_builtins(Builtins& define) {
    define.each(keys, 0, "aten::len.Dict_$(Dict($, t) self) -> int", NUMBER(a[0].dict().size()));
    define.each(keys, 0, "aten::keys.$(Dict($, t) self) -> $[](*)",
                GIVE(listed(a[0], a[0].type()->parts[0], [](const Item& key, const Item&) { return key; })));
    define.each(keys, 0, "aten::values.$(Dict($, t) self) -> t[](*)",
                GIVE(listed(a[0], a[0].type()->parts[1], [](const Item&, const Item& value) { return value; })));
    define.each(
        keys, 0, "aten::items.$(Dict($, t) self) -> (($, t)[])", DO {
            const TypeRef type = a[0].type();
            a[0] = listed(a[0], tuple_of({type->parts[0], type->parts[1]}),
                          [&](const Item& key, const Item& value) { return pair_of(type, key, value); });
        });
    define.each(keys, 0, "aten::__getitem__.Dict_$(Dict($, t) self, $ key) -> t(*)", GIVE(Item(at_key(a[0], a[1]))));
    if (define.name() == "aten::get")
        for (const char* key : {"str", "int", "bool", "float", "complex", "Tensor"}) {
            define.each(
                key, 0, "aten::get.$(Dict($, t) self, $ key) -> t(*)?", DO {
                    const Item* found = a[0].dict().find(a[1]);
                    a[0] = found ? Item(*found) : Item();
                });
            define.each(
                key, 0, "aten::get.default_$(Dict($, t) self, $ key, t default_value) -> t(*)", DO {
                    const Item* found = a[0].dict().find(a[1]);
                    a[0] = found ? Item(*found) : a[2];
                });
        }
    define.each(
        keys, 'w', "aten::setdefault.$(Dict($, t)(a!) self, $(b -> *) key, t(c -> *) default_value) -> t(*)", DO {
            const Item* found = a[0].dict().find(a[1]);
            if (found) a[2] = *found;
            else a[0].dict().set(a[1], a[2]);
            a[0] = a[2];
        });
    if (define.name() == "aten::pop")
        for (const char* key : {"str", "int", "bool", "float", "complex", "Tensor"}) {
            define.each(key, 'w', "aten::pop.Dict_$(Dict($, t)(a!) self, $ key) -> t(*)", GIVE(a[0].dict().take(&at_key(a[0], a[1]))));
            define.each(
                key, 'w', "aten::pop.Dict_default_$(Dict($, t)(a!) self, $ key, t default_value) -> t(*)", DO {
                    Item* found = a[0].dict().find(a[1]);
                    a[0] = found ? a[0].dict().take(found) : a[2];
                });
        }
    define.each(
        keys, 'w', "aten::popitem.$(Dict($, t)(a!) self) -> (($, t))", DO {
            auto& [key, value] = a[0].dict().first();
            Item pair = pair_of(a[0].type(), key, value);
            a[0].dict().take(&value);
            a[0] = std::move(pair);
        });
    define.each(keys, 'w', "aten::Delete.Dict_$(Dict($, t)(a!) self, $ key) -> ()", DO { a[0].dict().take(&at_key(a[0], a[1])); });
    define.each(keys, 'w', "aten::clear.$(Dict($, t)(a!) self) -> ()", DO { a[0].dict().clear(); });
    define.each(
        keys, 'w', "aten::update.$(Dict($, t)(a!) self, Dict($, t)(a!) to_add) -> ()", DO {
            const Item other = a[0].same_object(a[1]) ? copied(a[1]) : a[1];
            for (const auto& [key, value] : other.dict()) a[0].dict().set(key, value);
        });
    define.each(keys, 'w', "aten::_set_item.$(Dict($, t)(a!) l, $(b -> *) idx, t(c -> *) v) -> ()", DO { a[0].dict().set(a[1], a[2]); });
    define.each(keys, 0, "aten::copy.Dict_$(Dict($, t)(a) self) -> Dict($, t)", GIVE(copied(a[0])));
    define(0, "aten::dict() -> Dict(str, Tensor)", GIVE(Item::dict(dict_of(type_of(TypeKind::Str), type_of(TypeKind::Tensor)))));
    if (define.name() == "aten::dict")
        for (const char* key : {"str", "int", "bool", "float", "complex", "Tensor"}) {
            define.each(key, 0, "aten::dict.$(($, tVal)[] inputs) -> Dict($, tVal)", GIVE(from_pairs(a[0])));
            define.each(key, 0, "aten::dict.Dict_$(Dict($, t)(a) self) -> Dict($, t)", GIVE(copied(a[0])));
        }
}

} // namespace

size_t place_in(const std::vector<Item>& items, int64_t index) {
    const int64_t at = index < 0 ? index + length(items) : index;
    KINDLING_CHECK(Runtime, at >= 0 && at < length(items), "list index out of range");
    return static_cast<size_t>(at);
}

Bounds slice_bounds(const Item* arguments, int64_t length) {
    const int64_t step = arguments[2].integer();
    KINDLING_CHECK(Runtime, step != 0, "List slice should have non-zero step");
    const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? length : length - 1;
    const auto bound = [&](const Item& item, int64_t otherwise) {
        if (item.is_none()) return otherwise;
        const int64_t at = item.integer() < 0 ? item.integer() + length : item.integer();
        return std::clamp(at, least, std::max(least, most));
    };
    const int64_t start = bound(arguments[0], step > 0 ? 0 : length - 1), end = bound(arguments[1], step > 0 ? length : -1);
    const int64_t span = step > 0 ? end - start : start - end, stride = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
    return {start, step, span > 0 ? 1 + (span - 1) / stride : 0};
}

bool alike(const Item& a, const Item& b) {
    if (a.is(Tag::List) && b.is(Tag::List))
        return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), alike);
    if (a.is(Tag::Tensor) && b.is(Tag::Tensor)) return truth_of(a.tensor().eq(b.tensor()));
    return equal(a, b);
}

void container_builtins(Builtins& define) {
    define(
        0, "aten::add.t(t[] a, t[] b) -> t[]", DO {
            std::vector<Item> items;
            items.reserve(L(0).size() + L(1).size());
            items.insert(items.end(), L(0).begin(), L(0).end());
            items.insert(items.end(), L(1).begin(), L(1).end());
            a[0] = like(a[0], std::move(items));
        });
    define('p', "aten::add.str(str a, str b) -> str", GIVE(S(0) + S(1)));
    define('w', "aten::add_.t(t[](a!) self, t[] b) -> t[]", DO { extend(L(0), L(1)); });
    define(0, "aten::mul.left_t(t[] l, int n) -> t[]", GIVE(repeated(a[0], I(1))));
    define(0, "aten::mul.right_(int n, t[] l) -> t[]", GIVE(repeated(a[1], I(0))));
    define(
        'w', "aten::mul_.t(t[](a!) l, int n) -> t[](a!)", DO {
            const Item more = repeated(a[0], std::max<int64_t>(I(1), 0));
            L(0) = more.items();
        });
    define('w', "aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", DO { L(0).push_back(a[1]); });
    define('w', "aten::extend.t(t[](a!) self, t[] other) -> ()", DO { extend(L(0), L(1)); });
    define(
        'w', "aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()", DO {
            const int64_t size = length(L(0)), at = std::clamp<int64_t>(I(1) < 0 ? I(1) + size : I(1), 0, size);
            L(0).insert(L(0).begin() + at, a[2]);
        });
    define(
        'w', "aten::pop.t(t[](a!) self, int idx=-1) -> t(*)", DO {
            KINDLING_CHECK(Runtime, !L(0).empty(), "pop from empty list");
            a[0] = taken(L(0), I(1));
        });
    define('w', "aten::Delete.t(t[](a!) self, int idx) -> ()", DO { taken(L(0), I(1)); });
    define('w', "aten::clear.t(t[](a!) self) -> ()", DO { std::vector<Item>().swap(L(0)); });
    define('w', "aten::reverse.t(t[](a!) self) -> ()", DO { std::reverse(L(0).begin(), L(0).end()); });
    define(0, "aten::copy.t(t[](a) self) -> t[]", GIVE(like(a[0], L(0))));
    define(
        0, "aten::list(str t) -> str[]", DO {
            std::vector<Item> items;
            for (char c : S(0)) items.emplace_back(std::string(1, c));
            a[0] = Item::list(list_of(type_of(TypeKind::Str)), std::move(items));
        });
    define(0, "aten::list.t(t[] l) -> t[]", GIVE(like(a[0], L(0))));
    define(0, "aten::len.t(t[] a) -> int", NUMBER(L(0).size()));
    define(
        0, "aten::len.Tensor(Tensor t) -> int", DO {
            KINDLING_CHECK(Type, T(0).dim() > 0, "len() of a 0-d tensor");
            a[0] = Item(T(0).size(0));
        });
    define('p', "aten::len.str(str s) -> int", NUMBER(S(0).size()));
    define(0, "aten::__getitem__.t(t[](a) list, int idx) -> t(*)", GIVE(Item(L(0)[place_in(L(0), I(1))])));
    define(0, "aten::select.t(t[](a) list, int idx) -> t(*)", GIVE(Item(L(0)[place_in(L(0), I(1))])));
    define('w', "aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)", DO { L(0)[place_in(L(0), I(1))] = a[2]; });
    define(
        0, "aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]", DO {
            const Bounds bounds = slice_bounds(a + 1, length(L(0)));
            std::vector<Item> items;
            items.reserve(static_cast<size_t>(bounds.count));
            for (int64_t i = 0; i < bounds.count; i++) items.push_back(L(0)[static_cast<size_t>(bounds.start + i * bounds.step)]);
            a[0] = like(a[0], std::move(items));
        });
    const Builtin contains = TRUTH(place_of(L(0), a[1]) < L(0).size());
    define(0, "aten::__contains__.int_list(int[] l, int item) -> bool", contains);
    define(0, "aten::__contains__.str_list(str[] l, str item) -> bool", contains);
    define.each(keys, 0, "aten::__contains__.$(Dict($, t) dict, $ key) -> bool", TRUTH(a[0].dict().find(a[1])));
    define(0, "aten::__contains__.float_list(float[] l, float item) -> bool", contains);
    constexpr char ordered[] = "int float Tensor bool str";
    define.each(ordered, 0, "aten::sorted.$($[](a) input) -> $[]", GIVE(sorted(a[0])));
    define(0, "aten::sorted.any(t[](a) self) -> t[]", GIVE(sorted(a[0])));
    define.each(ordered, 'w', "aten::sort.$($[](a!) self, bool reverse=False) -> ()", DO { sort(L(0), B(1)); });
    define(
        'w', "aten::sort.any(t[](a!) self, bool reverse=False) -> ()", DO { // a copy: a script compares, which sees the list
            std::vector<Item> items = L(0);
            sort(items, B(1));
            L(0).swap(items);
        });
    define(
        0, "prim::rangelist(int n) -> int[]", DO {
            std::vector<Item> items;
            for (int64_t i = 0; i < I(0); i++) items.emplace_back(i);
            a[0] = Item::list(list_of(type_of(TypeKind::Int)), std::move(items));
        });
}

void lookup_builtins(Builtins& define) {
    constexpr char kinds[] = "int float bool Tensor str";
    define.each(kinds, 0, "aten::count.$($[] self, $ el) -> int",
                NUMBER(std::count_if(L(0).begin(), L(0).end(), [&](const Item& each) { return alike(each, a[1]); })));
    define.each(kinds, 0, "aten::index.list_$($[] self, $ el) -> int", GIVE(index_of(L(0), a[1])));
    define.each(
        kinds, 'w', "aten::remove.$($[](a!) self, $ el) -> ()", DO {
            const size_t at = place_of(L(0), a[1]);
            KINDLING_CHECK(Runtime, at < L(0).size(), "list.remove(x): x not in list");
            L(0).erase(L(0).begin() + static_cast<std::ptrdiff_t>(at));
        });
    dict_builtins(define);
    define(0, "aten::len.any(Any[] a) -> int", NUMBER(L(0).size()));
}

} // namespace kindling::script
