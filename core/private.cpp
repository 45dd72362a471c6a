// core/private.cpp: plug-in devices and kernels added at run time.
//
// A built-in kernel only ever sees host memory. A call on a plug-in's device goes to the kernel that was added for it; views
// and fresh memory need none; copies and factories go through the host by the plug-in's own copy.
// Compiled for size.
#include <cstring>

#include "core/dispatch.h"
#include "core/shape.h"

namespace kindling {

void copy_into(const Tensor& target, const Tensor& source); // operators/tensors/copying.cpp

static Layer layer_of(DeviceType type) {
    return static_cast<Layer>(static_cast<int>(Layer::Private) + static_cast<int>(type) - static_cast<int>(DeviceType::Private));
}

static void move_bytes(Storage* to, size_t to_offset, Storage* from, size_t from_offset, size_t bytes) {
    if (!bytes) return;
    PrivateDevice& device = private_device(is_private(to->device.type) ? to->device.type : from->device.type);
    device.copy(device.context, static_cast<char*>(to->data()) + to_offset, to->device,
                static_cast<const char*>(from->data()) + from_offset, from->device, bytes);
}

Tensor host_copy(const Tensor& tensor) {
    const TensorImpl* impl = tensor.impl();
    size_t item = item_size(impl->dtype), bytes = impl->numel ? checked_bytes(tensor.sizes(), tensor.strides(), 0, item) : 0;
    auto storage = Storage::make(bytes);
    move_bytes(storage.get(), 0, impl->storage, static_cast<size_t>(impl->offset) * item, bytes);
    Tensor copy = make_tensor(std::move(storage), 0, tensor.sizes(), tensor.strides(), impl->dtype);
    copy.impl()->key |= impl->key & (key::Conj | key::Neg);
    return copy;
}

/// Host values into a tensor of a plug-in's device, whose own strides stay.
static void write_back(const Tensor& target, const Tensor& host) {
    TensorImpl* impl = target.impl();
    size_t item = item_size(impl->dtype), bytes = impl->numel ? checked_bytes(target.sizes(), target.strides(), 0, item) : 0;
    Tensor whole = host;
    bool same = impl->non_overlapping_dense && !((impl->key ^ host.impl()->key) & (key::Conj | key::Neg)) &&
                host.strides() == target.strides() && host.dtype() == target.dtype() && host.sizes() == target.sizes();
    if (!same) {
        whole = host_copy(target);
        copy_into(whole, host);
    }
    move_bytes(impl->storage, static_cast<size_t>(impl->offset) * item, whole.storage(), static_cast<size_t>(whole.storage_offset()) * item,
               bytes);
}

static Tensor to_device(const Tensor& host, Device device) {
    bool dense = host.impl()->non_overlapping_dense;
    Tensor result =
        dense ? make_tensor(host.sizes(), host.strides(), host.dtype(), device) : make_tensor(host.sizes(), host.dtype(), device);
    write_back(result, host);
    return result;
}

void copy_between_devices(const Tensor& target, const Tensor& source) {
    Tensor from = source.impl()->key & key::Private ? host_copy(source) : source;
    if (!(target.impl()->key & key::Private)) return copy_into(target, from);
    if (!(from.sizes() == target.sizes()) || from.dtype() != target.dtype()) {
        Tensor whole = host_copy(target);
        copy_into(whole, from);
        from = whole;
    }
    write_back(target, from);
}

/// Runs an operator on the host: arguments copied there, what it writes and gives copied back.
static void call_on_host(const Operator& op, Value* arguments, Value* results, Device device) {
    struct Kept {
        TensorImpl* original;
        Tensor host;
        bool written;
    };
    std::vector<Kept> kept;
    std::vector<std::vector<Tensor>> lists;
    Value values[64];
    size_t count = op.argument_count();
    auto bring = [&](TensorImpl* impl, bool written) -> TensorImpl* {
        if (!(impl->key & key::Private)) return impl;
        for (Kept& k : kept)
            if (k.original == impl) {
                k.written |= written;
                return k.host.impl();
            }
        kept.push_back({impl, host_copy(Tensor::share(impl)), written});
        return kept.back().host.impl();
    };
    for (size_t i = 0; i < count; i++) values[i] = arguments[i];
    for (int i = 0; i < op.tensor_count; i++) {
        Value& v = values[op.tensor_positions[i]];
        if (v.tag == Value::Tag::Tensor) v.tensor = bring(v.tensor, op.schema->arguments[op.tensor_positions[i]].mutated);
    }
    for (int i = 0; i < op.list_count; i++) {
        Value& v = values[op.list_positions[i]];
        if (v.tag != Value::Tag::TensorList) continue;
        std::vector<Tensor> list;
        for (uint32_t j = 0; j < v.size; j++)
            list.push_back(v.tensors[j].defined()
                               ? Tensor::share(bring(v.tensors[j].impl(), op.schema->arguments[op.list_positions[i]].mutated))
                               : Tensor());
        lists.push_back(std::move(list));
        v.tensors = lists.back().data();
    }
    if (op.device_position != 0xff) {
        Value& v = values[op.device_position];
        if (v.tag == Value::Tag::Device) {
            device = v.device;
            if (is_private(device.type)) v = Value(Device());
        }
    }
    call(op, values, results);
    for (Kept& k : kept)
        if (k.written) {
            Tensor original = Tensor::share(k.original);
            if (!(k.host.sizes() == original.sizes())) resize_tensor(original, k.host.sizes(), contiguous_strides(k.host.sizes()));
            write_back(original, k.host);
        }
    if (!is_private(device.type)) return;
    auto send = [&](const Tensor& t) {
        for (Kept& k : kept)
            if (k.host.impl() == t.impl()) return Tensor::share(k.original);
        return t.is_meta() ? t : to_device(t, device);
    };
    for (size_t r = 0; r < op.schema->results.size(); r++) {
        Value& v = results[r];
        if (v.tag == Value::Tag::Tensor) {
            v = Value::own(send(v.take_tensor()));
        } else if (v.tag == Value::Tag::TensorList) {
            std::vector<Tensor> list = v.take_list();
            for (Tensor& t : list)
                if (t.defined()) t = send(t);
            v = Value::own(std::move(list));
        }
    }
}

static bool run_added(const Operator& op, const AddedKernels& added, Layer layer, Value* arguments, Value* results) {
    auto& found = added.layers[static_cast<int>(layer)];
    if (!found.kernel) return false;
    Operator one; // what a kernel may ask of its operator
    one.schema = op.schema;
    one.form = op.form;
    one.context = found.context;
    found.kernel(one, arguments, results);
    return true;
}

bool run_added(const Operator& op, Layer layer, Value* arguments, Value* results) {
    const AddedKernels* added = op.added.load(std::memory_order_acquire);
    return added && run_added(op, *added, layer, arguments, results);
}

void call_private(const Operator& op, Value* arguments, Value* results) {
    Device device;
    any_tensor(op, arguments, [&](const TensorImpl* tensor) {
        if (tensor->key & key::Private) device = tensor->device;
        return is_private(device.type);
    });
    if (op.device_position != 0xff) {
        const Value& v = arguments[op.device_position];
        if (v.tag == Value::Tag::Device && is_private(v.device.type) && !is_private(device.type)) device = v.device;
    }
    Exclude guard(key::Private);
    if (const AddedKernels* added = op.added.load(std::memory_order_acquire)) {
        for (Layer layer : {layer_of(device.type), Layer::Explicit, Layer::Implicit}) {
            if (!added->layers[static_cast<int>(layer)].kernel) continue;
            thread_state.exclude &= ~static_cast<uint32_t>(key::Private); // what the kernel calls is dispatched as ever
            run_added(op, *added, layer, arguments, results);
            return;
        }
    }
    const Operator* functional = op.form == Form::Inplace ? op.functional : nullptr;
    if (const AddedKernels* added = functional && functional != &op ? functional->added.load(std::memory_order_acquire) : nullptr)
        if (added->layers[static_cast<int>(layer_of(device.type))].kernel && functional->schema->results.size() == 1) {
            // The in-place form of an operator that has a kernel there: its result, copied into self.
            Value made;
            thread_state.exclude &= ~static_cast<uint32_t>(key::Private);
            kindling::call(*functional, arguments, &made);
            Tensor result = made.take_tensor(), self = Tensor::share(arguments[0].tensor);
            KINDLING_CHECK(Runtime, result.sizes() == self.sizes(), "output with shape %s doesn't match the broadcast shape %s",
                           str(self.sizes()).c_str(), str(result.sizes()).c_str());
            copy_between_devices(self, result);
            self.bump_version();
            results[0] = Value::own(std::move(self));
            return;
        }
    if (op.body == Body::View || op.has(trait::AnyDevice)) return op.kernel(op, arguments, results);
    const bool makes = op.device_position != 0xff; // a factory
    if (op.has(trait::ByHost) || makes || private_device(device.type).on_host) return call_on_host(op, arguments, results, device);
    fail(ErrorKind::NotImplemented,
         "Could not run '%s%s%s%s' with arguments from the '%s' backend. This could be because the operator doesn't exist "
         "for this backend, or was omitted during the selective/custom build process (if using custom build). Its kernel on device '%s' "
         "can be "
         "registered by torch.library.",
         std::strstr(op.name(), "::") ? "" : "aten::", op.name(), *op.overload() ? "." : "", op.overload(),
         device.type == DeviceType::Private    ? "PrivateUse1"
         : device.type == DeviceType::Private2 ? "PrivateUse2"
                                               : "PrivateUse3",
         kindling::name(device.type));
}

void call_added(const Operator& op, Value* arguments, Value* results) {
    const AddedKernels* added = op.added.load(std::memory_order_acquire);
    bool meta = op.device_position != 0xff && arguments[op.device_position].tag == Value::Tag::Device &&
                arguments[op.device_position].device.type == DeviceType::Meta;
    bool wants_grad = false;
    each_tensor(op, arguments, [&](const TensorImpl* tensor) {
        meta |= tensor->is_meta();
        wants_grad |= (key_of(tensor) & key::Autograd) != 0;
    });
    auto run = [&](Layer layer) { return run_added(op, *added, layer, arguments, results); };
    bool above = !(thread_state.exclude & key::Autograd);
    if (added->layers[static_cast<int>(Layer::Autograd)].kernel && above && thread_state.grad_mode && !thread_state.inference_mode) {
        if (wants_grad) {
            run(Layer::Autograd);
            return;
        }
    }
    uint32_t word = op.composite ? key_word(op, arguments) & key::Private & ~thread_state.exclude : 0;
    if (word) return call_private(op, arguments, results);
    if (run(meta ? Layer::Meta : Layer::CPU)) return;
    if (added->original) return added->original(op, arguments, results);
    if (run(Layer::Explicit) || run(Layer::Implicit)) return;
    fail(ErrorKind::NotImplemented,
         "Could not run '%s%s%s' with arguments from the '%s' backend. This could be because the operator doesn't exist for "
         "this backend, or was omitted during the selective/custom build process",
         op.name(), *op.overload() ? "." : "", op.overload(), meta ? "Meta" : "CPU");
}

static constinit std::atomic<bool> any_added{false};
bool kernels_were_added() { return any_added.load(std::memory_order_relaxed); }

void add_kernel(Operator& op, Layer layer, Kernel kernel, void* context) {
    any_added.store(true, std::memory_order_relaxed);
    AddedKernels* added = op.added.load(std::memory_order_acquire);
    if (!added) {
        added = new AddedKernels;
        added->original = op.index == 0xffff ? nullptr : op.kernel;
        op.added.store(added, std::memory_order_release);
    }
    added->layers[static_cast<int>(layer)] = {kernel, context};
    // The straight path changes only for what it would have run; the other layers are asked on their own ways.
    if (layer == Layer::CPU || layer == Layer::Meta || layer == Layer::Autograd || op.index == 0xffff) op.kernel = call_added;
}

} // namespace kindling
