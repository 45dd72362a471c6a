"""Spectrograms, cepstra, filters, resampling, effects and a small recogniser: what of torchaudio is Python."""
import torch
import torchaudio
import torchaudio.functional as F
import torchaudio.transforms as T

torch.manual_seed(0)
wave = torch.sin(torch.arange(8000) * 0.2)[None] + 0.1 * torch.randn(1, 8000)
print("spectrogram", T.Spectrogram(n_fft=256)(wave).mean().item(), T.InverseSpectrogram(n_fft=256)(T.Spectrogram(n_fft=256, power=None)(wave), 8000).sum().item())
print("mel", T.AmplitudeToDB()(T.MelSpectrogram(16000, n_fft=256, n_mels=20)(wave)).mean().item())
print("mfcc", T.MFCC(16000, n_mfcc=10, melkwargs={"n_fft": 256, "n_mels": 20})(wave)[0, :, 3].tolist())
print("resample", T.Resample(16000, 8000)(wave).abs().sum().item(), F.resample(wave, 16000, 11025).shape)
print("griffin", T.GriffinLim(n_fft=128, n_iter=3, rand_init=False)(T.Spectrogram(n_fft=128)(wave)).abs().mean().item())
masked = T.TimeMasking(10)(T.FrequencyMasking(5)(T.MelSpectrogram(16000, n_fft=256, n_mels=20)(wave)))
print("masked", masked.sum().item(), F.mu_law_decoding(F.mu_law_encoding(wave, 256), 256).abs().sum().item())
print("delta", F.compute_deltas(masked).abs().sum().item(), F.fftconvolve(wave, wave[:, :50]).abs().sum().item(), F.preemphasis(wave).sum().item())
print("edit", F.edit_distance("kitten", "sitting"), F.spectral_centroid(wave, 16000, 0, torch.hann_window(256), 256, 128, 256).mean().item())
model = torchaudio.models.wav2vec2_model(extractor_mode="group_norm", extractor_conv_layer_config=[(8, 10, 5), (8, 3, 2)], extractor_conv_bias=False, encoder_embed_dim=8,
                                         encoder_projection_dropout=0.0, encoder_pos_conv_kernel=4, encoder_pos_conv_groups=2, encoder_num_layers=1, encoder_num_heads=2,
                                         encoder_attention_dropout=0.0, encoder_ff_interm_features=16, encoder_ff_interm_dropout=0.0, encoder_dropout=0.0,
                                         encoder_layer_norm_first=False, encoder_layer_drop=0.0, aux_num_out=5)
print("wav2vec2", model(wave)[0].sum().item())
print("conformer", torchaudio.models.Conformer(8, 2, 16, 1, 3).eval()(torch.randn(1, 10, 8), torch.tensor([10]))[0].sum().item())
