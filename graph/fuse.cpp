// graph/fuse.cpp: from loops as they were recorded to loops as they run. One pass puts each loop into the first group that it may
// join; another gives every reduction what only it reads; the last one writes the groups' expressions.
// Compiled for size.
#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "core/error.h"
#include "core/operator.h"
#include "graph/items.h"
#include "graph/overlap.h"
#include "graph/plan.h"
#include "kernels/symbol.h"

namespace kindling {
namespace {

/// More streams of memory than this would evict one another; neighbours in a cache line are one stream.
constexpr int most_streams = 28, most_operands = max_loop_operands - 4;
/// So few are streamed together as fast as apart, also where the loops share nothing.
constexpr int few_streams = 10;
/// A row kernel goes over its row more than once and has one thread a row: neither is for a few very long rows.
constexpr int64_t longest_row = 1 << 16, fewest_rows = 16;
constexpr size_t most_nodes = 1500;
/// Loops that share no memory run together if they are so small that starting them is most of their time.
constexpr int64_t small_loop = 1 << 14;

struct Access {
    int loop, operand;
};

/// Loops that become one.
struct Group {
    Dims sizes;
    uint64_t reduced = 0, row = 0;
    std::vector<int> loops;
    bool alone = false, gone = false;
    size_t nodes = 0;
    std::vector<Access> reads, writes; // of memory, each once: what an earlier loop of the group computed is no read
    std::vector<int> slots;            // that it touches
    std::vector<int> stored;           // that it writes and that have to lie in memory, as far as is known
    bool in_place = false;
    int operands = 0, streams = 0; // what it reads and stores; neighbours in a cache line are one stream
};
bool has(const std::vector<int>& list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

class Fusion {
public:
    explicit Fusion(const RecordedLoops& recorded)
        : recorded_(recorded), in_parts_(recorded.wanted.size(), false), last_(recorded.wanted.size()) {}

    std::unique_ptr<Plan> run() {
        read_items();
        find_needed();
        split_at_seams(recorded_, items_);
        for (int i = 0; i < static_cast<int>(items_.size()); i++)
            if (items_[static_cast<size_t>(i)].needed) place(i);
        for (size_t g = 0; g < groups_.size(); g++) absorb(g);
        auto plan = std::make_unique<Plan>();
        for (size_t g = 0; g < groups_.size(); g++)
            if (!groups_[g].gone) write(g, *plan);
        find_blocks(recorded_, *plan);
        find_last_uses(*plan);
        return plan;
    }

private:
    const RecordedLoop& loop(int i) const { return recorded_.loops[static_cast<size_t>(item(i).loop)]; }
    const Item& item(int i) const { return items_[static_cast<size_t>(i)]; }
    const Operand& operand(Access a) const { return item(a.loop).operands[static_cast<size_t>(a.operand)]; }

    void read_items() {
        items_.resize(recorded_.loops.size());
        std::vector<const Operand*> seen(recorded_.wanted.size(), nullptr);
        for (size_t i = 0; i < items_.size(); i++) {
            const RecordedLoop& from = recorded_.loops[i];
            Item& to = items_[i];
            to.loop = static_cast<int>(i);
            to.sizes = IntList(recorded_.sizes(from), static_cast<size_t>(from.ndim));
            to.reduced = from.reduced;
            to.row = from.row;
            for (int k = 0; k < from.operand_count(); k++) {
                const RecordedLoops::Operand given = recorded_.operand(from, k);
                to.operands.push_back(
                    {static_cast<int>(given.slot), given.type, given.offset, IntList(given.strides, static_cast<size_t>(from.ndim))});
            }
            to.alone = !from.expression;
            if (!to.alone)
                for (const Node& node : from.expression->nodes) to.alone |= node.primitive == Primitive::Index;
            if (to.alone) continue;
            uint64_t* masks[2] = {&to.reduced, &to.row};
            merge(to.sizes, masks, to.operands);
            // Of a space of one element there is nothing left to reduce over, but it is a reduction all the same.
            to.alone |= (from.reduced && !to.reduced) || (from.row && !to.row);
            // A result that is written to one place several times.
            for (int k = 0; k < from.output_count && !from.reduced && !from.row; k++)
                for (int64_t stride : to.operands[static_cast<size_t>(k)].strides) to.alone |= stride == 0;
            if (to.alone) {
                to.sizes = IntList(recorded_.sizes(from), static_cast<size_t>(from.ndim));
                to.reduced = from.reduced;
                to.row = from.row;
                for (int k = 0; k < from.operand_count(); k++)
                    to.operands[static_cast<size_t>(k)].strides =
                        IntList(recorded_.operand(from, k).strides, static_cast<size_t>(from.ndim));
            }
            for (const Operand& each : to.operands) {
                const Operand*& other = seen[static_cast<size_t>(each.slot)];
                if (!other) other = &each;
                if (other->offset != each.offset) in_parts_[static_cast<size_t>(each.slot)] = true;
            }
        }
    }

    /// A loop is needed if somebody holds what it writes, or a later needed loop reads it.
    void find_needed() {
        std::vector<uint8_t> wanted = recorded_.wanted;
        for (size_t i = items_.size(); i-- > 0;) {
            const RecordedLoop& from = recorded_.loops[i];
            Item& mine = items_[i];
            for (int k = 0; k < from.output_count; k++)
                mine.needed |= wanted[static_cast<size_t>(mine.operands[static_cast<size_t>(k)].slot)] != 0;
            if (!mine.needed) continue;
            for (int k = from.output_count; k < from.operand_count(); k++)
                wanted[static_cast<size_t>(mine.operands[static_cast<size_t>(k)].slot)] = 1;
        }
    }

    /// Whether both name the same elements in the same order.
    bool same_places(Access a, Access b, const Dims& fine) const {
        const Operand &x = operand(a), &y = operand(b);
        return x.slot == y.slot && x.offset == y.offset && x.type == y.type &&
               finer(item(a.loop).sizes, x.strides, fine) == finer(item(b.loop).sizes, y.strides, fine);
    }

    /// How an access of a group lies to an operand of the same memory, over sizes that `fine` refines.
    enum class Relation { Same, Apart, Clash };
    Relation relate(Access a, const Operand& y, const Dims& y_sizes, const Dims& fine) const {
        const Operand& x = operand(a);
        const Dims& x_sizes = item(a.loop).sizes;
        if (x.offset == y.offset)
            return x.type == y.type && finer(x_sizes, x.strides, fine) == finer(y_sizes, y.strides, fine) ? Relation::Same
                                                                                                          : Relation::Clash;
        return lie_apart(extent(x, x_sizes), extent(y, y_sizes)) ? Relation::Apart : Relation::Clash;
    }
    static Extent extent(const Operand& x, const Dims& sizes) {
        return {x.offset, static_cast<int64_t>(item_size(x.type)), sizes, x.strides};
    }
    bool may_overlap(Access a, Access b) const {
        const Operand &x = operand(a), &y = operand(b);
        return x.slot == y.slot && !lie_apart(extent(x, item(a.loop).sizes), extent(y, item(b.loop).sizes));
    }

    /// The last groups that write a slot and that read it from memory.
    struct Last {
        int write_group = -1, read_group = -1;
    };

    /// How a loop joins a group: the dimensions of both, and what it or the group becomes for that.
    struct Join {
        Dims fine;
        Item spread; // the loop over the group's space, of which it knows only what is not reduced
        bool spreads = false;
        bool group_to_rows = false, loop_to_row = false;
    };

    /// Whether a reduction can be had for every element of its row: the same number, in the same order of additions.
    bool has_row_form(int i) const {
        const RecordedLoop& from = loop(i);
        if (from.expression->outputs.size() != 1 || from.output_count != 1) return false;
        if (from.combines[0] != Combine::Sum && from.combines[0] != Combine::Max) return false;
        const DType type = from.expression->output_type(0);
        return is_floating(type) && !is_complex(type) && item_size(type) > 1;
    }

    void make_row_form(int i) {
        const RecordedLoop& from = loop(i);
        Item& mine = items_[static_cast<size_t>(i)];
        given_.emplace(i, mine);
        ExpressionBuilder builder;
        std::vector<Sym> inputs, scalars;
        for (int k = from.output_count; k < from.operand_count(); k++)
            inputs.push_back(builder.input(mine.operands[static_cast<size_t>(k)].type));
        auto numbers_of = [&](const Expression& expression) {
            scalars.assign(static_cast<size_t>(expression.scalar_count), Sym());
            for (const Node& node : expression.nodes)
                if (node.primitive == Primitive::Scalar)
                    scalars[static_cast<size_t>(node.index())] = builder.scalar(node.index(), node.type);
        };
        numbers_of(*from.expression);
        Sym value = builder.append(*from.expression, inputs.data(), scalars.data())[0];
        value = Sym::convert(value, accumulate_type(from.combines[0], value.dtype()));
        value = Sym::unary(from.combines[0] == Combine::Sum ? Primitive::RowSum : Primitive::RowMax, value);
        if (from.finish) {
            numbers_of(*from.finish);
            value = builder.append(*from.finish, &value, scalars.data())[0];
        }
        builder.output(Sym::convert(value, mine.operands[0].type));
        mine.as_row = keep_expression(builder.finish());
        mine.row = mine.reduced;
        mine.reduced = 0;
    }
    const Expression& expression_of(int i) const { return item(i).as_row ? *item(i).as_row : *loop(i).expression; }

    /// A loop over what a group's rows or reductions leave: the same loop over the whole space, which every element of a row gives
    /// the same. False if it is another.
    bool spread(int i, const Group& group, Join& join) const {
        const Item& mine = item(i);
        const uint64_t inner = group.reduced | group.row;
        Dims outer, fine;
        for (size_t d = 0; d < group.sizes.size(); d++)
            if (!(inner >> d & 1)) outer.push_back(group.sizes[d]);
        if (!refine(outer, mine.sizes, fine)) return false;
        // The group's dimensions, those outside the row as they are split now.
        join.fine.clear();
        std::vector<int> from; // of each dimension: which of `fine` it is, -1 along the row
        size_t at = 0;
        for (size_t d = 0; d < group.sizes.size(); d++) {
            if (inner >> d & 1) {
                join.fine.push_back(group.sizes[d]);
                from.push_back(-1);
                continue;
            }
            for (int64_t left = group.sizes[d]; left > 1; at++) {
                join.fine.push_back(fine[at]);
                from.push_back(static_cast<int>(at));
                left /= fine[at];
            }
        }
        join.spread = mine;
        join.spread.sizes = join.fine;
        for (Operand& operand : join.spread.operands) {
            const Dims strides = finer(mine.sizes, operand.strides, fine);
            operand.strides = Dims(join.fine.size());
            for (size_t d = 0; d < from.size(); d++) operand.strides[d] = from[d] < 0 ? 0 : strides[static_cast<size_t>(from[d])];
        }
        join.spreads = true;
        return true;
    }

    /// Whether loop i may run as a part of group g: all that it reads of the group's is there element by element.
    bool fits(int i, size_t g, Join& join) const {
        const Item& mine = item(i);
        const Group& group = groups_[g];
        const RecordedLoop& from = loop(i);
        join = Join();
        if (mine.alone || group.alone) return false;
        if (group.nodes + from.expression->nodes.size() > most_nodes) return false;
        uint64_t row = 0, group_row = 0;
        bool reads_it = false;
        for (int k = from.output_count; k < from.operand_count(); k++) reads_it |= is_written_by(group, operand({i, k}).slot);
        if (refine(group.sizes, mine.sizes, join.fine)) {
            row = finer(mine.sizes, mine.row | mine.reduced, join.fine),
            group_row = finer(group.sizes, group.row | group.reduced, join.fine);
            if (row && group_row && row != group_row) return false;
            if (mine.reduced) {
                // A reduction joins what it reads, where that has rows already, and is of use to what comes after it.
                if (!group.row || !reads_it || !has_row_form(i)) return false;
                join.loop_to_row = true;
            }
            if (group.reduced) {
                if (!reads_it || mine.row || !pays_as_rows(group)) return false;
                join.group_to_rows = true;
            }
        } else if (!(group.reduced | group.row) || mine.reduced || mine.row || !reads_it || !spread(i, group, join)) {
            return false;
        } else {
            group_row = group.row | group.reduced;
        }
        const bool rows = row || group_row;
        auto any = [&](bool (Fusion::*what)(int) const) {
            return (this->*what)(i) || std::any_of(group.loops.begin(), group.loops.end(), [&](int each) { return (this->*what)(each); });
        };
        if (rows && any(&Fusion::is_stored_copy)) return false;
        // Copies that lie otherwise are made by planes, faster than in loops over several of them.
        if (!reads_it && product(mine.sizes) > small_loop && any(&Fusion::is_copy)) return false;
        const Item& there = join.spreads ? join.spread : mine;
        bool shares = false;
        int fresh = 0, fresh_streams = 0;
        SmallVector<uint8_t, 32> computed(static_cast<size_t>(from.operand_count())); // in the group: no read of memory
        for (int k = 0; k < from.operand_count(); k++) {
            const Operand& mine_there = there.operands[static_cast<size_t>(k)];
            const int slot = mine_there.slot;
            const bool writes = k < from.output_count;
            computed[static_cast<size_t>(k)] = false;
            const bool known = has(group.slots, slot);
            shares |= known;
            for (size_t w = 0; known && w < group.writes.size(); w++) {
                if (operand(group.writes[w]).slot != slot) continue;
                const Relation relation = relate(group.writes[w], mine_there, there.sizes, join.fine);
                if (relation == Relation::Clash) return false;
                computed[static_cast<size_t>(k)] |= relation == Relation::Same;
            }
            // Written after it was read: only where it was read element by element, and never in a row kernel.
            for (size_t r = 0; writes && known && r < group.reads.size(); r++) {
                if (operand(group.reads[r]).slot != slot) continue;
                const Relation relation = relate(group.reads[r], mine_there, there.sizes, join.fine);
                if (relation == Relation::Clash || (rows && relation == Relation::Same)) return false;
            }
            if (writes ? computed[static_cast<size_t>(k)] || !is_likely_stored(group, slot)
                       : computed[static_cast<size_t>(k)] || reads_the_same(group, {i, k}))
                continue;
            fresh++;
            fresh_streams += !is_near(group.reads, operand({i, k})) && !is_near(group.writes, operand({i, k}));
        }
        for (int k = 0; k < from.output_count; k++)
            for (int r = from.output_count; r < from.operand_count(); r++) {
                const Operand &to = there.operands[static_cast<size_t>(k)], &read = there.operands[static_cast<size_t>(r)];
                if (to.slot != read.slot || computed[static_cast<size_t>(r)]) continue;
                const bool same = to.offset == read.offset && to.type == read.type && to.strides == read.strides;
                if (same ? rows : !lie_apart(extent(to, there.sizes), extent(read, there.sizes))) return false;
            }
        if (rows && group.in_place) return false;
        const int streams = group.streams + fresh_streams;
        if (streams > most_streams || group.operands + fresh > most_operands) return false;
        return shares || product(mine.sizes) <= small_loop || streams <= few_streams;
    }

    bool is_copy(int i) const {
        const Expression& expression = *loop(i).expression;
        return std::all_of(expression.outputs.begin(), expression.outputs.end(),
                           [&](int32_t output) { return expression.nodes[static_cast<size_t>(output)].primitive == Primitive::Input; });
    }
    /// A row kernel that stores what it reads is none for machine code, so the copy would make all of it slower.
    bool is_stored_copy(int i) const { return is_copy(i) && recorded_.wanted[static_cast<size_t>(operand({i, 0}).slot)]; }

    /// Whether it lies in a cache line with one of them.
    bool is_near(const std::vector<Access>& list, const Operand& mine) const {
        for (const Access& each : list) {
            const Operand& other = operand(each);
            if (other.slot == mine.slot && std::abs(other.offset - mine.offset) < 64 && other.strides == mine.strides) return true;
        }
        return false;
    }
    /// What is written part by part is mostly read as a whole later.
    bool is_likely_stored(const Group& group, int slot) const {
        return recorded_.wanted[static_cast<size_t>(slot)] || in_parts_[static_cast<size_t>(slot)] || has(group.stored, slot);
    }
    void count_operands(Group& group) const {
        std::vector<Access> counted;
        group.operands = group.streams = 0;
        auto count = [&](const Access& each) {
            group.operands++;
            group.streams += !is_near(counted, operand(each));
            counted.push_back(each);
        };
        for (const Access& read : group.reads) count(read);
        for (const Access& write : group.writes)
            if (is_likely_stored(group, operand(write).slot)) count(write);
    }

    /// Whether the group has that operand already.
    bool reads_the_same(const Group& group, Access access) const {
        const Operand& mine = operand(access);
        for (const Access& read : group.reads) {
            const Operand& other = operand(read);
            if (other.slot == mine.slot && other.offset == mine.offset && other.type == mine.type && other.strides == mine.strides &&
                item(read.loop).sizes == item(access.loop).sizes)
                return true;
        }
        return false;
    }

    /// Whether a reduction, with what was made of its results, may become a row kernel.
    bool pays_as_rows(const Group& group) const {
        int64_t length = 1, rows = 1;
        for (size_t d = 0; d < group.sizes.size(); d++) (group.reduced >> d & 1 ? length : rows) *= group.sizes[d];
        if (length > longest_row || (rows < fewest_rows && rows * length > small_loop)) return false;
        for (int i : group.loops)
            if (item(i).reduced && !has_row_form(i)) return false;
        return true;
    }

    /// The last group that a loop cannot run before.
    int depends_on(int i) const {
        const RecordedLoop& from = loop(i);
        int first = 0;
        for (int k = 0; k < from.operand_count(); k++) {
            const int slot = operand({i, k}).slot;
            const bool writes = k < from.output_count;
            const Last& last = last_[static_cast<size_t>(slot)];
            auto clashes = [&](const std::vector<Access>& list) {
                for (const Access& each : list)
                    if (may_overlap(each, {i, k})) return true;
                return false;
            };
            for (int g = std::max(last.write_group, writes ? last.read_group : -1); g > first; g--) {
                const Group& group = groups_[static_cast<size_t>(g)];
                if (has(group.slots, slot) && (clashes(group.writes) || (writes && clashes(group.reads)))) first = g;
            }
        }
        return first;
    }

    void place(int i) {
        const RecordedLoop& from = loop(i);
        const int first = depends_on(i);
        Join join;
        size_t g = static_cast<size_t>(first);
        // After the last loop that it depends on, any group will do: those between write nothing that it touches.
        while (g < groups_.size() && !fits(i, g, join)) g++;
        if (g == groups_.size()) {
            groups_.emplace_back();
            Group& fresh = groups_.back();
            fresh.sizes = item(i).sizes;
            fresh.reduced = item(i).reduced;
            fresh.row = item(i).row;
            fresh.alone = item(i).alone;
        } else {
            Group& group = groups_[g];
            if (join.group_to_rows) {
                for (int each : group.loops)
                    if (item(each).reduced) make_row_form(each);
                group.row = group.reduced;
                group.reduced = 0;
            }
            if (join.loop_to_row) make_row_form(i);
            if (join.spreads) {
                join.spread.needed = true;
                given_.emplace(i, items_[static_cast<size_t>(i)]);
                items_[static_cast<size_t>(i)] = std::move(join.spread);
            }
            const bool along = join.spreads;
            group.row = along ? spread_mask(group.sizes, group.row, join.fine)
                              : finer(group.sizes, group.row, join.fine) | finer(item(i).sizes, item(i).row, join.fine);
            group.reduced = along ? spread_mask(group.sizes, group.reduced, join.fine) : finer(group.sizes, group.reduced, join.fine);
            group.sizes = join.fine;
        }
        Group& group = groups_[g];
        group.loops.push_back(i);
        if (from.expression) group.nodes += from.expression->nodes.size();
        auto touch = [](std::vector<int>& list, int slot) {
            const bool fresh = !has(list, slot);
            if (fresh) list.push_back(slot);
            return fresh;
        };
        auto known = [&](const std::vector<Access>& list, Access access) {
            for (const Access& each : list)
                if (same_places(each, access, group.sizes)) return true;
            return false;
        };
        for (int k = from.output_count; k < from.operand_count(); k++) {
            const int slot = operand({i, k}).slot;
            Last& last = last_[static_cast<size_t>(slot)];
            touch(group.slots, slot);
            if (known(group.writes, {i, k})) continue; // computed in the group
            if (last.write_group >= 0)
                if (Group& writer = groups_[static_cast<size_t>(last.write_group)]; touch(writer.stored, slot)) count_operands(writer);
            last.read_group = std::max(last.read_group, static_cast<int>(g));
            if (!reads_the_same(group, {i, k})) group.reads.push_back({i, k});
        }
        for (int k = 0; k < from.output_count; k++) {
            const int slot = operand({i, k}).slot;
            touch(group.slots, slot);
            if (recorded_.wanted[static_cast<size_t>(slot)]) touch(group.stored, slot);
            for (const Access& read : group.reads) group.in_place |= may_overlap(read, {i, k});
            last_[static_cast<size_t>(slot)].write_group = std::max(last_[static_cast<size_t>(slot)].write_group, static_cast<int>(g));
            if (!known(group.writes, {i, k})) group.writes.push_back({i, k});
        }
        count_operands(group);
    }

    static uint64_t spread_mask(const Dims& sizes, uint64_t mask, const Dims& fine) { return finer(sizes, mask, fine); }

    bool is_written_by(const Group& group, int slot) const {
        for (const Access& write : group.writes)
            if (operand(write).slot == slot) return true;
        return false;
    }

    bool overlaps(const std::vector<Access>& list, Access access) const {
        for (const Access& each : list)
            if (may_overlap(each, access)) return true;
        return false;
    }

    bool feeds(const Group& from, const Group& to) const {
        for (const Access& read : to.reads)
            if (overlaps(from.writes, read)) return true;
        return false;
    }

    /// What only this group reads is computed in it.
    void absorb(size_t r) {
        if (groups_[r].alone) return;
        for (size_t g = r; g-- > 0;) {
            Group &from = groups_[g], &to = groups_[r];
            if (from.gone || from.alone || from.reduced || from.row || from.in_place || to.in_place) continue;
            bool fits = true;
            Dims fine;
            if (!feeds(from, to) || !refine(to.sizes, from.sizes, fine)) continue;
            for (const Access& write : from.writes) {
                fits = fits && !recorded_.wanted[static_cast<size_t>(operand(write).slot)];
                for (size_t other = g + 1; other < groups_.size() && fits; other++)
                    if (other != r && !groups_[other].gone &&
                        (overlaps(groups_[other].reads, write) || overlaps(groups_[other].writes, write)))
                        fits = false;
                for (const Access& read : to.reads) // with several writes of a slot it stays in memory
                    if (fits && may_overlap(write, read)) fits = same_places(write, read, fine);
            }
            // What it reads must still be there where the other runs.
            for (const Access& read : from.reads)
                for (size_t other = g + 1; other <= r && fits; other++)
                    if (!groups_[other].gone && overlaps(groups_[other].writes, read)) fits = false;
            if (!fits || from.streams + to.streams > most_streams || from.operands + to.operands > most_operands ||
                from.nodes + to.nodes > most_nodes)
                continue;
            to.reduced = finer(to.sizes, to.reduced, fine);
            to.row = finer(to.sizes, to.row, fine);
            to.sizes = fine;
            to.loops.insert(to.loops.begin(), from.loops.begin(), from.loops.end());
            std::vector<Access> reads = from.reads;
            for (const Access& read : to.reads)
                if (!overlaps(from.writes, read)) reads.push_back(read);
            to.reads = reads;
            to.nodes += from.nodes;
            count_operands(to);
            from.gone = true;
        }
    }

    /// Whether what the group leaves there has to lie in memory.
    bool is_stored(size_t g, Access written) const {
        if (recorded_.wanted[static_cast<size_t>(operand(written).slot)]) return true;
        for (size_t other = g + 1; other < groups_.size(); other++)
            if (!groups_[other].gone && overlaps(groups_[other].reads, written)) return true;
        return false;
    }

    void add_operand(PlannedLoop& step, Access access, const Dims& fine) {
        const Operand& from = operand(access);
        step.operands.push_back({from.slot, from.type, from.offset, 0});
        operands_.push_back({from.slot, from.type, from.offset, finer(item(access.loop).sizes, from.strides, fine)});
    }

    int scalars_of(int i) const {
        return loop(i).step >= 0 ? 0 : std::max(loop(i).expression->scalar_count, loop(i).finish ? loop(i).finish->scalar_count : 0);
    }

    void write_alone(int i, PlannedLoop& step) {
        const RecordedLoop& from = loop(i);
        step.step = from.step;
        if (from.step >= 0) step.kind = recorded_.steps[static_cast<size_t>(from.step)].op->name();
        step.expression = from.expression;
        step.finish = from.finish;
        step.output_count = from.output_count;
        for (int k = 0; k < from.operand_count(); k++) add_operand(step, {i, k}, item(i).sizes);
        for (int k = 0; k < scalars_of(i); k++) step.scalars.push_back(from.scalars + static_cast<uint32_t>(k));
        std::copy(std::begin(from.combines), std::end(from.combines), step.combines);
    }

    /// Whether a row kernel can be that: it reduces no row-invariant value, and stores these as one number a row, all others for
    /// every element.
    bool is_row_kernel(const ExpressionBuilder& builder, const std::vector<int32_t>& stored, const std::vector<Access>& inputs,
                       const Group& group) const {
        auto lies_along = [&](const Dims& strides) {
            for (size_t d = 0; d < strides.size(); d++)
                if ((group.row >> d & 1) && strides[d] != 0) return true;
            return false;
        };
        std::vector<bool> element;
        for (int32_t at = 0; at < builder.node_count(); at++) {
            const Node& node = builder.node(at);
            bool mine = false;
            if (node.primitive == Primitive::Input) {
                const Access input = inputs[static_cast<size_t>(node.index())];
                mine = lies_along(finer(item(input.loop).sizes, operand(input).strides, group.sizes));
            }
            for (int32_t from : node.operands) mine |= from >= 0 && element[static_cast<size_t>(from)];
            if (node.primitive == Primitive::RowSum || node.primitive == Primitive::RowMax) {
                if (!mine) return false;
                mine = false;
            }
            element.push_back(mine);
        }
        for (size_t k = 0; k < stored.size(); k++)
            if (element[static_cast<size_t>(stored[k])] != lies_along(operands_[k].strides)) return false;
        return true;
    }

    enum class Written { Stored, NothingToStore, Apart };

    /// Several loops as one expression; of a reduction, what comes after it as its epilogue.
    Written write_together(size_t g, PlannedLoop& step) {
        const Group& group = groups_[g];
        ExpressionBuilder map, epilogue;
        ExpressionBuilder* builder = &map;
        struct Value {
            Access at;
            Sym symbol;
        };
        std::vector<Value> values; // what the loops so far have written
        std::vector<Access> inputs, epilogue_inputs;
        int reduced_values = 0;
        for (int i : group.loops) {
            const RecordedLoop& from = loop(i);
            const bool reduces = item(i).reduced != 0, finishes = reduces || item(i).as_row;
            std::vector<Access>& mine = builder == &map ? inputs : epilogue_inputs;
            std::vector<Sym> given;
            for (int k = from.output_count; k < from.operand_count(); k++) {
                const Value* computed = nullptr;
                for (const Value& value : values)
                    if (same_places(value.at, {i, k}, group.sizes)) computed = &value;
                if (computed) {
                    given.push_back(computed->symbol);
                    continue;
                }
                size_t at = 0;
                while (at < mine.size() && !same_places(mine[at], {i, k}, group.sizes)) at++;
                if (at == mine.size()) mine.push_back({i, k});
                given.push_back(builder->input(static_cast<int>(at) + (builder == &map ? 0 : reduced_values), operand({i, k}).type));
            }
            const int first = static_cast<int>(step.scalars.size());
            for (int k = 0; k < (finishes ? scalars_of(i) : from.expression->scalar_count); k++)
                step.scalars.push_back(from.scalars + static_cast<uint32_t>(k));
            auto append = [&](const Expression& expression, const Sym* arguments) {
                std::vector<Sym> scalars(static_cast<size_t>(expression.scalar_count));
                for (const Node& node : expression.nodes)
                    if (node.primitive == Primitive::Scalar)
                        scalars[static_cast<size_t>(node.index())] = builder->scalar(first + node.index(), node.type);
                return builder->append(expression, arguments, scalars.data());
            };
            std::vector<Sym> results = append(expression_of(i), given.data());
            if (reduces) {
                std::vector<Sym> reduced;
                for (size_t k = 0; k < results.size(); k++) {
                    map.output(results[k]);
                    const DType type = accumulate_type(from.combines[k], results[k].dtype());
                    for (int each = from.combines[k] == Combine::MeanVar ? 2 : 1; each--;)
                        reduced.push_back(epilogue.input(reduced_values++, type));
                }
                std::copy(std::begin(from.combines), std::end(from.combines), step.combines);
                builder = &epilogue;
                values.clear();
                results = from.finish ? append(*from.finish, reduced.data()) : reduced;
            }
            for (int k = 0; k < from.output_count; k++) {
                const Sym stored = Sym::convert(results[static_cast<size_t>(k)], operand({i, k}).type);
                std::erase_if(values, [&](const Value& value) { return same_places(value.at, {i, k}, group.sizes); });
                values.push_back({{i, k}, stored});
            }
        }
        std::vector<int32_t> stored;
        for (const Value& value : values) {
            if (!is_stored(g, value.at)) continue;
            // A copy of what is overwritten here would be read after that.
            if (const Node& node = builder->node(value.symbol.node()); node.primitive == Primitive::Input && builder == &map)
                for (const Value& other : values)
                    if (may_overlap(other.at, inputs[static_cast<size_t>(node.index())])) return Written::Apart;
            builder->output(value.symbol);
            stored.push_back(value.symbol.node());
            add_operand(step, value.at, group.sizes);
            step.output_count++;
        }
        if (!step.output_count) return Written::NothingToStore;
        if (step.operands.size() + inputs.size() + epilogue_inputs.size() > static_cast<size_t>(max_loop_operands)) return Written::Apart;
        if (group.row && !is_row_kernel(map, stored, inputs, group)) return Written::Apart;
        step.own = keep_expression(map.finish());
        step.expression = step.own.get();
        if (group.reduced) {
            step.own_finish = keep_expression(epilogue.finish());
            step.finish = step.own_finish.get();
            step.finish_input_count = static_cast<int>(epilogue_inputs.size());
        }
        for (const Access& input : inputs) add_operand(step, input, group.sizes);
        for (const Access& input : epilogue_inputs) add_operand(step, input, group.sizes);
        return Written::Stored;
    }

    void write(size_t g, Plan& plan) {
        const Group& group = groups_[g];
        if (group.loops.size() > 1) {
            PlannedLoop step;
            operands_.clear();
            for (int i : group.loops) step.loops.push_back(item(i).loop);
            const Written written = write_together(g, step);
            if (written == Written::Stored) add_step(group, std::move(step), plan);
            if (written != Written::Apart) return;
        }
        for (int i : group.loops) {
            PlannedLoop step;
            operands_.clear();
            step.loops = {item(i).loop};
            if (auto given = given_.find(i); given != given_.end()) items_[static_cast<size_t>(i)] = given->second;
            write_alone(i, step);
            add_step(item(i), std::move(step), plan);
        }
    }

    /// Space: a Group or an Item.
    template <class Space> void add_step(const Space& group, PlannedLoop step, Plan& plan) {
        step.input_count = static_cast<int>(step.operands.size()) - step.output_count;
        Dims sizes = group.sizes;
        step.reduced = group.reduced;
        step.row = group.row;
        if (!group.alone) {
            uint64_t* masks[2] = {&step.reduced, &step.row};
            merge(sizes, masks, operands_);
        }
        if (sizes.empty()) {
            sizes.push_back(1);
            for (Operand& each : operands_) each.strides.push_back(static_cast<int64_t>(item_size(each.type)));
        }
        step.ndim = static_cast<int>(sizes.size());
        step.size = product(sizes);
        for (int64_t size : sizes) step.numbers.push_back(size);
        for (size_t k = 0; k < operands_.size(); k++) {
            step.operands[k].strides = static_cast<uint32_t>(step.numbers.size());
            for (int64_t stride : operands_[k].strides) step.numbers.push_back(stride);
        }
        plan.steps.push_back(std::move(step));
    }

    void find_last_uses(Plan& plan) {
        std::vector<int> last(recorded_.wanted.size(), -1);
        for (size_t i = 0; i < plan.steps.size(); i++)
            for (const PlannedOperand& each : plan.steps[i].operands) last[static_cast<size_t>(each.slot)] = static_cast<int>(i);
        for (size_t slot = 0; slot < last.size(); slot++)
            if (last[slot] >= 0 && !recorded_.wanted[slot])
                plan.steps[static_cast<size_t>(last[slot])].last_use.push_back(static_cast<int>(slot));
    }

    const RecordedLoops& recorded_;
    std::vector<Item> items_;
    std::unordered_map<int, Item> given_; // those that were changed to join a group, as they were
    std::vector<uint8_t> in_parts_;       // for each slot: whether loops see it from different places on
    std::vector<Group> groups_;
    std::vector<Last> last_;
    std::vector<Operand> operands_; // of the step that is being written
};

} // namespace

std::unique_ptr<Plan> make_plan(const RecordedLoops& recorded) { return Fusion(recorded).run(); }

std::shared_ptr<const Expression> keep_expression(Expression&& expression) {
    using Table = std::unordered_multimap<uint64_t, std::shared_ptr<const Expression>>;
    static constinit std::mutex lock;
    static constinit Table* table = nullptr;
    constexpr size_t most = 4096;
    std::lock_guard<std::mutex> guard(lock);
    if (!table) table = new Table;
    const uint64_t hash = expression.hash();
    auto [first, last] = table->equal_range(hash);
    for (auto each = first; each != last; ++each)
        if (*each->second == expression) return each->second;
    if (table->size() >= most) std::erase_if(*table, [](const auto& each) { return each.second.use_count() == 1; });
    auto kept = std::make_shared<const Expression>(std::move(expression));
    table->emplace(hash, kept);
    return kept;
}

} // namespace kindling
