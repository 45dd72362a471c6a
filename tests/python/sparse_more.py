"""Programs about sparse tensors by subject, made of templates: products, gradients, optimisers, what stores tensors."""
import re

OPERANDS = {
    "S": "torch.tensor([[0,1.,2],[3,0,0],[0,0,4],[5,0,6]]).to_sparse()",
    "U": "torch.sparse_coo_tensor([[1,0,1,1],[1,2,1,0]],[1.,2,3,4],(4,3))",
    "R": "torch.tensor([[0,1.,2],[3,0,0],[0,0,4],[5,0,6]]).to_sparse_csr()",
    "Q": "torch.tensor([[0,1.,2],[3,0,0],[0,0,4],[5,0,6]]).to_sparse_csc()",
    "D": "torch.arange(6.).reshape(3,2)", "E": "torch.arange(8.).reshape(2,4)", "X": "torch.arange(12.).reshape(4,3)",
    "T": "torch.tensor([[0,1.],[3,0],[0,4]]).to_sparse()", "V": "torch.tensor([[0,1.],[3,0],[0,4]]).to_sparse_csr()",
    "v": "torch.arange(3.)", "k": "torch.tensor(2.)", "M": "torch.ones(4,2)", "P": "torch.ones(4,2).to_sparse()", "W": "torch.ones(4,2).to_sparse_csr()",
    "O": "torch.arange(16.).reshape(4,4).to_sparse_bsr((2,2))", "I": "torch.tensor([[0,1,2],[3,0,0]]).to_sparse()",
    "B": "torch.tensor([[[0,1.,2],[3,0,0]],[[0,0,4],[5,0,6]]]).to_sparse()", "b": "torch.arange(12.).reshape(2,3,2)",
    "G": "torch.tensor([[0,1.,2],[3,0,0]]).to_sparse(1)",
}


def program(expression):
    names = [name for name in OPERANDS if re.search(rf"\b{name}\b", expression)]
    return "\n".join([*[f"{name} = {OPERANDS[name]}" for name in names], expression])


def each(text, *lists):
    """Every line with `1`, `2`, ... in braces replaced by the members of lists of letters."""
    lines = text.strip().splitlines()
    for place, letters in enumerate(lists, 1):
        lines = [line.replace(f"{{{place}}}", letter) for line in lines for letter in letters]
    return list(dict.fromkeys(lines))


PRODUCTS = [program(line) for line in [
    *each("""
torch.mm({1},{2})
{1} @ {2}
torch.sparse.mm({1},{2})
torch.matmul({1},{2})
torch.mv({1},{2})
torch.smm({1},{2})
torch.spmm({1},{2})
torch.hspmm({1},{2})
""", "SURQXG", "DTVv"),
    *each("""
torch.addmm({3},{1},{2})
torch.addmm({3},{1},{2},beta=2,alpha=3)
torch.sparse.addmm({3},{1},{2},beta=0.5,alpha=2)
torch.sspaddmm({3},{1},{2})
{3}.addmm_({1},{2})
""", "SURQX", "DTV", "MPW"),
    *each("""
torch.mm(E,{1})
E@{1}
torch.sparse.mm(E,{1})
torch.addmv(torch.ones(4),{1},v)
F.linear(v.unsqueeze(0),{1})
F.linear(torch.ones(5,3),{1},torch.ones(4))
torch.mm({1},D,out=torch.empty(4,2))
torch.sparse.sampled_addmm({1},torch.ones(4,2),torch.arange(6.).reshape(2,3))
torch.sparse.sampled_addmm({1},torch.ones(4,2),torch.arange(6.).reshape(2,3),beta=2,alpha=.5)
torch.sparse.mm({1},D,'sum')
torch.sparse.mm({1},D,'mean')
torch.sparse.mm({1},D,'amax')
torch.sparse.mm({1},D,'amin')
torch.sparse.mm({1},D,'prod')
torch.sparse.spsolve({1},v)
""", "SURQX"),
    *each("""
torch.bmm(B,b)
B@b
torch.mm(I,D)
torch.mm(I,D.long())
torch.mm(O,torch.ones(4,2))
torch.mm(O,O)
torch.mm(S.double(),D.double())
torch.mm(S.to(torch.complex64),D.to(torch.complex64))
torch.mm(S,D.double())
torch.mm(S,torch.ones(2,2))
torch.mm(S,torch.empty(3,0))
torch.mm(torch.sparse_coo_tensor((4,3)),D)
torch.sparse.mm(torch.sparse_coo_tensor((4,3)),T)
torch.sparse.mm(S.t(),S)
torch.mm(R.t(),M)
S.t()@M
torch.sparse.sampled_addmm(torch.ones(2,3,3).to_sparse_csr(),torch.ones(2,3,2),torch.ones(2,2,3))
torch.sparse.spdiags(torch.arange(9).reshape(3,3),torch.tensor([0,-1,-2]),(3,3))
torch.sparse.spdiags(torch.arange(9).reshape(3,3),torch.tensor([0,-1,-2]),(3,3),layout=torch.sparse_csr)
torch.sparse.spdiags(torch.tensor([[1,2],[3,4]]),torch.tensor([0,-1]),(5,5))
torch.sparse.spdiags(torch.tensor([[1,2,3],[1,2,3],[1,2,3]]),torch.tensor([0,1,2]),(5,5))
torch.sparse.spdiags(torch.ones(3),torch.tensor(1),(3,4))
torch.sparse.spdiags(torch.ones(2,3),torch.tensor([0,0]),(3,4))
torch.sparse.spdiags(torch.ones(2,3),torch.tensor([0]),(3,4))
torch.sparse.spdiags(torch.ones(1,3),torch.tensor([0]),(3,4),layout=torch.sparse_bsr)
torch.sparse.spdiags(torch.ones(1,3),torch.tensor([0]),(3,4,5))
""")]]


def gradients(expression):
    """The gradients of all operands that are named, by way of a sum."""
    leaves = [name for name in OPERANDS if re.search(rf"\b{name}\b", expression)]
    lines = [f"{name} = ({OPERANDS[name]}).requires_grad_()" for name in leaves]
    lines += [f"out = {expression}",
              "(out if out.layout == torch.strided else torch.sparse.sum(out) if out.is_sparse else out.to_dense()).sum().backward()",
              "[" + ", ".join(f"{name}.grad" for name in leaves) + ", type(out.grad_fn).__name__]"]
    return "\n".join(lines)


GRADIENTS = [gradients(line) for line in [
    *each("""
torch.mm({1},D)
torch.sparse.mm({1},D)
{1}@D
torch.addmm(M,{1},D,beta=2,alpha=3)
torch.sparse.addmm(M,{1},D,beta=2,alpha=3)
torch.mv({1},v)
{1}@v
{1}.sum()
torch.sparse.sum({1})
{1}.to_dense()
({1}*2).to_dense()
({1}*X).to_dense()
{1}*X
X*{1}
({1}*k).to_dense()
({1}*{1}).to_dense()
({1}+{1}).to_dense()
X+{1}
{1}.sin().to_dense()
{1}.abs().to_dense()
{1}.relu().to_dense()
{1}.square().to_dense()
({1}**3).to_dense()
(-{1}).to_dense()
({1}/2).to_dense()
{1}.t().to_dense()
{1}.coalesce().values()
{1}.values()
{1}.clone().to_dense()
{1}.to(torch.float64).to_dense()
{1}.tanh().sum()
{1}.norm()
{1}.to_dense(masked_grad=False)
{1}.to_sparse_csr().to_dense()
{1}.to_sparse().to_dense()
{1}.to_sparse_bsr((2,1)).to_dense()
torch.sparse.sum({1},0).to_dense()
torch.sparse.sum({1},1)
torch.sparse.sum({1},[0,1])
(torch.sparse.softmax({1},1).to_dense()*X)
(torch.sparse.softmax({1},0).to_dense()*X)
(torch.sparse.log_softmax({1},1).to_dense()*X)
{1}.permute(1,0).to_dense()
({1}*X.sum(0)).to_dense()
{1}.detach().to_dense()+{1}.to_dense()
{1}.conj().to_dense()
{1}.to_dense()*{1}.to_dense()
""", "SURQ"),
    *each("""
torch.sparse.mm(S,T)
torch.sparse.mm(R,V)
torch.mm(E,R)
torch.sparse.mm(E,S)
torch.bmm(B,b)
F.linear(X,R)
torch.sparse.sampled_addmm(R,M,E[:,:3],beta=2,alpha=.5)
X.to_sparse().to_dense()
X.to_sparse(1).to_dense()
X.to_sparse_csr().to_dense()
X.to_sparse_csc().to_dense()
X.to_sparse_bsr((2,3)).to_dense()
X.sparse_mask(torch.eye(4,3).to_sparse()).to_dense()
X.sparse_mask(torch.eye(4,3).to_sparse_csr()).to_dense()
torch.sparse.mm(X.to_sparse(),torch.ones(3,2))
torch.sparse.sum(X.to_sparse(),1)
X.to_sparse().coalesce().values()
torch.sparse_coo_tensor([[0,1],[1,2]],X[0,:2],(3,3)).to_dense()
torch.sparse_coo_tensor([[0,0],[1,1]],X[0,:2],(3,3)).to_dense()
torch.sparse_csr_tensor([0,1,2],[1,0],X[0,:2],(2,2)).to_dense()
torch.sparse.mm(torch.sparse_coo_tensor([[0,1],[1,2]],X[0,:2],(3,3)),torch.ones(3,2))
torch.sparse.mm(torch.sparse_csr_tensor([0,1,2],[1,0],X[0,:2],(2,2)),torch.ones(2,2))
""")]] + [f"S = ({OPERANDS['S']}).requires_grad_()\n" + line.replace("; ", "\n") for line in """
S.to_dense().sum().backward(); S.sum().backward(); S.grad
S.sum().backward(); S.to_dense().sum().backward(); S.grad
(S.to_dense()+S.to_dense()).sum().backward(); S.grad
(S.to_dense().sum()+S.sum()).backward(); S.grad
torch.autograd.grad(S.to_dense().square().sum(), S, create_graph=True)
torch.autograd.grad(torch.autograd.grad(S.to_dense().pow(3).sum(), S, create_graph=True)[0].to_dense().sum(), S)
torch.autograd.grad(S.to_dense().pow(3).sum(), S, create_graph=True)[0].to_dense().sum().backward(); S.grad
S.mul_(2)
str(S*2)
""".strip().splitlines()]

TABLE = "w = torch.arange(15.).reshape(5,3).requires_grad_()\ni = torch.tensor([1,2,4,1])\n"
LOOKUPS = [TABLE + f"out = {line}\n(out*torch.arange(1.,out.numel()+1).reshape(out.shape)).sum().backward()\nw.grad"
           for line in """
F.embedding(i,w,sparse=True)
F.embedding(i,w,padding_idx=2,sparse=True)
F.embedding(i.reshape(2,2),w,sparse=True)
F.embedding(i[:0],w,sparse=True)
F.embedding(i,w,scale_grad_by_freq=True,sparse=True)
F.embedding(torch.tensor([2,2]),w,padding_idx=2,sparse=True)
F.embedding_bag(i,w,torch.tensor([0,2]),sparse=True)
F.embedding_bag(i,w,torch.tensor([0,2]),sparse=True,mode='sum')
F.embedding_bag(i,w,torch.tensor([0,2]),sparse=True,mode='sum',per_sample_weights=torch.arange(4.))
F.embedding_bag(i,w,torch.tensor([0,2]),sparse=True,mode='sum',padding_idx=2)
torch.gather(w,0,torch.tensor([[0,1,2],[2,2,2]]),sparse_grad=True)
torch.gather(w,1,torch.tensor([[0,1],[2,2]]),sparse_grad=True)
F.embedding(i,w,sparse=True)+F.embedding(i,w,sparse=True)
F.embedding(i,w,sparse=True).sum()+w.sum()
w.sum()+F.embedding(i,w,sparse=True).sum()
""".strip().splitlines()] + [TABLE + line.replace("; ", "\n") for line in """
F.embedding(i,w,sparse=True).sum().backward(); F.embedding(i[:2],w).sum().backward(); w.grad
F.embedding(i,w).sum().backward(); F.embedding(i[:2],w,sparse=True).sum().backward(); w.grad
F.embedding(i,w,sparse=True).sum().backward(); F.embedding(i[:2],w,sparse=True).square().sum().backward(); w.grad
""".strip().splitlines()]

OPTIMISERS = []
for optimiser in """
SGD([w],lr=.1)
SGD([w],lr=.1,momentum=.9)
SGD([w],lr=.1,momentum=.9,nesterov=True)
SGD([w],lr=.1,weight_decay=.1)
SGD([w],lr=.1,maximize=True)
SGD([w],lr=.1,foreach=True)
Adagrad([w],lr=.1)
Adagrad([w],lr=.1,weight_decay=.1)
Adagrad([w],lr=.1,lr_decay=.1)
Adagrad([w],lr=.1,maximize=True)
SparseAdam([w],lr=.1)
SparseAdam([w],lr=.1,betas=(.5,.9))
SparseAdam([w],lr=.1,maximize=True)
Adam([w],lr=.1)
AdamW([w],lr=.1)
RMSprop([w])
""".strip().splitlines():
    for keep in ("", "set_to_none=False"):
        OPTIMISERS.append(f"w = torch.arange(15.).reshape(5,3).requires_grad_()\no = torch.optim.{optimiser}\nfor k in range(3):\n"
                          f"    o.zero_grad({keep})\n    i = torch.tensor([1,2,4,1,k])\n"
                          "    F.embedding(i,w,sparse=True).sin().sum().backward()\n    o.step()\n[w, w.grad]")

KINDS = ["torch.eye(3).to_sparse()", "torch.eye(3).to_sparse_csr()", "torch.eye(3).to_sparse_csc()", "torch.eye(4).to_sparse_bsr((2,2))",
         "torch.eye(4).to_sparse_bsc((2,2))", "torch.sparse_coo_tensor([[1,1],[0,0]],[1.,2],(2,2))",
         "torch.sparse_coo_tensor([[1,1]],[[1.,2],[3,4]],(2,2),requires_grad=True)"]
STORED = [f"x = {kind}\n" + line.replace("; ", "\n") for kind in KINDS for line in """
import copy; copy.deepcopy(x)
import pickle; pickle.loads(pickle.dumps(x))
import io; b = io.BytesIO(); torch.save({'a': x, 'b': [torch.ones(2)]}, b); b.seek(0); torch.load(b)['a']
x.detach()
x.data
x.requires_grad_().is_leaf
x._version
x.dtype, x.device, x.ndim, x.shape, x.element_size(), x.size(0), x.layout, x.is_sparse
y = x.detach(); y.mul_(2); x
str(torch.nn.Parameter(x))
m = torch.nn.Module(); m.register_buffer('x', x.detach()); m.load_state_dict({'x': 2*x.detach()}); m.double().x
torch.testing.assert_close(x, x)
torch.testing.assert_close(x, x*2)
torch.autograd.gradcheck(lambda x: x.to_dense(), x.double().detach().requires_grad_(), masked=True)
torch.autograd.gradcheck(lambda x: x.to_dense(masked_grad=False), x.double().detach().requires_grad_(), masked=False)
g = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck); g(lambda x: x*2, x.double().detach().requires_grad_(), masked=True)
x.share_memory_()
x.to(torch.float32) is x
isinstance(x, torch.FloatTensor)
torch.result_type(x, 1.0)
""".strip().splitlines()]

SUBJECTS = {"products": PRODUCTS, "gradients": GRADIENTS, "lookups": LOOKUPS, "optimisers": OPTIMISERS, "stored": STORED}
