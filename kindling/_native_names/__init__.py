"""What PyTorch has in its native module (torch._C) and Kindling writes in Python."""
