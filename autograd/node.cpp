// autograd/node.cpp: nodes' lives and names.
#include "autograd/node.h"

#include <sched.h>

#include <cctype>
#include <cstring>
#include <mutex>

#include "autograd/copy_slices.h"
#include "autograd/meta.h"

namespace kindling {

constinit thread_local AutogradThread autograd_thread __attribute__((tls_model("initial-exec")));
void (*release_python_object)(void* object) = nullptr;
void (*on_anomaly_node)(GradNode* node) = nullptr;
void (*on_anomaly_error)(GradNode* node) = nullptr;

void SpinLock::lock() {
    for (int tries = 0; taken_.exchange(true, std::memory_order_acquire); tries++)
        if (tries > 50) sched_yield();
}

InputMeta::InputMeta(const TensorImpl& tensor)
    : sizes(tensor.sizes()), dtype(tensor.dtype), device(tensor.device), subclass(tensor.key & key::Dispatch) {}

GradNode::GradNode(Kind kind_) : sequence(autograd_thread.sequence++), kind(kind_) {
    deferred = thread_state.recording != nullptr;
    if (thread_state.anomaly) [[unlikely]] {
        if (autograd_thread.running && kind != Kind::Accumulate) anomaly_parent = Ref<GradNode>::share(autograd_thread.running);
        if (on_anomaly_node) on_anomaly_node(this);
    }
}

GradNode::~GradNode() {
    if (hooks && !hooks->retains.empty()) forget_left(*hooks);
    if (metadata && release_python_object) release_python_object(metadata);
}

/// Deleting a node lets go of its edges and saved tensors, which may be the last to hold further nodes: those wait in a
/// list instead of being deleted from within, so that a graph of any length is freed on a flat stack.
void release(GradNode* node) {
    if (node->kind == GradNode::Kind::Accumulate) {
        // A leaf points back at its accumulator without owning it: whether this was the last reference is settled under
        // the leaf's lock, where new references are taken.
        Tensor variable = static_cast<AccumulateGrad*>(node)->variable;
        AutogradMeta* meta = variable.impl()->autograd;
        SpinGuard guard(meta->lock);
        if (!node->drop()) return;
        if (meta->accumulator == node) meta->accumulator = nullptr;
    } else if (node->weakly_held) {
        Ref<GradNode> holder = node->hooks->weak_holder; // the same with its lock
        SpinGuard guard(holder->lock);
        if (!node->drop()) return;
        static_cast<CopySlices*>(holder.get())->written_view = nullptr;
    } else if (!node->drop()) {
        return;
    }
    AutogradThread& thread = autograd_thread;
    node->next_released = thread.released;
    thread.released = node;
    if (thread.releasing) return;
    thread.releasing = true;
    while (GradNode* next = thread.released) {
        thread.released = next->next_released;
        delete next;
    }
    thread.releasing = false;
}

// ---- names

/// Each word of the functional form's name with a capital wherever a letter follows none, "Backward" and a number.
const char* node_name(const Operator& op) {
    const char* source = op.functional ? op.functional->name() : op.name();
    size_t length = std::strlen(source);
    if (length > 1 && source[length - 1] == '_' && source[0] != '_') length--;
    if (length == 4 && std::memcmp(source, "copy", 4) == 0) return "CopyBackwards";
    if (length == 6 && std::memcmp(source, "square", 6) == 0) return "PowBackward0";
    std::string name;
    bool letter_before = false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = static_cast<unsigned char>(source[i]);
        if (c == '_') {
            letter_before = false;
            continue;
        }
        bool letter = std::isalpha(c);
        name += static_cast<char>(letter && !letter_before ? std::toupper(c) : c);
        letter_before = letter;
    }
    if (name.size() > 7 && name.compare(name.size() - 7, 7, "Forward") == 0) name.resize(name.size() - 7);
    name += "Backward" + std::to_string((op.functional ? op.functional : &op)->node_number);
    char* kept = new char[name.size() + 1];
    std::memcpy(kept, name.c_str(), name.size() + 1);
    return kept;
}

std::string short_name(const GradNode& node) {
    std::string name = node.name();
    size_t at = name.rfind("Backward");
    if (at == std::string::npos || at == 0 || name.find_first_not_of("0123456789", at + 8) != std::string::npos) return name;
    std::string number = name.substr(at + 8);
    return name.substr(0, at) + (number == "0" ? "" : number);
}

} // namespace kindling
