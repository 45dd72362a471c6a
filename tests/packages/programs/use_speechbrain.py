"""Features of a signal and a recurrent layer."""
import torch
from speechbrain.lobes.features import Fbank
from speechbrain.nnet.RNN import LSTM

torch.manual_seed(0)
features = Fbank(n_mels=10)(torch.randn(2, 4000))
out, _ = LSTM(hidden_size=5, input_shape=features.shape)(features)
print(features.mean().item(), out.abs().sum().item())
