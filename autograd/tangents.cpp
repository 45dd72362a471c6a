// autograd/tangents.cpp: levels of forward mode, and where a tensor keeps its tangents.
// Compiled for size.
#include "autograd/copy_slices.h"
#include "autograd/forward.h"
#include "autograd/meta.h"
#include "autograd/ops.h"
#include "core/batch.h"
#include "core/shape.h"
#include "operators/loops.h"

namespace kindling {

constinit std::atomic<uint64_t> outermost_forward_level{0};

namespace {

using One = Tangents::One;

struct Level {
    uint64_t number;
    One* first;
    Level* below;
};
constinit SpinLock lock; // of all that follows, and of every tensor's list
constinit Level* levels = nullptr;
constinit uint64_t last_level = 0;

Level* open_level(uint64_t number) {
    for (Level* level = levels; level; level = level->below)
        if (level->number == number) return level;
    return nullptr;
}

void note_outermost() {
    const Level* level = levels;
    while (level && level->below) level = level->below;
    outermost_forward_level.store(level ? level->number : 0);
}

void leave_level(One* one) {
    if (one->after) one->after->before = one->before;
    if (one->before) one->before->after = one->after;
    else if (Level* level = open_level(one->level)) level->first = one->after;
}

Tensor own_tangent(const TensorImpl* impl, uint64_t level) {
    if (!impl->autograd || !impl->autograd->tangents) return {};
    SpinGuard guard(lock);
    for (One* one = impl->autograd->tangents->first; one; one = one->next)
        if (one->level == level) return one->value;
    return {};
}

void need_tangents(TensorImpl* impl) {
    AutogradMeta& meta = need_meta(impl);
    if (!meta.tangents) meta.tangents = Ref<Tangents>::adopt(new Tangents);
}

void attach(TensorImpl* impl, uint64_t number, Tensor value) {
    need_tangents(impl);
    Tangents* mine = impl->autograd->tangents.get();
    auto fresh = std::make_unique<One>(One{number, Tensor(), mine});
    {
        SpinGuard guard(lock);
        One* one = mine->first;
        while (one && one->level != number) one = one->next;
        Level* level = one ? nullptr : open_level(number);
        if (level) {
            one = fresh.release();
            one->next = mine->first;
            mine->first = one;
            one->after = level->first;
            if (one->after) one->after->before = one;
            level->first = one;
        }
        if (one) std::swap(one->value, value); // the old one goes when the lock is open again
    }
    impl->key |= key::Dual;
}

/// The tangent as its primal lies: then a view of the one is a view of the other.
Tensor laid_out(Tensor tangent, const TensorImpl* primal) {
    bool same = ((tangent.impl()->key ^ primal->key) & key::lazy) == 0 && tangent.dtype() == primal->dtype;
    for (size_t d = 0; d < primal->ndim; d++) same &= primal->sizes()[d] <= 1 || tangent.strides()[d] == primal->strides()[d];
    if (same || primal->numel == 0 || primal->layout != Layout::Strided || is_expanded(*primal)) return tangent;
    Tensor fresh = make_tensor_like(tangent, primal->sizes(), primal->strides(), primal->dtype);
    fresh.impl()->key |= primal->key & key::lazy;
    tape::copy_(fresh, tangent);
    return fresh;
}

} // namespace

Tangents::~Tangents() {
    One* all;
    {
        SpinGuard guard(lock);
        all = first;
        for (One* one = all; one; one = one->next) leave_level(one);
    }
    while (all) delete std::exchange(all, all->next);
}

uint64_t enter_forward_level() {
    auto* fresh = new Level{0, nullptr, nullptr};
    SpinGuard guard(lock);
    fresh->number = ++last_level;
    fresh->below = levels;
    levels = fresh;
    note_outermost();
    return fresh->number;
}

void exit_forward_level(uint64_t number) {
    Level* closed = nullptr;
    One* all = nullptr;
    {
        SpinGuard guard(lock);
        for (Level** at = &levels; *at; at = &(*at)->below)
            if ((*at)->number == number) {
                closed = *at;
                *at = closed->below;
                note_outermost();
                break;
            }
        if (!closed) return;
        all = closed->first;
        for (One* one = all; one; one = one->after) {
            One** at = &one->of->first;
            while (*at != one) at = &(*at)->next;
            *at = one->next;
        }
    }
    while (all) delete std::exchange(all, all->after); // outside of the lock: it may run anything
    delete closed;
}

uint64_t level_of(TensorImpl* impl, uint64_t cap) {
    uint64_t found = 0;
    for (TensorImpl* each : {impl, impl->base}) {
        if (!each || !(each->key & key::Dual) || !each->autograd || !each->autograd->tangents) continue;
        SpinGuard guard(lock);
        One* one = each->autograd->tangents->first;
        if (!one) each->key &= ~static_cast<uint32_t>(key::Dual);
        for (; one; one = one->next)
            if (one->level <= cap && one->level > found) found = one->level;
    }
    return found;
}

Tensor tangent_of(TensorImpl* impl, uint64_t level) {
    if (!(key_of(impl) & key::Dual)) return {};
    if (Tensor own = own_tangent(impl, level); own.defined()) return own;
    Tensor whole = impl->base ? own_tangent(impl->base, level) : Tensor();
    if (!whole.defined()) return {};
    BelowLevel below(level);
    Tensor part = ViewGeometry(impl->base, impl).of(whole);
    attach(impl, level, part);
    return part;
}

void set_tangent(const Tensor& tensor, uint64_t level, Tensor tangent) {
    BelowLevel below(level);
    attach(tensor.impl(), level, laid_out(std::move(tangent), tensor.impl()));
}

Tensor tangent_over_storage(const Tensor& tensor, uint64_t level, const Tensor& tangent) {
    const TensorImpl* impl = tensor.impl();
    if (tangent.storage()->bytes == impl->storage->bytes && tangent.storage_offset() == impl->offset) return tangent;
    BelowLevel below(level);
    const int64_t count[] = {static_cast<int64_t>(impl->storage->bytes / item_size(impl->dtype))}, one[] = {1};
    Tensor all = make_tensor_like(tangent, count, one, impl->dtype);
    tape::zero_(all);
    Tensor part = tape::as_strided(all, impl->sizes(), impl->strides(), impl->offset);
    tape::copy_(part, tangent);
    attach(tensor.impl(), level, part);
    return part;
}

void write_tangent(const Tensor& tensor, uint64_t level, const Tensor& tangent) {
    TensorImpl* impl = tensor.impl();
    Tensor old = tangent_of(impl, level);
    if (!old.defined() && !impl->base) return set_tangent(tensor, level, tangent);
    const TensorImpl *view = impl, *base = impl->base;
    if (!old.defined() && base->sizes() == view->sizes() &&
        IntList(base->shape + base->ndim, base->ndim) == IntList(view->shape + view->ndim, view->ndim) && base->offset == view->offset &&
        base->dtype == view->dtype && ((view->key ^ base->key) & key::lazy) == 0) {
        set_tangent(tensor, level, tangent); // all of the base: they share one
        return attach(impl->base, level, own_tangent(impl, level));
    }
    if (!old.defined()) {
        Tensor whole = make_tensor_like(tangent, static_cast<const TensorImpl*>(impl->base)->sizes(),
                                        static_cast<const TensorImpl*>(impl->base)->strides(), impl->base->dtype);
        {
            BelowLevel below(level);
            tape::zero_(whole);
        }
        whole.impl()->key |= impl->base->key & key::lazy;
        attach(impl->base, level, whole);
        old = tangent_of(impl, level);
    }
    BelowLevel below(level);
    tape::copy_(old, tangent);
}

Tensor make_dual(const Tensor& primal, const Tensor& tangent, uint64_t level) {
    static constinit NamedOperator alias{"alias", ""};
    KINDLING_CHECK(Runtime, !tangent_of(primal.impl(), level).defined(),
                   "Making a dual Tensor based on a Tensor that already has a forward gradient at the same "
                   "level 0 is not supported.");
    KINDLING_CHECK(Runtime, !tangent_of(tangent.impl(), level).defined(),
                   "Setting a forward grad that itself has a forward gradient at the same level0 is not supported.");
    KINDLING_CHECK(Runtime, primal.sizes() == tangent.sizes(),
                   "Trying to set a forward gradient that has a different size than that of the original Tensor, this "
                   "is not supported. Tensor is of size %s while the given forward gradient is of size %s.",
                   str(primal.sizes()).c_str(), str(tangent.sizes()).c_str());
    Tensor dual = call_named(alias, primal);
    if (!thread_state.forward_grad_mode) return dual;
    set_tangent(dual, level, tangent);
    // The tangent of a part of a storage is a part of one as long: views that look further find tangents there.
    const uint32_t header = (primal.impl()->key | tangent.impl()->key) & (key::Wrapped | key::Dispatch | key::Layout | key::Private);
    if (!header && dual.numel() && !is_expanded(*dual.impl())) tangent_over_storage(dual, level, tangent_of(dual.impl(), level));
    return dual;
}

Tensor primal_of(const Tensor& tensor, uint64_t level) {
    static constinit NamedOperator alias{"alias", ""};
    BelowLevel below(level);
    Tensor primal = call_named(alias, tensor);
    return key_of(primal.impl()) & key::Dual ? untied(std::move(primal)) : primal; // a view would have its base's tangents
}

std::vector<std::pair<uint64_t, Tensor>> tangents_of(const TensorImpl* impl) {
    std::vector<std::pair<uint64_t, Tensor>> all;
    if (!impl->autograd || !impl->autograd->tangents) return all;
    SpinGuard guard(lock);
    for (One* one = impl->autograd->tangents->first; one; one = one->next) all.push_back({one->level, one->value});
    return all;
}

void share_tangents(TensorImpl* copy, TensorImpl* impl) {
    if (thread_state.forward_cap == ~uint64_t{0} && !(impl->autograd && impl->autograd->tangents)) return;
    need_tangents(impl);
    need_meta(copy).tangents = impl->autograd->tangents;
    see_tangents(copy);
}

void see_tangents(TensorImpl* copy) {
    if (copy->autograd && copy->autograd->tangents && copy->autograd->tangents->first) copy->key |= key::Dual;
}

} // namespace kindling
