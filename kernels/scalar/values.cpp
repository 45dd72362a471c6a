// kernels/scalar/values.cpp: global value numbering over the dominator tree.
//
// What a load sees has a version: the number of the last node that may have written there. Where paths join, versions are new for
// what any block on a way from the dominator writes.
#include <algorithm>

#include "kernels/scalar/passes.h"

namespace kindling::scalar {

namespace {

/// When each region was last written to.
struct Versions {
    std::vector<uint32_t> of; // [region, numbered]; [0]: anything at all
    uint32_t everywhere = 0;  // a write that may have gone anywhere
};

class Numbering {
public:
    explicit Numbering(Function& function) : function_(function), shape_(function), constants_(function), replacements_(function) {}
    void run();

private:
    Function& function_;
    Shape shape_;
    Constants constants_;
    Replacements replacements_;
    std::vector<std::vector<uint32_t>> children_; // of the dominator tree
    std::vector<uint32_t> regions_;
    std::vector<Versions> at_end_; // [block]
    uint32_t version_ = 0;
    struct Entry {
        uint32_t hash, node, version, next;
        uint32_t bucket;
    };
    std::vector<Entry> entries_;
    std::vector<uint32_t> heads_ = std::vector<uint32_t>(512); // entry + 1

    size_t region_number(Region region) const { return place_in(regions_, region); }
    void wrote(Versions& versions, Region region) {
        version_++;
        versions.of[0] = version_;
        if (region == any_region) versions.everywhere = version_;
        else versions.of[region_number(region)] = version_;
    }
    uint32_t seen(const Versions& versions, Region region) const {
        if (region == constant_region) return 0;
        if (region == any_region) return versions.of[0];
        return std::max(versions.everywhere, versions.of[region_number(region)]);
    }
    bool writes(const Node& node) const {
        return node.op == Op::Store || (node.op == Op::Call && function_.callees[node.extra].effect == Effect::Writes);
    }
    void resolve(Node& node) {
        for (uint32_t& input : node.input) input = replacements_.resolve(input);
        for (uint32_t i = 0; i < node.count; i++) {
            uint32_t& operand = function_.operands[node.list + i];
            operand = replacements_.resolve(operand);
        }
    }
    uint32_t hash(const Node& node, uint32_t version) const;
    bool equal(const Node& a, const Node& b) const;
    uint32_t find(uint32_t id, uint32_t version, bool enter);
    void remember(uint32_t hash, uint32_t node, uint32_t version);
    void merge_versions(uint32_t block, Versions& versions);
    void visit(uint32_t block);
    bool merge(uint32_t id, Versions& versions);
};

uint32_t Numbering::hash(const Node& node, uint32_t version) const {
    uint64_t h = static_cast<uint64_t>(node.op) << 8 | static_cast<uint64_t>(node.type) << 4 | node.lanes;
    const auto mix = [&](uint64_t value) { h = (h ^ value) * 0x9E3779B97F4A7C15u, h ^= h >> 29; };
    for (uint32_t input : node.input) mix(input);
    for (uint32_t i = 0; i < node.count; i++) mix(function_.operands[node.list + i]);
    mix(static_cast<uint64_t>(static_cast<uint32_t>(node.displacement)) << 8 | node.scale);
    mix(version);
    return static_cast<uint32_t>(h >> 16);
}

bool Numbering::equal(const Node& a, const Node& b) const {
    if (a.op != b.op || a.type != b.type || a.count != b.count || a.memory != b.memory || a.scale != b.scale ||
        a.displacement != b.displacement || a.lanes != b.lanes || (a.lanes > 1 && a.bits != b.bits))
        return false;
    for (int i = 0; i < 3; i++)
        if (a.input[i] != b.input[i]) return false;
    for (uint32_t i = 0; i < a.count; i++)
        if (function_.operands[a.list + i] != function_.operands[b.list + i]) return false;
    // Of two equal checks the second cannot fail, whatever its exit.
    return has_exit(a.op) || a.extra == b.extra;
}

void Numbering::remember(uint32_t hash, uint32_t node, uint32_t version) {
    const uint32_t bucket = hash & 511;
    entries_.push_back({hash, node, version, heads_[bucket], bucket});
    heads_[bucket] = static_cast<uint32_t>(entries_.size());
}

/// An equal node that dominates; if there is none, the node is entered.
uint32_t Numbering::find(uint32_t id, uint32_t version, bool enter) {
    const Node& node = function_.nodes[id];
    const uint32_t h = hash(node, version);
    for (uint32_t e = heads_[h & 511]; e; e = entries_[e - 1].next) {
        const Entry& entry = entries_[e - 1];
        if (entry.hash == h && entry.version == version && equal(function_.nodes[entry.node], node)) return entry.node;
    }
    if (enter) remember(h, id, version);
    return 0;
}

/// Whether the node goes.
bool Numbering::merge(uint32_t id, Versions& versions) {
    resolve(function_.nodes[id]);
    if (const uint32_t value = simplified(function_, constants_, function_.nodes[id])) {
        replacements_.grow(function_.nodes.size());
        replacements_.replace(id, value);
        return true;
    }
    replacements_.grow(function_.nodes.size());
    const Node& node = function_.nodes[id];
    uint32_t version = 0;
    switch (node.op) {
    case Op::Parameter:
    case Op::Proved:
    case Op::Poll: return false;
    case Op::Store: {
        wrote(versions, node.region);
        // A load of the same place gives what was stored, if nothing is lost on the way.
        if ((memory_bytes(node.memory) != 8 && node.memory != Memory::F32) || node.count) return false;
        Node load = node;
        load.op = Op::Load;
        load.type = loaded_type(node.memory);
        load.input[2] = 0;
        const uint32_t stored = node.input[2], h = hash(load, seen(versions, node.region));
        function_.nodes.push_back(load); // stands nowhere: what later loads are compared with
        replacements_.grow(function_.nodes.size());
        const uint32_t ghost = static_cast<uint32_t>(function_.nodes.size() - 1);
        replacements_.replace(ghost, stored);
        remember(h, ghost, seen(versions, load.region));
        return false;
    }
    case Op::Call: {
        const Callee& callee = function_.callees[node.extra];
        if (callee.effect == Effect::Writes) {
            wrote(versions, callee.region);
            return false;
        }
        if (callee.effect == Effect::Reads) version = seen(versions, callee.region);
        break;
    }
    case Op::Load: version = seen(versions, node.region); break;
    case Op::Check: {
        if (function_.nodes[node.input[0]].op == Op::Constant && function_.nodes[node.input[0]].bits) return true;
        break;
    }
    default: break;
    }
    const uint32_t same = find(id, version, true);
    if (!same) return false;
    if (node.type != Type::None) replacements_.replace(id, replacements_.resolve(same));
    return true;
}

/// On the ways from the dominator to the block.
void Numbering::merge_versions(uint32_t block, Versions& versions) {
    const uint32_t from = shape_.dominator[block];
    if (function_.blocks[block].predecessors.size() == 1) return;
    std::vector<uint8_t> seen(function_.blocks.size());
    std::vector<uint32_t> work(function_.blocks[block].predecessors);
    while (!work.empty()) {
        const uint32_t b = work.back();
        work.pop_back();
        if (b == from || seen[b] || !shape_.reachable(b)) continue;
        seen[b] = 1;
        for (uint32_t id : function_.blocks[b].nodes) {
            const Node& node = function_.nodes[id];
            if (writes(node)) wrote(versions, node.op == Op::Store ? node.region : function_.callees[node.extra].region);
        }
        for (uint32_t before : function_.blocks[b].predecessors) work.push_back(before);
    }
}

void Numbering::visit(uint32_t b) {
    Versions versions;
    if (b == 0) versions.of.assign(regions_.size(), 0);
    else versions = at_end_[shape_.dominator[b]];
    if (b != 0) merge_versions(b, versions);
    std::vector<uint32_t> kept;
    std::vector<uint32_t>& nodes = function_.blocks[b].nodes;
    for (size_t i = 0; i < nodes.size(); i++) {
        const uint32_t id = nodes[i];
        if (function_.nodes[id].op == Op::Phi) {
            resolve(function_.nodes[id]);
            // Another phi of this block that chooses alike.
            uint32_t same = 0;
            for (uint32_t other : kept)
                if (!same && equal(function_.nodes[other], function_.nodes[id])) same = other;
            if (same) replacements_.replace(id, same);
            else kept.push_back(id);
        } else if (!merge(id, versions)) {
            kept.push_back(id);
        }
    }
    nodes = std::move(kept);
    BasicBlock& block = function_.blocks[b];
    block.condition = replacements_.resolve(block.condition);
    if (block.kind == BasicBlock::Branch && function_.nodes[block.condition].op == Op::Not) {
        // Both lead to blocks that tell their edges apart, or to the same: then the phis' operands would have to change places.
        if (block.successor[0] != block.successor[1]) {
            block.condition = function_.nodes[block.condition].input[0];
            std::swap(block.successor[0], block.successor[1]);
        }
    }
    at_end_[b] = std::move(versions);
}

void Numbering::run() {
    regions_.push_back(any_region);
    const auto know = [&](Region region) {
        if (region_number(region) == regions_.size()) regions_.push_back(region);
    };
    for (const Node& node : function_.nodes) know(node.region);
    for (const Callee& callee : function_.callees) know(callee.region);
    children_.resize(function_.blocks.size());
    for (size_t i = shape_.order.size(); i-- > 1;) children_[shape_.dominator[shape_.order[i]]].push_back(shape_.order[i]);
    at_end_.resize(function_.blocks.size());
    // Depth first over the tree; leaving a block forgets what was known from it on.
    struct Step {
        uint32_t block;
        size_t next, entries;
    };
    std::vector<Step> stack;
    const auto open = [&](uint32_t block) {
        stack.push_back({block, 0, entries_.size()});
        visit(block);
    };
    open(0);
    while (!stack.empty()) {
        Step& step = stack.back();
        // The one that comes first in the code first.
        if (step.next < children_[step.block].size()) {
            const uint32_t child = children_[step.block][children_[step.block].size() - 1 - step.next++];
            open(child);
            continue;
        }
        while (entries_.size() > step.entries) {
            heads_[entries_.back().bucket] = entries_.back().next;
            entries_.pop_back();
        }
        stack.pop_back();
    }
    replacements_.grow(function_.nodes.size());
    replacements_.apply(function_);
}

} // namespace

void merge_values(Function& function) { Numbering(function).run(); }

} // namespace kindling::scalar
