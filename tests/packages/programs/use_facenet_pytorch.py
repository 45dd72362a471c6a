"""The face network without its trained weights, and the detector's first networks."""
import torch
from facenet_pytorch import InceptionResnetV1
from facenet_pytorch.models.mtcnn import fixed_image_standardization
from facenet_pytorch.models.utils.detect_face import generateBoundingBox, rerec

torch.manual_seed(0)
model = InceptionResnetV1(pretrained=None, classify=True, num_classes=5).eval()
x = fixed_image_standardization(torch.rand(2, 3, 96, 96) * 255)
with torch.no_grad():
    out = model(x)
print("logits", out[0].tolist(), "parameters", sum(p.numel() for p in model.parameters()))
model.classify = False
print("embedding", model(x).norm(dim=1).tolist(), model(x)[0, :3].tolist())
boxes, indices = generateBoundingBox(torch.randn(2, 4, 6, 6), torch.rand(2, 6, 6), 0.5, 0.9)
print("boxes", boxes.sum().item(), indices.tolist(), rerec(boxes).sum().item())
