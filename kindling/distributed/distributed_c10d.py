"""A world of one process: groups of one rank, in which every collective gives what the rank itself has.

`init_process_group` refuses more than one process. What needs others (send, receive) says so.
"""
import os

import kindling as torch

_world = {"default": None, "groups": [], "store": None, "count": 0}
_NEEDS = "needs several processes, and Kindling has worlds of one process"
default_pg_timeout = default_pg_nccl_timeout = None


class RedOpType(int):
    """A way to reduce."""

    def __new__(cls, value, name):
        made = super().__new__(cls, value)
        made.name = name
        return made

    def __repr__(self):
        return f"<RedOpType.{self.name}: {int(self)}>"

    def __str__(self):
        return f"RedOpType.{self.name}"


class ReduceOp:
    """The ways to reduce, by name."""


ReduceOp.RedOpType = RedOpType
for _value, _name in enumerate("SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM".split()):
    setattr(ReduceOp, _name, RedOpType(_value, _name))


class Backend(str):
    """The name of a backend, in lower case."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, not {type(name)}")
        return super().__new__(cls, name.lower())


class Work:
    """A collective that is done."""

    def __init__(self, result=()):
        self._result = result

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    def is_success(self):
        return True

    def exception(self):
        return None

    def result(self):
        return list(self._result)

    def synchronize(self):
        """Nothing is left to wait for."""

    def get_future(self):
        done = torch.futures.Future()
        done.set_result(list(self._result))
        return done


class ProcessGroup:
    """A group of one process."""

    def __init__(self, name, backend):
        self.group_name, self._backend, self.group_desc = name, Backend(backend), "undefined"

    def rank(self):
        return 0

    def size(self):
        return 1

    def name(self):
        return str(self._backend)

    def _get_backend_name(self):
        return str(self._backend)

    @property
    def bound_device_id(self):
        return None


class ProcessGroupGloo(ProcessGroup):
    """A group of the backend for CPUs."""


class Store:
    """Keys and values that ranks share: a dictionary."""

    def __init__(self, *args, **kwargs):
        self._values = {}

    def set(self, key, value):
        self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key):
        if key not in self._values:
            raise DistStoreError(f"wait timeout after 0ms, keys: /{key}")
        return self._values[key]

    def add(self, key, amount):
        """Adds to the number behind a key, and gives it."""
        value = int(self._values.get(key, b"0")) + amount
        self._values[key] = str(value).encode()
        return value

    def check(self, keys):
        return all(key in self._values for key in keys)

    def compare_set(self, key, expected, desired):
        """Sets a value if it is as expected, or missing and expected to be."""
        if self._values.get(key, b"") == expected.encode() or key not in self._values and not expected:
            self.set(key, desired)
        return self._values.get(key, expected.encode())

    def delete_key(self, key):
        return self._values.pop(key, None) is not None

    def num_keys(self):
        return len(self._values)

    def wait(self, keys, timeout=None):
        if not self.check(keys):
            raise DistStoreError(f"wait timeout after 0ms, keys: {', '.join('/' + key for key in keys)}")

    def set_timeout(self, timeout):
        """Nobody else could come."""


class HashStore(Store):
    """A store in memory."""


class FileStore(Store):
    """A store for ranks with one file; with one rank it stays in memory."""

    def __init__(self, file_name, world_size=-1):
        super().__init__()
        self.path = file_name


class TCPStore(Store):
    """A store for ranks of one host; with one rank it stays in memory and opens nothing."""

    def __init__(self, host_name, port=0, world_size=None, is_master=False, *args, **kwargs):
        if world_size is not None and world_size > 1 or not is_master and world_size is None:
            raise RuntimeError(f"torch.distributed.TCPStore of {world_size or 'unknown many'} ranks {_NEEDS}")
        super().__init__()
        self.host, self.port = host_name, port


class PrefixStore(Store):
    """A store inside another, whose keys begin with a prefix."""

    def __init__(self, prefix, store):
        super().__init__()
        self.underlying_store = store


class P2POp:
    """A send or a receive to be done with others."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        self.op, self.tensor, self.peer, self.group, self.tag = op, tensor, peer, group, tag


class _Members(type):
    @property
    def WORLD(cls):
        return _world["default"]

    @WORLD.setter
    def WORLD(cls, value):
        _world["default"] = value


class GroupMember(metaclass=_Members):
    """Membership in a group."""

    NON_GROUP_MEMBER = -100


class group(metaclass=_Members):
    """Holds the default group of processes."""


def _error(name, base=RuntimeError):
    return type(name, (base,), {"__module__": __name__.rpartition(".")[0]})


DistError = _error("DistError")
DistBackendError, DistNetworkError, DistStoreError = (_error(name, DistError) for name in ("DistBackendError", "DistNetworkError", "DistStoreError"))
QueueEmptyError = _error("QueueEmptyError", DistStoreError)


def is_available():
    """Whether there is a package for several processes: no. A world of one process can be made all the same."""
    return False


def is_initialized():
    """Whether the default group of processes has been made."""
    return _world["default"] is not None


def _check_backend(backend):
    """That a backend's name is one of PyTorch's, or of several by device ("cpu:gloo,cuda:nccl"), and can be had without a GPU."""
    if backend is None or str(backend).lower() in ("undefined", "gloo", "fake"):
        return
    backend = str(backend).lower()
    if ":" in backend or "," in backend:
        return
    if backend not in ("nccl", "mpi", "ucc", "xccl"):
        raise AssertionError(f"Unknown backend type {backend}")
    raise RuntimeError("Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source on a host that has MPI installed."
                       if backend == "mpi" else f"Distributed package doesn't have {backend.upper()} built in")


def _place(init_method, rank, size):
    """(rank, size of the world) of a process, from the arguments, the environment or the address itself.

    ValueError if one of them, or the address of the first process, is missing; RuntimeError for an unknown kind of address.
    """
    kind, _, rest = str(init_method).partition("://")
    if kind not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {kind}://")
    asked = dict(each.partition("=")[::2] for each in rest.partition("?")[2].split("&") if each)

    def number(given, name):
        if given != -1:
            return given
        if name in asked:
            return int(asked[name])
        if kind != "env":
            raise ValueError(f"Error initializing torch.distributed using {kind}:// rendezvous: {'world size' if name == 'world_size' else name} parameter missing")
        return int(variable(name.upper()))

    def variable(name):
        if not os.environ.get(name):
            raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set")
        return os.environ[name]

    found = number(rank, "rank"), number(size, "world_size")
    if kind == "env":
        variable("MASTER_ADDR"), int(variable("MASTER_PORT"))
    return found


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None,
                       device_id=None, **options):
    """Makes the default group of processes, of one. Rank and size come from the arguments, else from what ``init_method`` names: the environment
    (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), an address or a file. Nothing is opened there.

    ValueError if the group is made already, something is missing, or the rank is not 0; RuntimeError for more than one process or a backend
    that needs a GPU.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    _check_backend(backend)
    if store is not None:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
        place, size = rank, world_size
    else:
        place, size = _place(init_method or "env://", rank, world_size)
    if size != 1:
        raise RuntimeError(f"Kindling has no distributed package: torch.distributed.is_available() is False; init_process_group for {size} processes {_NEEDS}")
    if place != 0:
        raise ValueError(f"rank {place} is not in a world of one process")
    _world.update(default=ProcessGroupGloo(group_name or "0", backend or "gloo"), store=store or HashStore(), count=1)
    _world["groups"] = [_world["default"]]


def destroy_process_group(group=None):
    """Leaves a group of processes; without one, or with the default one, all. AssertionError if there is none."""
    if not is_initialized() or group is GroupMember.NON_GROUP_MEMBER:
        raise AssertionError("Process group cannot be None")
    if group is None or group is _world["default"]:
        _world.update(default=None, groups=[], store=None, count=0)
    elif group in _world["groups"]:
        _world["groups"].remove(group)
    else:
        raise ValueError("Invalid process group specified")


def _get_default_group():
    if not is_initialized():
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _world["default"]


def _get_default_store():
    _get_default_group()
    return _world["store"]


def _group(group):
    default = _get_default_group()
    return default if group is None else group


def _rank_not_in_group(group):
    return group == GroupMember.NON_GROUP_MEMBER


def _alone(name, **ranks):
    """Refuses ranks beside 0."""
    for which, rank in ranks.items():
        if rank not in (None, 0):
            raise ValueError(f"torch.distributed.{name}: {which} {rank} is not in a group of one process")


def get_rank(group=None):
    """The rank of this process: 0, or -1 in a group that it is not in."""
    _get_default_group()
    return -1 if group is not None and _rank_not_in_group(group) else 0


def get_world_size(group=None):
    """How many processes a group has: 1, or -1 for one that this process is not in."""
    _get_default_group()
    return -1 if group is not None and _rank_not_in_group(group) else 1


def get_backend(group=None):
    return _group(group)._backend


def get_backend_config(group=None):
    return f"cpu:{get_backend(group)}"


def get_process_group_ranks(group):
    _group(group)
    return [0]


def get_group_rank(group, global_rank):
    _alone("get_group_rank", rank=global_rank)
    return 0


def get_global_rank(group, group_rank):
    _alone("get_global_rank", rank=group_rank)
    return 0


def get_pg_count():
    return len(_world["groups"])


def get_node_local_rank(fallback_rank=None):
    """LOCAL_RANK, or what is given in its place; RuntimeError without either."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, assuming you "
                       "are not running in a multi-device context and want the code to run locally instead.")


def new_group(ranks=None, timeout=None, backend=None, *args, **options):
    """A group of this process; of no process, what says that one is not in it."""
    default = _get_default_group()
    if ranks is not None and any(rank != 0 for rank in ranks):
        raise ValueError("The new group's world size should be less or equal to the world size set by init_process_group")
    if ranks is not None and not list(ranks):
        return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroupGloo(str(_world["count"]), backend or default._backend)
    _world["count"] += 1
    _world["groups"].append(made)
    return made


def new_subgroups(group_size=None, group=None, *args, **options):
    """This process's group, and the list of all."""
    _alone("new_subgroups", size=0 if group_size in (None, 1) else group_size)
    made = new_group()
    return made, [made]


def new_subgroups_by_enumeration(ranks_per_subgroup_list, *args, **options):
    made = [new_group(ranks) for ranks in ranks_per_subgroup_list]
    return made[0], made


def _done(async_op, *results):
    return Work(results) if async_op else None


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Leaves the tensor as it is: there is one rank to reduce over."""
    _group(group)
    _tensors("all_reduce", tensor)
    return _done(async_op, tensor)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Leaves the tensor as it is."""
    _group(group)
    _alone("reduce", dst=dst, group_dst=group_dst)
    return _done(async_op, tensor)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Leaves the tensor as it is."""
    _group(group)
    _alone("broadcast", src=src, group_src=group_src)
    _tensors("broadcast", tensor)
    return _done(async_op, tensor)


def _tensors(name, *values):
    for each in values:
        if not isinstance(each, torch.Tensor):
            raise TypeError(f"Invalid function argument. Expected parameter of torch.distributed.{name} of type torch.Tensor, but got {type(each)} instead.")


def _copy(name, targets, sources):
    if len(targets) != len(sources):
        raise ValueError(f"torch.distributed.{name}: {len(targets)} results for {len(sources)} ranks")
    with torch.no_grad():
        for target, source in zip(targets, sources):
            _tensors(name, target, source)
            if target.numel() != source.numel():
                raise ValueError(f"torch.distributed.{name}: a result of {target.numel()} elements for {source.numel()}")
            target.copy_(source.reshape(target.shape))


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Copies the tensor into the list's one."""
    _group(group)
    _copy("all_gather", tensor_list, [tensor])
    return _done(async_op, *tensor_list)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Copies one tensor into another."""
    _group(group)
    _copy("all_gather_into_tensor", [output_tensor], [input_tensor])
    return _done(async_op, output_tensor)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Copies the tensor into the list's one."""
    _group(group)
    _alone("gather", dst=dst, group_dst=group_dst)
    _copy("gather", gather_list or [], [tensor])
    return _done(async_op, *gather_list)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Copies the list's one tensor."""
    _group(group)
    _alone("scatter", src=src, group_src=group_src)
    _copy("scatter", [tensor], scatter_list or [])
    return _done(async_op, tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Copies the list's one tensor."""
    _group(group)
    _copy("reduce_scatter", [output], input_list)
    return _done(async_op, output)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Copies one tensor into another."""
    _group(group)
    _copy("reduce_scatter_tensor", [output], [input])
    return _done(async_op, output)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Copies the list's one tensor."""
    _group(group)
    _copy("all_to_all", output_tensor_list, input_tensor_list)
    return _done(async_op, *output_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Copies one tensor into another."""
    _group(group)
    _copy("all_to_all_single", [output], [input])
    return _done(async_op, output)


all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """Leaves the tensors as they are."""
    _group(group)
    return _done(async_op, *tensors)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Returns at once."""
    _group(group)
    return _done(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Returns at once."""
    _group(group)


def _object(value):
    """As another process would get it: a copy by pickle."""
    import pickle
    return pickle.loads(pickle.dumps(value))


def all_gather_object(object_list, obj, group=None):
    """Puts a copy of the object into the list."""
    _group(group)
    object_list[0] = _object(obj)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Puts a copy of the object into the list."""
    _group(group)
    _alone("gather_object", dst=dst, group_dst=group_dst)
    object_gather_list[0] = _object(obj)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Leaves the list as it is."""
    _group(group)
    _alone("broadcast_object_list", src=src, group_src=group_src)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Puts a copy of the one object into the list."""
    _group(group)
    _alone("scatter_object_list", src=src, group_src=group_src)
    scatter_object_output_list[0] = _object(scatter_object_input_list[0])


def _other(name):
    def refuse(*args, **kwargs):
        _get_default_group()
        if "send" in name and 0 in (*args[1:2], kwargs.get("dst")):
            raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")
        raise RuntimeError(f"torch.distributed.{name} {_NEEDS}")

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


send, recv, isend, irecv, batch_isend_irecv, send_object_list, recv_object_list = map(_other, (
    "send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list", "recv_object_list"))


def is_torchelastic_launched():
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def is_gloo_available():
    """Whether there is such a backend: no."""
    return False


is_nccl_available = is_mpi_available = is_ucc_available = is_xccl_available = is_gloo_available


def is_backend_available(backend):
    """Whether there is a backend of that name: no."""
    return False


def supports_complex(reduceOp):
    """Whether a reduction takes complex numbers."""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def get_default_backend_for_device(device):
    return Backend.default_device_backend_map[device if isinstance(device, str) and ":" not in device else torch.device(device).type]
