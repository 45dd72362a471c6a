"""The older name of `torch.hub.load_state_dict_from_url`."""
from kindling.hub import _Faketqdm as tqdm  # noqa: F401
from kindling.hub import load_state_dict_from_url as load_url  # noqa: F401
