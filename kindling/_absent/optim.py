"""Names of torch.optim, written by tools/surface.py."""
TABLE = r"""
optim._multi_tensor/ RMSprop(optim.rmsprop:RMSprop)
optim.lr_scheduler _enable_get_lr_call
optim.optimizer DeviceDict~ StateDict~
"""  # noqa: E501
