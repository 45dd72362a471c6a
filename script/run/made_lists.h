// script/run/made_lists.h: what machine code calls to make lists and to change their length. A list is an ordinary one of the script, so
// one that came in and one that was made are read and written by the same code, and leave the loop as they are.
#pragma once
#include <exception>

#include "script/graph/signature.h"

namespace kindling::script {

/// The lists that a run of a loop has made and may still read. A loop inside knows how many there were when it began. What is behind
/// those at the end of a round, and is not carried to the next, goes.
struct MadeLists {
    static constexpr size_t most_arguments = 6;
    int64_t words[most_arguments + 1] = {}; // arguments of a builtin, the first also its result; then how many lists there are
    std::vector<Item> lists;
    Item spare[4]; // lists that went, for others that they have room for: a row for each round costs no memory and is not taken apart
    unsigned next_spare = 0;
    std::exception_ptr error; // what a call threw that gave null or false
};

/// `count` times a number, or of lists as many places for them; null where there is no memory, or the count is negative.
Item::Items* make_list(MadeLists* made, TypeRef type, int64_t count, int64_t bits) noexcept;
/// `a + b`; null where there is no memory.
Item::Items* join_lists(MadeLists* made, Item::Items* a, Item::Items* b) noexcept;
/// `list[start:end]` of numbers; null where there is no memory.
Item::Items* slice_list(MadeLists* made, Item::Items* list, int64_t start, int64_t end) noexcept;
/// The last of a list of lists, which is not empty; null where there is no memory.
Item::Items* pop_list(MadeLists* made, Item::Items* list) noexcept;
bool append_item(MadeLists* made, Item::Items* list, int64_t tag, int64_t bits) noexcept;
void put_list(Item::Items* list, int64_t place, Item::Items* item) noexcept;
/// Owns a list that another list may let go before the round ends.
bool hold_list(MadeLists* made, Item::Items* list) noexcept;
/// `tags`: 1 + the tag of each argument in 4 bits, the first lowest.
bool call_builtin(MadeLists* made, Builtin builtin, int64_t tags) noexcept;
/// Of the lists from a place on, this one comes first, and is owned from now on if only another list did; where the others begin, or -1.
int64_t keep_list(MadeLists* made, int64_t from, Item::Items* list) noexcept;
void drop_lists(MadeLists* made, int64_t from) noexcept;

inline Item shared(Item::Items* list) {
    list->count.fetch_add(1, std::memory_order_relaxed);
    return Item::adopt(Item::Tag::List, list);
}

} // namespace kindling::script
