"""Device random numbers: see `torch.cuda`."""
from kindling.cuda import (get_rng_state_all, manual_seed, manual_seed_all, seed, seed_all, set_rng_state,
                           set_rng_state_all)

__all__ = ["get_rng_state_all", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state",
           "set_rng_state_all"]


def __getattr__(name):
    import kindling.cuda
    return getattr(kindling.cuda, name)
