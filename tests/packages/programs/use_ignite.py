"""An engine with metrics and handlers."""
import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss

torch.manual_seed(0)
data = [(torch.randn(8, 4), torch.randint(0, 3, (8,))) for _ in range(4)]
model = torch.nn.Linear(4, 3)
criterion = torch.nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), lr=0.1), criterion)
evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "loss": Loss(criterion)})


@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    evaluator.run(data)
    print(engine.state.epoch, evaluator.state.metrics)


trainer.run(data, max_epochs=2)
