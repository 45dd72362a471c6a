"""Data pipes: see `datapipe`."""
import kindling as _kindling

__getattr__, __dir__ = _kindling._lazy_parts(globals(), {}, ("datapipe", "_decorator", "dataframe", "iter", "map", "utils"))
