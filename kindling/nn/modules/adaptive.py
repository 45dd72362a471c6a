"""AdaptiveLogSoftmaxWithLoss."""
from _operator import itemgetter

import kindling as torch
from kindling.nn import functional as F
from kindling.nn.modules.container import ModuleList, Sequential
from kindling.nn.modules.linear import Linear
from kindling.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(tuple):
    """The log probabilities of the targets, and the loss."""

    __slots__ = ()
    _fields = ("output", "loss")

    def __new__(cls, output, loss):
        return tuple.__new__(cls, (output, loss))

    output = property(itemgetter(0))
    loss = property(itemgetter(1))

    def __getnewargs__(self):
        return tuple(self)

    def __repr__(self):
        return f"_ASMoutput(output={self.output!r}, loss={self.loss!r})"


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over many classes sorted by frequency (Grave et al., 2016), with clusters that begin at the cutoffs.

    ValueError unless cutoffs are increasing integers from 1 to n_classes - 1.
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs, div_value: float = 4.0, head_bias: bool = False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (cutoffs != sorted(cutoffs) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1
                or len(set(cutoffs)) != len(cutoffs) or any(int(cutoff) != cutoff for cutoff in cutoffs)):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                             "where each value is between 1 and n_classes-1")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for cluster in range(self.n_clusters):
            inner = int(in_features // div_value ** (cluster + 1))
            classes = self.cutoffs[cluster + 1] - self.cutoffs[cluster]
            self.tail.append(Sequential(Linear(in_features, inner, bias=False, device=device, dtype=dtype),
                                        Linear(inner, classes, bias=False, device=device, dtype=dtype)))

    def reset_parameters(self):
        """Draws all weights anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: torch.Tensor, target_: torch.Tensor):
        dimensions = target_.dim()
        if dimensions == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError("1D target tensor expects 2D input tensors, but found inputs with size",
                                   input_.size())
        elif dimensions == 0:
            if input_.dim() != 1:
                raise RuntimeError("0D target tensor expects 1D input tensors, but found inputs with size",
                                   input_.size())
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        is_batched = dimensions > 0
        input = input_ if is_batched else input_.unsqueeze(0)
        target = target_ if is_batched else target_.unsqueeze(0)
        used_rows = 0
        batch_size = target.size(0)
        output = input.new_zeros(batch_size)
        head_columns = target.new_empty(batch_size)
        bounds = [0, *self.cutoffs]
        for cluster, (low, high) in enumerate(zip(bounds, bounds[1:])):
            inside = (target >= low) & (target < high)
            rows = inside.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            if cluster == 0:
                head_columns.index_copy_(0, rows, target[inside])
            else:
                relative = target[inside] - low
                scores = F.log_softmax(self.tail[cluster - 1](input.index_select(0, rows)), dim=1)
                head_columns.index_fill_(0, rows, self.shortlist_size + cluster - 1)
                output.index_copy_(0, rows, scores.gather(1, relative.unsqueeze(1)).squeeze(1))
            used_rows += rows.numel()
        if used_rows != batch_size:
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                               f"[{target.min().item()}, {target.max().item()}] were found. ")
        head = F.log_softmax(self.head(input), dim=1)
        output += head.gather(1, head_columns.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if is_batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input, head_output):
        """Log probabilities of all classes, from the head's scores."""
        result = input.new_empty((head_output.size(0), self.n_classes))
        head = F.log_softmax(head_output, dim=1)
        result[:, :self.shortlist_size] = head[:, :self.shortlist_size]
        for cluster, (start, stop) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            scores = F.log_softmax(self.tail[cluster](input), dim=1)
            result[:, start:stop] = scores + head[:, self.shortlist_size + cluster].unsqueeze(1)
        return result

    def log_prob(self, input):
        """Log probabilities (N, n_classes) of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input):
        """The most probable class of each row, computing only the clusters that can have it."""
        head_output = self.head(input)
        output = torch.argmax(head_output, dim=1)
        elsewhere = output >= self.shortlist_size
        if not elsewhere.any():
            return output
        if elsewhere.all():
            return torch.argmax(self._get_full_log_prob(input, head_output), dim=1)
        scores = self._get_full_log_prob(input[elsewhere], head_output[elsewhere])
        output[elsewhere] = torch.argmax(scores, dim=1)
        return output
