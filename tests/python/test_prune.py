"""torch.nn.utils.prune beside torch."""
import re

import pytest
from both import run

SETUP = """
import importlib
P = importlib.import_module(torch.__name__ + ".nn.utils.prune")
def M():
    torch.manual_seed(0)
    return nn.Linear(3, 4)
def seen(m):
    return [[n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()], m.weight.tolist(), m.bias.tolist(), list(m.state_dict()),
            [type(h).__name__ for h in m._forward_pre_hooks.values()]]
def words(f):
    try: return f()
    except Exception as error: return type(error).__name__, str(error)
m, a, b = M(), M(), nn.Linear(4, 2)
"""


@pytest.mark.parametrize("source", [
    "seen(P.l1_unstructured(m, 'weight', amount=3))",
    "P.l1_unstructured(m, 'weight', 3)\nseen(P.random_unstructured(m, 'weight', 0.5)), [type(h).__name__ for h in list(m._forward_pre_hooks.values())[0]]",
    "P.l1_unstructured(m, 'weight', 3)\n[P.is_pruned(m), seen(P.remove(m, 'weight')), P.is_pruned(m), words(lambda: P.remove(m, 'weight'))]",
    *(f"words(lambda: seen(P.l1_unstructured(m, 'weight', {amount})))" for amount in ("-1", "2.0", "'a'", "100", "1.5", "-0.5", "0", "0.0", "1.0")),
    *(f"words(lambda: seen(P.ln_structured(m, {arguments})))" for arguments in (
        "'weight', 2, n=2, dim=0", "'weight', 0.5, n=float('-inf'), dim=-1", "'weight', 0.5, n=1, dim=5", "'bias', 0.5, n=1, dim=0", "'weight', 10, n=1, dim=0")),
    "seen(P.random_structured(m, 'weight', 1, dim=1))", "seen(P.random_structured(m, 'weight', 2, dim=0))",
    "seen(P.identity(m, 'bias'))", "seen(P.custom_from_mask(m, 'bias', mask=torch.tensor([1, 0, 1, 0])))",
    "P.global_unstructured([(a, 'weight'), (b, 'weight')], pruning_method=P.L1Unstructured, amount=6)\n[seen(a), seen(b)]",
    "P.global_unstructured([(a, 'weight'), (b, 'bias')], pruning_method=P.RandomUnstructured, amount=0.3)\n[seen(a), seen(b)]",
    "words(lambda: P.global_unstructured(3, P.L1Unstructured))",
    "words(lambda: P.global_unstructured([(a, 'weight')], pruning_method=P.LnStructured, amount=1, n=1))[0]",
    "words(lambda: P.l1_unstructured(m, 'weight', 2, importance_scores=torch.arange(12.).reshape(4, 3)).weight_mask.tolist())",
    "words(lambda: P.l1_unstructured(m, 'weight', 2, importance_scores=torch.arange(10.)))",
    "x = P.L1Unstructured(2)\nx._tensor_name = 'w'\nc = P.PruningContainer(x)\ny = P.RandomUnstructured(1)\ny._tensor_name = 'v'\n"
    "[words(lambda: c.add_pruning_method(y))[0], words(lambda: c.add_pruning_method(3)), list(c) == [x], c[0] is x, len(c)]",
    "P.L1Unstructured(2).prune(torch.tensor([3., -1, 2, .5])).tolist()", "P.LnStructured(1, 1, 0).prune(torch.tensor([[3., -1], [2, .5]])).tolist()",
    "P.Identity().compute_mask(torch.ones(2), torch.ones(2)).tolist()",
    "P.l1_unstructured(m, 'weight', 2)\nm(torch.ones(1, 3)).sum().backward()\n[m.weight_orig.grad.tolist(), m.weight.requires_grad, list(m.state_dict())]",
    "P.l1_unstructured(m, 'weight', 2)\n[words(lambda: P.l1_unstructured(m, 'weight', 11)), m.weight_mask.tolist(), len(m._forward_pre_hooks)]",
    "P.l1_unstructured(m, 'weight', 2)\nP.ln_structured(m, 'weight', 1, n=2, dim=1)\nP.l1_unstructured(m, 'weight', 2)\nseen(m)",
    "words(lambda: P.l1_unstructured(m, 'nope', 2))",
    "[(c.__name__, c.__mro__[1].__name__, getattr(c, 'PRUNING_TYPE', None)) for c in (P.CustomFromMask, P.Identity, P.L1Unstructured, P.LnStructured, "
    "P.PruningContainer, P.RandomStructured, P.RandomUnstructured)]",
])
def test_pruning(source):
    expected, got = (re.sub(r"0x[0-9a-f]+", "", run(name, source, SETUP)) for name in ("torch", "kindling"))
    assert got == expected
