"""Attributes of modules that lowering asks for."""
import kindling as torch

__all__ = ["default_matching", "extract_attrs_for_lowering", "lift_lowering_attrs_to_nodes"]


def default_matching(name, target_version):
    return name


_CONVOLUTION = ["weight", "bias", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode"]
_NORM = ["weight", "bias", "running_mean", "running_var", "eps"]
# Class: (version, attributes, how they are called in an older version).
module_fetch_book = {
    torch.nn.modules.linear.Linear: (1, ["weight", "bias"], default_matching),
    torch.nn.modules.conv.Conv2d: (1, _CONVOLUTION, default_matching),
    torch.nn.modules.batchnorm.BatchNorm2d: (2, _NORM, default_matching),
    torch.nn.modules.pooling.AdaptiveAvgPool2d: (1, [], default_matching),
    torch.nn.modules.pooling.MaxPool2d: (1, ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"], default_matching),
    torch.nn.modules.activation.ReLU: (1, ["inplace"], default_matching),
}


def extract_attrs_for_lowering(mod):
    """The class's name and the attributes of a module that are in the book."""
    found = {"name": torch.typename(mod).replace("kindling.", "torch.")}
    if type(mod) not in module_fetch_book:
        return found
    version, names, matching = module_fetch_book[type(mod)]
    if mod._version < version:
        raise RuntimeError(f"Fetcher version {version} try to fetch {torch.typename(mod)} version {mod._version}, please upgrade the module_fetch_book, "
                           "open an issue and @842974287 or report a bug to AIACC team directly.")
    for name in names:
        found[name] = getattr(mod, matching(name, mod._version))
    return found


def lift_lowering_attrs_to_nodes(fx_module):
    """Writes them on the nodes that call modules."""
    submodules = dict(fx_module.named_modules())
    for node in fx_module.graph.nodes:
        if node.op == "call_module":
            if isinstance(submodules[node.target], torch.fx.GraphModule):
                lift_lowering_attrs_to_nodes(submodules[node.target])
            else:
                node.attrs_for_lowering = extract_attrs_for_lowering(submodules[node.target])
