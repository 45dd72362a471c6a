"""Version facts, under the names of ``torch.version``. The one place where they stand is ``kindling.__version__``."""

import kindling

__version__ = str(kindling.__version__)
api, _, release = __version__.partition("+kindling.")
"""``api``: the PyTorch version whose API this is. ``release``: this package's own version."""

debug = False
cuda = None
hip = None
xpu = None
git_version = "unknown"
