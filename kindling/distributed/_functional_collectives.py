"""Collectives of one rank that give new tensors, for programs that PyTorch traces; nothing is left to wait for."""
from .distributed_c10d import _get_default_group


def wait_tensor(tensor):
    """The tensor: it is there."""
    return tensor


def _known(group):
    """That there is a group, of the one rank: a group, a mesh, a name, or ranks."""
    _get_default_group()
    ranks = group[0] if isinstance(group, list) and group and isinstance(group[0], list) else group
    if isinstance(ranks, list) and ranks != [0]:
        raise ValueError(f"ranks {ranks} are not in a world of one process")


def broadcast(self, src, group, tag=""):
    """What rank `src` has."""
    _known(group)
    return self.clone()


def all_reduce(self, reduceOp, group, tag=""):
    """The tensors of all ranks in one."""
    _known(group)
    return self.clone()


def all_gather_single(self, gather_dim, group, tag=""):
    """The tensors of all ranks along a dimension."""
    _known(group)
    return self.clone()


def reduce_scatter_single(self, reduceOp, scatter_dim, group, tag=""):
    """This rank's part, along a dimension, of the tensors of all ranks in one."""
    _known(group)
    return self.clone()


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """A part of each rank's tensor."""
    _known(group)
    for sizes in (output_split_sizes, input_split_sizes):
        if sizes is not None and list(sizes) != [self.shape[0]]:
            raise ValueError(f"parts of sizes {list(sizes)} for one rank and a tensor of {self.shape[0]} rows")
    return self.clone()


def permute_tensor(self, src_dst, group, tag=""):
    """The tensor of the rank that sends to this one."""
    _known(group)
    if list(src_dst) != [0]:
        raise ValueError(f"ranks {list(src_dst)} are not in a world of one process")
    return self.clone()


def all_reduce_coalesced(self, reduceOp, group, tag=""):
    """`all_reduce` of each tensor."""
    return [all_reduce(each, reduceOp, group) for each in self]


def all_gather_single_coalesced(self, group, tag=""):
    """`all_gather_single` of each tensor along its first dimension."""
    return [all_gather_single(each, 0, group) for each in self]


def reduce_scatter_single_coalesced(inputs, reduceOp, scatter_dim, group, tag=""):
    """`reduce_scatter_single` of each tensor along its dimension."""
    return [reduce_scatter_single(each, reduceOp, dim, group) for each, dim in zip(inputs, scatter_dim, strict=True)]


all_gather_tensor = all_gather_tensor_autograd = all_gather_single_autograd = all_gather_single
reduce_scatter_tensor = reduce_scatter_tensor_autograd = reduce_scatter_single_autograd = reduce_scatter_single
all_to_all_single_autograd = all_to_all_single
all_gather_into_tensor_coalesced, reduce_scatter_tensor_coalesced = all_gather_single_coalesced, reduce_scatter_single_coalesced
