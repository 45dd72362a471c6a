"""A table of a network's layers, shapes, parameters and multiply-adds."""
import torch
from torchinfo import summary

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                          torch.nn.Linear(8, 4))
found = summary(net, input_size=(2, 3, 16, 16), verbose=0, col_names=("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable"))
print(found)
print(found.total_params, found.total_mult_adds, found.trainable_params)
rnn = torch.nn.ModuleDict({"embed": torch.nn.Embedding(10, 4), "rnn": torch.nn.LSTM(4, 6, 2, batch_first=True)})


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = rnn

    def forward(self, ids):
        return self.parts["rnn"](self.parts["embed"](ids))[0]


print(summary(Model(), input_data=torch.zeros(2, 5, dtype=torch.long), verbose=0, depth=4))
print(summary(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), input_size=(2, 5, 8), verbose=0))
