"""Names of torch.cpu, written by tools/surface.py."""
TABLE = r"""
cpu/ _is_amx_fp16_supported()no _is_amx_tile_supported() _is_avx512_bf16_supported() _is_avx512_supported() _is_vnni_supported() get_capabilities()
"""  # noqa: E501
