"""The files of torch.utils.benchmark."""
