"""Checkpoints in a folder as files of torch.save, and back."""
import kindling as torch
from kindling.distributed.checkpoint import default_planner, filesystem, state_dict_loader, state_dict_saver

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir, torch_save_path):
    """Saves what lies in a folder as one file."""
    state = {}
    state_dict_loader._load_state_dict(state, filesystem.FileSystemReader(dcp_checkpoint_dir), planner=default_planner._EmptyStateDictLoadPlanner())
    torch.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path, dcp_checkpoint_dir):
    """Saves what one file has into a folder."""
    state_dict_saver.save(torch.load(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir)
