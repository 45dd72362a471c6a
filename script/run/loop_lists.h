// script/run/loop_lists.h: lists in loops: in memory, as the interpreter has them, or of known length and only read.
#pragma once
#include "script/run/loop_numbers.h"

namespace kindling::script {
namespace {

class LoopLists : protected LoopNumbers {
protected:
    using LoopNumbers::LoopNumbers;

    // ---- lists and known things

    Abstract of_lists(const Node* node, const std::string& name, const std::vector<Abstract>& a) {
        if (a[0].kind == Abstract::Array) {
            if (name == "len") return number(Abstract::Int, count_of(a[0]));
            if ((name == "__getitem__" || name == "select") && a.size() == 2 && a[1].kind == Abstract::Int) return get(a[0], a[1], node);
            if (name == "_set_item" && a.size() == 3 && !a[0].of_lists && a[1].kind == Abstract::Int && a[2].number())
                return set(a[0], a[1], a[2], node);
            if (name == "append" && a.size() == 2 && builtin_of(node)) return append(node, a[0], a[1]);
            if (name == "pop" && a.size() == 2 && builtin_of(node) && constant(a[1].word) == -1) return pop(node, a[0]);
            if (name == "slice" && a.size() == 4 && !a[0].of_lists && constant(a[3].word) == 1) return part(node, a);
        }
        const auto is_list = [&](const Abstract& each) { return each.kind == Abstract::Array && !each.of_lists; };
        if (name == "add" && is_list(a[0]) && is_list(a[1]))
            return list_from(node,
                             b_.call(scalar::callee("join_lists", join_lists, scalar::Effect::Writes), {lists_, a[0].word, a[1].word}),
                             b_.add(count_of(a[0]), count_of(a[1])));
        if (name == "mul" && a[0].kind == Abstract::List && a[0].parts.size() == 1 && a[1].kind == Abstract::Int &&
            numbers_in(node->outputs[0]->type))
            return make(node, a[1].word, a[0].parts[0]);
        if (name == "tensor" && a[0].number()) return new_element(node, a);
        if ((name == "min" || name == "max") && a.size() == 1 && a[0].kind == Abstract::List && !a[0].parts.empty() &&
            a[0].parts[0].kind == Abstract::Int) {
            Word best = a[0].parts[0].word;
            for (const Abstract& each : a[0].parts) best = b_.binary(name == "min" ? scalar::Op::Min : scalar::Op::Max, each.word, best);
            return number(Abstract::Int, best);
        }
        if (name == "__getitem__" && a[0].kind == Abstract::List && a[1].kind == Abstract::Int) {
            const int64_t size = static_cast<int64_t>(a[0].parts.size());
            if (const std::optional<int64_t> at = constant(a[1].word)) {
                const int64_t i = *at < 0 ? *at + size : *at;
                if (i >= 0 && i < size) return a[0].parts[static_cast<size_t>(i)];
            }
        }
        if (name == "len" && a[0].kind == Abstract::List) return number(Abstract::Int, b_.integer(static_cast<int64_t>(a[0].parts.size())));
        return computed_by_builtin(node, a);
    }
    static bool lists_in(TypeRef type) { return listed(type) != DType::None && type->element()->is(TypeKind::List); }
    static bool numbers_in(TypeRef type) { return listed(type) != DType::None && !lists_in(type); }
    static const Signature* builtin_of(const Node* node) {
        const Signature* schema = node->schema();
        return schema && schema->builtin ? schema : nullptr;
    }
    static bool changes_length(const Node* node) {
        const Signature* builtin = builtin_of(node);
        return builtin && builtin->effect == 'w' && !node->is("aten::_set_item");
    }
    /// Whether lists that a list of lists held may no longer be held by it afterwards.
    static bool lets_go(const Node* node) {
        const Signature* builtin = builtin_of(node);
        return builtin && builtin->effect == 'w' && !node->is("aten::append") && lists_in(node->inputs[0]->type);
    }
    static bool changes_rows(const Node* node) { return lets_go(node) || (!node->outputs.empty() && lists_in(node->outputs[0]->type)); }
    /// Whether a list that was read from a list of lists may be let go by it before its last use. Values that may be the list itself count
    /// as uses without end.
    static bool outlives_its_place(const Node* read) {
        const std::vector<Use>& uses = read->outputs[0]->uses;
        size_t left = uses.size();
        for (const Use& use : uses)
            for (const Value* given : use.user->outputs)
                if (given->type->is(TypeKind::List) && !given->uses.empty()) return true;
        for (const Node* node = read->next; left; node = node->next) {
            if (node == read->block->end) return true;
            left -= static_cast<size_t>(std::count_if(uses.begin(), uses.end(), [&](const Use& use) { return use.user == node; }));
            if (left && (lets_go(node) || any_inside(node, lets_go))) return true;
        }
        return false;
    }
    /// Whether a display of numbers needs memory: who reads it looks for more than the numbers that it was made of.
    static bool in_memory(const Node* node) {
        return std::any_of(node->outputs[0]->uses.begin(), node->outputs[0]->uses.end(), [&](const Use& use) {
            const Node* user = use.user;
            if (user->is("prim::Loop") || user->is("prim::Return") || user->is("prim::ListConstruct")) return true;
            if (user->is("aten::len") || !builtin_of(user)) return false;
            if (user->is("aten::__getitem__")) return !constant_of(user->inputs[1]);
            if (user->is("prim::min") || user->is("prim::max")) return user->inputs.size() != 1;
            return !(user->is("aten::mul") && node->inputs.size() == 1 && use.offset == 0);
        });
    }
    static Item::Tag tag_of(DType dtype) {
        return dtype == DType::Bool ? Item::Tag::Bool : dtype == DType::Int64 ? Item::Tag::Int : Item::Tag::Float;
    }
    Word bits(const Abstract& a) {
        return a.kind == Abstract::Float ? b_.bits(ScalarType::I64, a.word) : b_.convert(ScalarType::I64, a.word);
    }
    Word bits_for(DType dtype, const Abstract& given, const Node* node) {
        if (!given.number() || (given.kind == Abstract::Float) != (dtype == DType::Float64) ||
            (given.kind == Abstract::Bool) != (dtype == DType::Bool))
            refuse(node, "a number of another type is put into a list");
        return bits(given);
    }
    Abstract array(TypeRef type, Word object) {
        Abstract made;
        made.kind = Abstract::Array;
        made.dtype = listed(type);
        made.of_lists = lists_in(type);
        made.word = object;
        return made;
    }
    /// A vector begins with where its items begin, where they end, and where its memory does.
    static int32_t edge_at(int32_t which) {
        static_assert(sizeof(Item::Items::items) == 3 * sizeof(void*) && sizeof(Item) == 16);
        const Item::Items probe;
        return static_cast<int32_t>(reinterpret_cast<const char*>(&probe.items) - reinterpret_cast<const char*>(&probe)) + 8 * which;
    }
    Word edge(const Abstract& array, int32_t which) { return b_.load(Memory::Address, array.word, {}, 1, edge_at(which), header_region_); }
    Word count_of(const Abstract& array) {
        if (array.length) return array.length;
        const Word begin = b_.convert(ScalarType::I64, edge(array, 0)), end = b_.convert(ScalarType::I64, edge(array, 1));
        return b_.binary(scalar::Op::Shr, b_.subtract(end, begin), b_.integer(4));
    }
    void succeeded(const Node* node, Word right) { check(right, exit(node, LoweredLoop::Exit::Thrown), {}); }
    Word list_word(const Abstract& given, const Node* node) {
        if (given.kind != Abstract::Array || given.of_lists) refuse(node, "what is put into a list of lists is no list of numbers");
        return given.word;
    }
    /// In place where there is room; a call makes more, and counts lists.
    Abstract append(const Node* node, const Abstract& list, const Abstract& given) {
        if (list.of_lists) {
            const Word arguments[] = {lists_, list.word, b_.integer(static_cast<int64_t>(Item::Tag::List)),
                                      b_.convert(ScalarType::I64, list_word(given, node))};
            succeeded(node, b_.call(scalar::callee("append_item", append_item, scalar::Effect::Writes), arguments, 4));
            return list;
        }
        const Word bits = bits_for(list.dtype, given, node), tag = b_.integer(static_cast<int64_t>(tag_of(list.dtype)));
        const Word end = edge(list, 1);
        const scalar::Block room = b_.block(), full = b_.block(), after = b_.block();
        b_.branch(b_.binary(scalar::Op::Ne, end, edge(list, 2)), room, full);
        b_.seal(room);
        b_.enter(room);
        b_.store(Memory::I8, end, {}, 1, 0, tag, list_region);
        b_.store(Memory::I64, end, {}, 1, Item::number_at(), bits, list_region);
        b_.store(Memory::Address, list.word, {}, 1, edge_at(1), b_.add(end, b_.integer(sizeof(Item))), header_region_);
        b_.jump(after);
        b_.seal(full);
        b_.enter(full);
        const Word arguments[] = {lists_, list.word, tag, bits};
        succeeded(node, b_.call(scalar::callee("append_item", append_item, scalar::Effect::Writes), arguments, 4));
        b_.jump(after);
        b_.seal(after);
        b_.enter(after);
        return list;
    }
    /// Numbers in place; what a list of lists held is owned by those of the round.
    Abstract pop(const Node* node, const Abstract& list) {
        const Word end = edge(list, 1);
        check(b_.binary(scalar::Op::Ne, end, edge(list, 0)), exit(node, LoweredLoop::Exit::Message, "pop from empty list"), {});
        if (list.of_lists) {
            return list_from(node, b_.call(scalar::callee("pop_list", pop_list, scalar::Effect::Writes), {lists_, list.word}));
        }
        const Word last = b_.add(end, b_.integer(-static_cast<int64_t>(sizeof(Item))));
        const Abstract popped = item_at(list, last, {});
        b_.store(Memory::Address, list.word, {}, 1, edge_at(1), last, header_region_);
        return popped;
    }
    /// list[start:end], where a bound may be left out.
    Abstract part(const Node* node, const std::vector<Abstract>& a) {
        const auto bound = [&](const Abstract& given, int64_t otherwise) { return is_none(given) ? b_.integer(otherwise) : given.word; };
        const Word arguments[] = {lists_, a[0].word, bound(a[1], 0), bound(a[2], INT64_MAX)};
        return list_from(node, b_.call(scalar::callee("slice_list", slice_list, scalar::Effect::Writes), arguments, 4));
    }
    /// A list that a call made; its length, where that is known.
    Abstract list_from(const Node* node, Word object, Word length = {}) {
        succeeded(node, b_.binary(scalar::Op::Ne, object, b_.address(nullptr)));
        lists_made_++;
        Abstract result = array(node->outputs[0]->type, object);
        if (header_region_ == scalar::constant_region) result.length = length;
        return result;
    }
    Abstract make(const Node* node, Word count, const Abstract& number) {
        const TypeRef type = node->outputs[0]->type;
        const Word bits = number.number() && numbers_in(type) ? bits_for(listed(type), number, node) : b_.integer(0);
        const Word arguments[] = {lists_, b_.address(type), count, bits};
        return list_from(node, b_.call(scalar::callee("make_list", make_list, scalar::Effect::Writes), arguments, 4),
                         b_.binary(scalar::Op::Max, count, b_.integer(0)));
    }
    Abstract display(const Node* node, const std::vector<Abstract>& a) {
        const Abstract result = make(node, b_.integer(static_cast<int64_t>(a.size())), a.empty() ? Abstract() : a[0]);
        for (size_t i = 0; i < a.size() && result.of_lists; i++)
            b_.call(scalar::callee("put_list", put_list, scalar::Effect::Writes),
                    {result.word, b_.integer(static_cast<int64_t>(i)), list_word(a[i], node)});
        if (result.of_lists) return result;
        for (size_t i = 1; i < a.size(); i++)
            b_.store(Memory::I64, edge(result, 0), {}, 1, static_cast<int32_t>(sizeof(Item) * i) + Item::number_at(),
                     bits_for(result.dtype, a[i], node), list_region);
        return result;
    }
    /// What else can be done with lists: by the interpreter's own function.
    Abstract computed_by_builtin(const Node* node, const std::vector<Abstract>& a) {
        const TypeRef type = node->outputs.empty() ? nullptr : node->outputs[0]->type;
        const Signature* builtin = builtin_of(node);
        bool known = builtin && a.size() <= MadeLists::most_arguments;
        known = known &&
                (!type || type->is(TypeKind::Int) || type->is(TypeKind::Float) || type->is(TypeKind::Bool) || listed(type) != DType::None);
        int64_t tags = 0;
        for (size_t i = 0; known && i < a.size(); i++) {
            const bool list = a[i].kind == Abstract::Array;
            known = list || a[i].number() || is_none(a[i]);
            if (!known) break;
            const Item::Tag tag = list                           ? Item::Tag::List
                                  : is_none(a[i])                ? Item::Tag::None
                                  : a[i].kind == Abstract::Int   ? Item::Tag::Int
                                  : a[i].kind == Abstract::Float ? Item::Tag::Float
                                                                 : Item::Tag::Bool;
            tags |= (1 + static_cast<int64_t>(tag)) << 4 * i;
            if (!is_none(a[i])) b_.store(Memory::I64, lists_, {}, 1, static_cast<int32_t>(8 * i), bits(a[i]), list_region);
        }
        if (!known)
            refuse(node, node->kind.c_str(), (" of " + str(node->inputs[0]->type) + " is nothing that loops over elements know").c_str());
        succeeded(node, b_.call(scalar::callee("call_builtin", call_builtin, scalar::Effect::Writes),
                                {lists_, b_.address(reinterpret_cast<const void*>(builtin->builtin)), b_.integer(tags)}));
        lists_made_++;
        if (!type) return {};
        if (type->is(TypeKind::List)) return array(type, b_.load(Memory::Address, lists_, {}, 1, 0, list_region));
        const Word word = b_.load(type->is(TypeKind::Float) ? Memory::F64 : Memory::I64, lists_, {}, 1, 0, list_region);
        if (type->is(TypeKind::Bool)) return number(Abstract::Bool, b_.binary(scalar::Op::Ne, word, b_.integer(0)));
        return number(type->is(TypeKind::Float) ? Abstract::Float : Abstract::Int, word);
    }
    /// Where the number of an array lies, in steps of 8 bytes from the first: an item has 16.
    Word place(const Abstract& array, const Abstract& index, const Node* node) {
        const int32_t code = exit(node, LoweredLoop::Exit::Message, "list index out of range");
        std::vector<Word> words;
        append_state(words);
        const Word checked = b_.python_index(index.word, count_of(array), code, words.data(), words.size());
        return b_.add(checked, checked);
    }
    Abstract get(const Abstract& from, const Abstract& index, const Node* node) {
        const Word at = place(from, index, node);
        if (from.of_lists) {
            const Word row = b_.load(Memory::Address, edge(from, 0), at, 8, Item::number_at(), rows_region_);
            if (any_inside(loop_, lets_go) && outlives_its_place(node)) {
                succeeded(node, b_.call(scalar::callee("hold_list", hold_list, scalar::Effect::Writes), {lists_, row}));
                lists_made_++;
            }
            return array(node->outputs[0]->type, row);
        }
        return item_at(from, edge(from, 0), at);
    }
    Abstract item_at(const Abstract& list, Word begin, Word at) {
        const bool real = list.dtype == DType::Float64;
        const Word word = b_.load(real ? Memory::F64 : Memory::I64, begin, at, 8, Item::number_at(), list_region);
        if (list.dtype == DType::Bool) return number(Abstract::Bool, b_.binary(scalar::Op::Ne, word, b_.integer(0)));
        return number(real ? Abstract::Float : Abstract::Int, word);
    }
    Abstract set(const Abstract& array, const Abstract& index, const Abstract& given, const Node* node) {
        const Word at = place(array, index, node);
        const bool real = array.dtype == DType::Float64;
        const Word word = bits_for(array.dtype, given, node);
        b_.store(real ? Memory::F64 : Memory::I64, edge(array, 0), at, 8, Item::number_at(), real ? given.word : word, list_region);
        return array;
    }
};

} // namespace
} // namespace kindling::script
