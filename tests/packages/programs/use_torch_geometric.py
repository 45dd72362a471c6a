"""Graph convolutions trained for a few steps."""
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool

torch.manual_seed(0)
edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
batch = Batch.from_data_list([Data(x=torch.randn(4, 3), edge_index=edges) for _ in range(2)])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = GCNConv(3, 8), GATConv(8, 4, heads=2), torch.nn.Linear(8, 2)

    def forward(self, data):
        x = self.first(data.x, data.edge_index).relu()
        return self.last(global_mean_pool(self.second(x, data.edge_index), data.batch))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(net(batch), torch.tensor([0, 1]))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
