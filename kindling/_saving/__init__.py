"""The formats in which tensors are saved: pickles, archives, safetensors."""
