// kernels/scalar/lifetimes.cpp: layout of blocks, liveness by data flow, coalescing of phis.
#include "kernels/scalar/lifetimes.h"

#include <algorithm>

namespace kindling::scalar {

Lifetimes::Lifetimes(const Function& function, const Shape& shape, const std::vector<uint8_t>& folded,
                     Until (*until)(const Function&, const Node&, int)) {
    lay_out(function, shape);
    find(function, shape, folded, until);
    coalesce(function, shape);
}

void Lifetimes::lay_out(const Function& function, const Shape& shape) {
    order = shape.order;
    // Blocks that leave a loop in its middle go behind it.
    for (const Loop& loop : shape.loops) {
        const uint32_t self = static_cast<uint32_t>(&loop - shape.loops.data());
        const auto in_loop = [&](uint32_t block) { return shape.holds(self, block); };
        size_t first = 0, last = order.size(), kept = 0;
        while (order[first] != loop.head) first++;
        while (!in_loop(order[last - 1])) last--;
        std::vector<uint32_t> others;
        for (size_t i = kept = first; i < last; i++) {
            if (in_loop(order[i])) order[kept++] = order[i];
            else others.push_back(order[i]);
        }
        for (uint32_t block : others) order[kept++] = block;
    }
    // A head that tests whether to leave goes to the end of its loop: one jump each round.
    for (size_t i = shape.loops.size(); i-- > 0;) {
        const Loop& loop = shape.loops[i];
        const BasicBlock& head = function.blocks[loop.head];
        if (head.kind != BasicBlock::Branch || loop.head == 0) continue;
        const bool first_in = shape.holds(static_cast<uint32_t>(i), head.successor[0]);
        if (first_in == shape.holds(static_cast<uint32_t>(i), head.successor[1])) continue;
        size_t at = 0;
        while (order[at] != loop.head) at++;
        size_t last = at;
        while (last < order.size() && shape.holds(static_cast<uint32_t>(i), order[last])) last++;
        if (last - at < 2 || function.blocks[order[last - 1]].kind != BasicBlock::Jump) continue;
        for (; at + 1 < last; at++) order[at] = order[at + 1];
        order[at] = loop.head;
    }
}

void Lifetimes::find(const Function& function, const Shape& shape, const std::vector<uint8_t>& folded,
                     Until (*until)(const Function&, const Node&, int)) {
    const size_t values = function.nodes.size(), words = (values + 63) / 64;
    start.assign(function.blocks.size(), 0);
    end.assign(function.blocks.size(), 0);
    place.assign(values, 0);
    ranges.resize(values);
    weight.assign(values, 0);
    leader_.resize(values);
    for (uint32_t v = 0; v < values; v++) leader_[v] = v;
    uint32_t at = 0;
    for (uint32_t b : order) {
        start[b] = at;
        at += 4;
        for (uint32_t id : function.blocks[b].nodes) {
            if (function.nodes[id].op == Op::Phi) {
                place[id] = start[b];
            } else if (!folded[id]) {
                place[id] = at;
                at += 4;
            }
        }
        end[b] = at;
        at += 4;
    }

    // Data flow, backwards, until nothing changes.
    std::vector<uint64_t> live_in(words * function.blocks.size()), live(words);
    const auto set = [&](uint32_t id) { live[id / 64] |= uint64_t{1} << (id % 64); };
    const auto clear = [&](uint32_t id) { live[id / 64] &= ~(uint64_t{1} << (id % 64)); };
    // Calls visit(value, until) for all that the node needs, through what is folded.
    const auto reads = [&](const Node& node, const auto& visit) {
        const auto walk = [&](const auto& self, const Node& from, bool outermost, Until above) -> void {
            for (int i = 0; i < 3; i++) {
                if (!from.input[i]) continue;
                const Node& input = function.nodes[from.input[i]];
                if (input.op == Op::Constant) continue;
                const Until need = outermost ? until(function, node, i) : above;
                if (folded[from.input[i]]) self(self, input, false, need);
                else visit(from.input[i], need);
            }
        };
        walk(walk, node, true, Until::Read);
        if (node.op != Op::Phi)
            for (uint32_t i = 0; i < node.count; i++)
                if (function.nodes[function.operands[node.list + i]].op != Op::Constant)
                    visit(function.operands[node.list + i], Until::Read);
    };
    const auto exit_reads = [&](uint32_t exit, const auto& visit) {
        const Exit& way = function.exits[exit];
        for (uint32_t i = 0; i < way.count; i++)
            if (function.nodes[function.operands[way.list + i]].op != Op::Constant) visit(function.operands[way.list + i]);
    };
    const auto end_reads = [&](const BasicBlock& block, const auto& visit) {
        if (block.kind == BasicBlock::Leave) exit_reads(block.exit, visit);
        if (block.kind != BasicBlock::Branch || function.nodes[block.condition].op == Op::Constant) return;
        if (folded[block.condition]) reads(function.nodes[block.condition], [&](uint32_t id, Until) { visit(id); });
        else visit(block.condition);
    };
    const auto phi_reads = [&](uint32_t b, const auto& visit) {
        const BasicBlock& block = function.blocks[b];
        for (int s = 0; s < block.successors(); s++) {
            const BasicBlock& next = function.blocks[block.successor[s]];
            for (size_t p = 0; p < next.predecessors.size(); p++) {
                if (next.predecessors[p] != b) continue;
                for (uint32_t id : next.nodes) {
                    const Node& phi = function.nodes[id];
                    if (phi.op != Op::Phi) break;
                    const uint32_t value = function.operands[phi.list + p];
                    if (function.nodes[value].op != Op::Constant) visit(value);
                }
            }
        }
    };
    const auto live_out = [&](uint32_t b) {
        std::fill(live.begin(), live.end(), 0);
        const BasicBlock& block = function.blocks[b];
        for (int s = 0; s < block.successors(); s++)
            for (size_t w = 0; w < words; w++) live[w] |= live_in[block.successor[s] * words + w];
        phi_reads(b, set);
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = shape.order.size(); i-- > 0;) {
            const uint32_t b = shape.order[i];
            const BasicBlock& block = function.blocks[b];
            live_out(b);
            end_reads(block, set);
            for (size_t n = block.nodes.size(); n-- > 0;) {
                const uint32_t id = block.nodes[n];
                const Node& node = function.nodes[id];
                clear(id);
                if (folded[id] || node.op == Op::Phi) continue;
                reads(node, [&](uint32_t value, Until) { set(value); });
                if (has_exit(node.op)) exit_reads(node.extra, set);
            }
            for (size_t w = 0; w < words; w++)
                if (live_in[b * words + w] != live[w]) live_in[b * words + w] = live[w], changed = true;
        }
    }

    // Ranges, backwards over the code; `open[v]`: where the range that is being found ends.
    std::vector<uint32_t> open(values);
    for (size_t i = order.size(); i-- > 0;) {
        const uint32_t b = order[i];
        const BasicBlock& block = function.blocks[b];
        const uint32_t after = end[b] + 4;
        float times = 1;
        for (uint32_t l = shape.loop[b]; l != nowhere; l = shape.loops[l].parent) times *= 8;
        live_out(b);
        for (size_t w = 0; w < words; w++)
            for (uint64_t bits = live[w]; bits; bits &= bits - 1) open[w * 64 + static_cast<size_t>(__builtin_ctzll(bits))] = after;
        phi_reads(b, [&](uint32_t id) { weight[id] += times; });
        const auto read = [&](uint32_t id, uint32_t to) {
            if (open[id] < to) open[id] = to;
            weight[id] += times;
        };
        const auto close = [&](uint32_t id, uint32_t from) {
            if (open[id] <= from) open[id] = from + 1;
            std::vector<Range>& list = ranges[id];
            // They come from the back; pieces that touch are one.
            if (!list.empty() && list.back().from == open[id]) list.back().from = from;
            else list.push_back({from, open[id]});
            open[id] = 0;
        };
        end_reads(block, [&](uint32_t id) { read(id, end[b] + 1); });
        for (size_t n = block.nodes.size(); n-- > 0;) {
            const uint32_t id = block.nodes[n];
            const Node& node = function.nodes[id];
            if (folded[id]) continue;
            if (node.op == Op::Phi) {
                weight[id] += times;
                close(id, start[b]);
                continue;
            }
            if (node.type != Type::None) {
                weight[id] += times;
                close(id, place[id] + 2);
            }
            reads(node, [&](uint32_t value, Until need) {
                read(value, place[id] + (need == Until::Read ? 1 : need == Until::Clobber ? 2 : 3));
            });
            // What an exit takes along is read at the check; that is seldom, so it weighs nothing.
            if (has_exit(node.op)) exit_reads(node.extra, [&](uint32_t value) { open[value] = std::max(open[value], place[id] + 2); });
        }
        for (size_t w = 0; w < words; w++)
            for (uint64_t bits = live_in[b * words + w]; bits; bits &= bits - 1)
                close(static_cast<uint32_t>(w * 64) + static_cast<uint32_t>(__builtin_ctzll(bits)), start[b]);
    }
    for (std::vector<Range>& list : ranges) std::reverse(list.begin(), list.end());
}

bool overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
    size_t i = 0, k = 0;
    while (i < a.size() && k < b.size()) {
        if (a[i].to <= b[k].from) i++;
        else if (b[k].to <= a[i].from) k++;
        else return true;
    }
    return false;
}

void merge_ranges(std::vector<Range>& list, const std::vector<Range>& more) {
    size_t from = list.size(), other = more.size();
    list.resize(from + other);
    for (size_t to = list.size(); other;) {
        if (from && list[from - 1].from > more[other - 1].from) list[--to] = list[--from];
        else list[--to] = more[--other];
    }
}

bool Lifetimes::merge(uint32_t a, uint32_t b) {
    a = leader(a), b = leader(b);
    if (a == b) return true;
    if (overlap(ranges[a], ranges[b])) return false;
    std::vector<Range> both = std::move(ranges[a]);
    merge_ranges(both, ranges[b]);
    size_t kept = 0;
    for (const Range& range : both) {
        if (kept && both[kept - 1].to == range.from) both[kept - 1].to = range.to;
        else both[kept++] = range;
    }
    both.resize(kept);
    ranges[a] = std::move(both);
    ranges[b].clear();
    weight[a] += weight[b];
    leader_[b] = a;
    return true;
}

void Lifetimes::coalesce(const Function& function, const Shape& shape) {
    const auto depth = [&](uint32_t block) { return shape.loop[block] == nowhere ? 0 : shape.loops[shape.loop[block]].depth; };
    const auto deepest_first = [](uint32_t depth, size_t what) { return static_cast<uint64_t>(~depth) << 32 | what; };
    std::vector<uint64_t> blocks, edges;
    for (size_t i = 0; i < order.size(); i++) blocks.push_back(deepest_first(depth(order[i]), i));
    sort_keys(blocks);
    for (uint64_t key : blocks) {
        const BasicBlock& block = function.blocks[order[static_cast<uint32_t>(key)]];
        // What comes around the loop first.
        edges.clear();
        for (size_t i = 0; i < block.predecessors.size(); i++) edges.push_back(deepest_first(depth(block.predecessors[i]), i));
        sort_keys(edges);
        for (uint64_t edge : edges) {
            for (uint32_t id : block.nodes) {
                const Node& phi = function.nodes[id];
                if (phi.op != Op::Phi) break;
                const uint32_t value = function.operands[phi.list + static_cast<uint32_t>(edge)];
                if (function.nodes[value].op != Op::Constant) merge(id, value);
            }
        }
    }
}

} // namespace kindling::scalar
