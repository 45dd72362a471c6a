"""Derivatives of functions, by the tape.

Each transform hands the function stand-ins for its inputs: a view where the input is part of a graph already (of an outer transform,
or of the program), else a fresh leaf. Gradients are taken with a graph of their own, so transforms nest; at the end a result whose
graph reaches no leaf but our own is cut from it. While the function runs a level is open (core/batch.h): it wraps no tensors, and
what asks about transforms looks at it.
"""
import functools

import kindling as torch
from kindling import _C
from kindling.utils._pytree import tree_flatten, tree_map, tree_unflatten


def _wraps(func):
    """functools.wraps, for callables without a name too."""
    return functools.wraps(func, assigned=tuple(name for name in functools.WRAPPER_ASSIGNMENTS if hasattr(func, name)))


class _Scope:
    """One use of a transform: its stand-ins, and which leaves are its own."""

    def __init__(self):
        self.own = set()        # ids; the leaves live as long as the graph that is looked at

    def stand_in(self, value, api=None):
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        if not value.dtype.is_floating_point and not value.dtype.is_complex:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if value.requires_grad and not _C._is_below(value):
            return value.view_as(value)
        leaf = _C._leaf(value)
        self.own.add(id(leaf))
        self.keep = (*getattr(self, "keep", ()), leaf)
        return leaf

    def cut(self, value, outer):
        """A result without a graph, if that has no leaf but ours, or if gradients are off outside. The level is closed then."""
        if not isinstance(value, torch.Tensor) or _C._is_below(value):
            return value
        return _C._leaves_transform(self._cut(value, outer))

    def _cut(self, value, outer):
        tangents = _C._tangents(value)
        if tangents:
            kept = [(level, self.cut(tangent, outer)) for level, tangent in tangents]
            if any(one[1] is not other[1] for one, other in zip(kept, tangents)):
                value = _C._with_tangents(value, kept)
        if not value.requires_grad:
            return value
        if not outer:
            return _C._apart(value)
        if id(value) in self.own or value.grad_fn is not None and not self._reaches_others(value.grad_fn):
            return _C._apart(value)
        return value

    def _reaches_others(self, node):
        seen, waiting = {node}, [node]
        while waiting:
            for below, _ in waiting.pop().next_functions:
                if below is None or below in seen:
                    continue
                leaf = getattr(below, "variable", None)
                if leaf is not None and id(leaf) not in self.own and _C._born_in(leaf) >= 0:
                    return True
                seen.add(below)
                waiting.append(below)
        return False

    def cut_tree(self, tree, outer):
        return tree_map(lambda value: self.cut(value, outer), tree)


def _own(value):
    """An argument that is not differentiated, as a tensor of the transform: it may be written to, and nobody outside follows that."""
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        if value.layout is not torch.strided or value.requires_grad and _C._is_below(value):
            return value
        return value.view_as(value) if value.requires_grad else _C._apart(value)
    return tree_map(_own, value) if type(value) in (tuple, list, dict) else value


def _argnums(argnums, count):
    """The arguments as a tuple of places, checked."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    places = (argnums,) if isinstance(argnums, int) else argnums
    if not places:
        raise RuntimeError("argnums must be non-empty")
    for place in places:
        if not isinstance(place, int):
            raise RuntimeError(f"argnum must be int, got: {type(place)}")
        if not -count <= place < count:
            raise RuntimeError(f"Got argnum={place}, but only {count} positional inputs")
    places = tuple(place % count for place in places)
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return places


def _gradients(outputs, inputs, grad_outputs):
    """Gradients with a graph; zeros for inputs that the outputs do not depend on."""
    pairs = [(out, grad) for out, grad in zip(outputs, grad_outputs) if out.requires_grad]
    if not pairs or not inputs:
        return [torch.zeros_like(value) for value in inputs]
    found = torch.autograd.grad([out for out, _ in pairs], inputs, [grad for _, grad in pairs], create_graph=True, allow_unused=True)
    return [torch.zeros_like(value) if grad is None else grad for value, grad in zip(inputs, found)]


def _with_aux(result, has_aux, words):
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{words}: output of function f should be a tuple: (output, aux) if has_aux is True")
    _only_tensors(tree_flatten(result[1])[0], "Expected tensors")
    return result


def _not_empty(leaves, words):
    if not leaves or len(leaves) == 1 and leaves[0] is None:
        raise RuntimeError(f"{words}: Expected f to be a function that has non-empty output (got output = {leaves})")


class _Recording:
    """Recorded for a `with` block, without hooks on what is saved: they would see it once, and it may be asked for at any level."""

    def __enter__(self):
        self.graph = torch.enable_grad()
        self.hooks = torch.autograd.graph.disable_saved_tensors_hooks(
            "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case.")
        self.hooks.__enter__()
        _C._transform_open("grad")
        self.graph.__enter__()

    def __exit__(self, *raised):
        self.graph.__exit__(*raised)
        _C._transform_close()
        self.hooks.__exit__(*raised)


def _only_tensors(leaves, words):
    for value in leaves:
        if not isinstance(value, torch.Tensor):
            raise RuntimeError(f"{words}, got unsupported type {type(value)}")


def grad_and_value(func, argnums: int | tuple[int, ...] = 0, has_aux: bool = False):
    """A function that gives (the gradient of `func`, its value); ((gradient), (value, aux)) with `has_aux`.

    >>> torch.func.grad_and_value(lambda x: x ** 2)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @_wraps(func)
    def wrapper(*args, **kwargs):
        outer, scope = torch.is_grad_enabled(), _Scope()
        places = _argnums(argnums, len(args))
        with _Recording():
            given = [value if place in places else _own(value) for place, value in enumerate(args)]
            flat, forms = [], []
            for place in places:
                leaves, form = tree_flatten(args[place])
                leaves = [scope.stand_in(value) for value in leaves]
                given[place] = tree_unflatten(leaves, form)
                flat += leaves
                forms.append((len(leaves), form))
            words = "grad_and_value(f)(*args)"
            output, aux = _with_aux(func(*given, **kwargs), has_aux, words)
            if not isinstance(output, torch.Tensor):
                raise RuntimeError(f"{words}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.dim() != 0:
                raise RuntimeError(f"{words}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. Maybe you "
                                   "wanted to use the vjp or jacrev APIs instead?")
            if output.dtype.is_complex:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
            found = _gradients([output], flat, [torch.ones_like(output)])
            grads = []
            for count, form in forms:
                grads.append(tree_unflatten(found[:count], form))
                found = found[count:]
            result = grads[0] if isinstance(argnums, int) else tuple(grads)
        return scope.cut_tree((result, (output, aux) if has_aux else output), outer)

    return wrapper


def grad(func, argnums: int | tuple[int, ...] = 0, has_aux: bool = False):
    """A function that gives the gradient of `func`, which gives a scalar; (gradient, aux) with `has_aux`.

    >>> torch.func.grad(torch.sin)(torch.tensor(0.0))
    tensor(1.)
    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @_wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


def vjp(func, *primals, has_aux=False):
    """(`func(*primals)`, a function from cotangents to their products with the Jacobian); aux third with `has_aux`.

    >>> output, vjp_fn = torch.func.vjp(torch.sin, torch.zeros(2))
    >>> vjp_fn(torch.ones(2))
    (tensor([1., 1.]),)
    """
    outer, scope = torch.is_grad_enabled(), _Scope()
    with _Recording():
        flat, form = tree_flatten(primals)
        inputs = [scope.stand_in(value) for value in flat]
        result = func(*tree_unflatten(inputs, form))
        words = "vjp(f, *primals)"
        output, aux = _with_aux(result, has_aux, words)
        leaves, output_form = tree_flatten(output)
        _not_empty(leaves, words)
        _only_tensors(leaves, f"{words}: expected f(*primals) to return only tensors")

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        outer = torch.is_grad_enabled() if create_graph is None else create_graph
        given, given_form = tree_flatten(cotangents)
        if given_form != output_form:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                               f"cotangents: {_form(given_form)}, primal output: {_form(output_form)}")
        for place, (one, other) in enumerate(zip(given, leaves)):
            if one.shape != other.shape:
                raise RuntimeError(f"Mismatch in shape: grad_output[{place}] has a shape of {one.shape} and output[{place}] has a shape of "
                                   f"{other.shape}.")
        with torch.enable_grad():
            return scope.cut_tree(tree_unflatten(_gradients(leaves, inputs, given), form), outer)

    values = scope.cut_tree((output, aux), outer)
    return (values[0], vjp_fn, values[1]) if has_aux else (values[0], vjp_fn)


def _form(spec):
    """A structure as `(*, *)`."""
    if spec.is_leaf():
        return "*"
    return str(tree_unflatten([_Star()] * spec.num_leaves, spec))


class _Star:
    def __repr__(self):
        return "*"


def jacrev(func, argnums=0, has_aux=False, *, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the Jacobian of `func`, a row for each element of its output; (Jacobian, aux) with `has_aux`.

    The structure is the output's, of those of the inputs; shapes are output + input. `chunk_size` rows are computed at a time, or all.

    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @_wraps(func)
    def wrapper(*args, **kwargs):
        outer, scope = torch.is_grad_enabled(), _Scope()
        places = _argnums(argnums, len(args))
        chosen = args[places[0]] if isinstance(argnums, int) else tuple(args[place] for place in places)
        with _Recording():
            flat, form = tree_flatten(chosen)
            inputs = [scope.stand_in(value) for value in flat]
            parts = tree_unflatten(inputs, form)
            given = [value if place in places else _own(value) for place, value in enumerate(args)]
            for place, part in zip(places, (parts,) if isinstance(argnums, int) else parts):
                given[place] = part
            _only_real(tree_flatten(args)[0], "inputs", "jacrev")
            output, aux = _with_aux(func(*given, **kwargs), has_aux, "vjp(f, *primals)")
            leaves, output_form = tree_flatten(output)
            _not_empty(leaves, "vjp(f, *primals)")
            _only_tensors(leaves, "vjp(f, *primals): expected f(*primals) to return only tensors")
            _only_real(leaves, "outputs", "jacrev")
            blocks = []
            for leaf in leaves:
                if leaf.numel() == 0:
                    rows = [value.new_zeros(leaf.shape + value.shape) for value in inputs]
                else:
                    basis = torch.eye(leaf.numel(), dtype=leaf.dtype, device=leaf.device).view(-1, *leaf.shape)
                    if chunk_size == 1:       # then nothing is mapped, and what cannot be mapped works too
                        rows = [torch.stack(each) for each in zip(*(_gradients([leaf], inputs, [unit]) for unit in basis))]
                    else:
                        rows = torch.vmap(lambda unit: _gradients([leaf], inputs, [unit]), chunk_size=chunk_size)(basis)
                    rows = [row.view(leaf.shape + value.shape) for row, value in zip(rows, inputs)]
                blocks.append(tree_unflatten(rows, form))
            result = tree_unflatten(blocks, output_form)
        return scope.cut_tree((result, aux) if has_aux else result, outer)

    return wrapper


def _only_real(leaves, what, words):
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor) and leaf.dtype.is_complex:
            raise RuntimeError(f"{words}: Expected all {what} to be real but received complex tensor at flattened input idx: {place}")


def _of_all(value):
    """What is the same for all slices of the innermost vmap, as it is outside."""
    return _C._vmap_unwrap(value, _C._vmap_depth())[0] if isinstance(value, torch.Tensor) else value


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """The Jacobian, as `jacrev` gives it, by `jvp` along all elements of the inputs at once (`vmap`).

    >>> torch.func.jacfwd(torch.exp)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @_wraps(func)
    def wrapper(*args, **kwargs):
        places = _argnums(argnums, len(args))
        chosen = args[places[0]] if isinstance(argnums, int) else tuple(args[place] for place in places)
        flat, form = tree_flatten(chosen)

        def of_chosen(*values):
            parts = tree_unflatten(list(values), form)
            given = [value if place in places else _own(value) for place, value in enumerate(args)]
            for place, part in zip(places, (parts,) if isinstance(argnums, int) else parts):
                given[place] = part
            return func(*given, **kwargs)

        _only_real(tree_flatten(args)[0], "inputs", "jacfwd")
        seen = []

        def products(*units):
            result = jvp(of_chosen, tuple(flat), units, has_aux=has_aux)
            leaves = tree_flatten(result[0])
            _only_real(leaves[0], "outputs", "jacfwd")
            seen[:] = [*leaves, tree_map(_of_all, result[2]) if has_aux else None]
            return tree_flatten(result[1])[0]
        counts = [value.numel() for value in flat]
        total = sum(counts)
        if total:
            units, start = [], 0
            for value, count in zip(flat, counts):       # the unit vectors of all inputs together, an input's own part of them
                unit = torch.zeros(total, count, dtype=value.dtype, device=value.device)
                unit[start:start + count].fill_diagonal_(1)
                units.append(unit.view(total, *value.shape))
                start += count
            columns = torch.vmap(products, randomness=randomness)(*units)
            outputs, output_form, aux = seen
        else:                    # no element to differentiate by: the shapes are the function's own
            output, aux = _with_aux(of_chosen(*flat), has_aux, "jvp(f, primals, tangents)")
            outputs, output_form = tree_flatten(output)
            columns = [output.new_zeros(0, *output.shape) for output in outputs]
        blocks = []
        for output, column in zip(outputs, columns):
            parts = [part.movedim(0, -1).reshape(output.shape + value.shape) for part, value in zip(column.split(counts), flat)]
            blocks.append(tree_unflatten(parts, form))
        result = tree_unflatten(blocks, output_form)
        return (result, aux) if has_aux else result

    return wrapper


def hessian(func, argnums=0):
    """A function that gives the Hessian of `func`: the Jacobian of its Jacobian.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


class _Transform:
    """A level for a `with` block; gives its number."""

    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        return _C._transform_open(self.kind)

    def __exit__(self, kind, value, traceback):
        _C._transform_close()


class _DualLevel:
    """A level of forward mode for a `with` block, whatever is switched off outside; gives its number."""

    def __enter__(self):
        _C._transform_open("jvp")
        self.before = _C._is_fwd_grad_enabled()
        _C._set_fwd_grad_enabled(True)
        self.number = _C._enter_dual_level()
        return self.number

    def __exit__(self, kind, value, traceback):
        _C._exit_dual_level(self.number)
        _C._set_fwd_grad_enabled(self.before)
        _C._transform_close()


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(`func(*primals)`, the product of its Jacobian with the tangents); aux third with `has_aux`.

    >>> torch.func.jvp(torch.sin, (torch.zeros(2),), (torch.ones(2),))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    words = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{words}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    flat, form = tree_flatten(primals)
    directions, directions_form = tree_flatten(tangents)
    if form != directions_form:
        raise RuntimeError(f"{words}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
                           f"tensors, tangents also must be. Got primals with structure {form} and tangents with structure "
                           f"{directions_form}")
    if not flat:
        raise RuntimeError(f"{words}: Expected primals to contain at least one Tensor.")
    for what, leaves in (("primals", flat), ("tangents", directions)):
        for leaf in leaves:
            if not isinstance(leaf, torch.Tensor):
                raise RuntimeError(f"{words}: Expected {what} to only contain Tensors, got {type(leaf)}")
    with _DualLevel() as level:
        duals = [_C._make_dual(value, direction, level) for value, direction in zip(flat, directions)]
        output, aux = _with_aux(func(*tree_unflatten(duals, form)), has_aux, words)
        leaves, output_form = tree_flatten(output)
        _not_empty(leaves, words)
        _only_tensors(leaves, f"{words}: expected f(*primals) to return only tensors")
        products = [_C._tangent(leaf, level) for leaf in leaves]
        if strict and any(product is None for product in products):
            raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                               "strict=True.")
        products = [torch.zeros_like(leaf) if product is None else product for leaf, product in zip(leaves, products)]
        values = [_C._primal(leaf, level) for leaf in leaves]
        if has_aux:
            aux = tree_map(lambda value: _C._primal(value, level) if isinstance(value, torch.Tensor) else value, aux)
    result = tuple(tree_unflatten([_C._leaves_transform(each) for each in some], output_form) for some in (values, products))
    return (*result, tree_map(_C._leaves_transform, aux)) if has_aux else result


def _products(outputs, inputs, directions, scope):
    """Jacobian times directions."""
    cotangents = []
    for output in outputs:
        leaf = _C._leaf(torch.zeros_like(output))
        scope.own.add(id(leaf))
        scope.keep = (*getattr(scope, "keep", ()), leaf)
        cotangents.append(leaf)
    back = _gradients(outputs, inputs, cotangents)
    return _gradients(back, cotangents, list(directions))


def linearize(func, *primals):
    """(`func(*primals)`, a function from tangents to their products with the Jacobian there).

    >>> output, jvp_fn = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> jvp_fn(torch.ones(2))
    tensor([1., 1.])
    """
    outer, scope = torch.is_grad_enabled(), _Scope()
    with _Transform("grad"), torch.enable_grad():
        flat, form = tree_flatten(primals)
        inputs = [scope.stand_in(value) for value in flat]
        output = func(*tree_unflatten(inputs, form))
        leaves, output_form = tree_flatten(output)
        _only_tensors(leaves, "linearize(f, *primals): expected f(*primals) to return only tensors")

    def jvp_fn(*tangents):
        directions, directions_form = tree_flatten(tangents)
        if directions_form != form:
            raise RuntimeError(f"Expected the tangents {directions_form} to have the same argspec as the primals {form}")
        for place, (value, direction) in enumerate(zip(inputs, directions)):
            for what, one, other in (("shape", direction.shape, value.shape), ("device", direction.device, value.device),
                                     ("dtype", direction.dtype, value.dtype)):
                if one != other:
                    raise RuntimeError(f"tangent:{place} with {what} {one} in flattened pytree doesn't match the {what} {other} of the "
                                       "corresponding primal.")
        outer = torch.is_grad_enabled()
        with torch.enable_grad():
            return scope.cut_tree(tree_unflatten(_products(leaves, inputs, directions, scope), output_form), outer)

    return scope.cut_tree(output, outer), jvp_fn


def functionalize(func, *, remove="mutations"):
    """The function: what it computes is the same with and without writes in place, and nothing here looks at its steps.

    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(1))
    tensor([1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
                           "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their "
                           "out-of-place equivalents.\n"
                           "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be replaced with "
                           "their non-aliasing counterparts, {view}_copy.\n")

    @_wraps(func)
    def wrapper(*args, **kwargs):
        with _Transform("functionalize"):
            return func(*args, **kwargs)

    return wrapper
