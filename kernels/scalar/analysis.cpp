// kernels/scalar/analysis.cpp: depth-first order, dominators (Cooper, Harvey and Kennedy 2001), natural loops.
#include "kernels/scalar/analysis.h"

#include <algorithm>

namespace kindling::scalar {

Shape::Shape(const Function& function) {
    const size_t count = function.blocks.size();
    position.assign(count, nowhere);
    dominator.assign(count, nowhere);
    depth.assign(count, 0);
    loop.assign(count, nowhere);
    std::vector<uint8_t> next(count), seen(count);
    std::vector<uint32_t> stack{0};
    seen[0] = 1;
    // The second successor first: then the first one follows its block in the order.
    while (!stack.empty()) {
        const uint32_t at = stack.back();
        const BasicBlock& block = function.blocks[at];
        if (next[at] < block.successors()) {
            const uint32_t to = block.successor[block.successors() - 1 - next[at]++];
            if (!seen[to]) seen[to] = 1, stack.push_back(to);
        } else {
            order.push_back(at);
            stack.pop_back();
        }
    }
    std::reverse(order.begin(), order.end());
    for (uint32_t i = 0; i < order.size(); i++) position[order[i]] = i;

    dominator[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 1; i < order.size(); i++) {
            uint32_t common = nowhere;
            for (uint32_t before : function.blocks[order[i]].predecessors) {
                if (dominator[before] == nowhere) continue;
                if (common == nowhere) {
                    common = before;
                    continue;
                }
                uint32_t a = before;
                while (a != common) {
                    while (position[a] > position[common]) a = dominator[a];
                    while (position[common] > position[a]) common = dominator[common];
                }
            }
            if (dominator[order[i]] != common) dominator[order[i]] = common, changed = true;
        }
    }
    for (size_t i = 1; i < order.size(); i++) depth[order[i]] = depth[dominator[order[i]]] + 1;

    // Heads in reverse order of position, so that inner loops are found before those around them.
    std::vector<uint32_t> work;
    for (size_t i = order.size(); i-- > 0;) {
        const uint32_t head = order[i];
        work.clear();
        for (uint32_t before : function.blocks[head].predecessors)
            if (reachable(before) && dominates(head, before)) work.push_back(before);
        if (work.empty()) continue;
        const uint32_t self = static_cast<uint32_t>(loops.size());
        loops.emplace_back();
        loops[self].head = head;
        // Backwards from the latches; whole inner loops are stepped over by their heads.
        while (!work.empty()) {
            uint32_t at = work.back();
            work.pop_back();
            uint32_t inner = loop[at];
            if (inner == nowhere) {
                loop[at] = self;
                if (at == head) continue;
            } else {
                while (inner != self && loops[inner].parent != nowhere) inner = loops[inner].parent;
                if (inner == self) continue;
                loops[inner].parent = self;
                at = loops[inner].head;
                if (at == head) continue;
            }
            for (uint32_t before : function.blocks[at].predecessors)
                if (reachable(before)) work.push_back(before);
        }
        if (loop[head] == nowhere) loop[head] = self;
    }
    // Outer before inner.
    std::reverse(loops.begin(), loops.end());
    const uint32_t last = static_cast<uint32_t>(loops.size()) - 1;
    for (uint32_t& l : loop)
        if (l != nowhere) l = last - l;
    for (Loop& l : loops)
        if (l.parent != nowhere) l.parent = last - l.parent;
    for (Loop& l : loops) l.depth = l.parent == nowhere ? 1 : loops[l.parent].depth + 1;
    for (uint32_t block : order)
        for (uint32_t l = loop[block]; l != nowhere; l = loops[l].parent) loops[l].blocks.push_back(block);
}

void sort_keys(std::vector<uint64_t>& keys) { std::sort(keys.begin(), keys.end()); }

size_t place_in(const std::vector<uint32_t>& list, uint32_t value) {
    size_t at = 0;
    while (at < list.size() && list[at] != value) at++;
    return at;
}

void insert_at(std::vector<uint32_t>& list, size_t place, uint32_t value) {
    list.push_back(value);
    for (size_t at = list.size() - 1; at > place; at--) std::swap(list[at], list[at - 1]);
}

void take_out(std::vector<uint32_t>& list, uint32_t value) {
    size_t kept = 0;
    for (uint32_t other : list)
        if (other != value) list[kept++] = other;
    list.resize(kept);
}

bool Shape::dominates(uint32_t a, uint32_t b) const {
    while (position[b] > position[a]) b = dominator[b];
    return a == b;
}

bool Shape::holds(uint32_t which, uint32_t block) const {
    for (uint32_t l = loop[block]; l != nowhere; l = loops[l].parent)
        if (l == which) return true;
    return which == nowhere;
}

} // namespace kindling::scalar
