"""Names of torch.hub, written by tools/surface.py."""
TABLE = r"""
hub HASH_REGEX? _Faketqdm:close,set_description,update,write _get_torch_home() download_url_to_file() get_dir() help() list() load() load_state_dict_from_url() set_dir() urlparse()
"""  # noqa: E501
