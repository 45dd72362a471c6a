"""Names of torch.numa, written by tools/surface.py."""
TABLE = r"""
numa/
numa.binding AffinityMode{NODE='node';SOCKET='socket';EXCLUSIVE='exclusive';CORE_COMPLEX='core-complex'} NumaOptions<affinity_mode;should_fall_back_if_binding_fails=False>
"""  # noqa: E501
