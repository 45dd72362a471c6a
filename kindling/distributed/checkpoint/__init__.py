"""Checkpoints in folders, as PyTorch writes and reads them on many processes: here by one."""
import kindling as _kindling

_HOMES = {
    **dict.fromkeys(("save", "async_save", "save_state_dict"), "state_dict_saver"), **dict.fromkeys(("load", "load_state_dict"), "state_dict_loader"),
    **dict.fromkeys(("FileSystemReader", "FileSystemWriter"), "filesystem"), **dict.fromkeys(("DefaultLoadPlanner", "DefaultSavePlanner"), "default_planner"),
    **dict.fromkeys(("BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "TensorStorageMetadata"), "metadata"), "CheckpointException": "api",
}
__getattr__, __dir__ = _kindling._lazy_parts(globals(), _HOMES, {*_HOMES.values(), "state_dict", "format_utils", "_flat", "_rank"})
