"""YOLO models from their descriptions: detection, segmentation, classification; the loss and a step."""
from types import SimpleNamespace

import torch
from ultralytics.cfg import get_cfg
from ultralytics.nn.tasks import ClassificationModel, DetectionModel, SegmentationModel
from ultralytics.utils import ops

torch.manual_seed(0)
model = DetectionModel("yolov8n.yaml", ch=3, nc=4, verbose=False)
model.args = get_cfg()
print("parameters", sum(p.numel() for p in model.parameters()), "stride", model.stride.tolist())
images = torch.rand(2, 3, 128, 128)    # with 64, the last batch norms have 8 elements a channel, and rounding grows a hundredfold in one step
batch = {"img": images, "cls": torch.tensor([[1.0], [2.0], [0.0]]), "batch_idx": torch.tensor([0.0, 0.0, 1.0]),
         "bboxes": torch.tensor([[0.5, 0.5, 0.3, 0.4], [0.2, 0.3, 0.2, 0.2], [0.6, 0.4, 0.5, 0.5]])}
optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
model.train()
for _ in range(2):
    loss, items = model(batch)
    optimizer.zero_grad()
    loss.sum().backward()
    optimizer.step()
    print("loss", loss.sum().item(), list(items.values()) if isinstance(items, dict) else items.tolist())
model.eval()
with torch.no_grad():
    out = model(images)[0]
    print("out", out.shape, out.mean().item())
    print("fused", model.fuse(verbose=False)(images)[0].mean().item())
    print("yolo11", DetectionModel("yolo11n.yaml", ch=3, nc=4, verbose=False).eval()(images)[0].mean().item())
    print("masks", SegmentationModel("yolov8n-seg.yaml", ch=3, nc=4, verbose=False).eval()(images)[0][0].mean().item())
    print("classes", ClassificationModel("yolov8n-cls.yaml", ch=3, nc=4, verbose=False).eval()(images)[0].tolist())
print(ops.xywh2xyxy(batch["bboxes"]).sum().item(), SimpleNamespace(**{"imgsz": model.yaml["nc"]}).imgsz)
