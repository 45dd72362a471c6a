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
    uint32_t base = 0;              // that stays
    std::vector<Term> moving;
    int32_t displacement = 0;
};

/// A loop variable that goes by steps that stay.
struct Course {
    uint32_t phi = 0, first = 0, step = 0, next = 0;
};

class Reducer {
public:
    explicit Reducer(Function& function) : function_(function), shape_(function), constants_(function) {}
    void run();

private:
    Function& function_;
    Shape shape_;
    Constants constants_;
    std::vector<uint32_t> block_of_;
    uint32_t loop_ = 0, front_ = 0;

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
    bool take_apart(Access& access);
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
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(std::min(place, nodes.size())), id);
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
        std::erase(function_.blocks[block].nodes, id);
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
            case Op::Neg: return flatten(at.input[0], static_cast<int64_t>(0 - factor), terms, displacement, depth - 1);
            case Op::Shl:
                if (!constant(at.input[1])) break;
                return flatten(at.input[0], static_cast<int64_t>(factor << (value(at.input[1]) & 63)), terms, displacement, depth - 1);
            case Op::Mul: {
                uint32_t x = at.input[0], y = at.input[1];
                if (constant(y)) return flatten(x, times_constant(y), terms, displacement, depth - 1);
                if (stays(x) && !stays(y)) std::swap(x, y);
                if (!stays(y)) break;
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
    int64_t displacement = at.displacement;
    uint32_t base = at.input[0];
    // The address is the one term that is no number.
    while (node(base).op == Op::Add) {
        flatten(node(base).input[1], 1, terms, displacement, 6);
        base = node(base).input[0];
    }
    if (!stays(base)) return false;
    if (at.input[1]) flatten(at.input[1], at.scale, terms, displacement, 6);
    if (displacement != static_cast<int32_t>(displacement)) return false;
    access.displacement = static_cast<int32_t>(displacement);
    std::vector<Term> staying;
    for (const Term& term : terms) (stays(term.a) && stays(term.b) ? staying : access.moving).push_back(term);
    // What has been known longest first: then its sum can move on.
    const auto age = [&](const Term& term) {
        uint32_t depth = 0;
        for (uint32_t id : {term.a, term.b})
            if (id && block_of_[id] != nowhere && shape_.loop[block_of_[id]] != nowhere) depth = std::max(depth, shape_.loops[shape_.loop[block_of_[id]]].depth);
        return depth;
    };
    std::vector<uint64_t> order;
    for (size_t i = 0; i < staying.size(); i++) order.push_back(static_cast<uint64_t>(age(staying[i])) << 32 | i);
    sort_keys(order);
    access.base = base;
    for (uint64_t key : order) {
        const Term& term = staying[static_cast<uint32_t>(key)];
        access.base = in_front(Op::Add, Type::Address, access.base, product_in_front(term));
    }
    return true;
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
    size_t place = static_cast<size_t>(std::find(nodes.begin(), nodes.end(), access.id) - nodes.begin());
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
    at.scale = scale, at.displacement = access.displacement;
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
            if (take_apart(access)) accesses.push_back(std::move(access));
        }
    }
    // Which loop variable times which stride, and from how many bases.
    struct Run {
        Course course;
        uint32_t stride;                // 0: 1
        int64_t times;
        std::vector<uint32_t> bases;
        uint32_t offset = 0;            // the new loop variable
    };
    std::vector<Run> runs;
    std::vector<size_t> run_of(accesses.size(), SIZE_MAX);
    for (size_t i = 0; i < accesses.size(); i++) {
        const Access& access = accesses[i];
        if (access.moving.size() != 1) continue;
        const Term& term = access.moving[0];
        const bool left = !stays(term.a);
        const uint32_t variable = left ? term.a : term.b, stride = left ? term.b : term.a;
        if (!stride && (term.times == 1 || term.times == 2 || term.times == 4 || term.times == 8)) continue;  // an index does
        if (stride && !stays(stride)) continue;
        const Course course = this->course(variable);
        if (!course.phi) continue;
        size_t r = 0;
        while (r < runs.size() && !(runs[r].course.phi == course.phi && runs[r].stride == stride && runs[r].times == term.times)) r++;
        if (r == runs.size()) runs.push_back({course, stride, term.times, {}});
        if (std::find(runs[r].bases.begin(), runs[r].bases.end(), access.base) == runs[r].bases.end()) runs[r].bases.push_back(access.base);
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
        const size_t place = static_cast<size_t>(std::find(nodes.begin(), nodes.end(), run.course.next) - nodes.begin());
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
        at.displacement = accesses[i].displacement;
    }
}

void Reducer::run() {
    block_of_.assign(function_.nodes.size(), nowhere);
    for (uint32_t b : shape_.order)
        for (uint32_t id : function_.blocks[b].nodes) block_of_[id] = b;
    for (uint32_t l = static_cast<uint32_t>(shape_.loops.size()); l-- > 0;) loop(l);
}

}  // namespace

void reduce_addresses(Function& function) {
    add_preheaders(function);
    Reducer(function).run();
}

}  // namespace kindling::scalar
