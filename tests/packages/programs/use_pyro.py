"""Variational inference of a normal mean, and a run of NUTS."""
import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from pyro.optim import Adam

pyro.set_rng_seed(0)
data = torch.randn(20) + 3


def model(data):
    mean = pyro.sample("mean", dist.Normal(0.0, 10.0))
    with pyro.plate("data", len(data)):
        pyro.sample("x", dist.Normal(mean, 1.0), obs=data)


def guide(data):
    where = pyro.param("where", torch.tensor(0.0))
    scale = pyro.param("scale", torch.tensor(1.0), constraint=dist.constraints.positive)
    pyro.sample("mean", dist.Normal(where, scale))


svi = SVI(model, guide, Adam({"lr": 0.1}), Trace_ELBO())
losses = [svi.step(data) for _ in range(30)]
print("losses", losses[0], losses[-1], pyro.param("where").item(), pyro.param("scale").item())
pyro.set_rng_seed(1)
chain = MCMC(NUTS(model, step_size=0.1, adapt_step_size=False), num_samples=5, warmup_steps=2, disable_progbar=True)
chain.run(data)
print("chain", chain.get_samples()["mean"].tolist())
