"""Layers, functions, initialisers and helpers side by side with torch: same draws, same texts, same errors."""
import pytest
import torch as reference
from nn_cases import check

import kindling

pytestmark = pytest.mark.kernels

LAYERS = """
Linear(3, 4) Linear(3, 4, bias=False) Bilinear(2, 3, 4) Identity(3, a=4) Conv1d(2, 4, 3) Conv2d(4, 6, (2, 3), groups=2)
Conv2d(3, 4, (2, 5), padding='same', padding_mode='reflect') Conv3d(1, 2, 2, bias=False) ConvTranspose1d(2, 3, 2)
ConvTranspose2d(3, 4, 2, 2, 1, 1, dilation=2) ConvTranspose3d(1, 2, 2) BatchNorm1d(3) BatchNorm2d(3, affine=False)
BatchNorm3d(3, track_running_stats=False) BatchNorm1d(3, bias=False) InstanceNorm1d(3) InstanceNorm2d(3, affine=True)
LayerNorm(3) LayerNorm((2, 3), bias=False) GroupNorm(2, 4) RMSNorm(3) LocalResponseNorm(2) CrossMapLRN2d(2)
Embedding(5, 3)
Embedding(5, 3, -1, 1., 3., True, True) EmbeddingBag(5, 3, mode='sum', padding_idx=1) Dropout(0.2, True) Dropout2d()
AlphaDropout() MaxPool1d(2) MaxPool2d((2,3),1,1) AvgPool1d(2) AvgPool2d(2) MaxUnpool2d(2) LPPool2d(2,2)
FractionalMaxPool2d(2,1) AdaptiveAvgPool2d((2,None)) AdaptiveMaxPool1d(2) ZeroPad2d(1) ConstantPad1d(1,0.5)
ReflectionPad2d((1,2,3,4)) ReplicationPad3d(1) CircularPad2d(1) RNN(3,4) RNN(3,4,1,'relu',bidirectional=True)
LSTM(3,4,2,batch_first=True,dropout=.5) LSTM(3,4,proj_size=2) GRU(3,4,bias=False) RNNCell(3,4,nonlinearity='relu')
LSTMCell(3,4) GRUCell(3,4,False) MultiheadAttention(4,2) MultiheadAttention(4,2,kdim=3,vdim=5,add_bias_kv=True)
TransformerEncoderLayer(4,2,8) Transformer(4,2,1,1,8) AdaptiveLogSoftmaxWithLoss(4,10,[2,5]) PReLU(3) GELU('tanh')
Softmax(1)
Hardtanh(-2,2) Threshold(1,2,True) RReLU() Flatten() Unflatten(1,(2,3)) Upsample(scale_factor=2) UpsamplingBilinear2d(4)
PixelShuffle(2) ChannelShuffle(2) Fold(2,2) Unfold(2) PairwiseDistance() CrossEntropyLoss() HuberLoss() LazyLinear(3)
LazyConv2d(3,2) LazyBatchNorm1d() LinearCrossEntropyLoss(3,5,out_features=(2,)) SyncBatchNorm(3)
""".split("\n")

CASES = {
    "constructor errors": "\n".join(f"show(lambda: nn.{call})" for call in """
Conv2d(3,4,2,2,padding='same')|Conv2d(4,3,2,groups=2)|Conv2d(3,4,2,groups=2)|Conv2d(4,4,2,groups=0)
ConvTranspose2d(3,4,2,padding_mode='reflect')|GroupNorm(2,3)|Dropout(2)|Embedding(3,4,5)
Embedding(3,4,_weight=torch.ones(2,2))
EmbeddingBag(3,4,padding_idx=9)|FractionalMaxPool2d(2)|FractionalMaxPool2d(2,1,.5)|FractionalMaxPool2d(2,None,2)
RNN(3,0)
RNN(3,4,0)|RNN(3,'a')|RNN(3,4,dropout=2)|RNN(3,4,bias=3)|RNN(3,4,batch_first=1)|RNN(3,4,nonlinearity='foo')
GRU(3,4,proj_size=2)
LSTM(3,4,proj_size=4)|LSTM(3,4,proj_size=-1)|RNNBase('foo',3,4)|MultiheadAttention(4,3)|MultiheadAttention(0,1)
Hardtanh(1,-1)
AdaptiveLogSoftmaxWithLoss(4,10,[])|AdaptiveLogSoftmaxWithLoss(4,10,[3,2])|AdaptiveLogSoftmaxWithLoss(4,10,[10])
Unflatten(1,3)
Unflatten(1,(2,'a'))|MultiMarginLoss(3)|TripletMarginLoss(-1)|HuberLoss(delta='a')
TransformerEncoderLayer(4,2,8,activation='foo')
Bilinear(0,1,2)|LinearCrossEntropyLoss(3,2,weight=torch.ones(3))|LinearCrossEntropyOptions(acc_policy='foo')
""".strip().replace("\n", "|").split("|")),
    "call errors": """
r = torch.ones
A = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2, 5]); M = nn.MultiheadAttention(4, 2)
for call in (lambda: nn.BatchNorm1d(3)(r(1, 3)), lambda: nn.BatchNorm1d(3)(r(2, 3, 4, 5)),
             lambda: nn.BatchNorm2d(3)(r(2, 3)),
             lambda: nn.BatchNorm1d(3, eps=0.)(r(2, 3)), lambda: nn.InstanceNorm1d(3, affine=True)(r(2, 4, 5)),
             lambda: nn.InstanceNorm1d(3)(r(2, 3, 1)), lambda: nn.CircularPad2d(1)(r(2, 3)),
             lambda: nn.Softmax2d()(r(2, 2)),
             lambda: nn.ConvTranspose2d(3, 4, 2)(r(1, 3, 4, 4), output_size=(9, 9)),
             lambda: nn.LazyConv2d(3, 2)(r(2, 2)),
             lambda: nn.Linear(2, 3).load_state_dict(nn.LazyLinear(3).state_dict()), lambda: nn.Dropout1d()(r(2)),
             lambda: A(r(3, 4), torch.zeros(2).long()), lambda: A(r(3, 4), torch.tensor([1, 2, 11])),
             lambda: A(r(3, 4), torch.zeros(3, 3).long()), lambda: nn.GaussianNLLLoss()(r(2, 3), r(2, 3), r(5)),
             lambda: M(r(2, 4), r(2, 4), r(2, 3, 4)), lambda: M(r(2, 1, 4), r(3, 1, 4), r(3, 1, 4), is_causal=True),
             lambda: M(r(2, 1, 4), r(3, 1, 4), r(3, 1, 4), attn_mask=r(3, 3)), lambda: M(r(4), r(4), r(4)),
             lambda: M(r(2, 1, 4), r(3, 1, 4), r(3, 1, 4), key_padding_mask=r(3, 3)),
             lambda: M(r(2, 1, 5), r(3, 1, 5), r(3, 1, 5)),
             lambda: nn.Transformer(4, 2, 1, 1, 8)(r(2, 3, 4), r(2, 2, 4)), lambda: nn.RNNCell(3, 4)(r(2, 3), r(3, 4)),
             lambda: nn.LSTMCell(3, 4)(r(3, 3, 3)), lambda: nn.GRUCell(3, 4)(r(3, 2))):
    show(call)
for R in (nn.RNN(3, 4), nn.LSTM(3, 4), nn.GRU(3, 4)):
    for call in (lambda: R(r(3)), lambda: R(r(2, 2, 2)), lambda: R(r(2, 3).long()),
                 lambda: R(r(2, 3, 3), (r(1, 1, 1), r(1, 3, 4)))):
        show(call)
    if R.mode != 'LSTM': show(lambda: R(r(2, 3, 3), r(1, 1, 1))); show(lambda: R(r(2, 3), r(1, 1, 1)))""",
    "function errors": """
x, x3, x4, x5 = torch.zeros(2, 3), torch.zeros(2, 3, 4), torch.zeros(1, 2, 4, 4), torch.zeros(1, 2, 4, 4, 4)
bag, w = torch.zeros(2, 2).long(), torch.zeros(4, 3)
for call in (lambda: F.dropout(x, 1.5), lambda: F.glu(torch.tensor(1.)), lambda: F.hardtanh(x, 1, -1),
             lambda: F.embedding(x.long(), x, padding_idx=5), lambda: F.embedding_bag(bag[0], w),
             lambda: F.embedding_bag(bag, w, bag[0]),
             lambda: F.embedding_bag(bag[None], w), lambda: F.embedding_bag(bag, w, mode='foo'),
             lambda: F.embedding_bag(bag, w, mode='max', sparse=True),
             lambda: F.embedding_bag(bag, w, per_sample_weights=w[:2, :2]),
             lambda: F.batch_norm(x[:1], None, None, training=True), lambda: F.instance_norm(x),
             lambda: F.group_norm(x[0], 2),
             lambda: F.local_response_norm(x, 2), lambda: F.mse_loss(x, x, reduction='foo'),
             lambda: F.mse_loss(x, x, weight=x[:1]),
             lambda: F.binary_cross_entropy(x, x[:1]), lambda: F.binary_cross_entropy_with_logits(x, x[:1]),
             lambda: F.gaussian_nll_loss(x, x, x - 1), lambda: F.poisson_nll_loss(x, x, reduction='foo'),
             lambda: F.margin_ranking_loss(x, x, x[0]), lambda: F.multi_margin_loss(x, bag[0], p=3),
             lambda: F.triplet_margin_with_distance_loss(x, x, x[0]), lambda: F.triplet_margin_loss(x, x, x, margin=-1),
             lambda: F.interpolate(x4), lambda: F.interpolate(x4, size=2, scale_factor=2),
             lambda: F.interpolate(x4, size=(2,)),
             lambda: F.interpolate(x4, scale_factor=(2,)), lambda: F.interpolate(x4, size=2, align_corners=True),
             lambda: F.interpolate(x4, size=2, mode='linear'), lambda: F.interpolate(x3, size=2, mode='bilinear'),
             lambda: F.interpolate(x4, size=2, mode='foo'), lambda: F.interpolate(x, size=2),
             lambda: F.interpolate(x4, size=(2, 2.5)),
             lambda: F.interpolate(x4, size=2, antialias=True),
             lambda: F.interpolate(x4, size=2, recompute_scale_factor=True),
             lambda: F.grid_sample(x4, x4[..., :2], mode='foo'),
             lambda: F.affine_grid(torch.zeros(1, 2, 4), (1, 1, 2, 2)),
             lambda: F.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2)),
             lambda: F.max_unpool2d(x4, x4.long(), 2, output_size=(3, 3)),
             lambda: F.fractional_max_pool2d(x4, 2), lambda: F.linear_cross_entropy(x, w[:, :2], bag[0]),
             lambda: F.nothing):
    show(call)""",
    "mistakes that everyone makes": """
def floats(*shape): return torch.zeros(shape)
for loss in (F.cross_entropy, F.nll_loss):
    for shape, target in (((2, 3), floats(2)), ((2, 3), floats(2, 4)), ((2, 3), floats(3, 3)), ((2, 3), floats(2, 1).long()), ((2, 3), floats(2, 3).long()),
                          ((2, 3), floats().long()), ((3,), floats(2).long()), ((3,), floats(1).long()), ((3,), floats(2)), ((2, 3, 4), floats(2, 3).long()),
                          ((2, 3, 4), floats(2, 4)), ((2, 3, 4, 4), floats(2, 5, 4).long()), ((2, 3, 4, 4), floats(2, 1, 4, 4).long()),
                          ((2, 3), floats(2).int()), ((2, 3), floats(2).bool()), ((2, 3, 4), floats(2, 3, 4).long())):
        show(lambda: loss(floats(*shape), target)); show(lambda: loss(floats(*shape), target, reduction='none').shape)
for call in (lambda: F.linear(floats(2, 3).long(), floats(4, 3), floats(4)), lambda: F.linear(floats(2, 3).double(), floats(4, 3), floats(4)),
             lambda: F.conv2d(floats(1, 3, 4, 4), floats(4, 3, 9, 2)), lambda: F.conv1d(floats(1, 3, 4), floats(4, 3, 3), dilation=2),
             lambda: F.conv3d(floats(1, 1, 2, 2, 2), floats(1, 1, 3, 3, 3)), lambda: F.max_pool2d(floats(1, 3, 2, 4), 3),
             lambda: F.avg_pool1d(floats(1, 3, 2), 3), lambda: F.max_pool2d(floats(3, 4, 2), 3),
             lambda: F.binary_cross_entropy_with_logits(floats(2), floats(2).long()),
             lambda: F.binary_cross_entropy_with_logits(floats(2), floats(2).long(), pos_weight=floats(1))):
    show(call)""",
    "functions": """
x, y = torch.randn(4, 3), torch.randn(4, 3); w = torch.rand(4, 3); target = torch.tensor([0, 1, 2, 0])
for value in (F.mse_loss(x, y, weight=w), F.huber_loss(x, y, weight=w), F.l1_loss(x, y, weight=w, reduction='sum'),
              F.smooth_l1_loss(x, y, beta=0.), F.kl_div(x, w, reduction='batchmean'), F.softmin(x, 1),
              F.normalize(x, dim=0),
              F.gumbel_softmax(x, hard=True).sum(1), F.linear_cross_entropy(x, y, target), F.tanhshrink(x),
              F.softsign(x),
              F.triplet_margin_with_distance_loss(x, y, w, swap=True), F.multilabel_soft_margin_loss(x, w),
              F.glu(x[:, :2]),
              F.gaussian_nll_loss(x, y, w, full=True), F.cross_entropy(x, target, label_smoothing=.1, reduction='none'),
              F.interpolate(x[None], scale_factor=1.5), F.local_response_norm(x[None], 2), F.lp_pool1d(w[None], 2, 2),
              F.max_pool1d(x[None], 2, return_indices=True),
              F.max_unpool1d(*F.max_pool1d(x[None], 2, return_indices=True), 2),
              F.embedding_bag(target[None], w, mode='sum'), F.embedding(target, w.clone(), max_norm=.5),
              F.softmax(x, dtype=torch.double)):
    show(value)""",
    "initialisers": """
I = nn.init
for name, args in (('uniform_', ()), ('normal_', ()), ('trunc_normal_', ()), ('trunc_normal_', (0., .02, -.04, .04)),
                   ('trunc_normal_', (0, 1, -.1, .1)), ('trunc_normal_', (1, 2, 4, 5)), ('constant_', (3,)),
                   ('ones_', ()),
                   ('eye_', ()), ('zeros_', ()), ('xavier_uniform_', (2.,)), ('xavier_normal_', ()), ('sparse_', (.3,)),
                   ('kaiming_uniform_', (1., 'fan_out', 'relu')), ('kaiming_normal_', ()), ('orthogonal_', (2.,))):
    for shape in ((3, 5), (5, 3)):
        torch.manual_seed(1); show(getattr(I, name)(torch.zeros(*shape), *args)); show(torch.rand(1))
for call in (lambda: I.dirac_(torch.zeros(4, 2, 3), 2), lambda: I.dirac_(torch.zeros(3, 2, 3), 2),
             lambda: I.dirac_(torch.zeros(3)), lambda: I.trunc_normal_(torch.zeros(3, device='meta')).shape,
             lambda: I.eye_(torch.zeros(3)), lambda: I.sparse_(torch.zeros(3), .1),
             lambda: I.xavier_uniform_(torch.zeros(3)),
             lambda: I.kaiming_uniform_(torch.zeros(3, 3), mode='foo'), lambda: I.kaiming_uniform_(torch.zeros(0, 3)),
             lambda: I.orthogonal_(torch.zeros(3)), lambda: I.calculate_gain('foo'),
             lambda: I.calculate_gain('leaky_relu', 'a'),
             lambda: [I.calculate_gain(n) for n in ('linear', 'conv3d', 'tanh', 'relu', 'leaky_relu', 'selu')],
             lambda: I.normal_(torch.zeros(3), generator=torch.Generator().manual_seed(5))):
    show(call)""",
    "packed sequences": """
R = nn.utils.rnn; a, b, c = torch.randn(3, 2), torch.randn(2, 2), torch.randn(4, 2)
show(R.pad_sequence([a, b], True, 9., 'left')); show(lambda: R.pad_sequence(3))
show(lambda: R.pad_sequence([a], padding_side='x'))
show(lambda: R.pack_sequence([b, a])); p = R.pack_sequence([b, a, c], enforce_sorted=False); show(list(p))
show(p._fields)
show(R.pad_packed_sequence(p, True, 7., 6)); show(lambda: R.pad_packed_sequence(p, total_length=2))
show(R.unpack_sequence(p))
show(lambda: R.pack_padded_sequence(torch.zeros(3, 2, 1), [1, 0])); show(lambda: R.PackedSequence(a))
show(list(p.double()))
show(p.cpu() is p); show(R.invert_permutation(torch.tensor([2, 0, 1])))
for layer in (nn.LSTM(2, 3), nn.GRU(2, 3, 2, bidirectional=True), nn.RNN(2, 3), nn.LSTM(2, 3, proj_size=1)):
    output, state = layer(p); show(list(output)); show(state); show(layer(p, state)[0].data)""",
    "clipping": """
def grads():
    torch.manual_seed(2); ps = [nn.Parameter(torch.randn(2, 3)), nn.Parameter(torch.randn(4)),
        nn.Parameter(torch.ones(1))]
    for p in ps[:2]: p.grad = torch.randn(p.shape)
    return ps
U = nn.utils
for args in ((1.,), (.5, float('inf')), (.5, 1), (9.,), (1., 0)):
    for foreach in (None, False, True):
        ps = grads(); show(U.clip_grad_norm_(ps, *args, foreach=foreach)); show([p.grad for p in ps[:2]])
ps = grads(); U.clip_grad_value_(ps, .1); show([p.grad for p in ps[:2]]); show(U.clip_grad_norm_([], 1.))
ps[0].grad[0, 0] = float('nan'); show(lambda: U.clip_grad_norm_(ps, 1., error_if_nonfinite=True))
show(U.parameters_to_vector(ps)); U.vector_to_parameters(torch.arange(11.), ps); show(ps)
show(lambda: U.vector_to_parameters(3, ps))""",
    "parametrisations": """
P, U = nn.utils.parametrize, nn.utils.parametrizations
class Symmetric(nn.Module):
    def forward(self, X): return X.triu() + X.triu(1).mT
    def right_inverse(self, A): return A.triu()
class Double(nn.Module):
    def forward(self, X): return X.double()
class Twice(nn.Module):
    def forward(self, X): return X * 2
m = nn.Linear(3, 3); P.register_parametrization(m, 'weight', Symmetric())
show([m, m.weight, list(m.state_dict()), P.is_parametrized(m)])
m.weight = torch.eye(3); show([m.weight, m.parametrizations.weight.original])
P.register_parametrization(m, 'weight', Twice())
show(lambda: setattr(m, 'weight', torch.eye(3))); show(copy.deepcopy(m).weight); show(lambda: pickle.dumps(m))
with P.cached(): show(m.weight is m.weight)
P.remove_parametrizations(m, 'weight', False); show([m, m.weight]); show(lambda: P.remove_parametrizations(m, 'weight'))
show(lambda: P.register_parametrization(m, 'weight', Double()))
show(lambda: P.register_parametrization(m, 'foo', Twice()))
for make in (U.weight_norm, U.spectral_norm, U.orthogonal, lambda m: U.orthogonal(m, orthogonal_map='cayley')):
    torch.manual_seed(3); m = make(nn.Linear(3, 4)); show([m.weight, list(m.state_dict())])
show(lambda: U.orthogonal(nn.Linear(3, 3), 'bias')); show(lambda: U.spectral_norm(nn.Linear(3, 3), dim=5))
torch.manual_seed(4); m = nn.utils.weight_norm(nn.Linear(3, 4)); show([list(m.state_dict()), m(torch.ones(1, 3))])
show(lambda: nn.utils.weight_norm(m)); nn.utils.remove_weight_norm(m); show(list(m.state_dict()))
m = nn.utils.spectral_norm(nn.Linear(3, 4)); show([list(m.state_dict()), m(torch.ones(1, 3)), m.state_dict()._metadata])
other = nn.utils.spectral_norm(nn.Linear(3, 4)); other.load_state_dict(m.state_dict())
show(other.eval()(torch.ones(1, 3)))
nn.utils.remove_spectral_norm(m); show(list(m.state_dict())); show(lambda: nn.utils.remove_spectral_norm(m))""",
    "fusion and functional_call": """
conv, bn = nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4); bn(torch.randn(2, 4, 3, 3)); conv.eval(), bn.eval()
x = torch.randn(1, 3, 4, 4)
show(torch.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-5))
show(lambda: nn.utils.fuse_conv_bn_eval(nn.Conv2d(3, 4, 2), bn))
call = nn.utils.stateless.functional_call; m = nn.Linear(2, 2); w = {'weight': torch.ones(2, 2)}; one = torch.ones(1, 2)
for use in (lambda: call(m, w, one), lambda: call(m, w, one, strict=True),
            lambda: call(m, {'a': w['weight'], **w}, one, strict=True),
            lambda: call(m, {'q.weight': one}, one), lambda: call(m, {'weight': 3}, one), lambda: m.weight):
    show(use)
show(lambda: nn.utils.skip_init(nn.Linear, 2, 3).weight.shape[0]); show(lambda: nn.utils.skip_init(nn.ReLU))
show(nn.utils.convert_conv2d_weight_memory_format(conv, torch.channels_last).weight.stride())""",
}


@pytest.mark.parametrize("line", [line for line in LAYERS if line], ids=lambda line: line.split("(")[0])
def test_layers_draw_and_print_as_torch(line):
    """Same parameters from the same seed, the stream left at the same place, same text."""
    calls = line.replace(") ", ")|").split("|")
    check(reference, "\n".join(f"m = nn.{call}; show([str(m), torch.rand(1)])\n"
                               "if 'Lazy' not in str(m): show(dict(m.state_dict()))" for call in calls))


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name):
    check(reference, CASES[name])


def test_functions_give_way_to_torch_function():
    seen = []

    class Watching(kindling.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function)
            return "mine"

    functional, x = kindling.nn.functional, kindling.ones(2, 3).as_subclass(Watching)
    calls = {"relu": (x,), "softmax": (x,), "dropout": (x,), "mse_loss": (x, x), "cross_entropy": (x, x),
             "pad": (x, (1, 1)),
             "layer_norm": (x, (3,)), "embedding": (x, x), "max_pool1d": (x, 2), "interpolate": (x,)}
    for name, args in calls.items():
        assert getattr(functional, name)(*args) == "mine"
        assert seen[-1] is getattr(functional, name)
    assert kindling.nn.init.uniform_(x) == "mine" and seen[-1] is kindling.nn.init.uniform_


@pytest.mark.parametrize("shape, target", [((2, 3, 4), (2, 4)), ((2, 3, 4, 5), (2, 4, 5)), ((0, 3, 4), (0, 4)), ((2, 3, 2, 2, 2), (2, 2, 2, 2))])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "none", "sum"])
def test_cross_entropy_of_images_has_gradients(shape, target, smoothing, reduction):
    found = []
    for torch in (reference, kindling):
        x = torch.linspace(-1, 1, max(1, reference.Size(shape).numel()), dtype=torch.float64)[:reference.Size(shape).numel()].reshape(shape).requires_grad_()
        loss = torch.nn.functional.cross_entropy(x, torch.ones(target, dtype=torch.int64), label_smoothing=smoothing, reduction=reduction)
        grad, = torch.autograd.grad((loss * loss).sum(), x, create_graph=True)
        second, = torch.autograd.grad(grad.sum(), x)
        found.append((grad.tolist(), second.tolist()))
    assert kindling.allclose(kindling.tensor(found[0], dtype=kindling.float64), kindling.tensor(found[1], dtype=kindling.float64), equal_nan=True)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("size", [(9, 9), (17, 16)])
@pytest.mark.parametrize("channels_last", [False, True])
def test_batch_norm_trains_on_large_images(dtype, channels_last, size):
    found = []
    for torch in (reference, kindling):
        x = torch.linspace(-3, 5, 16 * 32 * size[0] * size[1]).sin().reshape(16, 32, *size).to(getattr(torch, dtype))
        if channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        x.requires_grad_()
        weight, bias = (torch.linspace(0.5, last, 32).to(x.dtype).requires_grad_() for last in (2, 3))
        y = torch.nn.functional.batch_norm(x, None, None, weight, bias, True)
        factor = torch.linspace(0, 70, x.numel()).cos().reshape(x.shape)
        grad, *others = torch.autograd.grad((y.float() * factor).sum(), (x, weight, bias))
        found.append((y.stride(), grad.stride(), y.dtype, *(each.float().tolist() for each in (y, grad, *(each / each.abs().max() for each in others)))))
    assert found[0][:2] == found[1][:2] and str(found[0][2]) == str(found[1][2]).replace("kindling", "torch")
    near = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 4e-2}[dtype]
    for theirs, ours in zip(found[0][3:], found[1][3:], strict=True):
        assert kindling.allclose(kindling.tensor(ours), kindling.tensor(theirs), atol=near, rtol=near)


@pytest.mark.parametrize("shape", [(3, 5, 4, 4), (2, 7, 17), (300, 2, 20), (1, 3, 31), (2, 3, 5, 6, 7), (16, 8, 300), (4, 1, 3, 5), (6, 1, 40)])
def test_batch_norm_sums_images_of_all_sizes(shape):
    found = []
    for torch in (reference, kindling):
        count = reference.Size(shape).numel()
        x = torch.linspace(-3, 5, 2 * count).sin().reshape(shape[0], 2 * shape[1], *shape[2:])[:, :shape[1]].contiguous().requires_grad_()
        weight, bias = (torch.linspace(0.5, last, shape[1]).requires_grad_() for last in (2, 3))
        y = torch.nn.functional.batch_norm(x, None, None, weight, bias, True)
        grads = torch.autograd.grad((y * torch.linspace(0, 70, count).cos().reshape(shape)).sum(), (x, weight, bias))
        found.append([each.tolist() for each in grads])
    for theirs, ours in zip(*found, strict=True):
        assert kindling.allclose(kindling.tensor(ours), kindling.tensor(theirs), atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name, options", [("conv1d", {}), ("conv1d", {"stride": 2, "padding": 1}), ("conv2d", {"groups": 2}), ("conv2d", {"padding": "same", "dilation": 2}),
                                           ("conv3d", {}), ("conv_transpose1d", {"stride": 2}), ("conv_transpose2d", {"groups": 2, "output_padding": 1, "stride": 2})])
def test_convolutions_of_complex_numbers_have_gradients(dtype, name, options):
    dims, groups = int(name[-2]), options.get("groups", 1)
    found = []
    for torch in (reference, kindling):
        def numbers(*sizes, torch=torch):
            count = reference.Size(sizes).numel()
            real = torch.linspace(-1, 2, count, dtype=torch.float64)
            return torch.complex(real.sin(), (3 * real).cos()).reshape(sizes).to(getattr(torch, dtype)).requires_grad_()

        weight = (4, 6 // groups) if "transpose" in name else (6, 4 // groups)
        x, w, b = numbers(2, 4, *[5] * dims), numbers(*weight, *[3] * dims), numbers(6)
        y = getattr(torch.nn.functional, name)(x, w, b, **options)
        factor = numbers(*y.shape).detach()
        found.append([torch.view_as_real(t.detach().resolve_conj()).tolist() for t in (y, *torch.autograd.grad((y * factor).real.sum(), (x, w, b)))])
    near = 1e-4 if dtype == "complex64" else 1e-10
    for theirs, ours in zip(*found, strict=True):
        assert kindling.allclose(kindling.tensor(ours, dtype=kindling.float64), kindling.tensor(theirs, dtype=kindling.float64), atol=near, rtol=near)


# Channels of the output, positions: rows of 7 and of 4 and what is no multiple of them, more channels than a register holds and fewer, one image
# (weights packed where they are used) and several, few enough positions to go by phases.
NARROW = [(1, 8, 64, (7, 7), 3, {"padding": 1}), (9, 8, 40, (7, 7), 3, {"padding": 1}), (5, 16, 32, (4, 4), 3, {"padding": 1}),
          (3, 5, 33, (14, 14), 3, {}), (7, 4, 32, (10, 9), (2, 3), {"dilation": 2}), (3, 8, 64, (15, 15), 3, {"stride": 2, "padding": 1}),
          (2, 12, 96, (8, 8), 5, {"padding": 2, "groups": 2}), (40, 16, 32, (8, 8), 3, {"padding": 1}), (600, 8, 32, (4, 4), 3, {"padding": 1})]  # fmt: skip


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("case", NARROW, ids=str)
def test_convolutions_of_narrow_images(case, transposed):
    batch, channels, outputs, size, kernel, options = case
    height, width = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    groups = options.get("groups", 1)
    kindling.manual_seed(3)
    if transposed:
        channels, outputs = max(outputs, 64), max(channels, 32)
        options = {"stride": 2, "padding": 1, "groups": groups}
        weight = kindling.randn(channels, outputs // groups, 4, 4)
        function = kindling.nn.functional.conv_transpose2d
    else:
        weight = kindling.randn(outputs, channels // groups, height, width)
        function = kindling.nn.functional.conv2d
    x = kindling.randn(batch, channels, *size)
    bias = kindling.randn(outputs)
    slopes = kindling.randn(function(x, weight, bias, **options).shape)
    results = []
    for dtype in (kindling.float32, kindling.float64):
        inputs = [each.to(dtype).requires_grad_() for each in (x, weight, bias)]
        out = function(*inputs, **options)
        results.append([out, *kindling.autograd.grad(out, inputs, slopes.to(dtype))])
    for got, want in zip(*results, strict=True):
        assert ((got - want).abs().max() / want.abs().max()).item() < 3e-6
    if batch > 1:  # an image does not depend on those beside it
        alone = function(x[-1:], weight, bias, **options)
        whole = function(x, weight, bias, **options)[-1:]
        assert ((alone - whole).abs().max() / whole.abs().max()).item() < 3e-6
