"""Tensors over a mesh of devices, which here is one: each has its whole tensor, and says how it would lie on more."""
import kindling as torch
from kindling import _C
from kindling.distributed import distributed_c10d as _c10d
from kindling.distributed.device_mesh import DeviceMesh, _current, init_device_mesh  # noqa: F401  (names of the package, too)
from kindling.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from kindling.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "distribute_tensor", "distribute_module", "Shard", "Replicate", "Partial", "Placement", "ones", "empty", "full", "rand", "randn", "zeros"]


class _FromLocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, mesh, placements):
        return DTensor(tensor.view_as(tensor), DTensorSpec(mesh, placements), requires_grad=tensor.requires_grad)

    @staticmethod
    def backward(ctx, grad):
        return grad._local_tensor if isinstance(grad, DTensor) else grad, None, None


class _ToLocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, placements):
        ctx.spec = tensor._spec if placements is None else DTensorSpec(tensor.device_mesh, placements)
        local = tensor._local_tensor
        return local.view_as(local)

    @staticmethod
    def backward(ctx, grad):
        return DTensor(grad, _reduced(ctx.spec), requires_grad=grad.requires_grad), None


class _Redistribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, mesh, placements):
        ctx.spec = tensor._spec
        local = tensor._local_tensor
        return DTensor(local.view_as(local), DTensorSpec(mesh, placements), requires_grad=tensor.requires_grad)

    @staticmethod
    def backward(ctx, grad):
        return DTensor(grad._local_tensor, _reduced(ctx.spec), requires_grad=grad.requires_grad), None, None


def _reduced(spec):
    """A gradient of parts is whole: each part gets it."""
    return DTensorSpec(spec.mesh, [Replicate() if each.is_partial() else each for each in spec.placements])


class DTensor(torch.Tensor):
    """A tensor over a mesh of one device. Operators run on the tensor itself (`to_local`), and results are DTensors, too."""

    __torch_function__ = _C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, local_tensor, spec, *, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(cls, local_tensor.shape, strides=local_tensor.stride(), dtype=local_tensor.dtype,
                                                   device=local_tensor.device, layout=local_tensor.layout, requires_grad=requires_grad)
        made._local_tensor = local_tensor.detach() if local_tensor.requires_grad and not requires_grad else local_tensor
        made._spec = DTensorSpec(spec.mesh, spec.placements, TensorMeta(local_tensor.shape, local_tensor.stride(), local_tensor.dtype))
        return made

    def __init__(self, *args, **kwargs):
        pass

    def __repr__(self, *, tensor_contents=None):
        return f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, placements={self._spec.placements})"

    def __tensor_flatten__(self):
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner_tensors, flatten_spec, outer_size, outer_stride):
        return DTensor(inner_tensors["_local_tensor"], flatten_spec[0], requires_grad=flatten_spec[1])

    def __reduce_ex__(self, protocol):
        return _again, (self._local_tensor, self._spec, self.requires_grad)

    def __deepcopy__(self, memo):
        import copy
        made = memo[id(self)] = DTensor(copy.deepcopy(self._local_tensor, memo), self._spec, requires_grad=self.requires_grad)
        if getattr(self, "_is_param", False):
            made._is_param = True
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        from kindling.utils._pytree import tree_leaves, tree_map
        kwargs = kwargs or {}
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        first = next(each for each in given if isinstance(each, DTensor))
        for each in given:
            if not isinstance(each, DTensor) and each.ndim and func.overloadpacket is not torch.ops.aten.copy_:
                raise RuntimeError(f"{func} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!")

        def local(value):
            return value._local_tensor if isinstance(value, DTensor) else value
        with torch.no_grad():
            result = func(*tree_map(local, args), **tree_map(local, kwargs))
        owners = {id(each._local_tensor): each for each in given if isinstance(each, DTensor)}
        whole = DTensorSpec(first.device_mesh, [Replicate()] * first.device_mesh.ndim)

        def made(value):
            if not isinstance(value, torch.Tensor):
                return value
            owner = owners.get(id(value))       # what an in-place operator has written to
            return owner if owner is not None else DTensor(value, first._spec if value.shape == first.shape else whole)
        return tree_map(made, result)

    @staticmethod
    def from_local(local_tensor, device_mesh=None, placements=None, *, run_check=False, shape=None, stride=None, grad_placements=None):
        """A DTensor of what this rank has; differentiable."""
        mesh = device_mesh or _current()
        if placements is None:
            placements = [Replicate()] * mesh.ndim
        if shape is not None and stride is not None and tuple(shape) != tuple(local_tensor.shape):
            raise RuntimeError(f"torch.distributed.tensor.DTensor.from_local of shape {tuple(shape)} from {tuple(local_tensor.shape)} {_c10d._NEEDS}")
        return _FromLocal.apply(local_tensor, mesh, _normal(local_tensor, mesh, placements))

    def to_local(self, *, grad_placements=None):
        """What this rank has: the whole tensor. Differentiable."""
        return _ToLocal.apply(self, grad_placements)

    def redistribute(self, device_mesh=None, placements=None, *, async_op=False, forward_dtype=None, backward_dtype=None):
        """The tensor placed in another way. Differentiable."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        mesh = device_mesh or self.device_mesh
        if any(each.is_partial() and not old.is_partial() for each, old in zip(placements, self.placements)):
            raise RuntimeError(f"Can not redistribute from {_text(self.placements)} to {_text(placements)}, redistributing to Partial is for internal use only!")
        return _Redistribute.apply(self, mesh, _normal(self, mesh, placements))

    def full_tensor(self, *, grad_placements=None):
        """The whole tensor. Differentiable."""
        return self.redistribute(placements=[Replicate()] * self.device_mesh.ndim).to_local(grad_placements=grad_placements)

    @property
    def device_mesh(self):
        return self._spec.mesh

    @property
    def placements(self):
        return self._spec.placements


def _text(placements):
    return "".join(map(str, placements))


def _again(local, spec, requires_grad):
    return DTensor(local, spec, requires_grad=requires_grad)


def _normal(tensor, mesh, placements):
    """The placements, with dimensions counted from the front; ValueError unless there is one for each dimension of the mesh."""
    if len(placements) != mesh.ndim:
        raise ValueError(f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}.")
    return tuple(Shard(each.dim + tensor.ndim) if type(each) is Shard and each.dim < 0 else each for each in placements)


def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0):
    """A DTensor of a whole tensor, which must be a leaf."""
    mesh = device_mesh or _current()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    placements = _normal(tensor, mesh, placements if placements is not None else [Replicate()] * mesh.ndim)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}.")
        if tensor.placements != placements:
            raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements {list(placements)}. do you want to call "
                             "`redistribute` instead?")
        return tensor
    return DTensor(tensor.detach().clone(), DTensorSpec(mesh, placements), requires_grad=tensor.requires_grad)


def distribute_module(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None):
    """Places a module's parameters and buffers on a mesh: by `partition_fn(name, module, mesh)`, and what is left whole. The module is changed."""
    mesh = device_mesh or _current()
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
        for key, value in each._parameters.items():
            if value is not None and not isinstance(value, DTensor):
                each.register_parameter(key, torch.nn.Parameter(distribute_tensor(value.detach(), mesh), value.requires_grad))
        for key, value in each._buffers.items():
            if value is not None and not isinstance(value, DTensor):
                each._buffers[key] = distribute_tensor(value, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda each, inputs: input_fn(each, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda each, inputs, outputs: output_fn(each, outputs, mesh))
    return module


def _factory(name):
    def make(*size, dtype=None, layout=torch.strided, requires_grad=False, device_mesh=None, placements=None):
        size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        made = getattr(torch, name)(size, dtype=dtype, layout=layout)
        return distribute_tensor(made.requires_grad_(requires_grad), device_mesh, placements)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"`torch.{name}` on a mesh."
    return make


zeros, ones, empty, rand, randn = map(_factory, ("zeros", "ones", "empty", "rand", "randn"))


def full(size, fill_value, *, dtype=None, layout=torch.strided, requires_grad=False, device_mesh=None, placements=None):
    """`torch.full` on a mesh."""
    made = torch.full(size, fill_value, dtype=dtype, layout=layout, requires_grad=requires_grad)
    return distribute_tensor(made, device_mesh, placements)
