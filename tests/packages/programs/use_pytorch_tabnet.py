"""TabNet's network, and the classifier as scikit-learn's users call it."""
import numpy as np
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor

random = np.random.default_rng(0)
x = random.normal(size=(128, 6)).astype(np.float32)
y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0, optimizer_params={"lr": 0.02})
model.fit(x, y, eval_set=[(x, y)], eval_metric=["logloss"], max_epochs=3, batch_size=64, virtual_batch_size=32, drop_last=False)
print([round(value, 4) for value in model.history["loss"]])
print("probabilities", model.predict_proba(x[:2]).round(4).tolist(), "importance", model.feature_importances_.round(3).tolist())
model = TabNetRegressor(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0)
model.fit(x, x[:, :1] * 2, max_epochs=2, batch_size=64, virtual_batch_size=32)
print("regression", model.predict(x[:2]).round(3).tolist())
