"""What torch.vmap costs beside the other module's, in one thread: per-sample gradients, ensembles, Jacobians, single operators.

    python benchmarks/mapped.py [MODULE]

MODULE is kindling (the default) or torch. Run both in turns, and compare the shortest times.
"""
import importlib
import sys

from least import least


def cases(torch):
    nn, func, vmap = torch.nn, torch.func, torch.vmap
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(32 * 49, 10))
    images, labels = torch.randn(32, 1, 28, 28), torch.randint(10, (32,))
    mlp = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    models = [nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1)) for _ in range(16)]
    weights, buffers = func.stack_module_state(models)
    net_weights, mlp_weights = ({name: value.detach() for name, value in each.named_parameters()} for each in (net, mlp))
    rows, square, many, places = torch.randn(128, 20), torch.randn(256, 256), torch.randn(1000, 8), torch.randint(8, (1000, 3))

    def image_loss(weights, image, label):
        return nn.functional.cross_entropy(func.functional_call(net, weights, (image[None],)), label[None])

    def row_loss(weights, row):
        return func.functional_call(mlp, weights, (row,)).pow(2).sum()

    def ensemble():
        return vmap(lambda w, b: func.functional_call(models[0], (w, b), (rows,)))(weights, buffers)
    return {
        "gradients of 32 samples, small CNN": lambda: vmap(func.grad(image_loss), (None, 0, 0))(net_weights, images, labels),
        "gradients of 128 samples, MLP": lambda: vmap(func.grad(row_loss), (None, 0))(mlp_weights, rows),
        "ensemble of 16 MLPs": ensemble,
        "ensemble, forward and backward": lambda: ensemble().sum().backward(),
        "jacrev of an MLP": lambda: func.jacrev(lambda x: func.functional_call(mlp, mlp_weights, (x,)))(rows[:1]),
        "hessian of an MLP": lambda: func.hessian(lambda x: func.functional_call(mlp, mlp_weights, (x,)).sum())(rows[0]),
        "sin": lambda: vmap(torch.sin)(many),
        "softmax": lambda: vmap(lambda row: row.softmax(0))(many),
        "matrix times vector": lambda: vmap(lambda row: square @ row)(square[:64]),
        "dot": lambda: vmap(torch.dot)(many, many),
        "cat": lambda: vmap(lambda row: torch.cat([row, row]))(many),
        "index": lambda: vmap(lambda row, place: row[place])(many, places[:, 0]),
        "gather": lambda: vmap(lambda row, place: row.gather(0, place))(many, places),
        "sort": lambda: vmap(lambda row: row.sort()[0])(many),
        "inverse": lambda: vmap(torch.linalg.inv)(torch.randn(64, 4, 4)),
    }


def main():
    torch = importlib.import_module(sys.argv[1] if len(sys.argv) > 1 else "kindling")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for name, function in cases(torch).items():
        print(f"{name:38}{least(function, 0.4):10.1f} us")


if __name__ == "__main__":
    main()
