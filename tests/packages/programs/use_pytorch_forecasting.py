"""A temporal fusion transformer and N-BEATS over a small table: forward, loss, a step."""
import numpy as np
import pandas as pd
import torch
from pytorch_forecasting import NBeats, TemporalFusionTransformer, TimeSeriesDataSet
from pytorch_forecasting.data import GroupNormalizer, NaNLabelEncoder
from pytorch_forecasting.metrics import MAPE, QuantileLoss, SMAPE

torch.manual_seed(0)
random = np.random.default_rng(0)
table = pd.DataFrame({"time": np.tile(np.arange(30), 4), "group": np.repeat(list("abcd"), 30), "value": 5 + random.normal(size=120).cumsum() * 0.1,
                      "price": random.normal(size=120)})
data = TimeSeriesDataSet(table, time_idx="time", target="value", group_ids=["group"], max_encoder_length=8, max_prediction_length=3,
                         time_varying_known_reals=["price", "time"], time_varying_unknown_reals=["value"], static_categoricals=["group"],
                         categorical_encoders={"group": NaNLabelEncoder().fit(table.group)}, target_normalizer=GroupNormalizer(groups=["group"]))
x, y = next(iter(data.to_dataloader(train=False, batch_size=8)))
model = TemporalFusionTransformer.from_dataset(data, hidden_size=8, attention_head_size=2, dropout=0.0, hidden_continuous_size=4, loss=QuantileLoss())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    loss = model.loss(model(x)["prediction"], y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
print(SMAPE()(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.5, 2.0]])).item(), MAPE()(torch.tensor([[1.0, 2.0]]), torch.tensor([[1.5, 2.0]])).item())
print(x["encoder_cont"].sum().item(), y[0].sum().item(), NBeats.__name__)
