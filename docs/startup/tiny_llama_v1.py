"""The imports of TinyLlama's training, its model and fused kernels included: what is absent is done without."""

import glob  # noqa: F401
import json  # noqa: F401
import logging  # noqa: F401
import math  # noqa: F401
import random  # noqa: F401
import sys  # noqa: F401
import time  # noqa: F401
from functools import partial  # noqa: F401
from pathlib import Path  # noqa: F401
from typing import Optional, Tuple, Union  # noqa: F401

import numpy as np  # noqa: F401
import torch
import torch.nn.functional as F  # noqa: F401
from torch.utils.data import DataLoader  # noqa: F401

try:
    import lightning
    from lightning.fabric.strategies import FSDPStrategy, XLAStrategy  # noqa: F401
except ImportError:
    lightning = None
try:
    from pytorch_lightning.loggers import WandbLogger
except ImportError:
    WandbLogger = None
try:
    from jsonargparse import CLI
except ImportError:
    CLI = None
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
    from xformers.ops import SwiGLU
except ImportError:
    SwiGLU = None
try:
    import dropout_layer_norm
except ImportError:
    dropout_layer_norm = None
try:
    from xentropy_cuda_lib import forward as cross_entropy
except ImportError:
    cross_entropy = F.cross_entropy
