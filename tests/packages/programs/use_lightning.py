"""A LightningModule trained by Trainer, with a checkpoint."""
import logging
import tempfile

import lightning
import torch

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


lightning.seed_everything(0, verbose=False)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=8)
model = Model()
trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False)
trainer.fit(model, data)
print("loss", trainer.callback_metrics["loss"].item())
with tempfile.TemporaryDirectory() as folder:
    trainer.save_checkpoint(folder + "/a.ckpt")
    again = Model.load_from_checkpoint(folder + "/a.ckpt")
print(sum(p.sum().item() for p in again.parameters()))
