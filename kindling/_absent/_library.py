"""Names of torch._library, written by tools/surface.py."""
TABLE = r"""
_library/
_library.effects EffectType{ORDERED='Ordered'}
_library.fake_class_registry FakeScriptObject
_library.infer_schema infer_schema@library
_library.opaque_object register_opaque_type()
_library.utils is_builtin()
"""  # noqa: E501
