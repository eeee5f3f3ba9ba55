"""Networks for sound and time series with drawn weights. Rows as in torch_vision.py."""
import torch
from torch import nn
from torch.nn import functional


def row(module, *arguments, open_sizes=None, names=None):
    names = names or ["x", "y", "z", "w"][: len(arguments)]
    return module, arguments, names, open_sizes or {}


class Conformer(nn.Module):
    """One block: half feed forward, attention, gated convolution with BatchNorm, half feed forward."""

    def __init__(self, width=144, heads=4, kernel=15):
        super().__init__()
        self.before, self.after = (nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width)) for _ in range(2))
        self.norm, self.attention = nn.LayerNorm(width), nn.MultiheadAttention(width, heads, batch_first=True)
        self.convolution_norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.convolution = nn.Sequential(nn.Conv1d(width, 2 * width, 1), nn.GLU(1), nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
                                         nn.BatchNorm1d(width), nn.SiLU(), nn.Conv1d(width, width, 1))

    def forward(self, x):
        x = x + 0.5 * self.before(x)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.convolution(self.convolution_norm(x).transpose(1, 2)).transpose(1, 2)
        return self.last(x + 0.5 * self.after(x))


class ConformerEncoder(nn.Module):
    def __init__(self, width=144):
        super().__init__()
        self.sampling = nn.Sequential(nn.Conv2d(1, width, 3, 2), nn.ReLU(), nn.Conv2d(width, width, 3, 2), nn.ReLU())
        self.enter, self.blocks = nn.Linear(width * 19, width), nn.Sequential(*(Conformer(width) for _ in range(4)))

    def forward(self, x):
        x = self.sampling(x.unsqueeze(1))
        return self.blocks(self.enter(x.transpose(1, 2).flatten(2)))


class Encodec(nn.Module):
    """Padded by reflection, ELU, strides, an LSTM, residual vector quantisation, and the way back."""

    def __init__(self, channels=16, strides=(2, 4, 5), codes=256, books=4):
        super().__init__()
        down, up = [nn.Conv1d(1, channels, 7, padding=3, padding_mode="reflect")], []
        for stride in strides:
            down += [self.residual(channels), nn.ELU(), nn.Conv1d(channels, 2 * channels, 2 * stride, stride, stride // 2, padding_mode="reflect")]
            up = [nn.ELU(), nn.ConvTranspose1d(2 * channels, channels, 2 * stride, stride, stride // 2), self.residual(channels), *up]
            channels *= 2
        self.down, self.up = nn.Sequential(*down), nn.Sequential(*up, nn.ELU(), nn.Conv1d(16, 1, 7, padding=3))
        self.lstm = nn.LSTM(channels, channels, 2, batch_first=True)
        self.books = nn.Parameter(torch.randn(books, codes, channels))

    @staticmethod
    def residual(channels):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.ELU(), nn.Conv1d(channels, channels // 2, 3, padding=1), nn.ELU(), nn.Conv1d(channels // 2, channels, 1))

            def forward(self, x):
                return x + self.body(x)

        return Block()

    def forward(self, x):
        y = self.down(x).transpose(1, 2)
        y = y + self.lstm(y)[0]
        total, rest = torch.zeros_like(y), y
        for book in self.books:
            distances = rest.pow(2).sum(-1, keepdim=True) - 2 * rest @ book.t() + book.pow(2).sum(-1)
            found = functional.embedding(distances.argmin(-1), book)
            total, rest = total + found, rest - found
        return self.up(total.transpose(1, 2))


class WaveNet(nn.Module):
    """Causal dilated convolutions with gates by tanh and sigmoid."""

    def __init__(self, channels=64, layers=12):
        super().__init__()
        self.first = nn.Conv1d(1, channels, 1)
        self.dilations = [2 ** (layer % 6) for layer in range(layers)]
        self.gates = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 2, dilation=d) for d in self.dilations)
        self.skips, self.outs = (nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(layers)) for _ in range(2))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(channels, channels, 1), nn.ReLU(), nn.Conv1d(channels, 256, 1))

    def forward(self, x):
        x, total = self.first(x), 0
        for dilation, gate, skip, out in zip(self.dilations, self.gates, self.skips, self.outs):
            one, two = gate(functional.pad(x, (dilation, 0))).chunk(2, 1)
            y = torch.tanh(one) * torch.sigmoid(two)
            total, x = total + skip(y), x + out(y)
        return self.last(total)


class Demucs(nn.Module):
    """A U of strided convolutions with gates, an LSTM of two directions at the bottom."""

    def __init__(self, channels=32, depth=4):
        super().__init__()
        self.encoder, self.decoder, wide = nn.ModuleList(), nn.ModuleList(), 1
        for level in range(depth):
            self.encoder.append(nn.Sequential(nn.Conv1d(wide, channels, 8, 4, 2), nn.ReLU(), nn.Conv1d(channels, 2 * channels, 1), nn.GLU(1)))
            self.decoder.insert(0, nn.Sequential(nn.Conv1d(channels, 2 * channels, 1), nn.GLU(1), nn.ConvTranspose1d(channels, wide, 8, 4, 2), *([nn.ReLU()] if level else [])))
            wide, channels = channels, 2 * channels
        self.lstm, self.join = nn.LSTM(wide, wide, 2, bidirectional=True, batch_first=True), nn.Linear(2 * wide, wide)

    def forward(self, x):
        skips, deviation = [], x.std(dim=-1, keepdim=True) + 1e-3
        x = x / deviation
        for encode in self.encoder:
            x = encode(x)
            skips.append(x)
        x = self.join(self.lstm(x.transpose(1, 2))[0]).transpose(1, 2)
        for decode in self.decoder:
            x = decode(x + skips.pop())
        return x * deviation


class SpectrumMask(nn.Module):
    """Speech enhancement over a spectrum: gated convolutions over one axis of frequency, a GRU over time, a mask."""

    def __init__(self, channels=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(2, channels, (1, 5), (1, 2), (0, 2)), nn.BatchNorm2d(channels), nn.PReLU(channels),
                                     nn.Conv2d(channels, channels, (1, 5), (1, 2), (0, 2), groups=2), nn.BatchNorm2d(channels), nn.PReLU(channels))
        self.gru, self.decoder = nn.GRU(channels * 65, 128, batch_first=True), nn.Linear(128, channels * 65)
        self.up = nn.Sequential(nn.ConvTranspose2d(channels, channels, (1, 5), (1, 2), (0, 2)), nn.BatchNorm2d(channels), nn.PReLU(channels),
                                nn.ConvTranspose2d(channels, 2, (1, 5), (1, 2), (0, 2)), nn.Tanh())

    def forward(self, x):
        y = self.encoder(x)
        z = self.decoder(self.gru(y.transpose(1, 2).flatten(2))[0])
        mask = self.up(y + z.view(z.shape[0], z.shape[1], 32, 65).transpose(1, 2))
        real = x[:, 0] * mask[:, 0] - x[:, 1] * mask[:, 1]
        return torch.stack([real, x[:, 0] * mask[:, 1] + x[:, 1] * mask[:, 0]], 1)


class DualPath(nn.Module):
    """Chunks of a long series: attention within them and across them, InstanceNorm between."""

    def __init__(self, width=64, chunk=50):
        super().__init__()
        self.chunk, self.first, self.last = chunk, nn.Conv1d(1, width, 16, 8), nn.ConvTranspose1d(width, 1, 16, 8)
        self.norm = nn.InstanceNorm1d(width, affine=True)
        self.within, self.across = (nn.TransformerEncoderLayer(width, 4, 128, batch_first=True, norm_first=True) for _ in range(2))

    def forward(self, x):
        y = self.norm(self.first(x))
        batch, width, length = y.shape
        z = y.view(batch, width, length // self.chunk, self.chunk).permute(0, 2, 3, 1)
        z = self.within(z.flatten(0, 1)).view(z.shape).transpose(1, 2)
        z = self.across(z.flatten(0, 1)).view(z.shape).permute(0, 3, 2, 1)
        return self.last(torch.relu(z.reshape(batch, width, length)) * y)


class EcapaBlock(nn.Module):
    """Speaker embedding: a Res2 convolution, squeeze and excitation, statistics pooled with attention."""

    def __init__(self, channels=256, parts=8):
        super().__init__()
        self.first, self.last = nn.Sequential(nn.Conv1d(80, channels, 5, padding=2), nn.ReLU(), nn.BatchNorm1d(channels)), nn.Conv1d(channels, channels, 1)
        self.parts = nn.ModuleList(nn.Sequential(nn.Conv1d(channels // parts, channels // parts, 3, padding=d, dilation=d), nn.ReLU(), nn.BatchNorm1d(channels // parts))
                                   for d in (2, 2, 2, 3, 3, 4, 4))
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Conv1d(channels, 64, 1), nn.ReLU(), nn.Conv1d(64, channels, 1), nn.Sigmoid())
        self.attention, self.out = nn.Sequential(nn.Conv1d(3 * channels, 128, 1), nn.Tanh(), nn.Conv1d(128, channels, 1)), nn.Linear(2 * channels, 192)

    def forward(self, x):
        x = self.first(x)
        pieces, made = x.chunk(8, 1), []
        for index, piece in enumerate(pieces):
            made.append(piece if index == 0 else self.parts[index - 1](piece if index == 1 else piece + made[-1]))
        y = self.last(torch.cat(made, 1))
        x = x + y * self.squeeze(y)
        mean, deviation = x.mean(2, keepdim=True), torch.sqrt(x.var(2, keepdim=True).clamp(min=1e-5))
        weight = torch.softmax(self.attention(torch.cat([x, mean.expand_as(x), deviation.expand_as(x)], 1)), 2)
        mean = (x * weight).sum(2)
        deviation = torch.sqrt(((x**2 * weight).sum(2) - mean**2).clamp(min=1e-5))
        return self.out(torch.cat([mean, deviation], 1))


class PatchSeries(nn.Module):
    """PatchTST: series normalised one by one, unfolded into patches, an encoder with BatchNorm."""

    def __init__(self, width=128, patch=16, step=8, length=336, ahead=96):
        super().__init__()
        self.patch, self.step, self.count = patch, step, (length - patch) // step + 2
        self.enter, self.place = nn.Linear(patch, width), nn.Parameter(torch.randn(self.count, width))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, 8, 256, activation="gelu", batch_first=True) for _ in range(3))
        self.head = nn.Linear(self.count * width, ahead)

    def forward(self, x):
        mean, deviation = x.mean(1, keepdim=True), torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        y = functional.pad(((x - mean) / deviation).transpose(1, 2), (0, self.step), mode="replicate").unfold(-1, self.patch, self.step)
        z = (self.enter(y) + self.place).flatten(0, 1)
        for layer in self.layers:
            z = layer(z)
        return self.head(z.flatten(1)).view(x.shape[0], x.shape[2], -1).transpose(1, 2) * deviation + mean


class NBeats(nn.Module):
    def __init__(self, length=120, ahead=24, width=256, blocks=6):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(length, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()) for _ in range(blocks))
        self.backs, self.fronts = nn.ModuleList(nn.Linear(width, length) for _ in range(blocks)), nn.ModuleList(nn.Linear(width, ahead) for _ in range(blocks))

    def forward(self, x):
        total = 0
        for block, back, front in zip(self.blocks, self.backs, self.fronts):
            y = block(x)
            x, total = x - back(y), total + front(y)
        return total


class TemporalConvolutions(nn.Module):
    def __init__(self, channels=64, levels=6):
        super().__init__()
        self.first = nn.Conv1d(8, channels, 1)
        self.layers = nn.ModuleList(nn.ModuleList(nn.utils.parametrizations.weight_norm(nn.Conv1d(channels, channels, 3, padding=2 * 2**level, dilation=2**level)) for _ in range(2)) for level in range(levels))

    def forward(self, x):
        x = self.first(x)
        for level, pair in enumerate(self.layers):
            y = x
            for layer in pair:
                y = torch.relu(layer(y)[:, :, : -2 * 2**level])
            x = torch.relu(x + y)
        return x[:, :, -1]


class Informer(nn.Module):
    """Sparse attention by the largest scores (TopK, GatherND by index, ScatterND back), distilled by convolution, ELU and pooling."""

    def __init__(self, width=128, heads=4, keep=24):
        super().__init__()
        self.heads, self.keep = heads, keep
        self.enter = nn.Conv1d(7, width, 3, padding=1, padding_mode="circular")
        self.queries, self.keys, self.values, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm, self.distil = nn.LayerNorm(width), nn.Sequential(nn.Conv1d(width, width, 3, padding=1), nn.BatchNorm1d(width), nn.ELU(), nn.MaxPool1d(3, 2, 1))
        self.head = nn.Linear(width, 7)

    def forward(self, x):
        x = self.enter(x.transpose(1, 2)).transpose(1, 2)
        batch, length, width = x.shape
        q, k, v = (layer(x).view(batch, length, self.heads, -1).transpose(1, 2) for layer in (self.queries, self.keys, self.values))
        measure = (q @ k[:, :, ::8].transpose(2, 3)).max(-1).values - (q @ k[:, :, ::8].transpose(2, 3)).mean(-1)
        top = measure.topk(self.keep, -1).indices.unsqueeze(-1).expand(-1, -1, -1, q.shape[-1])
        scores = torch.softmax(q.gather(2, top) @ k.transpose(2, 3) / q.shape[-1] ** 0.5, -1) @ v
        y = v.mean(2, keepdim=True).expand_as(q).scatter(2, top, scores)
        x = self.norm(x + self.out(y.transpose(1, 2).flatten(2)))
        return self.head(self.distil(x.transpose(1, 2)).transpose(1, 2))


class SeasonalLinear(nn.Module):
    """DLinear and a mixing network: moving averages, products along time and along features, cumulated sums."""

    def __init__(self, length=336, ahead=96, features=21):
        super().__init__()
        self.season, self.trend, self.average = nn.Linear(length, ahead), nn.Linear(length, ahead), nn.AvgPool1d(25, 1)
        self.mix = nn.Sequential(nn.LayerNorm(features), nn.Linear(features, 64), nn.GELU(), nn.Linear(64, features))

    def forward(self, x):
        padded = torch.cat([x[:, :1].repeat(1, 12, 1), x, x[:, -1:].repeat(1, 12, 1)], 1)
        trend = self.average(padded.transpose(1, 2))
        y = self.season(x.transpose(1, 2) - trend) + self.trend(trend)
        y = y.transpose(1, 2)
        return y + self.mix(y) + y.cumsum(1) / 96


class TemporalFusion(nn.Module):
    """Gated residual networks, selection of variables by softmax, an LSTM, attention over the past."""

    def __init__(self, width=64, variables=8):
        super().__init__()
        self.embeds = nn.ModuleList(nn.Linear(1, width) for _ in range(variables))
        self.choose, self.lstm, self.attention = nn.Linear(width * variables, variables), nn.LSTM(width, width, batch_first=True), nn.MultiheadAttention(width, 4, batch_first=True)
        self.gate, self.norm, self.out = nn.Sequential(nn.Linear(width, 2 * width), nn.GLU()), nn.LayerNorm(width), nn.Linear(width, 3)
        self.register_buffer("mask", torch.triu(torch.ones(96, 96, dtype=torch.bool), 1))

    def forward(self, x):
        y = torch.stack([embed(x[..., i : i + 1]) for i, embed in enumerate(self.embeds)], -1)
        weights = torch.softmax(self.choose(functional.elu(y.flatten(2))), -1).unsqueeze(2)
        y = (y * weights).sum(-1)
        y = self.norm(y + self.gate(self.lstm(y)[0]))
        z = self.attention(y, y, y, attn_mask=self.mask, need_weights=False)[0]
        return self.out(self.norm(y + self.gate(z)))


MODELS = {
    "conformer": lambda: row(ConformerEncoder(), torch.randn(1, 400, 80), open_sizes={"x": {0: "batch"}}),
    "encodec": lambda: row(Encodec(), torch.randn(1, 1, 16000)),
    "wavenet": lambda: row(WaveNet(), torch.randn(1, 1, 4000)),
    "demucs": lambda: row(Demucs(), torch.randn(1, 1, 16384)),
    "spectrum_mask": lambda: row(SpectrumMask(), torch.randn(1, 2, 100, 257)),
    "dual_path": lambda: row(DualPath(), torch.randn(1, 1, 16008)),
    "ecapa": lambda: row(EcapaBlock(), torch.randn(1, 80, 300)),
    "patch_tst": lambda: row(PatchSeries(), torch.randn(1, 336, 7)),
    "n_beats": lambda: row(NBeats(), torch.randn(32, 120)),
    "tcn": lambda: row(TemporalConvolutions(), torch.randn(1, 8, 1000)),
    "informer": lambda: row(Informer(), torch.randn(1, 192, 7)),
    "seasonal_linear": lambda: row(SeasonalLinear(), torch.randn(8, 336, 21)),
    "temporal_fusion": lambda: row(TemporalFusion(), torch.randn(4, 96, 8)),
}
