// script/run/made_lists.cpp: lists that loops make. No call throws: machine code has no tables for it.
// Compiled for calls.
#include "script/run/made_lists.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace kindling::script {
namespace {

Item item_of(Item::Tag tag, int64_t bits) {
    switch (tag) {
    case Item::Tag::Bool: return Item(bits != 0);
    case Item::Tag::Int: return Item(bits);
    case Item::Tag::Float: return Item(std::bit_cast<double>(bits));
    case Item::Tag::List: return shared(reinterpret_cast<Item::Items*>(bits));
    default: return Item();
    }
}
Item::Tag tag_of(TypeRef element) {
    return element->is(TypeKind::Bool) ? Item::Tag::Bool : element->is(TypeKind::Float) ? Item::Tag::Float : Item::Tag::Int;
}
void note(MadeLists* made, Item list) {
    made->lists.push_back(std::move(list));
    made->words[MadeLists::most_arguments] = static_cast<int64_t>(made->lists.size());
}
bool of_lists(TypeRef type) { return type->element()->is(TypeKind::List); }
/// A list whose items are anything but counted, or none yet.
Item::Items* fresh(MadeLists* made, TypeRef type, size_t count) {
    Item item;
    for (Item& spare : made->spare) {
        if (spare.is_none() || of_lists(type)) continue;
        std::vector<Item>& items = spare.items();
        // What was appended to will be again. No long list goes for a short one, which may stay.
        if (count ? items.capacity() < count || items.capacity() / 4 > count : items.size() == items.capacity()) continue;
        items.resize(count);
        item = std::exchange(spare, Item());
        break;
    }
    if (item.is_none()) item = Item::list(type, std::vector<Item>(count));
    Item::Items* list = static_cast<Item::Items*>(item.object());
    list->type = type;
    note(made, std::move(item));
    return list;
}
/// Numbers over what is not counted.
void put(Item* to, const Item* from, size_t count) {
    if (count) std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(Item));
}
/// Whether the body came to its end.
template <class F> bool caught(MadeLists* made, F body) noexcept {
    try {
        body();
        return true;
    } catch (...) { made->error = std::current_exception(); }
    return false;
}

} // namespace

Item::Items* make_list(MadeLists* made, TypeRef type, int64_t count, int64_t bits) noexcept {
    const Item item = item_of(tag_of(type->element()), bits);
    Item::Items* list = nullptr;
    caught(made, [&] { list = fresh(made, type, repeated_length(1, count)); });
    if (list && !of_lists(type))
        for (Item& each : list->items) put(&each, &item, 1);
    return list;
}

Item::Items* join_lists(MadeLists* made, Item::Items* a, Item::Items* b) noexcept {
    const size_t first = a->items.size(), second = b->items.size();
    Item::Items* list = nullptr;
    caught(made, [&] { list = fresh(made, a->type, first + second); });
    if (list) {
        put(list->items.data(), a->items.data(), first);
        put(list->items.data() + first, b->items.data(), second);
    }
    return list;
}

Item::Items* slice_list(MadeLists* made, Item::Items* list, int64_t start, int64_t end) noexcept {
    const int64_t length = static_cast<int64_t>(list->items.size());
    const auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + length : at, 0, length); };
    const size_t first = static_cast<size_t>(bound(start)), count = static_cast<size_t>(std::max<int64_t>(bound(end) - bound(start), 0));
    Item::Items* part = nullptr;
    if (caught(made, [&] { part = fresh(made, list->type, count); })) put(part->items.data(), list->items.data() + first, count);
    return part;
}

Item::Items* pop_list(MadeLists* made, Item::Items* list) noexcept {
    // The place comes first: where there is no memory for it, the list stays whole.
    if (!caught(made, [&] { note(made, Item()); })) return nullptr;
    std::swap(made->lists.back(), list->items.back());
    list->items.pop_back();
    return static_cast<Item::Items*>(made->lists.back().object());
}

bool append_item(MadeLists* made, Item::Items* list, int64_t tag, int64_t bits) noexcept {
    return caught(made, [&] {
        std::vector<Item>& items = list->items;
        if (items.size() == items.capacity()) items.reserve(std::max<size_t>(4, 2 * items.size()));
        items.push_back(item_of(static_cast<Item::Tag>(tag), bits));
    });
}

bool call_builtin(MadeLists* made, Builtin builtin, int64_t tags) noexcept {
    return caught(made, [&] {
        Item arguments[MadeLists::most_arguments];
        size_t count = 0;
        for (; tags; tags >>= 4, count++) arguments[count] = item_of(static_cast<Item::Tag>((tags & 15) - 1), made->words[count]);
        builtin(arguments, count);
        const Item& result = arguments[0];
        if (result.is(Item::Tag::List)) note(made, result);
        made->words[0] = result.is(Item::Tag::Float)  ? std::bit_cast<int64_t>(result.number())
                         : result.is(Item::Tag::List) ? reinterpret_cast<int64_t>(result.object())
                                                      : result.integer();
    });
}

void put_list(Item::Items* list, int64_t place, Item::Items* item) noexcept { list->items[static_cast<size_t>(place)] = shared(item); }

bool hold_list(MadeLists* made, Item::Items* list) noexcept {
    return caught(made, [&] { note(made, shared(list)); });
}

int64_t keep_list(MadeLists* made, int64_t from, Item::Items* list) noexcept {
    for (size_t i = static_cast<size_t>(from); i < made->lists.size(); i++)
        if (made->lists[i].object() == list) {
            std::swap(made->lists[i], made->lists[static_cast<size_t>(from)]);
            return from + 1;
        }
    // It came in, or a list that goes now held it.
    if (!caught(made, [&] { made->lists.insert(made->lists.begin() + from, shared(list)); })) return -1;
    return from + 1;
}

void drop_lists(MadeLists* made, int64_t from) noexcept {
    for (; made->lists.size() > static_cast<size_t>(from); made->lists.pop_back()) {
        Item& last = made->lists.back();
        if (last.object()->count.load(std::memory_order_acquire) == 1 && !of_lists(last.type()))
            std::swap(last, made->spare[made->next_spare++ % 4]);
    }
    made->words[MadeLists::most_arguments] = from;
}

} // namespace kindling::script
