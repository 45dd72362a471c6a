// kernels/native/emit.cpp: register allocation and machine code for a lane program, in one pass over straight-line
// code. The value whose next use lies farthest ahead is spilled (Belady eviction).
//
// Registers: rdi the slots' pointers, rsi the number of elements, rax the element, rbp the frame, rbx the constants,
// rcx, rdx, r8 to r14 pointers of slots, r15 scratch. Row-invariant values are computed before the loop over the row
// and live in the frame. Constants are stored behind the code.
#include "kernels/native/emit.h"

#include <cstring>

#include "core/error.h"
#include "kernels/maths/angle.h"

namespace kindling::native {

namespace {

constexpr int never_used = 0x7FFFFFFF;
constexpr size_t short_body = 24; // operations a vector, up to which out-of-order execution overlaps turns of the loop by itself
constexpr int few_alive = 12;     // values of one vector, up to which two vectors are interleaved: more are spilled too often
constexpr int saved_general = 64; // bytes at the start of the frame: rax, rsi, rdi, the end of the arguments, masks
constexpr int end_of_arguments = 24;
constexpr int partial_mask = 7; // the mask register of the remainder; values have those below

enum FixKind { High, Low, Quadrant, Function };

/// Called from machine code if some lane is rare: corrects those lanes of a saved register, or computes all of it.
void fix_lanes(char* saved, uint64_t packed, int64_t lanes, int64_t stride) {
    auto place = [&](int which) { return saved + static_cast<int64_t>(packed >> 8 * which & 0xFF) * stride; };
    char* value = place(1);
    if (packed >> 24 == Function) { // it is stored behind the registers
        TileFunction function;
        std::memcpy(&function, saved + 32 * stride, sizeof function);
        function(value, place(0), place(2), nullptr, lanes, 0);
        return;
    }
    const double* x = reinterpret_cast<const double*>(place(0));
    for (int64_t i = 0; i < lanes; i++) {
        if (x[i] <= largest_plain_angle && x[i] >= -largest_plain_angle) continue;
        ReducedAngle reduced = reduce_large_angle(x[i]);
        switch (packed >> 24) {
        case High: std::memcpy(value + 8 * i, &reduced.high, 8); break;
        case Low: std::memcpy(value + 8 * i, &reduced.low, 8); break;
        default: std::memcpy(value + 8 * i, &reduced.quadrant, 8);
        }
    }
}

bool is_constant(const Lane& lane) { return lane.op == LaneOp::Constant4 || lane.op == LaneOp::Constant8 || lane.op == LaneOp::Table; }

/// How many values that are not the same for all elements are alive at once. `left`: how often each is read; of those values, 0 after it.
int most_alive(const LaneProgram& program, const std::vector<int>& order, std::vector<int>& left) {
    const bool evex = program.isa == Isa::Avx512;
    const auto in_vector = [&](size_t i) { return !(evex && program.values[i].mask); };
    int alive = 0, most = 0;
    for (int i : order) {
        const Lane& one = program.values[static_cast<size_t>(i)];
        alive += left[static_cast<size_t>(i)] > 0 && in_vector(static_cast<size_t>(i));
        if (alive > most) most = alive;
        for (int k = 0; k < one.operand_count; k++) {
            const auto operand = static_cast<size_t>(one.operands[k]);
            if (!program.values[operand].invariant) alive -= --left[operand] == 0 && in_vector(operand);
        }
    }
    return most;
}
/// How often each value is read, stored or reduced.
std::vector<int> uses_of(const LaneProgram& program, const std::vector<int>& order) {
    std::vector<int> uses(program.values.size(), 0);
    for (int i : order)
        for (int k = 0; k < program.values[static_cast<size_t>(i)].operand_count; k++)
            uses[static_cast<size_t>(program.values[static_cast<size_t>(i)].operands[k])]++;
    for (const LaneStore& store : program.stores) uses[static_cast<size_t>(store.value)]++;
    for (const LaneFold& fold : program.folds) uses[static_cast<size_t>(fold.value)]++;
    return uses;
}

class Emitter {
public:
    Emitter(const LaneProgram& program, MachineCode& result, bool with_listing)
        : program_(program), result_(result), evex_(program.isa == Isa::Avx512), code_(evex_), vector_(evex_ ? 64 : 32),
          registers_(evex_ ? 30 : 14), masks_(7), where_(program.values.size()) {
        for (const LaneFold& fold : program.folds) {
            registers_ -= copies();
            if (!fold.is_extreme()) continue;
            if (evex_) masks_ -= copies();
            else registers_ -= copies();
        }
        if (with_listing) code_.listing = &result.listing;
        code_.code.reserve(program.values.size() * 12 + 1024);
    }

    /// `second`: where the values of a second vector begin in a program of pairs (`two_vectors`), or 0.
    void run(size_t second = 0) {
        second_ = second;
        plan();
        if (program_.partial && !evex_) frame_ += wide_partial_bytes;
        if (program_.leaves) save_area_ = take_frame(32 * vector_ + 64);
        prologue();
        const int row = code_.here();
        start_row();
        for (int i : once_) value(i);
        take_residents();
        const int outer = code_.here();
        start_folds();
        std::vector<Where> at_top = where_;
        int past_single = 0;
        if (second_) {
            past_single = pairs(at_top);
            note_uses(each_, stores_at_once());
            for (size_t i = 0; i < at_top.size(); i++) at_top[i].next = next_[i];
        } else if (const int turns = turns_at_once(); turns > 1) {
            past_single = several_turns(turns, at_top);
        }
        int to_partial = 0;
        if (program_.partial) {
            code_.compare(Rax, Rsi);
            to_partial = code_.jump(Condition::AboveEqual);
        }
        const int top = code_.here();
        turn(at_top);
        code_.add(Rax, program_.turn());
        if (program_.folds.empty()) {
            code_.compare(Rax, Rsi);
            code_.jump_back(Condition::Below, top);
        } else {
            static_assert(fold_block == 256);
            code_.test_low_byte_of_rax();
            const int block_ends = code_.jump(Condition::Zero);
            code_.compare(Rax, Rsi);
            code_.jump_back(Condition::Below, top);
            const int in_block = program_.partial ? code_.jump() : 0;
            code_.bind(block_ends);
            if (past_single) code_.bind(past_single);
            store_folds();
            code_.compare(Rax, Rsi);
            if (program_.partial) {
                code_.jump_back(outer);
                code_.bind(in_block);
            } else {
                code_.jump_back(Condition::Below, outer);
            }
        }
        if (program_.partial) {
            code_.bind(to_partial);
            in_partial_ = true;
            turn(at_top);
            in_partial_ = false;
            if (!program_.folds.empty()) store_folds();
        }
        if (past_single && program_.folds.empty()) code_.bind(past_single);
        code_.add(Rdi, 8 * program_.pointers());
        code_.load(R15, Place::at(Rbp, end_of_arguments));
        code_.compare(Rdi, R15);
        code_.jump_back(Condition::Below, row);
        epilogue();
        cold_code();
        while (code_.code.size() % 64) code_.code.push_back(0xCC);
        result_.code_size = code_.here();
        code_.bind(constants_at_, code_.here());
        code_.code.insert(code_.code.end(), constants_.begin(), constants_.end());
        // A vector may be read from the last constants onwards.
        code_.code.insert(code_.code.end(), 64, 0);
        result_.bytes = static_cast<std::vector<uint8_t>&&>(code_.code);
        result_.frame = (frame_ + 63) & ~int64_t{63};
    }

private:
    struct Where {
        int8_t reg = -1;
        int next = never_used; // position of its next use
        int32_t home = -1;     // its spill slot in the frame, or (constants) its place behind the code
        bool repeated = false; // its home holds a single element, to be broadcast
    };
    struct Cold {
        int jump, back, packed;
        uint64_t function;
    };

    const LaneProgram& program_;
    MachineCode& result_;
    const bool evex_;
    Assembler code_;
    const int vector_;
    int registers_, masks_;   // available to values
    int copy_ = 0;            // which copy of the loop's body this is; each has program_.turn() elements
    int turn_ = 0;            // elements of one turn
    bool in_partial_ = false; // the code being emitted is the masked remainder
    std::vector<Where> where_;
    std::vector<int> once_, each_;
    size_t second_ = 0;
    std::vector<int> pair_;      // of a program of pairs: each_, and the same of the second vector, in turns
    std::vector<int> next_;      // the position of each value's first use
    std::vector<int> residents_; // invariants that stay in registers, above registers_
    std::vector<int> after_;     // for each operand of each value, the position of its next use
    std::vector<int> store_after_, fold_after_;
    std::vector<int> position_;
    int32_t in_register_[32]; // which value each vector register has, or -1
    int32_t in_mask_[8];
    uint32_t pinned_ = 0, pinned_masks_ = 0;
    bool in_loop_ = false;
    int64_t frame_ = saved_general; // behind them, of a partial program of AVX2: masks
    std::vector<int32_t> free_homes_, leaving_homes_;
    std::vector<int> last_use_;
    int32_t save_area_ = 0;
    std::vector<uint8_t> constants_;
    int constants_at_ = 0;
    std::vector<std::pair<int, General>> pointers_;
    size_t all_pointers_ = 0; // including those without a register
    std::vector<Cold> cold_;

    const Lane& lane(int value) const { return program_.values[static_cast<size_t>(value)]; }
    Where& where(int value) { return where_[static_cast<size_t>(value)]; }
    int bytes(int width) const {
        int n = program_.lanes * width;
        return n < 16 ? 16 : n;
    }
    bool in_k(int value) const { return evex_ && lane(value).mask; }
    /// For a value that is in a register.
    int bytes_of(int value) const { return lane(value).op == LaneOp::Table ? vector_ : bytes(lane(value).width); }

    __attribute__((noinline)) void turn(const std::vector<Where>& at_top) {
        for (copy_ = 0; copy_ < copies(); copy_++) {
            where_ = at_top;
            if (in_partial_ && evex_) load_partial_mask();
            for (int i : each_) value(i);
            for (size_t s = 0; s < stores_at_once(); s++) emit_store(program_.stores[s]);
            for (const LaneFold& fold : program_.folds) emit_fold(fold);
            fetch();
        }
    }
    /// Emits an unrolled loop for whole groups of turns, or for whole blocks of reductions. Returns the jump past the
    /// loop of single turns, if there is one: to the end of the row, or of a block.
    int several_turns(int turns, const std::vector<Where>& at_top) {
        const bool folds = !program_.folds.empty();
        int to_single;
        if (folds) {
            code_.move(R15, Rax);
            code_.add(R15, fold_block);
            code_.compare(Rsi, R15);
            to_single = code_.jump(Condition::Below);
        } else {
            code_.move(R15, Rsi);
            code_.subtract(R15, (turns - 1) * program_.turn());
            code_.compare(Rax, R15);
            to_single = code_.jump(Condition::GreaterEqual);
        }
        const int top = code_.here();
        for (turn_ = 0; turn_ < turns; turn_++) turn(at_top);
        turn_ = 0;
        code_.add(Rax, turns * program_.turn());
        if (folds) {
            code_.test_low_byte_of_rax();
            code_.jump_back(Condition::NotZero, top);
            const int past_single = code_.jump();
            code_.bind(to_single);
            return past_single;
        }
        code_.compare(Rax, R15);
        code_.jump_back(Condition::Less, top);
        code_.bind(to_single);
        if (program_.partial) return 0;
        code_.compare(Rax, Rsi);
        return code_.jump(Condition::AboveEqual);
    }
    size_t stores_at_once() const { return second_ ? program_.stores.size() / 2 : program_.stores.size(); }
    /// A loop that interleaves two vectors. The reorder window holds less than one long body, so that one vector alone would stall on its
    /// dependency chain. Returns as several_turns.
    int pairs(const std::vector<Where>& at_top) {
        const auto one_is_left = [&] { // r15 is the cold code's
            code_.move(R15, Rsi);
            code_.subtract(R15, program_.turn());
            code_.compare(Rax, R15);
        };
        one_is_left();
        const int to_single = code_.jump(Condition::GreaterEqual);
        const int top = code_.here();
        where_ = at_top;
        for (int i : pair_) {
            turn_ = static_cast<size_t>(i) >= second_;
            value(i);
        }
        const size_t stores = stores_at_once();
        for (size_t s = 0; s < stores; s++)
            for (turn_ = 0; turn_ < 2; turn_++) emit_store(program_.stores[s + static_cast<size_t>(turn_) * stores]);
        for (turn_ = 0; turn_ < 2; turn_++) fetch();
        turn_ = 0;
        code_.add(Rax, 2 * program_.turn());
        one_is_left();
        code_.jump_back(Condition::Less, top);
        code_.bind(to_single);
        if (program_.partial) return 0;
        code_.compare(Rax, Rsi);
        return code_.jump(Condition::AboveEqual);
    }
    void fetch() {
        for (const LaneFetch& fetch : program_.fetches)
            for (auto [slot, reg] : pointers_) { // without a register for it, prefetching does not pay
                const Place place = element(reg, fetch.item);
                if (slot == program_.slots + fetch.slot && place.offset % 64 == 0) code_.fetch(place, fetch.to_write);
            }
    }
    /// The overhead of a loop is a third of a short body. An unrolled one needs r15 for its end.
    int turns_at_once() {
        if (program_.leaves || program_.has_call || all_pointers_ > pointers_.size()) return 1;
        const size_t once = (each_.size() + program_.stores.size() + program_.folds.size()) * static_cast<size_t>(copies());
        return once <= short_body / 2 ? 4 : once <= short_body ? 2 : 1;
    }
    /// AVX2: no register is kept for it.
    void load_wide_mask(int reg) { code_.emit(Form::MovUps, vector_, reg, 0, Place::at(Rbp, wide_partial_masks + vector_ * copy_)); }
    void load_partial_mask() { code_.emit(Form::KMov, 16, partial_mask, 0, Place::at(Rbp, partial_masks + 8 * copy_)); }

    // ---- before code is emitted: the order, and every value's next uses

    void plan() {
        for (int32_t& v : in_register_) v = -1;
        for (int32_t& v : in_mask_) v = -1;
        const int count = static_cast<int>(program_.values.size());
        for (int i = 0; i < count; i++) {
            if (second_ && static_cast<size_t>(i) >= second_) break;
            if (is_constant(lane(i))) add_constant(i);
            else (lane(i).invariant ? once_ : each_).push_back(i);
        }
        for (size_t k = 0; second_ && k < each_.size(); k++) {
            pair_.push_back(each_[k]);
            pair_.push_back(static_cast<int>(second_ + k));
        }
        last_use_.assign(static_cast<size_t>(count), -1);
        const std::vector<int>& order = second_ ? pair_ : each_;
        note_uses(order, program_.stores.size());
        choose_residents(order);
        note_uses_of(once_);
        for (int i = 0; i < count; i++) where(i).next = next_[static_cast<size_t>(i)];
    }
    /// Of values and stores in this order, behind once_.
    void note_uses(const std::vector<int>& order, size_t stores) {
        const size_t count = program_.values.size();
        position_.assign(count, -1);
        int at = 0;
        for (int i : once_) position_[static_cast<size_t>(i)] = at++;
        for (int i : order) position_[static_cast<size_t>(i)] = at++;
        after_.resize(count * 3, never_used);
        store_after_.assign(program_.stores.size(), never_used);
        fold_after_.assign(program_.folds.size(), never_used);
        next_.assign(count, never_used);
        for (size_t f = program_.folds.size(); f-- > 0;) {
            size_t folded = static_cast<size_t>(program_.folds[f].value);
            fold_after_[f] = next_[folded];
            note_use(folded, at + static_cast<int>(program_.stores.size() + f));
        }
        // Of a pair, the second vector's stores stand behind the first's, and are made in turns with them.
        const size_t of_one = stores_at_once();
        for (size_t k = stores; k-- > 0;) {
            const size_t s = stores > of_one ? k / 2 + k % 2 * of_one : k;
            size_t stored = static_cast<size_t>(program_.stores[s].value);
            store_after_[s] = next_[stored];
            note_use(stored, at + static_cast<int>(k));
        }
        note_uses_of(order);
    }
    void note_use(size_t operand, int position) {
        if (last_use_[operand] < position) last_use_[operand] = position;
        next_[operand] = position;
    }
    void note_uses_of(const std::vector<int>& order) {
        for (size_t k = order.size(); k-- > 0;) {
            const Lane& one = lane(order[k]);
            for (int o = one.operand_count; o-- > 0;) {
                size_t operand = static_cast<size_t>(one.operands[o]);
                after_[static_cast<size_t>(order[k]) * 3 + static_cast<size_t>(o)] = next_[operand];
                note_use(operand, position_[static_cast<size_t>(order[k])]);
            }
        }
    }

    /// The invariants that the loop reads most often, as far as its own values leave registers.
    void choose_residents(const std::vector<int>& order) {
        constexpr int spare = 3;       // operands and results of an operation that are not counted as live
        if (program_.has_call) return; // a call preserves no register
        const size_t count = program_.values.size();
        std::vector<int> left = uses_of(program_, order);
        const int most = most_alive(program_, order, left);
        for (int room = registers_ - most - spare; room > 0; room--) {
            int best = -1;
            for (int i = 0; i < static_cast<int>(count); i++)
                if (lane(i).invariant && !in_k(i) && left[static_cast<size_t>(i)] > 0 &&
                    (best < 0 || left[static_cast<size_t>(i)] > left[static_cast<size_t>(best)]))
                    best = i;
            if (best < 0) break;
            residents_.push_back(best);
            left[static_cast<size_t>(best)] = 0;
        }
    }
    void take_residents() {
        const int first = registers_ - static_cast<int>(residents_.size());
        for (int r = first; r < registers_; r++)
            if (in_register_[r] >= 0) drop(in_register_[r]);
        int reg = first;
        for (int i : residents_) {
            if (where(i).reg >= 0) code_.emit(Form::MovAps, bytes_of(i), reg++, 0, Place::of(where(i).reg));
            else load_value(i, reg++);
        }
        forget_registers();
        registers_ = reg = first;
        for (int i : residents_) where(i).reg = static_cast<int8_t>(reg++);
    }
    bool is_resident(int value) const { return where_[static_cast<size_t>(value)].reg >= registers_; }

    void add_constant(int i) {
        Where& place = where(i);
        if (lane(i).op == LaneOp::Table) {
            place.home = place_table(lane(i).bits, lane(i).immediate);
            return;
        }
        const int width = lane(i).width;
        // EVEX forms broadcast one element; VEX forms read a whole vector.
        const int size = evex_ ? width : vector_;
        while (constants_.size() % static_cast<size_t>(size)) constants_.push_back(0);
        place.home = static_cast<int32_t>(constants_.size());
        place.repeated = evex_;
        for (int k = 0; k < size; k += width)
            for (int b = 0; b < width; b++) constants_.push_back(static_cast<uint8_t>(lane(i).bits >> 8 * b));
    }
    int32_t raw_constant(uint64_t byte, int size) {
        while (constants_.size() % 16) constants_.push_back(0);
        int32_t at = static_cast<int32_t>(constants_.size());
        for (int k = 0; k < size; k++) constants_.push_back(static_cast<uint8_t>(byte >> 8 * (k & 7)));
        return at;
    }
    std::vector<std::pair<uint64_t, int32_t>> tables_;
    int32_t place_table(uint64_t table, int count) {
        for (auto [known, at] : tables_)
            if (known == table) return at;
        while (constants_.size() % 64) constants_.push_back(0);
        const int32_t at = static_cast<int32_t>(constants_.size());
        const uint8_t* bytes = reinterpret_cast<const uint8_t*>(table);
        for (int k = 0; k < 16; k += count) constants_.insert(constants_.end(), bytes, bytes + static_cast<size_t>(count) * sizeof(float));
        tables_.push_back({table, at});
        return at;
    }
    int32_t ones_ = -1, low_bytes_ = -1, low_words_ = -1, all_lanes_ = -1;

    int32_t take_frame(int64_t size) {
        frame_ = (frame_ + 63) & ~int64_t{63};
        int32_t at = static_cast<int32_t>(frame_);
        frame_ += size;
        return at;
    }
    int32_t take_home() {
        if (free_homes_.empty()) return take_frame(vector_);
        int32_t home = free_homes_.back();
        free_homes_.pop_back();
        return home;
    }

    // ---- registers

    Place home_of(int value) {
        Place place = Place::at(is_constant(lane(value)) ? Rbx : Rbp, where(value).home);
        place.repeated = where(value).repeated;
        return place;
    }

    void spill(int value) {
        Where& place = where(value);
        if (place.home < 0) {
            place.home = take_home();
            if (in_k(value)) code_.emit(Form::KMovStore, 16, place.reg, 0, home_of(value));
            else code_.emit(Form::MovUpsStore, bytes(lane(value).width), place.reg, 0, home_of(value));
        }
    }
    void drop(int value) {
        Where& place = where(value);
        if (place.reg < 0) return;
        (in_k(value) ? in_mask_ : in_register_)[place.reg] = -1;
        place.reg = -1;
    }

    int take_register() {
        int best = -1, farthest = -1;
        for (int r = 0; r < registers_; r++) {
            if (in_register_[r] < 0 && !(pinned_ >> r & 1)) return r;
            if (pinned_ >> r & 1) continue;
            Where& place = where(in_register_[r]);
            // What has a home needs no store. That is worth as much as a next use a little farther ahead.
            int next = place.next == never_used ? never_used : place.next + (place.home >= 0 ? 8 : 0);
            if (next > farthest) farthest = next, best = r;
        }
        KINDLING_ASSERT(best >= 0);
        int value = in_register_[best];
        if (where(value).next != never_used) spill(value);
        drop(value);
        return best;
    }
    int take_mask() {
        int best = -1, farthest = -1;
        for (int r = 1; r < masks_; r++) {
            if (in_mask_[r] < 0 && !(pinned_masks_ >> r & 1)) return r;
            if (pinned_masks_ >> r & 1) continue;
            if (where(in_mask_[r]).next > farthest) farthest = where(in_mask_[r]).next, best = r;
        }
        KINDLING_ASSERT(best >= 0);
        int value = in_mask_[best];
        if (where(value).next != never_used) spill(value);
        drop(value);
        return best;
    }
    /// Allocates a register for the result.
    int define(int value) {
        Where& place = where(value);
        if (in_k(value)) {
            place.reg = static_cast<int8_t>(take_mask());
            in_mask_[place.reg] = value;
            pinned_masks_ |= 1u << place.reg;
        } else {
            place.reg = static_cast<int8_t>(take_register());
            in_register_[place.reg] = value;
            pinned_ |= 1u << place.reg;
        }
        return place.reg;
    }
    /// Loads the operand into a register.
    int need(int value) {
        Where& place = where(value);
        if (place.reg < 0) {
            const Place from = home_of(value);
            define(value);
            if (in_k(value)) code_.emit(Form::KMov, 16, place.reg, 0, from);
            else load_value(value, place.reg);
        }
        if (in_k(value)) pinned_masks_ |= 1u << place.reg;
        else pinned_ |= 1u << place.reg;
        return place.reg;
    }
    void load_value(int value, int to) {
        Place from = home_of(value);
        const Form repeat = lane(value).width == 8 ? Form::BroadcastSd : Form::BroadcastSs;
        const Form form = from.repeated ? repeat : Form::MovUps;
        from.repeated = false;
        code_.emit(form, bytes_of(value), to, 0, from);
    }
    /// The operand in memory, if `form` can read it there.
    Place place_of(int value, Form form) {
        Where& place = where(value);
        if (place.reg < 0 && !in_k(value)) {
            if (!place.repeated) return home_of(value);
            if (facts(form).element == lane(value).width) return home_of(value);
        }
        return Place::of(need(value));
    }
    /// After the operands of a value have been read, those without a further use give up their registers.
    void used(int value) {
        const Lane& one = lane(value);
        for (int o = 0; o < one.operand_count; o++)
            where(one.operands[o]).next = after_[static_cast<size_t>(value) * 3 + static_cast<size_t>(o)];
        for (int o = 0; o < one.operand_count; o++) release(one.operands[o]);
        pinned_ = pinned_masks_ = 0;
    }
    void release(int value) {
        Where& place = where(value);
        if (place.next != never_used) return;
        drop(value);
        // A spill slot is free again, unless the next turn of the loop reads it.
        if (place.home >= 0 && !lane(value).invariant) {
            leaving_homes_.push_back(place.home); // it may still be read while this value is computed
            place.home = -1;
        }
    }
    /// Between the code that runs once and the loop: spills everything.
    void forget_registers() {
        for (int32_t& v : in_register_)
            if (v >= 0) drop(v);
        for (int32_t& v : in_mask_)
            if (v >= 0) drop(v);
        in_loop_ = true;
    }

    // ---- values

    General pointer(int slot) {
        for (auto [known, reg] : pointers_)
            if (known == slot) return reg;
        code_.load(R15, Place::at(Rdi, 8 * slot));
        return R15;
    }

    void prologue() {
        for (General reg : {Rbx, Rbp, R12, R13, R14, R15}) code_.push(reg);
        code_.subtract(Rsp, 8);
        code_.move(Rbp, Rdx);
        code_.store(Place::at(Rbp, end_of_arguments), Rcx);
        constants_at_ = code_.load_address(Rbx);
        static constexpr General free[] = {Rcx, Rdx, R8, R9, R10, R11, R12, R13, R14};
        const size_t free_count = sizeof free / sizeof *free - !program_.folds.empty(); // R14: the lanes of reductions
        auto give = [&](int slot) {
            for (auto [known, reg] : pointers_)
                if (known == slot) return;
            all_pointers_++;
            if (pointers_.size() < free_count) pointers_.push_back({slot, free[pointers_.size()]});
        };
        for (int i : each_)
            if (is_load(lane(i))) give(static_cast<int>(lane(i).bits));
        for (const LaneStore& store : program_.stores) give(store.slot);
        for (const LaneFetch& fetch : program_.fetches) give(program_.slots + fetch.slot);
    }
    void start_row() {
        load_pointers();
        if (!program_.folds.empty()) code_.load(R14, Place::at(Rdi, 8 * (program_.pointers() - 1)));
        code_.zero(Rax);
    }
    void load_pointers() {
        for (auto [slot, reg] : pointers_) code_.load(reg, Place::at(Rdi, 8 * slot));
    }
    void epilogue() {
        code_.vzeroupper();
        code_.add(Rsp, 8);
        for (General reg : {R15, R14, R13, R12, Rbp, Rbx}) code_.pop(reg);
        code_.ret();
    }

    void value(int i) {
        const Lane& one = lane(i);
        const LaneFacts& row = facts(one.op);
        if (where(i).next == never_used) return; // only dead values needed it
        const Form form = evex_ ? row.evex : row.vex;
        const int* in = one.operands;
        const int wide = one.width > row.from && row.from ? bytes(one.width) : row.from ? bytes(row.from) : bytes(one.width);
        switch (row.how) {
        case How::Leaf: load(i, form); break;
        case How::Either:
        case How::Binary: {
            int a = in[0], b = in[1];
            if (row.how == How::Either && where(a).reg < 0 && where(b).reg >= 0) std::swap(a, b);
            int first = need(a);
            Place second = a == b ? Place::of(first) : place_of(b, form);
            used(i);
            code_.emit(form, wide, define(i), first, second);
            break;
        }
        case How::Unary: {
            Place from = place_of(in[0], form);
            used(i);
            code_.emit(form, wide, define(i), 0, from);
            break;
        }
        case How::Immediate:
        case How::Shift: {
            // VEX shifts take only registers.
            Place from = row.how == How::Shift && !evex_ ? Place::of(need(in[0])) : place_of(in[0], form);
            used(i);
            code_.emit(form, wide, define(i), 0, from, one.immediate);
            break;
        }
        case How::Compare: {
            int first = need(in[0]);
            Place second = in[0] == in[1] ? Place::of(first) : place_of(in[1], form);
            used(i);
            code_.emit(form, bytes(row.from), define(i), first, second, one.immediate);
            break;
        }
        case How::Mask: {
            int first = need(in[0]);
            if (evex_) {
                Place second = one.operand_count == 2 ? Place::of(need(in[1])) : Place::of(first);
                used(i);
                code_.emit(form, 16, define(i), first, second);
            } else {
                Place second = place_of(in[1], form);
                used(i);
                code_.emit(form, bytes(one.width), define(i), first, second);
            }
            break;
        }
        case How::Spread: {
            int mask = need(in[0]);
            used(i);
            code_.emit(form, bytes(one.width), define(i), 0, Place::of(mask));
            break;
        }
        case How::Select: {
            int mask = need(in[0]), otherwise = need(in[2]);
            Place chosen = in[1] == in[2] ? Place::of(otherwise) : place_of(in[1], form);
            used(i);
            if (evex_) code_.emit(form, bytes(one.width), define(i), otherwise, chosen, 0, mask);
            else code_.emit(form, bytes(one.width), define(i), otherwise, chosen, mask);
            break;
        }
        case How::Fused: {
            // The result takes the register of a factor that is not used again, or that also has a home.
            auto gives = [&](int k) {
                const int other = in[1 - k];
                return in[k] != other && in[k] != in[2] && !is_resident(in[k]) &&
                       (where(in[k]).home >= 0 || after_[static_cast<size_t>(i) * 3 + static_cast<size_t>(k)] == never_used);
            };
            const int first = gives(0) || !gives(1) ? 0 : 1;
            int a = need(in[first]), b = need(in[1 - first]);
            Place c = place_of(in[2], form);
            if (gives(first)) {
                code_.emit(form, bytes(one.width), a, b, c);
                drop(in[first]);
                used(i);
                where(i).reg = static_cast<int8_t>(a);
                in_register_[a] = i;
                break;
            }
            int to = define(i);
            code_.emit(Form::MovAps, bytes(one.width), to, 0, Place::of(a));
            code_.emit(form, bytes(one.width), to, b, c);
            used(i);
            break;
        }
        case How::Ternary: {
            // The result takes the register of an operand that is not used again, if there is one. The truth table
            // is permuted accordingly.
            int order[3] = {0, 1, 2};
            auto gives = [&](int k) {
                for (int other = 0; other < 3; other++)
                    if (other != k && in[other] == in[k]) return false;
                return where(in[k]).reg >= 0 && !is_resident(in[k]) &&
                       (where(in[k]).home >= 0 || after_[static_cast<size_t>(i) * 3 + static_cast<size_t>(k)] == never_used);
            };
            for (int k = 0; k < 3; k++)
                if (gives(k)) {
                    std::swap(order[0], order[k]);
                    break;
                }
            int truth = 0;
            for (int bit = 0; bit < 8; bit++) {
                int turned = 0;
                for (int k = 0; k < 3; k++) turned |= (bit >> (2 - k) & 1) << (2 - order[k]);
                truth |= (one.immediate >> turned & 1) << bit;
            }
            const bool given = gives(order[0]);
            const int a = need(in[order[0]]), b = need(in[order[1]]);
            const Place c = place_of(in[order[2]], form);
            const int to = given ? a : define(i);
            if (!given) code_.emit(Form::MovAps, bytes(one.width), to, 0, Place::of(a));
            code_.emit(form, bytes(one.width), to, b, c, truth);
            if (given) drop(in[order[0]]);
            used(i);
            if (given) {
                where(i).reg = static_cast<int8_t>(a);
                in_register_[a] = i;
            }
            break;
        }
        case How::Narrow: {
            int from = need(in[0]);
            used(i);
            pinned_ |= 1u << from;
            int to = define(i);
            if (one.op == LaneOp::ToHalf) code_.emit(form, bytes(4), from, 0, Place::of(to), 0);
            else if (evex_) code_.emit(form, bytes(8), from, 0, Place::of(to));
            else {
                code_.emit(Form::Extract128, 32, from, 0, Place::of(scratch(0)), 1);
                code_.emit(form, 16, to, from, Place::of(scratch(0)), 0x88);
            }
            break;
        }
        case How::Lookup: lookup(i); break;
        case How::Fix: fix(i); break;
        case How::Rare: rare(i); break;
        case How::Call: call(i); break;
        }
        pinned_ = pinned_masks_ = 0;
        free_homes_.insert(free_homes_.end(), leaving_homes_.begin(), leaving_homes_.end());
        leaving_homes_.clear();
        if (!in_loop_) keep(i);
    }
    /// The table is stored behind the code, whatever the program's lanes are.
    void lookup(int i) {
        const int index = need(lane(i).operands[0]);
        if (lane(i).op == LaneOp::Lookup) {
            const Place table = place_of(lane(i).operands[1], Form::PermPs);
            used(i);
            code_.emit(Form::PermPs, vector_, define(i), index, table);
            return;
        }
        const int32_t table = place_table(lane(i).bits, 16);
        for (int half : {0, 1}) code_.emit(Form::PermPs, 32, scratch(half), index, Place::at(Rbx, table + 32 * half));
        used(i);
        const int to = define(i);
        code_.emit(Form::ShlD, 32, to, 0, Place::of(index), 28);
        code_.emit(Form::BlendvPs, 32, to, scratch(0), Place::of(scratch(1)), to);
    }
    int scratch(int which) const { return (evex_ ? 30 : 14) + which; }

    /// An invariant that the loop reads is in the frame.
    void keep(int i) {
        if (last_use_[static_cast<size_t>(i)] >= static_cast<int>(once_.size())) spill(i);
    }

    void load(int i, Form form) {
        const Lane& one = lane(i);
        const int slot = static_cast<int>(one.bits);
        const int scale = one.op == LaneOp::Load8                                  ? 1
                          : one.op == LaneOp::Load16 || one.op == LaneOp::LoadHalf ? 2
                          : one.op == LaneOp::Load32                               ? 4
                                                                                   : 8;
        General base = pointer(slot);
        int to = define(i);
        // A single scalar is read as one: it may just have been written as one.
        if (one.invariant && one.op == LaneOp::Load32) form = Form::BroadcastSs;
        if (one.invariant && one.op == LaneOp::Load64) form = Form::BroadcastSd;
        const bool masked = in_partial_ && !one.invariant;
        if (masked && !evex_) {
            load_wide_mask(scratch(0));
            code_.emit(Form::MaskMovPs, vector_, to, scratch(0), element(base, scale));
            return;
        }
        if (masked && form == Form::MovUps && one.width == 8) form = Form::MovUpd; // a mask counts elements
        code_.emit(form, bytes(one.width), to, 0, one.invariant ? Place::at(base, 0) : element(base, scale), 0, masked ? partial_mask : 0,
                   masked);
    }
    Place element(General base, int item) const {
        Place place = Place::at(base, Rax, item);
        place.offset = (turn_ * copies() + copy_) * program_.lanes * item;
        return place;
    }

    // ---- reductions: an accumulator for each 16 / lanes lanes, from the highest register down, then what tracks NaN

    int copies() const { return program_.turn() / program_.lanes; }
    int accumulator(const LaneFold& which, int copy) const {
        int reg = evex_ ? 30 : 14;
        for (const LaneFold& fold : program_.folds) {
            if (&fold == &which) break;
            reg -= copies() * (fold.is_extreme() && !evex_ ? 2 : 1);
        }
        return reg - 1 - copy;
    }
    /// With AVX-512 the mask of lanes without NaN, else a vector of those with NaN.
    int met_nan(const LaneFold& which, int copy) const {
        if (!evex_) return accumulator(which, copy) - copies();
        int mask = 7;
        for (const LaneFold& fold : program_.folds) {
            if (&fold == &which) break;
            if (fold.is_extreme()) mask -= copies();
        }
        return mask - 1 - copy;
    }
    static uint64_t number(const LaneFold& fold, double value) {
        if (fold.width == 8) return bit_cast_to<uint64_t>(value);
        const uint64_t word = bit_cast_to<uint32_t>(static_cast<float>(value));
        return word << 32 | word;
    }
    template <class To, class From> static To bit_cast_to(From value) {
        static_assert(sizeof(To) == sizeof(From));
        To result;
        std::memcpy(&result, &value, sizeof result);
        return result;
    }
    static bool wide(const LaneFold& fold) { return fold.width == 8; }

    void start_folds() {
        for (const LaneFold& fold : program_.folds) {
            const int32_t at = raw_constant(number(fold, lane_identity(fold.combine)), vector_);
            for (int copy = 0; copy < copies(); copy++) {
                code_.emit(Form::MovUps, bytes(fold.width), accumulator(fold, copy), 0, Place::at(Rbx, at));
                if (!fold.is_extreme()) continue;
                const int none = met_nan(fold, copy);
                if (evex_) {
                    if (all_lanes_ < 0) all_lanes_ = raw_constant(~uint64_t{0}, 16);
                    code_.emit(Form::KMov, 16, none, 0, Place::at(Rbx, all_lanes_));
                } else {
                    code_.emit(Form::XorPs, bytes(fold.width), none, none, Place::of(none));
                }
            }
        }
    }

    void emit_fold(const LaneFold& fold) {
        const size_t which = static_cast<size_t>(&fold - program_.folds.data());
        const int reg = need(fold.value), into = accumulator(fold, copy_), size = bytes(fold.width);
        Form form = wide(fold) ? Form::AddPd : Form::AddPs;
        if (fold.combine == Combine::Prod) form = wide(fold) ? Form::MulPd : Form::MulPs;
        if (fold.combine == Combine::Min) form = wide(fold) ? Form::MinPd : Form::MinPs;
        if (fold.combine == Combine::Max) form = wide(fold) ? Form::MaxPd : Form::MaxPs;
        const bool chosen = in_partial_ && !evex_;
        code_.emit(form, size, chosen ? scratch(1) : into, into, Place::of(reg), 0, in_partial_ && evex_ ? partial_mask : 0);
        if (chosen) {
            load_wide_mask(scratch(0));
            code_.emit(Form::BlendvPs, size, into, into, Place::of(scratch(1)), scratch(0));
        }
        if (fold.is_extreme()) {
            const int none = met_nan(fold, copy_);
            const Form compare = wide(fold) ? Form::CmpPd : Form::CmpPs;
            constexpr int ordered = 7, unordered = 3;
            if (evex_) {
                int met = reg;
                if (in_partial_) { // the other lanes may hold NaN
                    met = scratch(0);
                    code_.emit(wide(fold) ? Form::MovUpd : Form::MovUps, size, met, 0, Place::of(reg), 0, partial_mask, true);
                }
                code_.emit(compare, size, none, met, Place::of(met), ordered, none);
            } else {
                code_.emit(compare, size, scratch(1), reg, Place::of(reg), unordered);
                if (chosen) code_.emit(Form::AndPs, size, scratch(1), scratch(1), Place::of(scratch(0)));
                code_.emit(Form::OrPs, size, none, none, Place::of(scratch(1)));
            }
        }
        where(fold.value).next = fold_after_[which];
        release(fold.value);
        pinned_ = pinned_masks_ = 0;
    }

    void store_folds() {
        for (const LaneFold& fold : program_.folds) {
            const int size = bytes(fold.width), index = static_cast<int>(&fold - program_.folds.data());
            for (int copy = 0; copy < copies(); copy++) {
                const int reg = accumulator(fold, copy);
                if (fold.is_extreme()) {
                    const Place nan = Place::at(Rbx, raw_constant(number(fold, __builtin_nan("")), vector_));
                    if (evex_) {
                        code_.emit(Form::MovUps, size, scratch(0), 0, nan);
                        code_.emit(wide(fold) ? Form::BlendmPd : Form::BlendmPs, size, reg, scratch(0), Place::of(reg), 0,
                                   met_nan(fold, copy));
                    } else {
                        code_.emit(Form::BlendvPs, size, reg, reg, nan, met_nan(fold, copy));
                    }
                }
                code_.emit(Form::MovUpsStore, size, reg, 0, Place::at(R14, index * fold_area + copy * program_.lanes * fold.width));
            }
        }
        code_.add(R14, fold_lanes_bytes);
    }

    void emit_store(const LaneStore& store) {
        const size_t which = static_cast<size_t>(&store - program_.stores.data());
        const int value = store.value;
        const Lane& one = lane(value);
        General base = pointer(store.slot);
        const Place to = element(base, store.item);
        const int lanes = program_.lanes;
        auto store_bytes = [&](int reg, int size) {
            if (size == 4) code_.emit(Form::MovDStore, 16, reg, 0, to);
            else if (size == 8) code_.emit(Form::MovQStore, 16, reg, 0, to);
            else if (in_partial_ && !evex_) {
                load_wide_mask(scratch(0));
                code_.emit(Form::MaskMovPsStore, size, reg, scratch(0), to);
            } else if (in_partial_) code_.emit(store.item == 8 ? Form::MovUpdStore : Form::MovUpsStore, size, reg, 0, to, 0, partial_mask);
            else code_.emit(store.past_cache ? Form::MovNtPs : Form::MovUpsStore, size, reg, 0, to);
        };
        int reg = need(value);
        if (store.item == 1 && evex_ && one.mask) {
            if (ones_ < 0) ones_ = raw_constant(0x0101010101010101u, 16);
            code_.emit(Form::MovU8, 16, scratch(0), 0, Place::at(Rbx, ones_), 0, reg, true);
            store_bytes(scratch(0), lanes);
        } else if (store.item <= 2 && evex_ && one.width == 4 && store.past_cache && lanes == 16 && !in_partial_) {
            code_.emit(store.item == 1 ? Form::MovDb : Form::MovDw, bytes(4), reg, 0, Place::of(scratch(0)));
            store_bytes(scratch(0), lanes * store.item);
        } else if (store.item == 1 && evex_) {
            code_.emit(Form::MovDb, bytes(4), reg, 0, to);
        } else if (store.item == 2 && evex_ && one.width == 4) {
            code_.emit(Form::MovDw, bytes(4), reg, 0, to, 0, in_partial_ ? partial_mask : 0);
        } else if (store.item <= 2 && one.width != 2) {
            // AVX2: lanes of 4 bytes are packed by halves. Packing saturates, so the upper bits are cleared first.
            int from = reg;
            const bool eight = one.mask && one.width == 8; // the mask of four lanes of 8 bytes
            if (eight) {
                code_.emit(Form::Extract128, 32, reg, 0, Place::of(scratch(0)), 1);
                code_.emit(Form::ShufPs, 16, scratch(1), reg, Place::of(scratch(0)), 0x88);
                from = scratch(1);
            }
            if (store.item == 1 && low_bytes_ < 0) low_bytes_ = raw_constant(0x000000FF000000FFu, 32);
            if (one.mask && ones_ < 0) ones_ = raw_constant(0x0000000100000001u, 32);
            if (store.item == 2 && low_words_ < 0) low_words_ = raw_constant(0x0000FFFF0000FFFFu, 32);
            int32_t bits = one.mask ? ones_ : store.item == 1 ? low_bytes_ : low_words_;
            code_.emit(Form::AndPs, bytes(4), scratch(1), from, Place::at(Rbx, bits));
            if (lanes == 8) {
                code_.emit(Form::Extract128, 32, scratch(1), 0, Place::of(scratch(0)), 1);
                code_.emit(Form::PackUsDw, 16, scratch(1), scratch(1), Place::of(scratch(0)));
            } else {
                code_.emit(Form::PackUsDw, 16, scratch(1), scratch(1), Place::of(scratch(1)));
            }
            if (store.item == 1) code_.emit(Form::PackUsWb, 16, scratch(1), scratch(1), Place::of(scratch(1)));
            store_bytes(scratch(1), lanes * store.item);
        } else {
            store_bytes(reg, lanes * store.item);
        }
        where(value).next = store_after_[which];
        release(value);
        pinned_ = pinned_masks_ = 0;
    }

    // ---- the branch for rare lanes

    void fix(int i) {
        const Lane& one = lane(i);
        const int x = need(one.operands[0]), old = need(one.operands[1]), large = need(one.operands[2]);
        int to = define(i);
        code_.emit(Form::MovAps, bytes(8), to, 0, Place::of(old));
        if (evex_) code_.emit(Form::KOrTestB, 16, large, 0, Place::of(large)); // of 8 lanes: the bits above them are undefined
        else code_.emit(Form::TestPd, bytes(8), large, 0, Place::of(large));
        int kind = one.op == LaneOp::FixHigh ? High : one.op == LaneOp::FixLow ? Low : Quadrant;
        int jump = code_.jump(Condition::NotZero);
        cold_.push_back({jump, code_.here(), x | to << 8 | kind << 24, 0});
        used(i);
    }

    void rare(int i) {
        const Lane& one = lane(i);
        const int a = need(one.operands[0]), b = need(one.operands[1]), mask = need(one.operands[2]), to = define(i);
        if (evex_) code_.emit(program_.lanes == 16 ? Form::KOrTestW : Form::KOrTestB, 16, mask, 0, Place::of(mask));
        else code_.emit(Form::TestPs, bytes(4), mask, 0, Place::of(mask));
        const int jump = code_.jump(Condition::NotZero);
        cold_.push_back({jump, code_.here(), a | to << 8 | b << 16 | Function << 24, one.bits});
        used(i);
    }

    void save_general() {
        code_.store(Place::at(Rbp, 0), Rax);
        code_.store(Place::at(Rbp, 8), Rsi);
        code_.store(Place::at(Rbp, 16), Rdi);
    }
    void restore_general() {
        code_.load(Rax, Place::at(Rbp, 0));
        code_.load(Rsi, Place::at(Rbp, 8));
        code_.load(Rdi, Place::at(Rbp, 16));
        load_pointers();
    }

    void call(int i) {
        const Lane& one = lane(i);
        static constexpr General arguments[] = {Rsi, Rdx, Rcx};
        // Stores the operands, and with them everything that is still live.
        int32_t homes[3];
        std::vector<int32_t> borrowed;
        for (int k = 0; k < one.operand_count; k++) {
            int operand = one.operands[k];
            if (is_constant(lane(operand))) { // as many as there are lanes
                homes[k] = take_home();
                borrowed.push_back(homes[k]);
                code_.emit(Form::MovUpsStore, bytes(lane(operand).width), need(operand), 0, Place::at(Rbp, homes[k]));
            } else {
                if (where(operand).reg >= 0) spill(operand);
                homes[k] = where(operand).home;
            }
        }
        for (int32_t v : in_register_)
            if (v >= 0) {
                if (where(v).next != never_used) spill(v);
                drop(v);
            }
        for (int32_t v : in_mask_)
            if (v >= 0) {
                if (where(v).next != never_used) spill(v);
                drop(v);
            }
        pinned_ = pinned_masks_ = 0;
        int32_t out = take_home();
        where(i).home = out;
        save_general();
        auto address = [&](General reg, int32_t offset) {
            code_.move(reg, Rbp);
            code_.add(reg, offset);
        };
        for (int k = 0; k < one.operand_count; k++) address(arguments[k], homes[k]);
        address(Rdi, out);
        code_.move_immediate(R8, static_cast<uint64_t>(program_.lanes));
        code_.zero(R9);
        code_.move_immediate(Rax, one.bits);
        code_.vzeroupper();
        code_.call(Rax);
        restore_general();
        if (in_partial_) load_partial_mask();
        used(i);
        for (int32_t home : borrowed) free_homes_.push_back(home);
    }

    /// Behind the loop: the code for rare lanes. It saves all registers.
    void cold_code() {
        if (cold_.empty()) return;
        std::vector<int> calls;
        for (const Cold& site : cold_) {
            code_.bind(site.jump);
            if (site.function) {
                code_.move_immediate(R15, site.function);
                code_.store(Place::at(Rbp, save_area_ + 32 * vector_), R15);
            }
            code_.move_immediate(R15, static_cast<uint64_t>(site.packed));
            calls.push_back(code_.call());
            code_.jump_back(site.back);
        }
        for (int call : calls) code_.bind(call);
        const int all = evex_ ? 32 : 16;
        for (int r = 0; r < all; r++) code_.emit(Form::MovUpsStore, vector_, r, 0, Place::at(Rbp, save_area_ + r * vector_));
        if (evex_)
            for (int k = 1; k < 8; k++) code_.emit(Form::KMovStore, 16, k, 0, Place::at(Rbp, save_area_ + 32 * vector_ + 8 * k));
        save_general();
        code_.move(Rdi, Rbp);
        code_.add(Rdi, save_area_);
        code_.move(Rsi, R15);
        code_.move_immediate(Rdx, static_cast<uint64_t>(program_.lanes));
        code_.move_immediate(Rcx, static_cast<uint64_t>(vector_));
        code_.move_immediate(Rax, reinterpret_cast<uint64_t>(&fix_lanes));
        code_.subtract(Rsp, 8);
        code_.vzeroupper();
        code_.call(Rax);
        code_.add(Rsp, 8);
        restore_general();
        for (int r = 0; r < all; r++) code_.emit(Form::MovUps, vector_, r, 0, Place::at(Rbp, save_area_ + r * vector_));
        if (evex_)
            for (int k = 1; k < 8; k++) code_.emit(Form::KMov, 16, k, 0, Place::at(Rbp, save_area_ + 32 * vector_ + 8 * k));
        code_.ret();
    }
};

} // namespace

bool has_partial_form(const LaneProgram& program) {
    if (program.isa != Isa::Avx512) { // whole vectors of memory alone
        const auto whole = [&](int width) { return width >= 4 && width * program.lanes == 32; };
        if (program.isa != Isa::Avx2 || program.has_call) return false;
        for (const Lane& one : program.values) {
            const bool narrow = one.op == LaneOp::Load8 || one.op == LaneOp::Load16 || one.op == LaneOp::LoadHalf;
            if (!one.invariant && (narrow || ((one.op == LaneOp::Load32 || one.op == LaneOp::Load64) && !whole(one.width)))) return false;
        }
        for (const LaneFold& fold : program.folds)
            if (!whole(fold.width)) return false;
        for (const LaneStore& store : program.stores) {
            const Lane& value = program.values[static_cast<size_t>(store.value)];
            if (value.mask || value.width != store.item || !whole(store.item)) return false;
        }
        return true;
    }
    for (const LaneStore& store : program.stores) {
        const Lane& value = program.values[static_cast<size_t>(store.value)];
        const bool whole = store.item >= 4 && value.width == store.item && !value.mask;
        if (!whole && !(store.item == 2 && value.width == 4)) return false;
    }
    return true;
}

/// Behind the program's values and stores, those of the next vector: their order is that of the first's.
LaneProgram two_vectors(const LaneProgram& program) {
    LaneProgram twice = program;
    std::vector<int32_t> twin(program.values.size());
    for (size_t i = 0; i < twin.size(); i++) {
        Lane one = program.values[i];
        twin[i] = static_cast<int32_t>(i);
        if (one.invariant || is_constant(one)) continue;
        for (int o = 0; o < one.operand_count; o++) one.operands[o] = twin[static_cast<size_t>(one.operands[o])];
        twin[i] = static_cast<int32_t>(twice.values.size());
        twice.values.push_back(one);
    }
    for (LaneStore store : program.stores) {
        store.value = twin[static_cast<size_t>(store.value)];
        twice.stores.push_back(store);
    }
    return twice;
}

MachineCode emit(const LaneProgram& program, bool with_listing) {
    std::vector<int> each;
    for (size_t i = 0; i < program.values.size(); i++)
        if (!program.values[i].invariant && !is_constant(program.values[i])) each.push_back(static_cast<int>(i));
    std::vector<int> left = uses_of(program, each);
    MachineCode result;
    if (program.isa == Isa::Avx2 && program.folds.empty() && !program.has_call && each.size() > short_body &&
        most_alive(program, each, left) <= few_alive)
        Emitter(two_vectors(program), result, with_listing).run(program.values.size());
    else Emitter(program, result, with_listing).run();
    return result;
}

} // namespace kindling::native
