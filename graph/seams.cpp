// graph/seams.cpp: what reads a concatenation is cut where its parts meet, and so is what only such pieces read. A rotary embedding's
// `x * cos + cat(-b, a) * sin` becomes one loop over the halves of x, and the concatenation is never stored.
// Compiled for size.
#include <algorithm>

#include "graph/items.h"

namespace kindling {
namespace {

/// More pieces would be more loops than the concatenation saves.
constexpr size_t most_parts = 4;
/// Elements that lie side by side in a piece: shorter rows take longer than to store and read the concatenation.
constexpr int64_t shortest_row = 16;

/// What a loop reads or writes: `count` runs of `length` elements that lie side by side, `pitch` bytes from one to the next.
struct Run {
    int64_t offset, count, pitch, length;
    DType type;
    bool operator==(const Run&) const = default;
};

/// An operand's dimensions without those that it is broadcast over, merged. False if there are more than `most`.
bool merged(const Item& item, const Operand& operand, size_t most, Dims& sizes, Dims& strides) {
    sizes.clear();
    strides.clear();
    for (size_t d = 0; d < item.sizes.size(); d++) {
        if (operand.strides[d] == 0 || item.sizes[d] == 1) continue;
        if (sizes.size() && strides.back() == operand.strides[d] * item.sizes[d]) {
            sizes.back() *= item.sizes[d];
            strides.back() = operand.strides[d];
        } else {
            sizes.push_back(item.sizes[d]);
            strides.push_back(operand.strides[d]);
        }
    }
    return sizes.size() <= most;
}

bool runs_of(const Item& item, const Operand& operand, Run& run) {
    const int64_t size = static_cast<int64_t>(item_size(operand.type));
    Dims sizes, strides;
    if (!merged(item, operand, 2, sizes, strides)) return false;
    run = {operand.offset, 1, 0, 1, operand.type};
    if (sizes.size() && strides.back() == size) {
        run.length = sizes.back();
        sizes.pop_back();
    }
    if (sizes.size() > 1) return false;
    if (sizes.size()) run.count = sizes[0], run.pitch = strides[0];
    return run.pitch >= 0;
}

/// Parts of one memory in the order in which they lie; empty where they do not make up one piece of it.
std::vector<Run> in_order(std::vector<Run> parts) {
    std::sort(parts.begin(), parts.end(), [](const Run& a, const Run& b) { return a.offset < b.offset; });
    const Run& first = parts.front();
    const int64_t size = static_cast<int64_t>(item_size(first.type));
    int64_t end = first.offset;
    for (const Run& part : parts) {
        if (part.offset != end || part.count != first.count || part.pitch != first.pitch || part.type != first.type) return {};
        end += part.length * size;
    }
    if (first.count > 1 && end - first.offset != first.pitch) return {};
    return parts;
}

/// The loop over `length` indices of dimension d from `start` on.
Item piece_of(const Item& item, size_t d, int64_t start, int64_t length) {
    Item piece = item;
    piece.sizes[d] = length;
    for (Operand& operand : piece.operands) operand.offset += start * operand.strides[d];
    uint64_t* masks[2] = {&piece.reduced, &piece.row};
    merge(piece.sizes, masks, piece.operands);
    return piece;
}

bool is_in_place(const Item& item, size_t outputs) {
    for (size_t o = 0; o < outputs; o++)
        for (size_t i = outputs; i < item.operands.size(); i++)
            if (item.operands[o].slot == item.operands[i].slot) return true;
    return false;
}

/// Cuts a loop where the parts of what it reads or writes through `operand` meet. No pieces if it can't be.
void cut_at(const Item& item, const Operand& operand, const std::vector<Run>& parts, std::vector<Item>& pieces) {
    if (parts.empty()) return;
    const Run& first = parts.front();
    const int64_t size = static_cast<int64_t>(item_size(operand.type));
    int64_t run = 0; // elements between one part's beginning and its next
    for (const Run& part : parts) run += part.length;
    Dims sizes, strides;
    if (operand.type != first.type || operand.offset != first.offset || !merged(item, operand, 1, sizes, strides) || sizes.empty() ||
        strides[0] != size || sizes[0] != run * first.count)
        return;
    // The dimension in which the parts lie side by side; where it is only a part of one, that is split.
    Item split = item;
    size_t d = item.sizes.size();
    int64_t left = run, inner = 1;
    while (d-- > 0) {
        if (operand.strides[d] == 0) continue;
        if (item.sizes[d] >= left) break;
        if (left % item.sizes[d]) return;
        left /= item.sizes[d];
        inner *= item.sizes[d];
    }
    if (item.sizes[d] % left) return;
    if (item.sizes[d] > left) {
        Dims fine = item.sizes;
        fine[d] /= left;
        fine.insert(++d, left);
        for (Operand& each : split.operands) each.strides = finer(item.sizes, each.strides, fine);
        split.reduced = finer(item.sizes, item.reduced, fine);
        split.row = finer(item.sizes, item.row, fine);
        split.sizes = fine;
    }
    if ((split.reduced | split.row) >> d & 1) return;
    for (const Run& part : parts)
        if (part.length % inner || (inner < shortest_row && part.length < shortest_row)) return;
    int64_t start = 0;
    for (const Run& part : parts) {
        pieces.push_back(piece_of(split, d, start, part.length / inner));
        start += part.length / inner;
    }
}

/// The parts in which each memory is written, or read.
class Parts {
public:
    Parts(const RecordedLoops& recorded, bool writes) : recorded_(recorded), of_(recorded.wanted.size()), writes_(writes) {}

    void add(const Item& item, const Operand& operand) {
        std::vector<Run>& list = of_[static_cast<size_t>(operand.slot)];
        Run run;
        if (list.size() > most_parts) return;
        if (!runs_of(item, operand, run)) return list.resize(most_parts + 1); // nothing is known any more
        // What is written twice is no part of a whole; what is read twice is one.
        if (writes_ || std::find(list.begin(), list.end(), run) == list.end()) list.push_back(run);
    }

    /// Cuts the loop where the parts of one of its operands from `first` to `last` meet.
    void cut(const Item& item, size_t first, size_t last, std::vector<Item>& pieces) const {
        for (size_t k = first; k < last && pieces.empty(); k++) {
            const auto slot = static_cast<size_t>(item.operands[k].slot);
            const size_t count = of_[slot].size();
            if (count > 1 && count <= most_parts && !recorded_.wanted[slot]) cut_at(item, item.operands[k], in_order(of_[slot]), pieces);
        }
    }

private:
    const RecordedLoops& recorded_;
    std::vector<std::vector<Run>> of_; // by slot; more than most_parts: nothing is known
    bool writes_;
};

} // namespace

void split_at_seams(const RecordedLoops& recorded, std::vector<Item>& items) {
    auto outputs_of = [&](const Item& item) { return static_cast<size_t>(recorded.loops[static_cast<size_t>(item.loop)].output_count); };
    // First what reads memory that was written in parts, in order; then what writes memory that is read in parts, from the end on.
    for (const bool readers : {true, false}) {
        Parts parts(recorded, readers);
        if (!readers) std::reverse(items.begin(), items.end());
        std::vector<Item> result, left, pieces;
        for (Item& item : items) {
            left.push_back(std::move(item));
            while (!left.empty()) {
                Item next = std::move(left.back());
                left.pop_back();
                const size_t outputs = outputs_of(next), count = next.operands.size();
                if (next.needed && !next.alone && !is_in_place(next, outputs))
                    parts.cut(next, readers ? outputs : 0, readers ? count : outputs, pieces);
                if (!pieces.empty()) { // none of them has run yet, so their order is free
                    left.insert(left.end(), std::make_move_iterator(pieces.begin()), std::make_move_iterator(pieces.end()));
                    pieces.clear();
                    continue;
                }
                for (size_t k = readers ? 0 : outputs; k < (readers ? outputs : count) && next.needed; k++)
                    parts.add(next, next.operands[k]);
                result.push_back(std::move(next));
            }
        }
        items.swap(result);
    }
    std::reverse(items.begin(), items.end());
}

} // namespace kindling
