"""Meshes of devices: here of one device, however many dimensions they have."""
import kindling as torch
from kindling.distributed import distributed_c10d as _c10d

__all__ = ["init_device_mesh", "DeviceMesh"]


_entered = []       # meshes of `with` blocks


def _current():
    if not _entered:
        raise RuntimeError("No device mesh is currently active!")
    return _entered[-1]


class DeviceMesh:
    """A mesh of one device: every dimension has one place, and its group has this process."""

    def __init__(self, device_type, mesh, *, mesh_dim_names=None, **options):
        self.device_type = device_type
        self.mesh = torch.as_tensor(mesh, dtype=torch.int)
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        if self.mesh.numel() != 1 or self.mesh.max() > 0:
            raise RuntimeError(f"torch.distributed.DeviceMesh of {self.mesh.numel()} devices {_c10d._NEEDS}")
        if not _c10d.is_initialized():
            _c10d.init_process_group()
        self._groups = [_c10d._get_default_group() for _ in range(self.mesh.ndim)]
        self._flattened = {}        # by name: meshes of one dimension made of several

    @property
    def shape(self):
        return tuple(self.mesh.shape)

    @property
    def ndim(self):
        return self.mesh.ndim

    def size(self, mesh_dim=None):
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def get_rank(self):
        return _c10d.get_rank()

    def get_local_rank(self, mesh_dim=None):
        return 0

    def get_coordinate(self):
        return (0,) * self.ndim

    def get_group(self, mesh_dim=None):
        """The group of a dimension, by its name or number; a mesh of several needs it."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.")
        return self._groups[self._place(mesh_dim)]

    def get_all_groups(self):
        return list(self._groups)

    def _place(self, name):
        if isinstance(name, str):
            if name not in (self.mesh_dim_names or ()):
                raise KeyError(f"Invalid mesh_dim_names ({name!r},) specified. Valid mesh_dim_names are {[*(self.mesh_dim_names or ()), *self._flattened]}.")
            return self.mesh_dim_names.index(name)
        return name or 0

    def __getitem__(self, names):
        """The mesh of some dimensions, by name."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (names,) if isinstance(names, str) else tuple(names)
        if len(names) == 1 and names[0] in self._flattened:
            return self._flattened[names[0]]
        for each in names:
            self._place(each)
        return DeviceMesh(self.device_type, self.mesh.reshape((1,) * len(names)), mesh_dim_names=names)

    def _flatten(self, mesh_dim_name=None):
        """The mesh as one dimension, which can be had by its name from then on."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names)
        return self._flattened.setdefault(name, DeviceMesh(self.device_type, self.mesh.reshape(1), mesh_dim_names=(name,)))

    def __eq__(self, other):
        return isinstance(other, DeviceMesh) and (self.device_type, self.shape, self.mesh_dim_names) == (
            other.device_type, other.shape, other.mesh_dim_names)

    def __hash__(self):
        return hash((self.device_type, self.shape, self.mesh_dim_names))

    def __enter__(self):
        _entered.append(self)
        return self

    def __exit__(self, *details):
        _entered.pop()

    def __repr__(self):
        shape = f"({', '.join(f'{name}=1' for name in self.mesh_dim_names)})" if self.mesh_dim_names else self.shape
        return f"DeviceMesh({shape}, '{self.device_type}', stride={((),) * self.ndim})"


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, **options):
    """A mesh of that shape, which must have one place; makes the default group if there is none."""
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(f"mesh_shape and mesh_dim_names should have same length. Found len(mesh_dim_names): {len(mesh_dim_names)} and "
                               f"len(mesh_shape):{len(mesh_shape)}.")
    places = 1
    for each in mesh_shape:
        places *= each
    return DeviceMesh(device_type, torch.arange(places, dtype=torch.int).reshape(tuple(mesh_shape)), mesh_dim_names=mesh_dim_names)
