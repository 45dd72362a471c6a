// kernels/reductions/row.cpp: row kernels: reductions along a row, then further passes over the row while it is in cache.
//
// A step of the program works on elements, is row-invariant, or is constant. Short rows share a tile, one after the
// other. A long row is processed in strips: what a later level reads again is kept for the whole row, everything else
// for one strip. Rows across memory are read in memory order: a tile has some elements of many rows, side by side.
// Where there is machine code, a level is one loop over the row.
#include "core/error.h"
#include "kernels/reductions/fold.h"
#include "kernels/tile/executor.h"
#include "kernels/tile/move.h"

namespace kindling {

namespace {

/// The space of a row kernel: the dimensions over rows, then those along a row.
struct RowSpace {
    LoopOrder order;
    int kept_dims;
    int64_t rows, length;
    bool across; // neighbouring rows are closer together in memory than neighbours within a row
};

/// An operand, read row by row.
struct RowOperand {
    Stream elements;        // over the whole space; over the rows if it is row-invariant
    int64_t between, along; // strides from row to row in the innermost dimension over rows, and within a row ...
    bool plain;             // ... if rows have one stride
};

/// Partial results of a reduction along a row, one per level of the pairwise order. A length of 64 bits has at most 64
/// levels.
constexpr int64_t fold_levels_bytes = 64 * fold_result_bytes;

class RowRunner {
public:
    RowRunner(const LoopKernel& kernel, const TileProgram& program, const RowSpace& space, RunArena& arena)
        : kernel_(kernel), program_(program), space_(space), arena_(arena) {
        const int64_t slots = static_cast<int64_t>(program.slots.size());
        extents_ = arena.take<Extent>(slots);
        pointers_ = arena.take<char*>(static_cast<int64_t>(native_pointers(program.slots.size())));
        values_ = arena.take<char*>(slots);
        buffers_ = arena.take<char*>(slots);
        operands_ = arena.take<RowOperand>(kernel.output_count + kernel.input_count);
        wide_ = arena.take<bool>(slots);
        set_extents();
        native_ = find_native();
        if (native_) at_once_ = space.rows < 64 ? space.rows : 64, strip_ = 0, strips_ = columns_ = false;
        else choose_sizes();
        for (int k = 0; k < kernel.output_count + kernel.input_count; k++) set_operand(k);
        take_buffers();
        if (native_) plan_native();
        else if (columns_) plan_columns();
        else if (!strips_) plan_whole();
    }

    void run(int64_t begin, int64_t end) {
        if (native_) {
            run_native_rows(begin, end);
            return;
        }
        const int64_t inner = space_.kept_dims ? space_.order.sizes[space_.kept_dims - 1] : 1;
        for (int64_t row = begin; row < end;) {
            int64_t rows = at_once_ < end - row ? at_once_ : end - row;
            if (space_.across && rows > inner - row % inner) rows = inner - row % inner;
            if (columns_) run_columns(row, rows);
            else if (strips_) run_strips(row, rows);
            else run_whole(row, rows);
            row += rows;
        }
    }

private:
    const LoopKernel& kernel_;
    const TileProgram& program_;
    const RowSpace& space_;
    RunArena& arena_;
    Extent* extents_;
    char** pointers_; // one per slot: what element steps read; if there are strips, within the strip
    char** values_;   // one per row-invariant slot: its scalars
    bool* wide_;      // one per slot: element steps read its scalars, so they are expanded
    char** buffers_;  // one per element slot: its own memory
    RowOperand* operands_;
    int64_t at_once_, strip_;
    bool all_elements_; // row-invariant inputs are read as elements, because they are reduced
    bool strips_;       // one row at a time, in several strips
    bool columns_;      // rows side by side: tall_ elements of each are a tile
    int64_t tall_;
    int16_t* element_inputs_; // slots to be loaded for each tile
    int element_input_count_ = 0;
    int16_t* row_inputs_;
    int row_input_count_ = 0;
    uint8_t* splats_; // one per element step: which operands are scalars
    char* fold_levels_ = nullptr;

    /// The address of an operand's elements in the present row, and its strides over rows.
    struct Cursor {
        int16_t slot;
        int64_t item;
        char* at;
        const int64_t* strides;
    };

    /// Memory of an element slot, for the present columns.
    struct Place {
        char* at;
        int64_t between, along;
        int operand; // whose memory this is, or -1
    };
    Place* places_; // one per slot; null for what stays in a tile
    struct ColumnFold {
        char *lanes, *levels;
        int depth;
        uint64_t blocks;
    };
    ColumnFold* column_folds_; // one per step

    const NativeRows* native_;
    int16_t* number_steps_; // row-invariant steps whose result is stored
    int number_step_count_ = 0;
    char *frame_, *folded_; // results of the levels' reductions, for as many rows as run at once
    bool* stored_;          // one per slot: its scalar is stored, or what is stored follows from it
    Cursor* cursors_;
    int cursor_count_ = 0;
    char** tables_;    // what code reads and writes for each row of a group: copies of pointers_, one after the other
    size_t table_ = 0; // pointers per row
    int64_t group_;

    char** table_of(int64_t g) const { return tables_ + static_cast<size_t>(g) * table_; }
    const TileSlot& slot(int s) const { return program_.slots[static_cast<size_t>(s)]; }

    bool lies_along(const LoopOperand& operand) const {
        for (int d = space_.kept_dims; d < space_.order.ndim; d++)
            if (operand.strides[space_.order.dims[d]] != 0) return true;
        return false;
    }

    void set_extents() {
        for (all_elements_ = space_.length == 1;; all_elements_ = true) {
            for (size_t s = 0; s < program_.slots.size(); s++) {
                const TileSlot& each = program_.slots[s];
                extents_[s] = Extent::Once;
                KINDLING_ASSERT(each.kind != TileSlot::Index);
                if (each.kind == TileSlot::Input)
                    extents_[s] =
                        all_elements_ || lies_along(kernel_.operands[kernel_.output_count + each.which]) ? Extent::Element : Extent::Row;
            }
            bool folds_numbers = false;
            for (const TileStep& step : program_.steps) {
                Extent extent = Extent::Once;
                for (int k = 0; k < step.operand_count; k++)
                    if (extents_[step.operands[k]] > extent) extent = extents_[step.operands[k]];
                if (step.fold) folds_numbers |= extent != Extent::Element;
                extents_[step.out] = step.fold ? Extent::Row : extent;
            }
            if (!folds_numbers) break;
            KINDLING_ASSERT(!all_elements_);
        }
        for (size_t s = 0; s < program_.slots.size(); s++) wide_[s] = false;
        for (const TileStep& step : program_.steps)
            for (int k = 0; k < step.operand_count; k++) wide_[step.operands[k]] |= extents_[step.out] == Extent::Element;
    }

    void choose_sizes() {
        strip_ = tile_size(program_, 4096);
        const int64_t n = space_.length;
        at_once_ = 1;
        columns_ = goes_by_columns();
        if (columns_) {
            // Whole rows in a tile, unless they are few. Then what is kept for a later level should fit in the second
            // cache. A tile has whole groups of the lanes of reductions.
            const int64_t inner = space_.order.sizes[space_.kept_dims - 1];
            const int64_t most = strip_ / (n < fold_lanes ? n : fold_lanes);
            at_once_ = strip_ / n;
            if (at_once_ < 32) at_once_ = (1 << 16) / n & ~int64_t{15};
            if (at_once_ < 16) at_once_ = 16;
            if (at_once_ > most) at_once_ = most;
            if (at_once_ > inner) at_once_ = inner;
            tall_ = strip_ / at_once_ < n ? strip_ / at_once_ & ~int64_t{fold_lanes - 1} : n;
            strip_ = tall_ * at_once_;
            strips_ = false;
            return;
        }
        if (space_.across) {
            at_once_ = strip_ / n > 16 ? strip_ / n : 16;
            while (at_once_ > 1 && at_once_ * n > 1 << 17) at_once_ /= 2;
        } else if (2 * n <= strip_ && n <= 512) {
            at_once_ = strip_ / n;
        }
        if (at_once_ > space_.rows) at_once_ = space_.rows;
        strips_ = at_once_ == 1 && n > strip_;
        if (!strips_) strip_ = at_once_ * n;
    }

    bool goes_by_columns() const {
        constexpr int64_t narrowest = 8;
        const LoopOrder& order = space_.order;
        if (!space_.across || all_elements_ || order.ndim - space_.kept_dims != 1) return false;
        if (order.sizes[space_.kept_dims - 1] < narrowest) return false;
        for (size_t k = 0; k < program_.outputs.size(); k++) {
            const int16_t s = program_.outputs[k];
            if (extents_[s] != Extent::Element) continue;
            if (slot(s).kind != TileSlot::Buffer) return false;
            for (size_t other = 0; other < k; other++)
                if (program_.outputs[other] == s) return false;
        }
        return true;
    }

    /// Machine code, for rows that are contiguous. Very short ones are faster many to a tile.
    const NativeRows* find_native() const {
        constexpr int64_t shortest = 96;
        const LoopOrder& order = space_.order;
        if (space_.across || all_elements_ || order.ndim - space_.kept_dims != 1) return nullptr;
        if (space_.length < shortest && !native_always()) return nullptr;
        for (size_t s = 0; s < program_.slots.size(); s++)
            if (program_.slots[s].kind == TileSlot::Input && extents_[s] == Extent::Element &&
                !in_one_piece(kernel_.operands[kernel_.output_count + program_.slots[s].which]))
                return nullptr;
        int64_t written = 0;
        for (int k = 0; k < kernel_.output_count; k++)
            if (extents_[program_.outputs[static_cast<size_t>(k)]] == Extent::Element)
                written += order.size * static_cast<int64_t>(item_size(kernel_.operands[k].type));
        bool past_cache = passes_cache(written, read_bytes(kernel_, order));
        for (int k = 0; k < kernel_.output_count; k++) {
            const LoopOperand& output = kernel_.operands[k];
            if (extents_[program_.outputs[static_cast<size_t>(k)]] != Extent::Element) continue;
            if (!in_one_piece(output)) return nullptr;
            past_cache &= reinterpret_cast<uintptr_t>(output.data) % 64 == 0;
            for (int d = 0; d < space_.kept_dims; d++) past_cache &= output.strides[order.dims[d]] % 64 == 0;
        }
        const NativeRows* rows = find_native_rows(program_, extents_, false, space_.length, order.size);
        if (!rows || !past_cache || !rows->kept.empty()) return rows; // what is kept may be in the output's memory meanwhile
        const NativeRows* passing = find_native_rows(program_, extents_, true, space_.length, order.size);
        return passing ? passing : rows;
    }
    bool in_one_piece(const LoopOperand& operand) const {
        return operand.strides[space_.order.dims[space_.kept_dims]] == static_cast<int64_t>(item_size(operand.type));
    }

    void set_operand(int k) {
        const LoopOperand& memory = kernel_.operands[k];
        RowOperand& operand = operands_[k];
        const LoopOrder& order = space_.order;
        int64_t* strides = ordered_strides(order, memory, arena_);
        // A row-invariant output stays row-invariant, even if row-invariant inputs are read as elements.
        const bool input = k >= kernel_.output_count;
        const bool element = input || extents_[program_.outputs[static_cast<size_t>(k)]] == Extent::Element;
        const bool along = lies_along(memory) || (all_elements_ && element);
        operand.elements.set(memory.data, static_cast<int>(item_size(memory.type)), along ? order.ndim : space_.kept_dims, order.sizes,
                             strides, arena_.take<int64_t>(3 * order.ndim + 1));
        operand.between = space_.kept_dims ? strides[space_.kept_dims - 1] : 0;
        operand.along = order.ndim > space_.kept_dims ? strides[order.ndim - 1] : 0;
        operand.plain = true;
        for (int d = space_.kept_dims; d + 1 < order.ndim; d++) operand.plain &= strides[d] == strides[d + 1] * order.sizes[d + 1];
    }

    void take_buffers() {
        auto bytes = [&](int64_t count, int item) { return (count * item + 63) & ~int64_t{63}; };
        const int64_t whole = at_once_ * space_.length;
        char* shared = arena_.take<char>(bytes(strip_, program_.buffer_item) * program_.buffer_count);
        for (size_t i = 0; i < program_.slots.size(); i++) {
            const int s = static_cast<int>(i);
            const TileSlot& each = program_.slots[i];
            if (each.kind == TileSlot::Unused) continue;
            if (each.kind == TileSlot::Splat) {
                pointers_[s] = arena_.take<char>(splat_bytes);
                fill_splat(pointers_[s], program_.number(each, kernel_.scalars), each.item_size);
            } else if (native_ && extents_[s] == Extent::Element) {
                buffers_[s] = nullptr;
            } else if (extents_[s] == Extent::Element) {
                int which = each.kind == TileSlot::Input ? program_.gather_buffers[i] : each.which;
                bool own = strips_ && each.crosses && each.kind == TileSlot::Buffer;
                buffers_[s] = own ? arena_.take<char>(bytes(whole, each.item_size)) : shared + which * bytes(strip_, program_.buffer_item);
            } else {
                values_[s] = arena_.take<char>(bytes(at_once_, each.item_size) + splat_bytes);
                pointers_[s] = !wide_[s] || at_once_ == 1 || native_ ? arena_.take<char>(splat_bytes)
                                                                     : arena_.take<char>(bytes(columns_ ? strip_ : whole, each.item_size));
            }
        }
        if (strips_ || (native_ && space_.length > native_fold_elements()))
            fold_levels_ = arena_.take<char>(static_cast<int64_t>(program_.steps.size()) * fold_levels_bytes);
        for (const TileStep& step : program_.steps)
            if (extents_[step.out] == Extent::Once) {
                step.function(values_[step.out], pointers_[step.operands[0]],
                              step.operand_count > 1 ? pointers_[step.operands[1]] : nullptr,
                              step.operand_count > 2 ? pointers_[step.operands[2]] : nullptr, step.scale, 0);
                pointers_[step.out] = arena_.take<char>(splat_bytes);
                fill_splat(pointers_[step.out], values_[step.out], step.item_size);
            }
    }

    /// Expands the scalars of rows to what an element step reads.
    void widen(int s, int64_t rows) {
        if (!wide_[s] || native_) return;
        const int item = slot(s).item_size;
        if (at_once_ == 1) {
            fill_splat(pointers_[s], values_[s], item);
            return;
        }
        if (columns_) {
            find_plane_copy(item)({pointers_[s], values_[s], {tall_, rows}, {rows * item, item}, {0, item}});
            return;
        }
        find_plane_copy(item)({pointers_[s], values_[s], {rows, space_.length}, {space_.length * item, item}, {item, 0}});
    }

    /// Copies `rows` rows of an operand between its memory and contiguous memory.
    template <bool Out> void transfer(RowOperand& operand, int64_t row, int64_t rows, char* memory) {
        const int64_t n = space_.length, item = operand.elements.item;
        if (!operand.plain) {
            operand.elements.seek(row * n);
            if (Out) operand.elements.scatter(memory, rows * n);
            else operand.elements.gather(memory, rows * n);
            return;
        }
        const int64_t inner = space_.kept_dims ? space_.order.sizes[space_.kept_dims - 1] : 1;
        while (rows > 0) {
            int64_t run = inner - row % inner;
            if (run > rows) run = rows;
            operand.elements.seek(row * n);
            Plane plane{memory, operand.elements.at, {run, n}, {n * item, item}, {operand.between, operand.along}};
            if (Out) plane = {operand.elements.at, memory, {run, n}, {operand.between, operand.along}, {n * item, item}};
            find_plane_copy(static_cast<int>(item))(plane);
            memory += run * n * item;
            row += run;
            rows -= run;
        }
    }

    /// Computes everything that is the same for all tiles.
    void plan_whole() {
        element_inputs_ = arena_.take<int16_t>(static_cast<int64_t>(program_.slots.size()));
        row_inputs_ = arena_.take<int16_t>(static_cast<int64_t>(program_.slots.size()));
        splats_ = arena_.take<uint8_t>(static_cast<int64_t>(program_.steps.size()));
        for (size_t i = 0; i < program_.slots.size(); i++) {
            if (extents_[i] == Extent::Element) pointers_[i] = buffers_[i];
            if (program_.slots[i].kind != TileSlot::Input) continue;
            if (extents_[i] != Extent::Element) {
                row_inputs_[row_input_count_++] = static_cast<int16_t>(i);
                continue;
            }
            const LoopOperand& memory = kernel_.operands[kernel_.output_count + program_.slots[i].which];
            bool same = true;
            for (int d = 0; d < space_.kept_dims; d++) same &= memory.strides[space_.order.dims[d]] == 0;
            if (same) read(static_cast<int>(i), 0, at_once_, 0, at_once_ * space_.length);
            else element_inputs_[element_input_count_++] = static_cast<int16_t>(i);
        }
        for (size_t i = 0; i < program_.steps.size(); i++) {
            splats_[i] = 0;
            for (int k = 0; k < program_.steps[i].operand_count; k++) {
                const Extent extent = extents_[program_.steps[i].operands[k]];
                splats_[i] |= static_cast<uint8_t>((extent == Extent::Once || (extent == Extent::Row && at_once_ == 1)) << k);
            }
        }
    }

    void plan_columns() {
        const size_t slots = program_.slots.size();
        places_ = arena_.take<Place>(static_cast<int64_t>(slots));
        for (size_t s = 0; s < slots; s++) places_[s] = {nullptr, 0, 0, -1};
        for (size_t s = 0; s < slots; s++)
            if (program_.slots[s].kind == TileSlot::Input && extents_[s] == Extent::Element)
                places_[s].operand = kernel_.output_count + program_.slots[s].which;
        for (int k = 0; k < kernel_.output_count; k++)
            if (extents_[program_.outputs[static_cast<size_t>(k)]] == Extent::Element)
                places_[program_.outputs[static_cast<size_t>(k)]].operand = k;
        for (size_t s = 0; s < slots; s++) {
            const TileSlot& each = program_.slots[s];
            if (each.kind != TileSlot::Buffer || extents_[s] != Extent::Element || !each.crosses) continue;
            if (tall_ == space_.length) continue;
            if (places_[s].operand < 0) places_[s].operand = find_host(each);
            if (places_[s].operand >= 0) continue;
            places_[s].at = arena_.take<char>(space_.length * at_once_ * each.item_size);
        }
        column_folds_ = arena_.take<ColumnFold>(static_cast<int64_t>(program_.steps.size()));
        int64_t depth = 2;
        while (space_.length >> depth) depth++;
        for (size_t i = 0; i < program_.steps.size(); i++)
            if (program_.steps[i].fold) {
                const int64_t bytes = at_once_ * program_.steps[i].item_size;
                column_folds_[i] = {arena_.take<char>(fold_lanes * bytes), arena_.take<char>(depth * bytes), 0, 0};
            }
    }
    /// An output whose memory can hold what is kept for a later level: the last step writes it, and no other operand
    /// shares it.
    int find_host(const TileSlot& kept) const {
        for (int k = 0; k < kernel_.output_count; k++) {
            const LoopOperand& output = kernel_.operands[k];
            const int16_t s = program_.outputs[static_cast<size_t>(k)];
            if (program_.steps.back().out != s || slot(s).item_size != kept.item_size) continue;
            if (extents_[s] != Extent::Element) continue;
            bool free = true;
            for (int other = 0; other < kernel_.output_count + kernel_.input_count; other++)
                free &= other == k || kernel_.operands[other].data != output.data;
            for (size_t other = 0; other < program_.slots.size(); other++)
                free &= places_[other].operand != k || static_cast<int16_t>(other) == s;
            if (free) return k;
        }
        return -1;
    }

    /// Elements [at, at + tall) of the present columns, as a tile.
    const char* column_tile(int s, int64_t at, int64_t tall, int64_t columns) {
        if (pointers_[s]) return pointers_[s];
        const Place& place = places_[s];
        const int64_t item = slot(s).item_size;
        char* from = place.at + at * place.along;
        if (place.between == item && (place.along == columns * item || tall == 1)) return pointers_[s] = from;
        find_plane_copy(static_cast<int>(item))({buffers_[s], from, {tall, columns}, {columns * item, item}, {place.along, place.between}});
        return pointers_[s] = buffers_[s];
    }

    void run_columns(int64_t row, int64_t columns) {
        const int64_t n = space_.length;
        for (size_t i = 0; i < program_.slots.size(); i++) {
            const int s = static_cast<int>(i);
            Place& place = places_[s];
            if (slot(s).kind == TileSlot::Input && extents_[s] != Extent::Element) read_numbers(s, row, columns);
            if (place.operand >= 0) {
                RowOperand& operand = operands_[place.operand];
                operand.elements.seek(row * n);
                place.at = operand.elements.at, place.between = operand.between, place.along = operand.along;
            } else {
                place.between = slot(s).item_size, place.along = columns * slot(s).item_size;
            }
        }
        const int step_count = static_cast<int>(program_.steps.size());
        for (int level = 0, first = 0, last = 0; level < program_.level_count; level++, first = last) {
            for (; last < step_count && program_.steps[static_cast<size_t>(last)].level == level; last++) {
                const TileStep& step = program_.steps[static_cast<size_t>(last)];
                if (step.fold) column_folds_[last].depth = 0, column_folds_[last].blocks = 0;
                else if (extents_[step.out] == Extent::Row) run_row_step(step, columns);
            }
            for (int64_t at = 0; at < n; at += tall_) {
                const int64_t tall = n - at < tall_ ? n - at : tall_;
                for (size_t s = 0; s < program_.slots.size() && (level == 0 || tall_ < n); s++)
                    if (extents_[s] == Extent::Element) pointers_[s] = nullptr;
                for (int i = first; i < last; i++) run_column_step(i, at, tall, columns);
            }
            for (int i = first; i < last; i++) {
                const TileStep& step = program_.steps[static_cast<size_t>(i)];
                if (!step.fold) continue;
                const ColumnFold& fold = column_folds_[i];
                const int64_t bytes = columns * step.item_size;
                for (int m = fold.depth - 1; m > 0; m--) merge(step, fold.levels + bytes * (m - 1), fold.levels + bytes * m, columns);
                std::memcpy(values_[step.out], fold.levels, static_cast<size_t>(bytes));
                widen(step.out, columns);
            }
        }
        write_numbers(row, columns);
    }
    static void merge(const TileStep& step, char* into, const char* later, int64_t count) {
        step.function(into, into, later, nullptr, count * step.scale, 0);
    }

    void run_column_step(int i, int64_t at, int64_t tall, int64_t columns) {
        const TileStep& step = program_.steps[static_cast<size_t>(i)];
        if (!step.fold && extents_[step.out] != Extent::Element) return;
        const char* from[3] = {};
        unsigned splat = 0;
        for (int k = 0; k < step.operand_count; k++) {
            const int s = step.operands[k];
            from[k] = extents_[s] == Extent::Element ? column_tile(s, at, tall, columns) : pointers_[s];
            splat |= static_cast<unsigned>(extents_[s] == Extent::Once) << k;
        }
        if (step.fold) {
            fold_column_tile(step, column_folds_[i], from[0], at, tall, columns);
            return;
        }
        const Place& place = places_[step.out];
        const int64_t item = step.item_size;
        char* to = place.at ? place.at + at * place.along : nullptr;
        const bool direct = to && place.between == item && (place.along == columns * item || tall == 1);
        char* out = pointers_[step.out] = direct ? to : buffers_[step.out];
        step.function(out, from[0], from[1], from[2], tall * columns * step.scale, splat);
        if (to && !direct)
            find_plane_copy(static_cast<int>(item))({to, out, {tall, columns}, {place.along, place.between}, {columns * item, item}});
    }

    /// The rows of a tile are elements of every reduction; 16 of them have the layout of the lanes. Tiles begin at
    /// multiples of 16.
    void fold_column_tile(const TileStep& step, ColumnFold& fold, const char* values, int64_t at, int64_t tall, int64_t columns) {
        const int64_t bytes = columns * step.item_size;
        for (int64_t r = 0; r < tall; r += fold_lanes) {
            const int64_t group = tall - r < fold_lanes ? tall - r : fold_lanes, in_block = (at + r) % fold_block;
            const bool ends = in_block + group == fold_block || at + r + group == space_.length;
            const char* lanes = fold.lanes;
            if (in_block) merge(step, fold.lanes, values + r * bytes, group * columns);
            else if (ends) lanes = values + r * bytes;
            else std::memcpy(fold.lanes, values + r * bytes, static_cast<size_t>(group * bytes));
            if (!ends) continue;
            char* level = fold.levels + fold.depth++ * bytes;
            int64_t used = in_block ? fold_lanes : group;
            for (int64_t half = fold_lanes / 2; half > 0; half /= 2) {
                if (used <= half) continue;
                const int64_t both = used - half;
                step.function(fold.lanes, lanes, lanes + half * bytes, nullptr, both * columns * step.scale, 0);
                if (lanes != fold.lanes)
                    std::memcpy(fold.lanes + both * bytes, lanes + both * bytes, static_cast<size_t>((half - both) * bytes));
                lanes = fold.lanes;
                used = half;
            }
            std::memcpy(level, lanes, static_cast<size_t>(bytes));
            for (uint64_t bit = fold.blocks++; bit & 1; bit >>= 1, fold.depth--, level -= bytes) merge(step, level - bytes, level, columns);
        }
    }

    void plan_native() {
        const LoopOrder& order = space_.order;
        frame_ = arena_.take<char>(native_->frame);
        const int64_t steps = static_cast<int64_t>(program_.steps.size());
        folded_ = arena_.take<char>(fold_result_bytes * (most_native_rows + 1) * steps);
        cursors_ = arena_.take<Cursor>(2 * kernel_.output_count + static_cast<int64_t>(program_.slots.size()));
        row_inputs_ = arena_.take<int16_t>(static_cast<int64_t>(program_.slots.size()));
        auto follow = [&](int slot, const LoopOperand& memory) {
            cursors_[cursor_count_++] = {static_cast<int16_t>(slot), static_cast<int64_t>(item_size(memory.type)),
                                         static_cast<char*>(memory.data), ordered_strides(order, memory, arena_)};
        };
        for (int k = 0; k < kernel_.output_count; k++) {
            const int s = program_.outputs[static_cast<size_t>(k)];
            if (extents_[s] == Extent::Element) follow(s, kernel_.operands[k]);
        }
        const int outputs = cursor_count_;
        for (size_t i = 0; i < program_.slots.size(); i++) {
            const int s = static_cast<int>(i);
            if (slot(s).kind != TileSlot::Input) continue;
            if (extents_[s] == Extent::Element) follow(s, kernel_.operands[kernel_.output_count + slot(s).which]);
            else row_inputs_[row_input_count_++] = static_cast<int16_t>(s);
        }
        number_steps_ = arena_.take<int16_t>(static_cast<int64_t>(program_.steps.size()));
        stored_ = arena_.take<bool>(static_cast<int64_t>(program_.slots.size()));
        for (size_t s = 0; s < program_.slots.size(); s++) stored_[s] = false;
        for (int16_t s : program_.outputs) stored_[s] = true;
        for (size_t i = program_.steps.size(); i-- > 0;) {
            const TileStep& step = program_.steps[i];
            if (step.fold || extents_[step.out] != Extent::Row || !stored_[step.out]) continue;
            for (int k = 0; k < step.operand_count; k++) stored_[step.operands[k]] = true;
            number_steps_[number_step_count_++] = static_cast<int16_t>(i);
        }
        // Several rows pass a level before the next one, so that their reductions overlap.
        group_ = native_rows_at_once(space_.length, widest());
        if (group_ > at_once_) group_ = at_once_;
        const int64_t slots = static_cast<int64_t>(program_.slots.size());
        table_ = native_pointers(program_.slots.size());
        tables_ = arena_.take<char*>(group_ * static_cast<int64_t>(table_));
        for (int64_t g = 0; g < group_; g++) {
            char** const table = table_of(g);
            for (int s = 0; s < slots; s++)
                table[s] = extents_[s] == Extent::Row    ? arena_.take<char>(splat_bytes)
                           : extents_[s] == Extent::Once ? pointers_[s]
                                                         : nullptr;
            char* folded = folded_ + fold_result_bytes * g;
            for (const NativeRows::Level& level : native_->levels)
                for (int16_t s : level.folds) table[s] = folded, folded += fold_result_bytes * most_native_rows;
            // What is kept for a later level is stored in its output, if it is one, or in an output that is written
            // last. That memory is then fetched while there is something to compute.
            for (int16_t s : native_->kept) {
                bool has_place = false;
                for (int c = 0; c < outputs; c++) has_place |= cursors_[c].slot == s;
                for (int c = 0; g == 0 && c < outputs && !has_place; c++) {
                    const int out = cursors_[c].slot;
                    bool free = slot(out).item_size == slot(s).item_size && slot(out).level == program_.level_count - 1;
                    for (int16_t other : native_->kept) free &= other != out;
                    for (int other = 0; other < cursor_count_; other++) free &= other == c || cursors_[other].at != cursors_[c].at;
                    if (!free) continue;
                    cursors_[cursor_count_] = cursors_[c];
                    cursors_[cursor_count_++].slot = s;
                    has_place = true;
                }
                for (int c = outputs; c < cursor_count_; c++) has_place |= cursors_[c].slot == s;
                if (!has_place) buffers_[s] = table[s] = table[slots + s] = arena_.take<char>(space_.length * slot(s).item_size);
            }
        }
    }

    void run_native_rows(int64_t begin, int64_t end) {
        const LoopOrder& order = space_.order;
        int64_t* coordinates = arena_.take<int64_t>(space_.kept_dims + 1);
        int64_t flat = begin;
        for (int d = space_.kept_dims; d-- > 0;) {
            coordinates[d] = flat % order.sizes[d];
            flat /= order.sizes[d];
            for (int c = 0; c < cursor_count_; c++) cursors_[c].at += coordinates[d] * cursors_[c].strides[d];
        }
        auto next_row = [&]() {
            for (int d = space_.kept_dims; d-- > 0;) {
                for (int c = 0; c < cursor_count_; c++) cursors_[c].at += cursors_[c].strides[d];
                if (++coordinates[d] < order.sizes[d]) break;
                coordinates[d] = 0;
                for (int c = 0; c < cursor_count_; c++) cursors_[c].at -= cursors_[c].strides[d] * order.sizes[d];
            }
        };
        for (int64_t first = begin; first < end; first += at_once_) {
            const int64_t rows = end - first < at_once_ ? end - first : at_once_;
            for (int i = 0; i < row_input_count_; i++) read_numbers(row_inputs_[i], first, rows);
            for (int64_t r = 0; r < rows; r += group_) {
                const int64_t count = rows - r < group_ ? rows - r : group_;
                for (int64_t g = 0; g < count; g++, next_row()) {
                    for (int c = 0; c < cursor_count_; c++) table_of(g)[cursors_[c].slot] = cursors_[c].at;
                    for (int i = 0; i < row_input_count_; i++) {
                        const int s = row_inputs_[i], item = slot(s).item_size;
                        fill_splat(table_of(g)[s], values_[s] + (r + g) * item, item);
                    }
                }
                if (space_.length > native_fold_elements()) {
                    run_native_parts(r);
                } else {
                    aim_fetches(count);
                    run_native_group(r, count);
                }
            }
            // The row-invariant results of these rows.
            for (int i = number_step_count_; i-- > 0;) run_row_step(program_.steps[static_cast<size_t>(number_steps_[i])], rows);
            write_numbers(first, rows);
        }
        end_past_cache(); // completes streaming stores, if there were any
    }

    int64_t widest() const {
        int64_t item = 1;
        for (int c = 0; c < cursor_count_; c++)
            if (cursors_[c].item > item) item = cursors_[c].item;
        return item;
    }

    /// Prefetches for the next group, which the cursors point at.
    void aim_fetches(int64_t count) {
        const size_t slots = program_.slots.size();
        for (int c = 0; c < cursor_count_; c++) {
            const Cursor& cursor = cursors_[c];
            const size_t s = static_cast<size_t>(cursor.slot);
            const int64_t between = space_.kept_dims ? cursor.strides[space_.kept_dims - 1] : 0;
            for (int64_t g = 0; g < count; g++)
                table_of(g)[slots + s] = program_.slots[s].kind == TileSlot::Input ? cursor.at + g * between : table_of(g)[s];
        }
    }

    void run_native_group(int64_t r, int64_t count) {
        char* folded = folded_;
        for (const NativeRows::Level& level : native_->levels) {
            if (level.kernel) kindling::run_native_rows(*level.kernel, tables_, count, space_.length, frame_, folded);
            for (int16_t s : level.folds) {
                for (int64_t g = 0; g < count && stored_[s]; g++) keep_number(s, r + g, folded + fold_result_bytes * g);
                folded += fold_result_bytes * most_native_rows;
            }
        }
    }

    /// A long row in parts of a power of two of blocks. Each is a subtree of the pairwise order.
    void run_native_parts(int64_t r) {
        const int64_t n = space_.length, part = native_fold_elements();
        char** const row = tables_;
        char* const folded = folded_ + fold_result_bytes * most_native_rows * static_cast<int64_t>(program_.steps.size());
        for (const NativeRows::Level& loop : native_->levels) {
            if (!loop.kernel) continue;
            uint64_t count = 0;
            int depth = 0;
            std::memcpy(pointers_, row, program_.slots.size() * sizeof *row);
            for (int64_t at = 0; at < n; at += part, count++) {
                for (int c = 0; c < cursor_count_; c++) pointers_[cursors_[c].slot] = row[cursors_[c].slot] + at * cursors_[c].item;
                for (int16_t s : native_->kept)
                    if (buffers_[s]) pointers_[s] = buffers_[s] + at * slot(s).item_size;
                run_native(*loop.kernel, pointers_, n - at < part ? n - at : part, frame_, folded);
                const int merges = __builtin_ctzll(~count);
                for (size_t f = 0; f < loop.folds.size(); f++) {
                    char* levels = fold_levels_ + f * fold_levels_bytes;
                    std::memcpy(levels + fold_result_bytes * depth, folded + fold_result_bytes * f, fold_result_bytes);
                    for (int m = 0; m < merges; m++) merge_levels(loop.folds[f], levels, depth - 1 - m);
                }
                depth += 1 - merges;
            }
            for (size_t f = 0; f < loop.folds.size(); f++) {
                char* levels = fold_levels_ + f * fold_levels_bytes;
                for (int m = depth - 1; m > 0; m--) merge_levels(loop.folds[f], levels, m - 1);
                std::memcpy(row[loop.folds[f]], levels, fold_result_bytes);
                if (stored_[loop.folds[f]]) keep_number(loop.folds[f], r, levels);
            }
        }
    }
    static void merge_levels(const TileStep& step, char* levels, int into) {
        char* at = levels + fold_result_bytes * into;
        step.function(at, at, at + fold_result_bytes, nullptr, step.scale, 0);
    }
    void merge_levels(int16_t s, char* levels, int into) {
        for (const TileStep& step : program_.steps)
            if (step.fold && step.out == s) merge_levels(step, levels, into);
    }
    void keep_number(int16_t s, int64_t r, const char* from) {
        const int item = slot(s).item_size;
        std::memcpy(values_[s] + r * item, from, static_cast<size_t>(item));
    }

    /// Whole rows in one tile, step by step.
    void run_whole(int64_t row, int64_t rows) {
        const int64_t n = space_.length, count = rows * n;
        for (int i = 0; i < row_input_count_; i++) read_numbers(row_inputs_[i], row, rows);
        for (int i = 0; i < element_input_count_; i++) read(element_inputs_[i], row, rows, 0, count);
        for (int k = 0; k < kernel_.output_count; k++) {
            const int s = program_.outputs[static_cast<size_t>(k)];
            if (extents_[s] != Extent::Element || slot(s).kind != TileSlot::Buffer) continue;
            Stream& stream = operands_[k].elements;
            stream.seek(row * n);
            pointers_[s] = stream.direct(count) ? stream.at : buffers_[s];
        }
        for (size_t i = 0; i < program_.steps.size(); i++) {
            const TileStep& step = program_.steps[i];
            if (step.fold) {
                step.fold(values_[step.out], pointers_[step.operands[0]], rows, n);
                widen(step.out, rows);
            } else if (extents_[step.out] == Extent::Row) {
                run_row_step(step, rows);
            } else if (extents_[step.out] == Extent::Element) {
                step.function(pointers_[step.out], pointers_[step.operands[0]],
                              step.operand_count > 1 ? pointers_[step.operands[1]] : nullptr,
                              step.operand_count > 2 ? pointers_[step.operands[2]] : nullptr, count * step.scale, splats_[i]);
            }
        }
        for (int k = 0; k < kernel_.output_count; k++) {
            const int s = program_.outputs[static_cast<size_t>(k)];
            if (extents_[s] != Extent::Element) continue;
            operands_[k].elements.seek(row * n);
            if (pointers_[s] != operands_[k].elements.at) transfer<true>(operands_[k], row, rows, pointers_[s]);
        }
        write_numbers(row, rows);
    }

    void read_numbers(int s, int64_t row, int64_t rows) {
        Stream& stream = operands_[kernel_.output_count + slot(s).which].elements;
        stream.seek(row);
        if (rows == 1) std::memcpy(values_[s], stream.at, static_cast<size_t>(stream.item));
        else stream.gather(values_[s], rows);
        widen(s, rows);
    }

    /// Loads an input slot for elements [at, at + count) of the tile.
    void read(int s, int64_t row, int64_t rows, int64_t at, int64_t count) {
        RowOperand& operand = operands_[kernel_.output_count + slot(s).which];
        Stream& stream = operand.elements;
        if (stream.mode == Stream::Repeated) { // a tensor of one element that is reduced
            stream.gather(buffers_[s], count);
            pointers_[s] = buffers_[s];
            return;
        }
        stream.seek(row * space_.length + at);
        if (stream.direct(count)) {
            pointers_[s] = stream.at;
            return;
        }
        pointers_[s] = buffers_[s];
        if (strips_) stream.gather(buffers_[s], count);
        else transfer<false>(operand, row, rows, buffers_[s]);
    }

    void run_row_step(const TileStep& step, int64_t rows) {
        const char* from[3] = {};
        unsigned splat = 0;
        for (int k = 0; k < step.operand_count; k++) {
            bool once = extents_[step.operands[k]] == Extent::Once;
            from[k] = once ? pointers_[step.operands[k]] : values_[step.operands[k]];
            splat |= static_cast<unsigned>(once) << k;
        }
        step.function(values_[step.out], from[0], from[1], from[2], rows * step.scale, splat);
        widen(step.out, rows);
    }

    void run_element_step(const TileStep& step, int64_t at, int64_t count) {
        const char* from[3] = {};
        unsigned splat = 0;
        for (int k = 0; k < step.operand_count; k++) {
            const int s = step.operands[k];
            from[k] = pointers_[s];
            if (extents_[s] == Extent::Once || (extents_[s] == Extent::Row && at_once_ == 1)) splat |= 1u << k;
            else if (slot(s).kind == TileSlot::Buffer && slot(s).crosses) from[k] = buffers_[s] + at * slot(s).item_size;
        }
        char* out = pointers_[step.out];
        if (!out) {
            out = buffers_[step.out];
            if (slot(step.out).crosses) out += at * step.item_size;
            pointers_[step.out] = out;
        }
        step.function(out, from[0], from[1], from[2], count * step.scale, splat);
    }

    /// A row level by level, each level strip by strip.
    void run_strips(int64_t row, int64_t rows) {
        const int64_t whole = space_.length, strip = strip_;
        for (size_t i = 0; i < program_.slots.size(); i++)
            if (program_.slots[i].kind == TileSlot::Input && extents_[i] != Extent::Element) read_numbers(static_cast<int>(i), row, rows);
        const int step_count = static_cast<int>(program_.steps.size());
        int first = 0;
        for (int level = 0; level < program_.level_count; level++) {
            int last = first;
            for (; last < step_count && program_.steps[static_cast<size_t>(last)].level == level; last++) {
                const TileStep& step = program_.steps[static_cast<size_t>(last)];
                if (extents_[step.out] == Extent::Row && !step.fold) run_row_step(step, rows);
            }
            uint64_t strips = 0;
            int depth = 0;
            for (int64_t at = 0; at < whole; at += strip, strips++) {
                const int64_t count = whole - at < strip ? whole - at : strip;
                const int merges = __builtin_ctzll(~strips);
                for (size_t i = 0; i < program_.slots.size(); i++)
                    if (program_.slots[i].kind == TileSlot::Input && extents_[i] == Extent::Element)
                        read(static_cast<int>(i), row, rows, at, count);
                aim_outputs(level, row, at, count);
                for (int i = first; i < last; i++) {
                    const TileStep& step = program_.steps[static_cast<size_t>(i)];
                    if (!step.fold) {
                        if (extents_[step.out] == Extent::Element) run_element_step(step, at, count);
                        continue;
                    }
                    const char* values = pointers_[step.operands[0]];
                    if (slot(step.operands[0]).kind == TileSlot::Buffer && slot(step.operands[0]).crosses)
                        values = buffers_[step.operands[0]] + at * slot(step.operands[0]).item_size;
                    // A strip is a power of two of blocks: a whole subtree of the pairwise order.
                    char* levels = fold_levels_ + i * fold_levels_bytes;
                    step.fold(levels + fold_result_bytes * depth, values, 1, count);
                    for (int m = 0; m < merges; m++) merge_levels(step, levels, depth - 1 - m);
                }
                depth += 1 - merges;
                write(level, row, at, count);
            }
            for (int i = first; i < last; i++) {
                const TileStep& step = program_.steps[static_cast<size_t>(i)];
                if (!step.fold) continue;
                char* levels = fold_levels_ + i * fold_levels_bytes;
                for (int m = depth - 1; m > 0; m--) merge_levels(step, levels, m - 1);
                std::memcpy(values_[step.out], levels, step.item_size);
                widen(step.out, rows);
            }
            first = last;
        }
        write_numbers(row, rows);
    }

    void write_numbers(int64_t row, int64_t rows) {
        for (int k = 0; k < kernel_.output_count; k++) {
            const int s = program_.outputs[static_cast<size_t>(k)];
            if (extents_[s] == Extent::Element) continue;
            RowOperand& operand = operands_[k];
            if (lies_along(kernel_.operands[k])) { // a row-invariant value, stored all along the row
                spread_numbers(s, operand, row, rows);
                continue;
            }
            operand.elements.seek(row);
            if (rows == 1)
                std::memcpy(operand.elements.at, extents_[s] == Extent::Row ? values_[s] : pointers_[s],
                            static_cast<size_t>(operand.elements.item));
            else if (extents_[s] == Extent::Row) operand.elements.scatter(values_[s], rows);
            else
                for (int64_t r = 0; r < rows; r++) operand.elements.scatter(pointers_[s], 1);
        }
    }

    void spread_numbers(int s, RowOperand& operand, int64_t row, int64_t rows) {
        for (int64_t r = 0; r < rows; r++) {
            const char* from = extents_[s] == Extent::Row ? values_[s] + r * slot(s).item_size : pointers_[s];
            operand.elements.seek((row + r) * space_.length);
            for (int64_t i = 0; i < space_.length; i++) operand.elements.scatter(from, 1);
        }
    }

    /// Lets the steps of this level write directly into contiguous outputs.
    void aim_outputs(int level, int64_t row, int64_t at, int64_t count) {
        for (const TileStep& step : program_.steps)
            if (step.level == level && extents_[step.out] == Extent::Element) pointers_[step.out] = nullptr;
        for (int k = 0; k < kernel_.output_count; k++) {
            const int s = program_.outputs[static_cast<size_t>(k)];
            if (extents_[s] != Extent::Element || slot(s).level != level || slot(s).kind != TileSlot::Buffer) continue;
            if (pointers_[s] || slot(s).crosses) continue;
            Stream& stream = operands_[k].elements;
            stream.seek(row * space_.length + at);
            if (stream.direct(count)) pointers_[s] = stream.at;
        }
    }

    void write(int level, int64_t row, int64_t at, int64_t count) {
        for (int k = 0; k < kernel_.output_count; k++) {
            const int s = program_.outputs[static_cast<size_t>(k)];
            if (extents_[s] != Extent::Element || slot(s).level != level) continue;
            RowOperand& operand = operands_[k];
            const char* from = pointers_[s];
            operand.elements.seek(row * space_.length + at);
            if (from != operand.elements.at) operand.elements.scatter(from, count);
        }
    }
};

} // namespace

void run_rows(const LoopKernel& kernel) {
    const TileProgram& program = kernel.expression->program();
    KINDLING_ASSERT(static_cast<size_t>(kernel.output_count) == program.outputs.size());
    if (!native_always() && run_small_rows(kernel, program)) return;
    RunArena arena;
    LoopOrder kept = order_dims(kernel, ~kernel.row, true, arena), along = order_dims(kernel, kernel.row, false, arena);
    RowSpace space{{}, 0, kept.size, along.size, false};
    if (kept.size == 0 || along.size == 0) return;
    merge_dims(kept, 0, kept.ndim, kernel);
    merge_dims(along, 0, along.ndim, kernel);
    space.kept_dims = kept.ndim;
    space.order.ndim = kept.ndim + along.ndim;
    space.order.size = kept.size * along.size;
    space.order.sizes = arena.take<int64_t>(space.order.ndim + 1);
    space.order.dims = arena.take<int>(space.order.ndim + 1);
    for (int d = 0; d < space.order.ndim; d++) {
        const LoopOrder& from = d < kept.ndim ? kept : along;
        space.order.sizes[d] = from.sizes[d < kept.ndim ? d : d - kept.ndim];
        space.order.dims[d] = from.dims[d < kept.ndim ? d : d - kept.ndim];
    }
    // The first operand with strides in both directions decides the memory order.
    for (int k = 0; k < kernel.output_count + kernel.input_count && kept.ndim && along.ndim; k++) {
        int64_t between = kernel.operands[k].strides[kept.dims[kept.ndim - 1]],
                inside = kernel.operands[k].strides[along.dims[along.ndim - 1]];
        if (inside == 0 || between == 0) continue;
        space.across = between < inside && kept.sizes[kept.ndim - 1] >= 4;
        break;
    }
    parallel(space.rows, 16384 / space.length + 1, [&](int64_t begin, int64_t end) {
        RunArena own;
        RowRunner runner(kernel, program, space, own);
        runner.run(begin, end);
    });
}

} // namespace kindling
