// kernels/scalar/addresses.cpp: the address of a load or store in a loop as a part that stays in the loop, and one that goes.
//
// The address is taken apart into products. Those that stay are summed in front of the loop. If what is left is one loop variable
// times a stride, a new loop variable runs by the stride: a pointer, or an offset where several arrays share it.
#include <algorithm>

#include "kernels/scalar/lifetimes.h"
#include "kernels/scalar/passes.h"

namespace kindling::scalar {

namespace {

/// times * a * b; b is 0 for none.
struct Term {
    uint32_t a, b;
    int64_t times;
};

struct Access {
    uint32_t id, block;
    uint32_t base = 0; // that stays
    std::vector<Term> staying, moving;
    int64_t displacement = 0;
};

/// A loop variable that goes by steps that stay.
struct Course {
    uint32_t phi = 0, first = 0, step = 0, next = 0;
};

class Reducer {
public:
    explicit Reducer(Function& function) : function_(function), shape_(function), constants_(function) {}
    void run();
    std::vector<Carried> carried(uint32_t loop);

private:
    Function& function_;
    Shape shape_;
    Constants constants_;
    std::vector<uint32_t> block_of_;
    uint32_t loop_ = 0, front_ = 0;
    bool through_checks_ = false; // a checked index is its index: for comparing addresses

    const Node& node(uint32_t id) const { return function_.nodes[id]; }
    bool constant(uint32_t id) const { return node(id).op == Op::Constant; }
    int64_t value(uint32_t id) const { return static_cast<int64_t>(node(id).bits); }
    bool stays(uint32_t id) const { return id == 0 || block_of_[id] == nowhere || !shape_.holds(loop_, block_of_[id]); }
    uint32_t add_node(uint32_t block, const Node& node, size_t place = SIZE_MAX);
    uint32_t make(uint32_t block, size_t& place, Op op, Type type, uint32_t a, uint32_t b);
    uint32_t in_front(Op op, Type type, uint32_t a, uint32_t b) {
        size_t end = function_.blocks[front_].nodes.size();
        return make(front_, end, op, type, a, b);
    }
    uint32_t product_in_front(const Term& term);
    void flatten(uint32_t id, int64_t times, std::vector<Term>& terms, int64_t& displacement, int depth);
    void find_blocks();
    bool take_apart(Access& access);
    void sum_staying(Access& access);
    bool a_step_ahead(const Access& other, const Access& load) const;
    Course course(uint32_t id) const;
    void rebuild(const Access& access);
    void loop(uint32_t which);
};

uint32_t Reducer::add_node(uint32_t block, const Node& node, size_t place) {
    function_.nodes.push_back(node);
    const uint32_t id = static_cast<uint32_t>(function_.nodes.size() - 1);
    block_of_.resize(function_.nodes.size(), nowhere);
    block_of_[id] = block;
    std::vector<uint32_t>& nodes = function_.blocks[block].nodes;
    insert_at(nodes, std::min(place, nodes.size()), id);
    return id;
}

/// At that place of the block, simplified.
uint32_t Reducer::make(uint32_t block, size_t& place, Op op, Type type, uint32_t a, uint32_t b) {
    Node made;
    made.op = op;
    made.type = type;
    made.input[0] = a, made.input[1] = b;
    const uint32_t id = add_node(block, made, place);
    if (const uint32_t value = simplified(function_, constants_, function_.nodes[id])) {
        take_out(function_.blocks[block].nodes, id);
        block_of_.resize(function_.nodes.size(), nowhere);
        return value;
    }
    block_of_.resize(function_.nodes.size(), nowhere);
    place++;
    return id;
}

uint32_t Reducer::product_in_front(const Term& term) {
    uint32_t product = term.a;
    if (term.b) product = in_front(Op::Mul, Type::I64, product, term.b);
    if (term.times != 1) product = in_front(Op::Mul, Type::I64, product, constants_.integer(term.times));
    return product;
}

void Reducer::flatten(uint32_t id, int64_t times, std::vector<Term>& terms, int64_t& displacement, int depth) {
    const Node at = node(id);
    const uint64_t factor = static_cast<uint64_t>(times);
    const auto times_constant = [&](uint32_t c) { return static_cast<int64_t>(factor * static_cast<uint64_t>(value(c))); };
    if (at.op == Op::Constant) {
        displacement = static_cast<int64_t>(static_cast<uint64_t>(displacement) + static_cast<uint64_t>(times_constant(id)));
        return;
    }
    if (depth > 0) {
        switch (at.op) {
        case Op::Add:
            flatten(at.input[0], times, terms, displacement, depth - 1);
            flatten(at.input[1], times, terms, displacement, depth - 1);
            return;
        case Op::Sub:
            flatten(at.input[0], times, terms, displacement, depth - 1);
            flatten(at.input[1], static_cast<int64_t>(0 - factor), terms, displacement, depth - 1);
            return;
        case Op::Index:
        case Op::Proved:
            if (!through_checks_) break;
            return flatten(at.input[0], times, terms, displacement, depth - 1);
        case Op::Neg: return flatten(at.input[0], static_cast<int64_t>(0 - factor), terms, displacement, depth - 1);
        case Op::Shl:
            if (!constant(at.input[1])) break;
            return flatten(at.input[0], static_cast<int64_t>(factor << (value(at.input[1]) & 63)), terms, displacement, depth - 1);
        case Op::Mul: {
            uint32_t x = at.input[0], y = at.input[1];
            if (constant(y)) return flatten(x, times_constant(y), terms, displacement, depth - 1);
            if (stays(x) && !stays(y)) std::swap(x, y);
            if (!stays(y)) break;
            while (through_checks_ && (node(x).op == Op::Index || node(x).op == Op::Proved)) x = node(x).input[0];
            // (i + 1) * stride
            const Node left = node(x);
            if (!stays(x) && left.op == Op::Add && (constant(left.input[1]) || stays(left.input[1]) || stays(left.input[0]))) {
                for (uint32_t part : {left.input[0], left.input[1]}) {
                    if (constant(part)) terms.push_back({y, 0, times_constant(part)});
                    else terms.push_back({part, y, times});
                }
                return;
            }
            terms.push_back({x, y, times});
            return;
        }
        default: break;
        }
    }
    terms.push_back({id, 0, times});
}

bool Reducer::take_apart(Access& access) {
    const Node at = node(access.id);
    std::vector<Term> terms;
    access.displacement = at.displacement;
    access.base = at.input[0];
    // The address is the one term that is no number.
    while (node(access.base).op == Op::Add) {
        flatten(node(access.base).input[1], 1, terms, access.displacement, 6);
        access.base = node(access.base).input[0];
    }
    if (!stays(access.base)) return false;
    if (at.input[1]) flatten(at.input[1], at.scale, terms, access.displacement, 6);
    if (access.displacement != static_cast<int32_t>(access.displacement)) return false;
    for (const Term& term : terms) (stays(term.a) && stays(term.b) ? access.staying : access.moving).push_back(term);
    return true;
}

/// What has been known longest first: then its sum can move on.
void Reducer::sum_staying(Access& access) {
    std::vector<uint64_t> order;
    for (size_t i = 0; i < access.staying.size(); i++) {
        uint32_t depth = 0;
        for (uint32_t id : {access.staying[i].a, access.staying[i].b})
            if (id && block_of_[id] != nowhere && shape_.loop[block_of_[id]] != nowhere)
                depth = std::max(depth, shape_.loops[shape_.loop[block_of_[id]]].depth);
        order.push_back(static_cast<uint64_t>(depth) << 32 | i);
    }
    sort_keys(order);
    for (uint64_t key : order)
        access.base = in_front(Op::Add, Type::Address, access.base, product_in_front(access.staying[static_cast<uint32_t>(key)]));
}

/// Whether the load reads in each round what the other touched in the round before.
bool Reducer::a_step_ahead(const Access& other, const Access& load) const {
    if (other.base != load.base || other.moving.size() != 1 || load.moving.size() != 1) return false;
    const Term& term = load.moving[0];
    if (other.moving[0].a != term.a || other.moving[0].b != term.b || other.moving[0].times != term.times) return false;
    const bool left = !stays(term.a);
    const uint32_t variable = left ? term.a : term.b, stride = left ? term.b : term.a;
    if (stride && !stays(stride)) return false;
    const Course course = this->course(variable);
    if (!course.phi || !constant(course.step)) return false;
    // other - load - step * stride must be 0.
    const auto product = [](int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); };
    int64_t rest = other.displacement - load.displacement;
    std::vector<Term> terms;
    const auto add = [&](uint32_t a, uint32_t b, int64_t times) {
        for (Term& known : terms)
            if ((known.a == a && known.b == b) || (known.a == b && known.b == a)) {
                known.times = static_cast<int64_t>(static_cast<uint64_t>(known.times) + static_cast<uint64_t>(times));
                return;
            }
        terms.push_back({a, b, times});
    };
    for (const Term& t : other.staying) add(t.a, t.b, t.times);
    for (const Term& t : load.staying) add(t.a, t.b, product(t.times, -1));
    const int64_t step = product(term.times, value(course.step));
    if (stride) add(stride, 0, product(step, -1));
    else rest -= step;
    for (const Term& t : terms)
        if (t.times) return false;
    return rest == 0;
}

Course Reducer::course(uint32_t id) const {
    const Node& phi = node(id);
    const uint32_t head = shape_.loops[loop_].head;
    if (phi.op != Op::Phi || block_of_[id] != head || phi.count != 2) return {};
    const uint32_t from_front = function_.blocks[head].predecessors[0] == front_ ? 0 : 1;
    Course course;
    course.phi = id;
    course.first = function_.operands[phi.list + from_front];
    course.next = function_.operands[phi.list + 1 - from_front];
    const Node& sum = node(course.next);
    if (sum.op != Op::Add || sum.type != Type::I64 || stays(course.next)) return {};
    course.step = sum.input[0] == id ? sum.input[1] : sum.input[1] == id ? sum.input[0] : 0;
    if (!course.step || !stays(course.step)) return {};
    return course;
}

/// The moving part as one index, computed in front of the access.
void Reducer::rebuild(const Access& access) {
    uint32_t index = 0;
    uint8_t scale = 1;
    const std::vector<uint32_t>& nodes = function_.blocks[access.block].nodes;
    size_t place = place_in(nodes, access.id);
    const auto whole = [](int64_t times) { return times == 1 || times == 2 || times == 4 || times == 8; };
    if (access.moving.size() == 1 && !access.moving[0].b && whole(access.moving[0].times)) {
        index = access.moving[0].a;
        scale = static_cast<uint8_t>(access.moving[0].times);
    } else {
        for (const Term& term : access.moving) {
            uint32_t product = term.a;
            if (term.b) product = make(access.block, place, Op::Mul, Type::I64, product, term.b);
            if (term.times != 1) product = make(access.block, place, Op::Mul, Type::I64, product, constants_.integer(term.times));
            index = index ? make(access.block, place, Op::Add, Type::I64, index, product) : product;
        }
    }
    Node& at = function_.nodes[access.id];
    at.input[0] = access.base, at.input[1] = index;
    at.scale = scale, at.displacement = static_cast<int32_t>(access.displacement);
}

void Reducer::loop(uint32_t which) {
    loop_ = which;
    front_ = preheader(function_, shape_, which);
    std::vector<Access> accesses;
    for (uint32_t b : shape_.loops[which].blocks) {
        if (shape_.loop[b] != which) continue;
        const std::vector<uint32_t> nodes = function_.blocks[b].nodes;
        for (uint32_t id : nodes) {
            if (node(id).op != Op::Load && node(id).op != Op::Store) continue;
            Access access;
            access.id = id, access.block = b;
            if (!take_apart(access)) continue;
            sum_staying(access);
            accesses.push_back(std::move(access));
        }
    }
    // Which loop variable times which stride, and from how many bases.
    struct Run {
        Course course;
        uint32_t stride; // 0: 1
        int64_t times;
        std::vector<uint32_t> bases;
        uint32_t offset = 0; // the new loop variable
    };
    std::vector<Run> runs;
    std::vector<size_t> run_of(accesses.size(), SIZE_MAX);
    for (size_t i = 0; i < accesses.size(); i++) {
        const Access& access = accesses[i];
        if (access.moving.size() != 1) continue;
        const Term& term = access.moving[0];
        const bool left = !stays(term.a);
        const uint32_t variable = left ? term.a : term.b, stride = left ? term.b : term.a;
        if (!stride && (term.times == 1 || term.times == 2 || term.times == 4 || term.times == 8)) continue; // an index does
        if (stride && !stays(stride)) continue;
        const Course course = this->course(variable);
        if (!course.phi) continue;
        size_t r = 0;
        while (r < runs.size() && !(runs[r].course.phi == course.phi && runs[r].stride == stride && runs[r].times == term.times)) r++;
        if (r == runs.size()) runs.push_back({course, stride, term.times, {}});
        if (!contains(runs[r].bases, access.base)) runs[r].bases.push_back(access.base);
        run_of[i] = r;
    }
    for (Run& run : runs) {
        const auto strided = [&](uint32_t value) {
            uint32_t product = value;
            if (run.stride) product = in_front(Op::Mul, Type::I64, product, run.stride);
            return in_front(Op::Mul, Type::I64, product, constants_.integer(run.times));
        };
        const bool pointer = run.bases.size() == 1;
        uint32_t first = strided(run.course.first);
        const uint32_t step = strided(run.course.step);
        if (pointer) first = in_front(Op::Add, Type::Address, run.bases[0], first);
        const uint32_t head = shape_.loops[which].head;
        Node phi;
        phi.op = Op::Phi;
        phi.type = pointer ? Type::Address : Type::I64;
        phi.list = static_cast<uint32_t>(function_.operands.size());
        phi.count = 2;
        function_.operands.resize(function_.operands.size() + 2);
        run.offset = add_node(head, phi, 0);
        Node sum;
        sum.op = Op::Add;
        sum.type = phi.type;
        sum.input[0] = run.offset, sum.input[1] = step;
        const uint32_t block = block_of_[run.course.next];
        const std::vector<uint32_t>& nodes = function_.blocks[block].nodes;
        const size_t place = place_in(nodes, run.course.next);
        const uint32_t next = add_node(block, sum, place + 1);
        const uint32_t from_front = function_.blocks[head].predecessors[0] == front_ ? 0 : 1;
        function_.operands[phi.list + from_front] = first;
        function_.operands[phi.list + 1 - from_front] = next;
    }
    for (size_t i = 0; i < accesses.size(); i++) {
        if (run_of[i] == SIZE_MAX) {
            rebuild(accesses[i]);
            continue;
        }
        const Run& run = runs[run_of[i]];
        Node& at = function_.nodes[accesses[i].id];
        const bool pointer = run.bases.size() == 1;
        at.input[0] = pointer ? run.offset : accesses[i].base;
        at.input[1] = pointer ? 0 : run.offset;
        at.scale = 1;
        at.displacement = static_cast<int32_t>(accesses[i].displacement);
    }
}

/// Loads of the loop whose value is at hand since the round before.
std::vector<Carried> Reducer::carried(uint32_t which) {
    find_blocks();
    loop_ = which;
    front_ = preheader(function_, shape_, which);
    through_checks_ = true;
    const Loop& loop = shape_.loops[which];
    const BasicBlock& head = function_.blocks[loop.head];
    std::vector<Carried> found;
    if (head.predecessors.size() != 2) return found;
    const uint32_t latch = head.predecessors[head.predecessors[0] == front_ ? 1 : 0];
    std::vector<Access> accesses;
    std::vector<uint32_t> place(function_.nodes.size());
    bool calls = false;
    for (uint32_t b : loop.blocks) {
        const std::vector<uint32_t>& nodes = function_.blocks[b].nodes;
        for (uint32_t i = 0; i < nodes.size(); i++) {
            const Node& at = node(nodes[i]);
            place[nodes[i]] = i;
            calls = calls || (at.op == Op::Call && function_.callees[at.extra].effect == Effect::Writes);
            if (at.op != Op::Load && at.op != Op::Store) continue;
            Access access;
            access.id = nodes[i], access.block = b;
            if (!take_apart(access)) access.base = 0; // anywhere
            accesses.push_back(std::move(access));
        }
    }
    if (calls) return found;
    for (const Access& load : accesses) {
        const Node& at = node(load.id);
        if (at.op != Op::Load || !load.base || at.region == any_region) continue;
        // What may write there.
        const Access* store = nullptr;
        int stores = 0;
        for (const Access& other : accesses)
            if (node(other.id).op == Op::Store && (node(other.id).region == at.region || node(other.id).region == any_region))
                stores++, store = &other;
        const Access* from = nullptr;
        if (stores == 1 && store->base && (memory_bytes(at.memory) == 8 || at.memory == Memory::F32)) {
            // The store comes after the load: with a stride of 0 it writes to the same place.
            const bool after = store->block == load.block ? place[store->id] > place[load.id] : shape_.dominates(load.block, store->block);
            if (after && node(store->id).memory == at.memory && shape_.dominates(store->block, latch) && a_step_ahead(*store, load))
                from = store;
        } else if (stores == 0) {
            for (const Access& other : accesses)
                if (!from && other.id != load.id && node(other.id).op == Op::Load && node(other.id).memory == at.memory &&
                    node(other.id).region == at.region && other.base && shape_.dominates(other.block, latch) && a_step_ahead(other, load))
                    from = &other;
        }
        if (from) found.push_back({load.id, node(from->id).op == Op::Store ? node(from->id).input[2] : from->id});
    }
    return found;
}

void Reducer::find_blocks() {
    block_of_.assign(function_.nodes.size(), nowhere);
    for (uint32_t b : shape_.order)
        for (uint32_t id : function_.blocks[b].nodes) block_of_[id] = b;
}

void Reducer::run() {
    find_blocks();
    for (uint32_t l = static_cast<uint32_t>(shape_.loops.size()); l-- > 0;) loop(l);
}

} // namespace

void reduce_addresses(Function& function) {
    add_preheaders(function);
    Reducer(function).run();
}

std::vector<Carried> carried_loads(Function& function, uint32_t loop) { return Reducer(function).carried(loop); }

} // namespace kindling::scalar
