"""Python numbers and None where tensors, integers, sizes and flags belong: taken, refused and converted as by PyTorch."""
import sys
import warnings
from pathlib import Path

import pytest
import torch

import kindling

sys.path.append(str(Path(__file__).parents[1] / "fuzz"))
import overloads  # noqa: E402

INTEGERS = """
torch.tensor(B)
torch.tensor([B,1])
torch.tensor([1,B])
torch.tensor([B-1,1])
torch.tensor(2*B)
torch.tensor(-B)
torch.tensor(-B-1)
torch.tensor([-B-1])
torch.tensor([1.5,B])
torch.tensor([1.5,2*B])
torch.tensor([1.5,10**30])
torch.tensor([1j,B])
torch.tensor([True,B])
torch.tensor(B,dtype=torch.uint64)
torch.tensor(2*B-1,dtype=torch.uint64)
torch.tensor(2*B,dtype=torch.uint64)
torch.tensor(-1,dtype=torch.uint64)
torch.tensor([-1],dtype=torch.uint64)
torch.tensor(B,dtype=torch.float32)
torch.tensor(2*B,dtype=torch.float32)
torch.tensor([2*B],dtype=torch.float64)
torch.tensor([10**30],dtype=torch.float64)
torch.tensor(B,dtype=torch.int64)
torch.tensor([B],dtype=torch.int64)
torch.tensor(B,dtype=torch.int32)
torch.tensor(300,dtype=torch.uint8)
torch.tensor([300],dtype=torch.uint8)
torch.tensor(-1,dtype=torch.uint8)
torch.tensor([-1],dtype=torch.uint8)
torch.tensor(-1,dtype=torch.uint32)
torch.tensor(2**32,dtype=torch.uint32)
torch.tensor(2**31,dtype=torch.int32)
torch.tensor([2**31],dtype=torch.int32)
torch.tensor(200,dtype=torch.int8)
torch.tensor(70000,dtype=torch.uint16)
torch.tensor(B,dtype=torch.bool)
torch.tensor(2*B,dtype=torch.bool)
torch.tensor(B,dtype=torch.complex64)
torch.tensor(2*B,dtype=torch.complex64)
torch.tensor(1e30,dtype=torch.int64)
torch.tensor([1e30],dtype=torch.int64)
torch.tensor(float('nan'),dtype=torch.int64)
torch.tensor(float('inf'),dtype=torch.int32)
torch.tensor(1.5,dtype=torch.int32)
torch.tensor(1j,dtype=torch.float32)
torch.tensor(1e300,dtype=torch.float32)
torch.tensor(1e10,dtype=torch.float16)
torch.as_tensor(B)
torch.as_tensor([B])
torch.scalar_tensor(B)
torch.scalar_tensor(2*B)
torch.scalar_tensor(B,dtype=torch.int64)
torch.full((1,),B)
torch.full((1,),2*B)
torch.full((1,),B,dtype=torch.float32)
torch.full((1,),B,dtype=torch.uint64)
torch.full((1,),B,dtype=torch.int64)
torch.full((1,),-1,dtype=torch.uint8)
torch.full((1,),300,dtype=torch.uint8)
torch.full((1,),-1,dtype=torch.uint64)
torch.full_like(x,B)
torch.full_like(i,B)
torch.full_like(u,B)
x.new_full((1,),B)
i.new_full((1,),B)
x.new_tensor(B)
x.new_tensor([B])
i.new_tensor([B])
torch.where(c,1.5,B)
torch.where(c,x,B)
torch.where(c,i,B)
torch.where(c,B,i)
torch.where(c,B,1)
torch.where(c,1,2*B)
x+B
i+B
u8+B
B+i
x+2*B
i*B
i-B
i==B
i<B
B>i
u==B
x==B
x==2*B
i//B
i%B
x**B
i&B
u&B
torch.add(i,B)
torch.add(x,1,alpha=B)
torch.add(i,1,alpha=B)
torch.mul(x,B)
torch.add(B,1)
torch.maximum(i,torch.tensor(B))
torch.clamp(i,max=B)
torch.clamp(x,max=B)
x.fill_(B)
i.clone().fill_(B)
i.clone().fill_(2*B)
u.clone().fill_(B)
u8.clone().fill_(300)
u8.clone().fill_(-1)
x.clone().fill_(2*B)
i.clone().fill_(1e30)
i.clone().fill_(float('nan'))
i.clone().__setitem__(0,B)
u.clone().__setitem__(0,B)
x.clone().__setitem__(0,2*B)
i.clone().__setitem__(0,1e30)
i.clone().masked_fill(c,B)
x.masked_fill(c,B)
i.index_fill(0,torch.tensor([0]),B)
torch.arange(B,B+2)
torch.arange(0,B,B//2)
torch.arange(2*B)
torch.linspace(0,B,2)
torch.linspace(0,2*B,2)
torch.zeros(B)
torch.zeros(2*B)
torch.zeros([2*B])
x.view(B)
x.view(2*B)
x[B]
x[2*B]
x[:B]
x[:2*B]
x.sum(B)
x.sum(2*B)
x.sum([2*B])
torch.eye(2*B)
torch.pow(2,i+B)
torch.pow(B,i)
torch.remainder(B,i)
torch.result_type(i,B)
torch.result_type(u,B)
torch.isin(i,B)
torch.eq(i,B)
torch.bitwise_and(i,B)
torch.bitwise_left_shift(1,i)
torch.searchsorted(i,B)
torch.bucketize(B,i)
torch.Tensor([B])
torch.LongTensor([B])
torch.LongTensor([2*B])
torch.FloatTensor([2*B])
torch.tensor(B).item()
torch.tensor(B).tolist()
torch.tensor([B]).tolist()
torch.addcmul(i,i,i,value=B)
torch.lerp(x,x,B)
torch.nn.functional.pad(x,(0,1),value=B)
torch.cumsum(i,2*B)
x.repeat(2*B)
x.reshape(2*B)
torch.tensor(i.sum()+B)
torch.tensor([[B],[2*B]])
torch.tensor([[1],[2*B]])
torch.asarray(B)
torch.asarray([2*B])
torch.ones(2).stride(2*B)
torch.ones(2).size(2*B)
torch.ones(2).split(2*B)
torch.nn.functional.one_hot(i,2*B)
torch.complex(x,x)*B
torch.tensor(B)+1
torch.tensor(B)*1.5
torch.tensor([B])//2
torch.floor_divide(i,B)
torch.fmod(i,B)
torch.xlogy(x,B)
torch.float_power(x,B)
torch.float_power(B,x)
torch.sub(B,i)
i.sub_(B)
B-i
B//i
B%i
B/i
B**i
i.index_add(0,torch.tensor([0]),i[:1],alpha=B)
torch.baddbmm(x.view(1,1,2).expand(1,2,2),torch.ones(1,2,2),torch.ones(1,2,2),beta=B)
torch.threshold(i,B,1)
torch.threshold(x,1,B)
torch.nn.functional.hardtanh(i,0,B)
torch.roll(i,2*B)
torch.roll(i,B)
torch.histc(x,bins=2*B)
torch.topk(x,2*B)
torch.diff(x,n=2*B)
torch.tril(torch.ones(2,2),2*B)
torch.tril(torch.ones(2,2),B-1)
torch.chunk(x,2*B)
torch.empty(0,B).shape
torch.empty(0,2*B).shape
torch.empty((0,B-1)).shape
x.as_strided((1,),(2*B,))
x.as_strided((1,),(1,),2*B)
x.expand(2*B)
x.narrow(0,2*B,1)
x.select(0,2*B)
x.unsqueeze(2*B)
torch.combinations(x,2*B)
torch.tensor_split(x,2*B)
torch.tensor_split(x,[2*B])
torch.bincount(i,minlength=2*B)
torch.vander(x,2*B)
torch.tensor([2**100],dtype=torch.bool)
torch.tensor(2**100,dtype=torch.float64)
x.new_tensor(2**100)
x.new_full((1,),2**100)
torch.as_tensor(2**100,dtype=torch.float64)
torch.BoolTensor([2**100])
torch.tensor([True,2**100])
torch.tensor([None])
torch.tensor([1,None])
torch.tensor(['a'])
torch.ByteTensor([300])
torch.ByteTensor([-1])
torch.CharTensor([200])
torch.IntTensor([2**31])
torch.HalfTensor([1e10])
torch.tensor([2**31],dtype=torch.int32)
torch.tensor([1e10],dtype=torch.int32)
torch.tensor([1e10],dtype=torch.uint8)
torch.tensor([-1.5],dtype=torch.uint8)
torch.tensor([1e40],dtype=torch.float32)
u8+300
u8*-1
u8==300
u8<-1
u8.clone().add_(300)
u8.clamp(max=300)
u8.clamp(min=-1)
torch.where(c,u8,300)
torch.full_like(u8,300)
torch.add(u8,1,alpha=300)
torch.add(u8,1,alpha=-1)
u8.masked_fill(c,300)
u8.masked_fill(c,-1)
u8.clone().index_fill_(0,torch.tensor([0]),300)
u8//300
u8%300
300-u8
u8&300
torch.bitwise_or(u8,-1)
u8.new_tensor([300])
u8.new_full((1,),300)
u8.clone().__setitem__(0,300)
u8.clone().__setitem__(0,-1)
u8.clone().__setitem__(0,1.7)
u8.clone().__setitem__(0,300.)
u8.clone().__setitem__(0,float('nan'))
u8.clone().fill_(300.5)
torch.searchsorted(u8,300)
torch.isin(u8,300)
torch.nn.functional.pad(u8,(0,1),value=300)
torch.eq(u8,1e10)
u8+1e10
torch.arange(0,300,100,dtype=torch.uint8)
torch.linspace(0,300,3,dtype=torch.uint8)
torch.zeros(2).to(torch.uint8).fill_(True)
x+(-2**63-1)
x.add(-2**64)
torch.threshold(u8,300,1)
torch.threshold(u8,1,300)
torch.nn.functional.hardtanh(u8,0,300)
torch.clamp(x,max=1e300)
torch.add(x,1,alpha=1e300)
torch.addcdiv(x,x,x,value=1e300)
torch.nn.functional.leaky_relu(x,1e300)
torch.pow(1e6,h)
torch.full((1,),1e300)
torch.addmm(torch.ones(2,2,dtype=torch.int64),torch.ones(2,2,dtype=torch.int64),torch.ones(2,2,dtype=torch.int64),alpha=2**63)
u8**300
torch.pow(u8,300)
torch.pow(u8,-1)
torch.pow(300,u8)
torch.pow(i,2**63)
torch.bitwise_left_shift(u8,300)
torch.eq(u8,300)
torch.rsub(u8,300)
torch.rsub(u8,1,alpha=300)
torch.sub(u8,1,alpha=300)
torch.add(u8,1,alpha=-300)
torch.arange(0,3,2**63)
torch.arange(300,302,dtype=torch.uint8)
torch.arange(-1,2,dtype=torch.uint8)
torch.arange(1e20)
torch.clamp_min(u8,300)
torch.clamp(u8,max=1e30)
torch.clamp(u8,0,float('inf'))
torch.xlogy(300,u8)
torch.addcmul(u8,u8,u8,value=300)
torch.addcmul(u8,u8,u8,value=-1)
torch.index_add(u8,0,i-1,u8,alpha=300)
torch.floor_divide(u8,300)
torch.scatter(u8,0,i-1,300)
torch.constant_pad_nd(u8,(1,1),300)
""".strip().split("\n")
FORMS = """
x.clone().floor_divide_(2)
i.clone().floor_divide_(2)
i.clone().floor_divide_(2.5)
torch.amax(x,dim=None)
x.amax(dim=None)
x.amax(None)
torch.roll(x,1,dims=None)
torch.roll(x,1,None)
torch.flip(x,None)
torch.swapaxes(x.view(1,3),axis0=0,axis1=1).shape
x.view(1,3).swapaxes(axis0=0,axis1=1).shape
x.view(1,3).swapaxes_(axis0=0,axis1=1).shape
torch.swapdims(x.view(1,3),dim0=0,dim1=1).shape
torch.add(True,x)
torch.add(True,True)
torch.mul(2,x)
torch.sub(1,x)
torch.div(1,x)
torch.div(1,x,rounding_mode='floor')
torch.floor_divide(7,i)
torch.remainder(7,i)
torch.empty(2,3).t().resize_as_(torch.empty(2,3).t()).stride()
torch.empty(2,3).t().resize_(3,2).stride()
torch.empty(2,3).t().resize_(2,3).stride()
torch.empty(2,3).t().resize_(3,2,memory_format=torch.contiguous_format).stride()
(lambda t: t.resize_as_(t).stride())(torch.empty(2,3).t())
(lambda t: t.resize_as_(t,memory_format=torch.contiguous_format).stride())(torch.empty(2,3).t())
(lambda t: t.resize_as_(t,memory_format=torch.channels_last).stride())(torch.empty(2,3,4,5))
(lambda t: t.resize_(2,3,4,5,memory_format=torch.channels_last).stride())(torch.empty(2,3,4,5))
torch.empty(2,3,4,5).resize_(2,3,4,memory_format=torch.channels_last).stride()
torch.empty(2).resize_([0,4,2**61]).shape
torch.empty(2).resize_([0,4,2**61]).stride()
torch.empty(0,4,2**61).stride()
torch.empty(0,2**62,2**62).stride()
torch.zeros(0).reshape(0,2**62,2).stride()
torch.zeros(0).view(0,2**61,4).stride()
torch.zeros(0).expand(2**62,4,0).stride()
torch.empty_strided((0,4,2**61),(1,1,1)).stride()
torch.zeros(0).as_strided((0,4,2**61),(2**62,2**61,1)).stride()
torch.ones(2,2).resize_(1).storage_offset()
torch.ones(4)[1:].resize_(5).shape
torch.ones(4).resize_(2,2,requires_grad=True)
torch.ones(2).expand(3,2).resize_(3,2).stride()
torch.ones(2).expand(3,2).resize_(2,3).stride()
torch.ones([1],out=torch.empty(0,dtype=torch.int64))
torch.ones([1],out=torch.empty(0,dtype=torch.int64),dtype=torch.float32)
torch.zeros(2,out=torch.empty(0,dtype=torch.complex64))
torch.full((2,),1.5,out=torch.empty(0,dtype=torch.int64))
torch.full((2,),True,out=torch.empty(0))
torch.arange(3,out=torch.empty(0))
torch.linspace(0,4,3,out=torch.empty(0,dtype=torch.int64))
torch.logspace(0,2,3,out=torch.empty(0,dtype=torch.float64))
torch.eye(2,out=torch.empty(0,dtype=torch.bool))
torch.bucketize(torch.tensor([1.5,2.5]),torch.tensor([1,2,3]))
torch.bucketize(torch.tensor([1,2]),torch.tensor([.5,1.5]))
torch.searchsorted(torch.tensor([1,2,3]),torch.tensor([1.5,2.5]))
torch.searchsorted(torch.tensor([1,2,3]),2.5)
torch.searchsorted(torch.tensor([1.,2,3]),2)
torch.bucketize(2.5,torch.tensor([1,2,3]))
torch.bucketize(True,torch.tensor([1,2,3]))
torch.bucketize(1,torch.tensor([False,True]))
torch.bucketize(torch.tensor([True]),torch.tensor([1,2,3]))
torch.bucketize(torch.tensor(1.5),torch.tensor([1,2,3]))
torch.bucketize(torch.tensor([1.5],dtype=torch.float16),torch.tensor([1.,2,3]))
torch.bucketize(1j,torch.tensor([1,2,3]))
torch.searchsorted(torch.tensor([1,2,3]),torch.tensor([1j]))
torch.sum(x,dim=None)
torch.mean(x,dim=None)
torch.std(x,dim=None)
torch.prod(x,dim=None)
torch.cumsum(x,None)
torch.squeeze(x,None)
torch.nn.functional.avg_pool1d(x.view(1,3),2,None)
torch.nn.functional.max_pool1d(x.view(1,3),2,None)
torch.max_pool1d(x.view(1,3),2,None)
torch.avg_pool1d(x.view(1,3),2,None)
torch.max_pool1d(x.view(1,3),2,stride=None,padding=None)
torch.logsumexp(x,None)
torch.all(x,dim=None)
torch.count_nonzero(x,dim=None)
torch.argmax(x,dim=None)
torch.norm(x,dim=None)
torch.linalg.vector_norm(x,dim=None)
torch.nansum(x,dim=None)
torch.permute(x,None)
torch.fft.fftn(x,dim=None)
torch.fft.fftshift(x,None)
torch.rot90(x.view(1,3),1,None)
torch.nn.functional.pad(x,None)
torch.zeros(None)
torch.unflatten(x,0,None)
torch.tile(x,None)
x.repeat(None)
x.view(None)
x.reshape(None)
x.sum_to_size(None)
torch.var(x,None)
torch.var(x,dim=None,correction=None)
torch.aminmax(x,dim=None)
torch.amin(x,None,True)
torch.std_mean(x,dim=None)
torch.nanmean(x,dim=None)
torch.special.logsumexp(x,None)
torch.linalg.matrix_norm(x.view(1,3),dim=None)
torch.median(x,None)
torch.conv1d(x.view(1,1,3),x.view(1,1,3),None,None)
torch.conv1d(x.view(1,1,3),x.view(1,1,3),stride=None)
torch.gradient(x,dim=None)
torch.chunk(x,None)
torch.diff(x,prepend=None)
torch.clamp(x,None,None)
torch.clamp(x,min=None,max=3)
torch.nan_to_num(x,None)
torch.round(x,decimals=None)
torch.cat([x],dim=None)
torch.stack([x],None)
torch.unsqueeze(x,None)
torch.topk(x,1,None)
torch.sort(x,None)
torch.flatten(x,None)
torch.randint(5,(2,),out=torch.empty(0)).dtype==torch.float32
torch.randperm(3,out=torch.empty(0)).dtype==torch.float32
torch.empty(2,out=torch.empty(0,dtype=torch.int8)).dtype==torch.int8
torch.rand(2,out=torch.empty(0,dtype=torch.float64)).dtype==torch.float64
""".strip().split("\n")


def outcome(t, source):
    warnings.simplefilter("ignore")
    scope = {"torch": t, "B": 2**63, "c": t.tensor([True, False]), "x": t.ones(2), "i": t.tensor([1, 2]), "u": t.tensor([1, 2], dtype=t.uint64),
             "u8": t.tensor([1, 2], dtype=t.uint8)}
    if source in FORMS:
        scope.update(x=t.tensor([5., 3., 2.]), i=t.tensor([5, 3, 2]))

    def plain(value):
        if isinstance(value, t.Tensor):
            return str(value.dtype).rpartition(".")[2], tuple(value.shape), value.tolist() if value.dtype.is_floating_point is False else [
                round(each, 3) for each in value.reshape(-1).double().tolist()]
        return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value
    try:
        return plain(eval(source, scope))
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", INTEGERS + FORMS)
def test_numbers(source):
    expected, got = outcome(torch, source), outcome(kindling, source)
    same = repr(got) == repr(expected)   # nan is like nan
    assert same or (isinstance(expected, type) and isinstance(got, type) and issubclass(got, expected)), (expected, got)


@pytest.mark.filterwarnings("ignore")
def test_every_overload():
    count, faults = overloads.sweep(torch, kindling, seed=1, rounds=12)
    assert count > 15000
    assert not faults, "\n".join(texts[0] for texts in faults.values())


@pytest.mark.parametrize("t", [torch, kindling], ids=["torch", "kindling"])
def test_old_forms(t):
    """Numbers by position, as PyTorch has deprecated them."""
    x, m = t.ones(2), t.ones(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert t.add(x, 2, x).tolist() == x.add(2, x).tolist() == x.clone().add_(2, x).tolist() == [3, 3]
        assert t.sub(x, 2, x).tolist() == [-1, -1] and t.subtract(x, 2, 3).tolist() == x.subtract(2, 3).tolist() == [-5, -5]
        assert t.addcmul(x, .5, x, x).tolist() == x.clone().addcdiv_(.5, x, x).tolist() == [1.5, 1.5]
        assert t.addmm(2, m, 3, m, m).tolist() == m.addmm(2, 3, m, m).tolist() == [[8, 8], [8, 8]]
        assert t.addmm(2, m, m, m).tolist() == m.clone().addmm_(2, m, m).tolist() == [[4, 4], [4, 4]]
        assert t.addmv(2, x, 3, m, x).tolist() == [8, 8] and m.addr(2, x, x).tolist() == [[3, 3], [3, 3]]
        assert t.baddbmm(2, m[None], m[None], m[None]).tolist() == [[[4, 4], [4, 4]]]
        assert t.add(x, 2, x, out=t.empty(2)).tolist() == [3, 3]
        with pytest.raises(TypeError):
            x.subtract(x, 3)


def test_old_forms_warn_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            kindling.ones(2).sub(2, kindling.ones(2))
    assert len(caught) <= 1 and all("is deprecated" in str(w.message) and w.filename == __file__ for w in caught)
