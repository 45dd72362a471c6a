"""A tiny CLIP: features of images and texts, and the loss."""
import open_clip
import torch

torch.manual_seed(0)
model = open_clip.model.CLIP(embed_dim=16, vision_cfg=dict(image_size=32, layers=1, width=32, head_width=16, patch_size=16),
                             text_cfg=dict(context_length=8, vocab_size=60, width=32, heads=2, layers=1)).eval()
image, text, scale = model(torch.randn(2, 3, 32, 32), torch.randint(0, 60, (2, 8)))
loss = open_clip.ClipLoss()(image, text, scale)
loss.backward()
print(loss.item(), image.tolist())
