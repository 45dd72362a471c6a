"""Programs in the style of published signal processing code: filters, spectrograms, conversions, augmentation."""
from typing import List, Optional, Tuple
import math
import torch
from torch import nn
import torch.nn.functional as F


def _wave(n: int = 16):
    return torch.sin(torch.arange(n, dtype=torch.float32) * 0.7).view(1, n)


@program(lambda: (_wave().abs(), 10.0, 1e-10, 1.0, 80.0), lambda: (_wave().abs(), 10.0, 1e-10, 1.0, None))
def amplitude_to_db(x: torch.Tensor, multiplier: float, amin: float, db_multiplier: float, top_db: Optional[float] = None) -> torch.Tensor:
    x_db = multiplier * torch.log10(torch.clamp(x, min=amin))
    x_db -= multiplier * db_multiplier
    if top_db is not None:
        x_db = torch.max(x_db, x_db.amax() - top_db)
    return x_db


@program(lambda: (_wave(), 1.0, 0.5))
def db_to_amplitude(x: torch.Tensor, ref: float, power: float) -> torch.Tensor:
    return ref * torch.pow(torch.pow(10.0, 0.1 * x), power)


def _hz_to_mel(freq: float, mel_scale: str = "htk") -> float:
    if mel_scale not in ["slaney", "htk"]:
        raise ValueError('mel_scale should be one of "htk" or "slaney".')
    if mel_scale == "htk":
        return 2595.0 * math.log10(1.0 + (freq / 700.0))
    f_sp = 200.0 / 3
    mels = freq / f_sp
    min_log_hz = 1000.0
    min_log_mel = min_log_hz / f_sp
    logstep = math.log(6.4) / 27.0
    if freq >= min_log_hz:
        mels = min_log_mel + math.log(freq / min_log_hz) / logstep
    return mels


@program(lambda: (440.0, "htk"), lambda: (2000.0, "slaney"), lambda: (1.0, "other"))
def hz_to_mel(freq: float, scale: str) -> float:
    return _hz_to_mel(freq, scale)


def _mel_to_hz(mels: torch.Tensor, mel_scale: str = "htk") -> torch.Tensor:
    if mel_scale == "htk":
        return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    f_sp = 200.0 / 3
    freqs = f_sp * mels
    min_log_mel = 1000.0 / f_sp
    logstep = math.log(6.4) / 27.0
    log_t = mels >= min_log_mel
    freqs[log_t] = 1000.0 * torch.exp(logstep * (mels[log_t] - min_log_mel))
    return freqs


@program(lambda: (torch.tensor([1.0, 20.0, 500.0]), "htk"), lambda: (torch.tensor([1.0, 20.0]), "slaney"))
def mel_to_hz(mels: torch.Tensor, scale: str) -> torch.Tensor:
    return _mel_to_hz(mels, scale)


@program(lambda: (9, 0.0, 4000.0, 4, 8000))
def mel_filterbank(n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int) -> torch.Tensor:
    all_freqs = torch.linspace(0, sample_rate // 2, n_freqs)
    m_min = _hz_to_mel(f_min)
    m_max = _hz_to_mel(f_max)
    m_pts = torch.linspace(m_min, m_max, n_mels + 2)
    f_pts = _mel_to_hz(m_pts)
    f_diff = f_pts[1:] - f_pts[:-1]
    slopes = f_pts.unsqueeze(0) - all_freqs.unsqueeze(1)
    zero = torch.zeros(1)
    down_slopes = (-1.0 * slopes[:, :-2]) / f_diff[:-1]
    up_slopes = slopes[:, 2:] / f_diff[1:]
    fb = torch.max(zero, torch.min(down_slopes, up_slopes))
    if (fb.max(dim=0).values == 0.0).any():
        fb = fb + 0.0
    return fb


@program(lambda: (4, 5, "ortho"), lambda: (3, 4, None))
def create_dct(n_mfcc: int, n_mels: int, norm: Optional[str]) -> torch.Tensor:
    n = torch.arange(float(n_mels))
    k = torch.arange(float(n_mfcc)).unsqueeze(1)
    dct = torch.cos(math.pi / float(n_mels) * (n + 0.5) * k)
    if norm is None:
        dct *= 2.0
    else:
        assert norm == "ortho"
        dct[0] *= 1.0 / math.sqrt(2.0)
        dct *= math.sqrt(2.0 / float(n_mels))
    return dct.t()


@program(lambda: (_wave(), 256))
def mu_law_encoding(x: torch.Tensor, quantization_channels: int) -> torch.Tensor:
    mu = quantization_channels - 1.0
    if not x.is_floating_point():
        x = x.to(torch.float)
    mu = torch.tensor(mu, dtype=x.dtype)
    x_mu = torch.sign(x) * torch.log1p(mu * torch.abs(x)) / torch.log1p(mu)
    return ((x_mu + 1) / 2 * mu + 0.5).to(torch.int64)


@program(lambda: (_wave(), torch.tensor([1.0, -0.5, 0.25]), torch.tensor([0.3, 0.2, 0.1])))
def lfilter_loop(waveform: torch.Tensor, a_coeffs: torch.Tensor, b_coeffs: torch.Tensor) -> torch.Tensor:
    n_order = a_coeffs.size(0)
    n_sample = waveform.size(-1)
    padded = F.pad(waveform, (n_order - 1, 0))
    output = torch.zeros_like(padded)
    for t in range(n_sample):
        acc = 0.0
        for k in range(n_order):
            acc += float(b_coeffs[k]) * float(padded[0, t + n_order - 1 - k])
        for k in range(1, n_order):
            acc -= float(a_coeffs[k]) * float(output[0, t + n_order - 1 - k])
        output[0, t + n_order - 1] = acc / float(a_coeffs[0])
    return output[:, n_order - 1:]


@program(lambda: (8000, 100.0, 0.707),)
def lowpass_coefficients(sample_rate: int, cutoff: float, q: float) -> List[float]:
    w0 = 2 * math.pi * cutoff / sample_rate
    alpha = math.sin(w0) / 2 / q
    b0 = (1 - math.cos(w0)) / 2
    b1 = 1 - math.cos(w0)
    b2 = b0
    a0 = 1 + alpha
    a1 = -2 * math.cos(w0)
    a2 = 1 - alpha
    return [b0 / a0, b1 / a0, b2 / a0, 1.0, a1 / a0, a2 / a0]


@program(lambda: (_wave(32), 8, 4, True), lambda: (_wave(32), 8, 4, False))
def frames_and_energy(x: torch.Tensor, frame: int, hop: int, log: bool) -> torch.Tensor:
    frames = x.unfold(-1, frame, hop)
    window = torch.hann_window(frame)
    energy = (frames * window).pow(2).sum(-1)
    if log:
        energy = torch.log(torch.clamp(energy, min=1e-8))
    return energy


@program(lambda: (_wave(32), 8, 4))
def spectrogram(waveform: torch.Tensor, n_fft: int, hop: int) -> torch.Tensor:
    window = torch.hann_window(n_fft)
    shape = waveform.size()
    waveform = waveform.reshape(-1, shape[-1])
    spec = torch.stft(waveform, n_fft, hop, n_fft, window, center=True, pad_mode="reflect", normalized=False, onesided=True, return_complex=True)
    spec = spec.reshape(shape[:-1] + spec.shape[-2:])
    return spec.abs().pow(2.0)


@program(lambda: (_wave(16),))
def spectral_roundtrip(x: torch.Tensor) -> torch.Tensor:
    f = torch.fft.rfft(x)
    f = f * torch.exp(torch.complex(torch.zeros(1), torch.ones(1) * 0.1))
    return torch.fft.irfft(f, n=x.size(-1))


@program(lambda: (torch.rand(2, 6, 5), 2, 1, 0.0, True), lambda: (torch.rand(2, 6, 5), 3, 2, 1.0, False))
def mask_along_axis(specgram: torch.Tensor, mask_param: int, axis: int, mask_value: float, draw: bool) -> torch.Tensor:
    if axis != 1 and axis != 2:
        raise ValueError("Only Frequency and Time masking are supported")
    value = float(mask_param) / 2
    if draw:
        value = float(torch.rand(1)) * mask_param
    min_value = 0.25 * (specgram.size(axis) - value)
    start = int(min_value)
    end = int(min_value) + int(value)
    mask = torch.arange(0, specgram.shape[axis], device=specgram.device, dtype=specgram.dtype)
    mask = (mask >= start) & (mask < end)
    if axis == 1:
        mask = mask.unsqueeze(-1)
    return specgram.masked_fill(mask, mask_value)


@program(lambda: (torch.rand(1, 3, 7), 5, "replicate"), lambda: (torch.rand(1, 3, 7), 4, "replicate"))
def compute_deltas(specgram: torch.Tensor, win_length: int, mode: str) -> torch.Tensor:
    shape = specgram.size()
    specgram = specgram.reshape(1, -1, shape[-1])
    if win_length % 2 == 0:
        raise ValueError("Window length should be odd, not even: {}".format(win_length))
    n = (win_length - 1) // 2
    denom = n * (n + 1) * (2 * n + 1) / 3
    specgram = F.pad(specgram, (n, n), mode=mode)
    kernel = torch.arange(-n, n + 1, 1, dtype=specgram.dtype).repeat(specgram.shape[1], 1, 1)
    output = F.conv1d(specgram, kernel, groups=specgram.shape[1]) / denom
    return output.reshape(shape)


@program(lambda: (6, 4), lambda: (44100, 16000))
def resample_ratio(orig: int, new: int) -> Tuple[int, int]:
    gcd = math.gcd(orig, new)
    return orig // gcd, new // gcd


@program(lambda: (3, 2, 6, 0.99))
def sinc_kernel(orig_freq: int, new_freq: int, lowpass_filter_width: int, rolloff: float) -> Tuple[torch.Tensor, int]:
    if lowpass_filter_width <= 0:
        raise ValueError("Low pass filter width should be positive.")
    base_freq = min(orig_freq, new_freq)
    base_freq *= rolloff
    width = math.ceil(lowpass_filter_width * orig_freq / base_freq)
    idx = torch.arange(-width, width + orig_freq, dtype=torch.float64)[None, None] / orig_freq
    t = torch.arange(0, -new_freq, -1, dtype=torch.float64)[:, None, None] / new_freq + idx
    t *= base_freq
    t = t.clamp(-lowpass_filter_width, lowpass_filter_width)
    window = torch.cos(t * math.pi / lowpass_filter_width / 2) ** 2
    t *= math.pi
    scale = base_freq / orig_freq
    kernels = torch.where(t == 0, torch.tensor(1.0).to(t), t.sin() / t)
    kernels *= window * scale
    return kernels.to(torch.float32), width


@program(lambda: (_wave(), 0.1))
def dither(waveform: torch.Tensor, scale: float) -> torch.Tensor:
    noise = torch.randn(waveform.shape) * scale
    out = waveform + noise
    return torch.round(out * 128) / 128


@program(lambda: (_wave(), 10.0), lambda: (_wave(), 0.0))
def gain(waveform: torch.Tensor, gain_db: float) -> torch.Tensor:
    if gain_db == 0:
        return waveform
    ratio = 10 ** (gain_db / 20)
    return waveform * ratio


@program(lambda: (_wave(), 20.0, 20.0))
def overdrive(waveform: torch.Tensor, gain: float, colour: float) -> torch.Tensor:
    shape = waveform.size()
    waveform = waveform.view(-1, shape[-1])
    gain = math.exp(gain * math.log(10.0) / 20.0)
    colour = colour / 200
    last_in = torch.zeros(waveform.shape[:-1], dtype=waveform.dtype)
    last_out = torch.zeros(waveform.shape[:-1], dtype=waveform.dtype)
    temp = waveform * gain + colour
    mask1 = temp < -1
    temp[mask1] = torch.tensor(-2.0 / 3.0, dtype=temp.dtype)
    mask2 = temp > 1
    temp[mask2] = torch.tensor(2.0 / 3.0, dtype=temp.dtype)
    mask3 = ~mask1 & ~mask2
    temp[mask3] = temp[mask3] - (temp[mask3] ** 3) * (1.0 / 3)
    output_waveform = torch.zeros_like(waveform)
    for i in range(waveform.shape[-1]):
        last_out = temp[:, i] - last_in + 0.995 * last_out
        last_in = temp[:, i]
        output_waveform[:, i] = waveform[:, i] * 0.5 + last_out * 0.75
    return output_waveform.clamp(min=-1, max=1).view(shape)


@program(lambda: ("sinusoidal", 4), lambda: ("triangular", 4), lambda: ("other", 4))
def wave_table(kind: str, size: int) -> List[float]:
    table: List[float] = []
    for i in range(size):
        point = float(i) / size
        if kind == "sinusoidal":
            table.append(math.sin(2 * math.pi * point))
        elif kind == "triangular":
            v = point * 2.0
            if v > 1.0:
                v = 2.0 - v
            table.append(v)
        else:
            raise RuntimeError("wave_type: " + kind + " is not supported")
    return table


@program(lambda: (_wave(40),))
def zero_crossings(x: torch.Tensor) -> Tuple[int, List[int]]:
    places: List[int] = []
    for i in range(1, x.size(1)):
        if float(x[0, i - 1]) * float(x[0, i]) < 0:
            places.append(i)
    return len(places), places


@program(lambda: (_wave(64), 8, 0.5))
def autocorrelation_pitch(x: torch.Tensor, max_lag: int, threshold: float) -> Tuple[int, float]:
    best_lag = 0
    best = threshold
    for lag in range(1, max_lag):
        s1 = x[..., lag:]
        s2 = x[..., :-lag]
        value = (s1 * s2).sum() / (torch.linalg.vector_norm(s1) * torch.linalg.vector_norm(s2) + 1e-9)
        if value.item() > best:
            best = float(value)
            best_lag = lag
    return best_lag, best


@program(lambda: (_wave(16).view(1, 1, 16),))
class Preemphasis(nn.Module):
    def __init__(self, coeff: float = 0.97):
        super().__init__()
        self.coeff = coeff
        self.register_buffer("kernel", torch.tensor([[[-coeff, 1.0]]]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.pad(x, (1, 0), "replicate")
        return F.conv1d(x, self.kernel)


@program(lambda: (torch.rand(2, 3, 6), torch.tensor([6, 4])))
class GlobalStats(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.arange(3.0))
        self.register_buffer("invstd", torch.ones(3) * 2)
        self.eps: float = 1e-6

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        y = (x.transpose(1, 2) - self.mean) * self.invstd
        mask = torch.arange(x.size(2))[None, :] < lengths[:, None]
        y = y.masked_fill(~mask[:, :, None], self.eps)
        return y, lengths


@program(lambda: (torch.rand(1, 4, 6), None), lambda: (torch.rand(1, 4, 6), torch.rand(1, 4, 2)))
class CachedConv(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv1d(4, 4, 3, groups=2)
        self.norm = nn.GroupNorm(2, 4)
        self.act = nn.SiLU()

    def forward(self, x: torch.Tensor, cache: Optional[torch.Tensor]) -> Tuple[torch.Tensor, torch.Tensor]:
        if cache is None:
            cache = torch.zeros(x.size(0), x.size(1), 2)
        assert cache.size(0) == x.size(0), "equal batch"
        x = torch.cat((cache, x), dim=2)
        new_cache = x[:, :, -2:]
        return self.act(self.norm(self.conv(x))), new_cache
