"""Marks in a model where static quantisation would convert; without it they pass on what they are given."""
import kindling as torch

__all__ = ["QuantStub", "DeQuantStub", "QuantWrapper"]


class _Stub(torch.nn.Module):
    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class QuantStub(_Stub):
    """Where tensors get quantised."""


class DeQuantStub(_Stub):
    """Where quantised tensors become float32."""


class QuantWrapper(torch.nn.Module):
    """A model between a QuantStub and a DeQuantStub."""

    def __init__(self, module):
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X):
        return self.dequant(self.module(self.quant(X)))
