"""Devices that plug-ins bring: their names, methods and memory."""
from kindling._face.devices import generate_methods_for_privateuse1_backend, register_device_hooks, rename_privateuse1_backend

__all__ = ["rename_privateuse1_backend", "generate_methods_for_privateuse1_backend", "register_device_hooks"]
