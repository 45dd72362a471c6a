"""The imports of a training script for a small Llama, as such scripts have them: what is absent is done without."""

import glob  # noqa: F401
import json  # noqa: F401
import logging  # noqa: F401
import math  # noqa: F401
import random  # noqa: F401
from functools import partial  # noqa: F401
from pathlib import Path  # noqa: F401

import numpy as np  # noqa: F401
import torch
import torch.nn.functional as F  # noqa: F401
from torch.utils.data import DataLoader  # noqa: F401

try:
    from apex.normalization import FusedRMSNorm
except ImportError:
    FusedRMSNorm = torch.nn.RMSNorm
try:
    from apex.optimizers import FusedAdam
except ImportError:
    FusedAdam = torch.optim.AdamW
try:
    from flash_attn import flash_attn_func
except ImportError:
    flash_attn_func = F.scaled_dot_product_attention
try:
    from xentropy_cuda_lib import forward as cross_entropy
except ImportError:
    cross_entropy = F.cross_entropy
try:
    import lightning
except ImportError:
    lightning = None
