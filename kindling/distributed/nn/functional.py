"""Collectives of one rank as functions: what they give is a copy that gradients go through, or the given result filled."""
from ..distributed_c10d import ReduceOp, _alone, _group

__all__ = ["broadcast", "gather", "scatter", "reduce", "reduce_scatter", "all_gather", "all_to_all", "all_to_all_single", "all_reduce"]


def _one(name, tensors):
    if len(tensors) != 1:
        raise ValueError(f"torch.distributed.nn.functional.{name}: {len(tensors)} tensors for one rank")
    return tensors[0]


def broadcast(tensor, src, group=None):
    """What rank `src` has."""
    _group(group)
    _alone("broadcast", src=src)
    return tensor.clone()


def gather(tensor, dst=0, group=None):
    """The tensors of all ranks, on rank `dst`."""
    _group(group)
    _alone("gather", dst=dst)
    return (tensor.clone(),)


def scatter(tensors, src=0, group=None):
    """This rank's one of the tensors of rank `src`."""
    _group(group)
    _alone("scatter", src=src)
    return _one("scatter", tensors).clone()


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """The tensors of all ranks in one, on rank `dst`."""
    _group(group)
    _alone("reduce", dst=dst)
    return tensor.clone()


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """This rank's part of all ranks' lists in one, in `output`."""
    _group(group)
    return output.copy_(_one("reduce_scatter", input_list))


def all_gather(tensor, group=None):
    """The tensors of all ranks."""
    _group(group)
    return (tensor.clone(),)


def _all_gather_base(output_tensor, input_tensor, group=None):
    _group(group)
    return output_tensor.copy_(input_tensor.reshape(output_tensor.shape))


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """One tensor of each rank, in the tensors of the first list."""
    _group(group)
    return (_one("all_to_all", output_tensor_list).copy_(_one("all_to_all", input_tensor_list)),)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """A part of each rank's tensor, in `output`."""
    _group(group)
    return output.copy_(input)


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The tensors of all ranks in one."""
    _group(group)
    return tensor.clone()
