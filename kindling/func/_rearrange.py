"""Dimensions by name."""
import re

_TOKEN = re.compile(r"\s*(\.\.\.|[A-Za-z_]\w*|\d+|[()])")


def _parse(text):
    """A side of the expression: a list of groups, each a list of names, `...` or 1."""
    groups, inner, at = [], None, 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"Unknown token in rearrange expression: {text[at:]!r}")
        token, at = match[1], match.end()
        if token == "(":
            if inner is not None:
                raise ValueError("Brackets inside brackets in rearrange expression")
            inner = []
        elif token == ")":
            if inner is None:
                raise ValueError("Brackets are not balanced in rearrange expression")
            groups.append(inner)
            inner = None
        elif token.isdigit():
            if token != "1":
                raise ValueError(f"Numeric anonymous axes are not supported in rearrange expression, only 1 is: {token}")
            if inner is None:
                groups.append([])
        elif inner is None:
            groups.append([token])
        else:
            inner.append(token)
    if inner is not None:
        raise ValueError("Brackets are not balanced in rearrange expression")
    return groups


def rearrange(tensor, pattern, **axes_lengths):
    """A tensor with its dimensions reordered, split and joined as written: `rearrange(x, "b (h w) c -> b c h w", h=4)`.

    A list or tuple of tensors is stacked first.

    >>> torch.func.rearrange(torch.arange(6).reshape(2, 3), "a b -> (b a)")
    tensor([0, 3, 1, 4, 2, 5])
    """
    import kindling as torch

    if isinstance(tensor, (list, tuple)):
        tensor = torch.stack(list(tensor))
    left, arrow, right = pattern.partition("->")
    if not arrow:
        raise ValueError("Rearrange expression needs one '->'")
    left, right = _parse(left), _parse(right)
    names = [[name for group in side for name in group] for side in (left, right)]
    for side in names:
        for name in side:
            if side.count(name) > 1:
                raise ValueError(f"Identifier {name!r} appears more than once in rearrange expression")
    odd = set(names[0]) ^ set(names[1])
    if odd:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {odd}")
    rest = tensor.dim() - len(left) + 1 if ["..."] in left else 0
    if ["..."] in left and rest < 0 or ["..."] not in left and tensor.dim() != len(left):
        raise ValueError(f"Rearrange expression {pattern!r} has {len(left)} dimensions on the left, the tensor {tensor.dim()}")
    sizes, order, place = [], [], 0
    for group in left:
        if group == ["..."]:
            for number in range(rest):
                sizes.append(tensor.shape[place])
                order.append(("...", number))
                place += 1
            continue
        whole = tensor.shape[place]
        known = [axes_lengths.get(name) for name in group]
        product = 1
        for size in known:
            product *= size or 1
        if known.count(None) > 1:
            raise ValueError(f"Rearrange expression {pattern!r}: lengths of {group} are needed")
        if None in known:
            if whole % product:
                raise ValueError(f"Rearrange expression {pattern!r}: {whole} elements do not split into {product} and {group}")
            known[known.index(None)] = whole // product
        elif product != whole:
            raise ValueError(f"Rearrange expression {pattern!r}: {group} have {product} elements, the dimension {whole}")
        sizes += known
        order += group
        place += 1
    tensor = tensor.reshape(sizes)
    target, shape = [], []
    for group in right:
        if group == ["..."]:
            for number in range(rest):
                target.append(order.index(("...", number)))
                shape.append(sizes[target[-1]])
            continue
        size = 1
        for name in group:
            if name == "...":
                for number in range(rest):
                    target.append(order.index(("...", number)))
                    size *= sizes[target[-1]]
                continue
            target.append(order.index(name))
            size *= sizes[target[-1]]
        shape.append(size)
    return tensor.permute(target).reshape(shape)
