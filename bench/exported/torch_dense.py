"""Networks that give something for every place, for points, graphs, tables and mixtures of experts, with drawn weights. Rows as in torch_vision.py."""
import torch
from torch import nn
from torch.nn import functional

from exported.torch_sound import row


class TimeResidual(nn.Module):
    """Of a diffusion network: GroupNorm, SiLU, a convolution, the step's embedding added."""

    def __init__(self, narrow, wide, time):
        super().__init__()
        self.one, self.two = nn.Sequential(nn.GroupNorm(32, narrow), nn.SiLU(), nn.Conv2d(narrow, wide, 3, padding=1)), nn.Sequential(nn.GroupNorm(32, wide), nn.SiLU(), nn.Conv2d(wide, wide, 3, padding=1))
        self.time, self.skip = nn.Sequential(nn.SiLU(), nn.Linear(time, wide)), nn.Conv2d(narrow, wide, 1) if narrow != wide else nn.Identity()

    def forward(self, x, t):
        return self.skip(x) + self.two(self.one(x) + self.time(t)[:, :, None, None])


class ImageAttention(nn.Module):
    """Attention over places, and to words where there are some, then a gated feed forward layer."""

    def __init__(self, width, words=64, heads=8):
        super().__init__()
        self.norm, self.enter, self.leave = nn.GroupNorm(32, width), nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.other = nn.MultiheadAttention(width, heads, batch_first=True), nn.MultiheadAttention(width, heads, batch_first=True, kdim=words, vdim=words)
        self.wide, self.narrow = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x, words):
        y = self.enter(self.norm(x)).flatten(2).transpose(1, 2)
        z = self.norms[0](y)
        y = y + self.own(z, z, z, need_weights=False)[0]
        y = y + self.other(self.norms[1](y), words, words, need_weights=False)[0]
        value, gate = self.wide(self.norms[2](y)).chunk(2, -1)
        y = y + self.narrow(value * functional.gelu(gate))
        return x + self.leave(y.transpose(1, 2).view(x.shape))


class DiffusionNet(nn.Module):
    def __init__(self, width=64, time=128):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.register_buffer("waves", torch.exp(-torch.arange(width // 2) * 9.2 / (width // 2)))
        self.first, self.down = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, width, 3, 2, 1)
        self.one, self.two, self.middle = TimeResidual(width, width, time), TimeResidual(width, 2 * width, time), ImageAttention(2 * width)
        self.three, self.four, self.up = TimeResidual(2 * width, width, time), TimeResidual(2 * width, width, time), nn.Conv2d(width, width, 3, padding=1)
        self.last = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 4, 3, padding=1))

    def forward(self, x, step, words):
        angle = step[:, None] * self.waves
        t = self.embed(torch.cat([angle.cos(), angle.sin()], -1))
        a = self.one(self.first(x), t)
        b = self.three(self.middle(self.two(self.down(a), t), words), t)
        b = self.up(functional.interpolate(b, scale_factor=2.0, mode="nearest"))
        return self.last(self.four(torch.cat([a, b], 1), t))


class ImageDecoder(nn.Module):
    """Of an autoencoder for images: GroupNorm everywhere, attention of one head, nearest places doubled."""

    def __init__(self, width=64):
        super().__init__()
        self.first, self.norm, self.query, self.key, self.value, self.out = nn.Conv2d(4, width, 3, padding=1), nn.GroupNorm(16, width), *(nn.Conv2d(width, width, 1) for _ in range(4))
        self.blocks = nn.ModuleList(nn.Sequential(nn.GroupNorm(16, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(16, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1)) for _ in range(3))
        self.last = nn.Sequential(nn.GroupNorm(16, width), nn.SiLU(), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        x = self.first(x)
        y = self.norm(x)
        q, k, v = self.query(y).flatten(2).transpose(1, 2), self.key(y).flatten(2), self.value(y).flatten(2)
        x = x + self.out((v @ torch.softmax(q @ k * x.shape[1] ** -0.5, -1).transpose(1, 2)).view(x.shape))
        for index, block in enumerate(self.blocks):
            x = x + block(x)
            if index < 2:
                x = functional.interpolate(x, scale_factor=2.0)
        return self.last(x)


class EdsrNet(nn.Module):
    def __init__(self, width=48, transposed=False):
        super().__init__()
        self.first, self.blocks = nn.Conv2d(3, width, 3, padding=1), nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.PReLU(width), nn.Conv2d(width, width, 3, padding=1)) for _ in range(4))
        if transposed:
            self.up = nn.Sequential(nn.ConvTranspose2d(width, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.ConvTranspose2d(width, width, 3, 2, 1, output_padding=1), nn.LeakyReLU(0.2))
        else:
            self.up = nn.Sequential(nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2))
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        y = self.first(x)
        for block in self.blocks:
            y = y + 0.1 * block(y)
        return self.last(self.up(y)) + functional.interpolate(x, scale_factor=4.0, mode="bicubic", align_corners=False)


class DenseRestorer(nn.Module):
    """ESRGAN's dense block: five convolutions that each read all before, LeakyReLU, scaled residuals."""

    def __init__(self, width=32, grow=16, blocks=2):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.blocks = nn.ModuleList(nn.ModuleList(nn.Conv2d(width + i * grow, grow if i < 4 else width, 3, padding=1) for i in range(5)) for _ in range(blocks))

    def forward(self, x):
        y = self.first(x)
        for block in self.blocks:
            parts = [y]
            for layer in block[:4]:
                parts.append(functional.leaky_relu(layer(torch.cat(parts, 1)), 0.2))
            y = y + 0.2 * block[4](torch.cat(parts, 1))
        return self.last(functional.leaky_relu(functional.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=True), 0.2))


class NafBlock(nn.Module):
    """Restoration without activations: LayerNorm over channels first, halves multiplied, attention over channels."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.one, self.two, self.three = nn.Conv2d(width, 2 * width, 1), nn.Conv2d(2 * width, 2 * width, 3, padding=1, groups=2 * width), nn.Conv2d(width, width, 1)
        self.channels, self.four, self.five = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, width, 1)), nn.Conv2d(width, 2 * width, 1), nn.Conv2d(width, width, 1)

    def norm(self, x):
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        return self.weight[:, None, None] * ((x - mean) / (variance + 1e-6).sqrt()) + self.bias[:, None, None]

    def forward(self, x):
        a, b = self.two(self.one(self.norm(x))).chunk(2, 1)
        y = a * b
        x = x + self.three(y * self.channels(y))
        a, b = self.four(self.norm(x)).chunk(2, 1)
        return x + self.five(a * b)


class NafNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.one, self.down, self.two, self.up = NafBlock(width), nn.Conv2d(width, 2 * width, 2, 2), NafBlock(2 * width), nn.Sequential(nn.Conv2d(2 * width, 4 * width, 1, bias=False), nn.PixelShuffle(2))

    def forward(self, x):
        y = self.one(self.first(x))
        return x + self.last(y + self.up(self.two(self.down(y))))


def conv(narrow, wide, kernel=1, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(narrow, wide, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(wide), nn.SiLU())


class CrossStage(nn.Module):
    """Yolo's C2f: halves, bottlenecks, everything joined."""

    def __init__(self, narrow, wide, count=1, add=True):
        super().__init__()
        self.half, self.add = wide // 2, add
        self.enter, self.leave = conv(narrow, wide), conv((2 + count) * self.half, wide)
        self.blocks = nn.ModuleList(nn.Sequential(conv(self.half, self.half, 3), conv(self.half, self.half, 3)) for _ in range(count))

    def forward(self, x):
        parts = list(self.enter(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(parts[-1] + block(parts[-1]) if self.add else block(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class Yolo(nn.Module):
    def __init__(self, w=16, classes=80, reg=16):
        super().__init__()
        self.stem, self.p3 = nn.Sequential(conv(3, w, 3, 2), conv(w, 2 * w, 3, 2), CrossStage(2 * w, 2 * w)), nn.Sequential(conv(2 * w, 4 * w, 3, 2), CrossStage(4 * w, 4 * w, 2))
        self.p4, self.p5 = nn.Sequential(conv(4 * w, 8 * w, 3, 2), CrossStage(8 * w, 8 * w, 2)), nn.Sequential(conv(8 * w, 16 * w, 3, 2), CrossStage(16 * w, 16 * w))
        self.enter, self.leave, self.pool = conv(16 * w, 8 * w), conv(32 * w, 16 * w), nn.MaxPool2d(5, 1, 2)
        self.n4, self.n3 = CrossStage(24 * w, 8 * w, 1, False), CrossStage(12 * w, 4 * w, 1, False)
        self.heads = nn.ModuleList(nn.ModuleList([nn.Sequential(conv(c, 64, 3), nn.Conv2d(64, 4 * reg, 1)), nn.Sequential(conv(c, 80, 3), nn.Conv2d(80, classes, 1))]) for c in (4 * w, 8 * w, 16 * w))
        self.register_buffer("bins", torch.arange(reg, dtype=torch.float32).view(1, reg, 1, 1))
        self.reg, self.strides = reg, (8, 16, 32)

    def forward(self, x):
        p3 = self.p3(self.stem(x))
        p4 = self.p4(p3)
        y = self.enter(self.p5(p4))
        one = self.pool(y)
        two = self.pool(one)
        p5 = self.leave(torch.cat([y, one, two, self.pool(two)], 1))
        n4 = self.n4(torch.cat([functional.interpolate(p5, scale_factor=2.0), p4], 1))
        n3 = self.n3(torch.cat([functional.interpolate(n4, scale_factor=2.0), p3], 1))
        boxes, scores = [], []
        for (box, score), level, stride in zip(self.heads, (n3, n4, p5), self.strides):
            d = functional.conv2d(box(level).view(1, 4, self.reg, -1).transpose(1, 2).softmax(1), self.bins)[:, 0]
            rows, columns = level.shape[2:]
            grid = torch.stack(torch.meshgrid(torch.arange(columns) + 0.5, torch.arange(rows) + 0.5, indexing="xy")).view(1, 2, -1)
            low, high = grid - d[:, :2], grid + d[:, 2:]
            boxes.append(torch.cat([(low + high) / 2, high - low], 1) * stride)
            scores.append(score(level).flatten(2).sigmoid())
        return torch.cat([torch.cat(boxes, 2), torch.cat(scores, 2)], 1)


class VolumeNet(nn.Module):
    """A U over three axes: InstanceNorm, LeakyReLU, transposed convolutions, trilinear places."""

    def __init__(self, width=16):
        super().__init__()
        def pair(narrow, wide):
            return nn.Sequential(nn.Conv3d(narrow, wide, 3, padding=1), nn.InstanceNorm3d(wide, affine=True), nn.LeakyReLU(0.01), nn.Conv3d(wide, wide, 3, padding=1), nn.InstanceNorm3d(wide, affine=True), nn.LeakyReLU(0.01))
        self.one, self.two, self.three, self.four, self.five = pair(1, width), pair(width, 2 * width), pair(2 * width, 4 * width), pair(4 * width, 2 * width), pair(2 * width, width)
        self.up, self.pool, self.last = nn.ConvTranspose3d(4 * width, 2 * width, 2, 2), nn.MaxPool3d(2), nn.Conv3d(width, 3, 1)
        self.side = nn.Conv3d(2 * width, width, 1)

    def forward(self, x):
        a = self.one(x)
        b = self.two(self.pool(a))
        c = self.four(torch.cat([self.up(self.three(self.pool(b))), b], 1))
        c = self.side(functional.interpolate(c, scale_factor=2.0, mode="trilinear", align_corners=False))
        return torch.softmax(self.last(self.five(torch.cat([a, c], 1))), 1)


class PointNet(nn.Module):
    """Points: nearest neighbours by distance and TopK, gathered, edge convolutions, the largest over neighbours."""

    def __init__(self, near=16, width=64):
        super().__init__()
        self.near, self.out = near, nn.Sequential(nn.Linear(4 * width, 128), nn.ReLU(), nn.Linear(128, 40))
        self.edges = nn.ModuleList(nn.Sequential(nn.Conv2d(2 * c, width, 1, bias=False), nn.BatchNorm2d(width), nn.LeakyReLU(0.2)) for c in (3, width))
        self.join = nn.Sequential(nn.Conv1d(2 * width, 2 * width, 1), nn.BatchNorm1d(2 * width), nn.LeakyReLU(0.2))

    def forward(self, x):
        made = []
        for edge in self.edges:
            square = (x**2).sum(1, keepdim=True)
            nearest = (2 * x.transpose(1, 2) @ x - square - square.transpose(1, 2)).topk(self.near, -1).indices
            batch, points, _ = nearest.shape
            picked = x.transpose(1, 2)[torch.arange(batch)[:, None, None], nearest]
            centre = x.transpose(1, 2)[:, :, None].expand(-1, -1, self.near, -1)
            x = edge(torch.cat([picked - centre, centre], 3).permute(0, 3, 1, 2)).max(-1).values
            made.append(x)
        y = self.join(torch.cat(made, 1))
        return self.out(torch.cat([y.amax(2), y.mean(2)], 1))


class FlowNet(nn.Module):
    """Optical flow: shifted products as a cost volume, flow estimated, the second image warped by GridSample."""

    def __init__(self, width=32, reach=3):
        super().__init__()
        self.reach, self.features = reach, nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.LeakyReLU(0.1), nn.Conv2d(width, width, 3, 2, 1), nn.LeakyReLU(0.1))
        side = (2 * reach + 1) ** 2
        self.estimate = nn.Sequential(nn.Conv2d(side + width, 64, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(64, 32, 3, padding=2, dilation=2), nn.LeakyReLU(0.1), nn.Conv2d(32, 2, 3, padding=1))

    def forward(self, one, two):
        a, b = self.features(one), self.features(two)
        height, width = a.shape[2:]
        grid = torch.stack(torch.meshgrid(torch.linspace(-1, 1, width), torch.linspace(-1, 1, height), indexing="xy"), -1)[None]
        flow = torch.zeros(1, 2, height, width)
        for _ in range(2):
            scaled = flow.permute(0, 2, 3, 1) / torch.tensor([(width - 1) / 2, (height - 1) / 2])
            warped = functional.pad(functional.grid_sample(b, grid + scaled, align_corners=True, padding_mode="border"), [self.reach] * 4)
            cost = torch.cat([(a * warped[:, :, y : y + height, x : x + width]).mean(1, keepdim=True) for y in range(2 * self.reach + 1) for x in range(2 * self.reach + 1)], 1)
            flow = flow + self.estimate(torch.cat([functional.leaky_relu(cost, 0.1), a], 1))
        return functional.interpolate(flow, scale_factor=4.0, mode="bilinear", align_corners=True) * 4


class KeypointNet(nn.Module):
    """SimpleBaseline: transposed convolutions to heatmaps, then a soft argmax by softmax and sums."""

    def __init__(self, keypoints=17):
        super().__init__()
        import torchvision

        body = torchvision.models.resnet18(weights=None)
        self.body = nn.Sequential(*list(body.children())[:-2])
        self.up = nn.Sequential(*(layer for narrow in (512, 64) for layer in (nn.ConvTranspose2d(narrow, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU())))
        self.last = nn.Conv2d(64, keypoints, 1)

    def forward(self, x):
        heat = self.last(self.up(self.body(x)))
        shares = torch.softmax(heat.flatten(2), -1).view(heat.shape)
        columns = (shares.sum(2) * torch.arange(heat.shape[3])).sum(-1)
        return torch.stack([columns, (shares.sum(3) * torch.arange(heat.shape[2])).sum(-1)], -1), heat.flatten(2).argmax(-1)


class Recommender(nn.Module):
    """DLRM: embeddings, products of all pairs, the upper triangle gathered, two perceptrons."""

    def __init__(self, fields=26, rows=5000, width=32, deep=False):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(fields))
        self.firsts = nn.ModuleList(nn.Embedding(rows, 1) for _ in range(fields)) if deep else None
        self.bottom = nn.Sequential(nn.Linear(13, 128), nn.ReLU(), nn.Linear(128, width), nn.ReLU())
        self.register_buffer("places", torch.triu_indices(fields + 1, fields + 1, 1))
        self.top = nn.Sequential(nn.Linear((fields + 1) * width if deep else width + self.places.shape[1], 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense, sparse):
        base = self.bottom(dense)
        all_fields = torch.stack([base, *(table(sparse[:, i]) for i, table in enumerate(self.tables))], 1)
        if self.firsts is not None:  # DeepFM
            second = 0.5 * (all_fields.sum(1) ** 2 - (all_fields**2).sum(1)).sum(1, keepdim=True)
            first = torch.cat([table(sparse[:, i]) for i, table in enumerate(self.firsts)], 1).sum(1, keepdim=True)
            return torch.sigmoid(first + second + self.top(all_fields.flatten(1)))
        pairs = (all_fields @ all_fields.transpose(1, 2))[:, self.places[0], self.places[1]]
        return torch.sigmoid(self.top(torch.cat([base, pairs], 1)))


class InterestNet(nn.Module):
    """Deep interest: attention of a candidate to a history, Dice as an activation, masks."""

    def __init__(self, rows=5000, width=32):
        super().__init__()
        self.table, self.score = nn.Embedding(rows, width), nn.Sequential(nn.Linear(4 * width, 64), nn.PReLU(), nn.Linear(64, 1))
        self.norm, self.out = nn.BatchNorm1d(3 * width), nn.Sequential(nn.Linear(3 * width, 64), nn.PReLU(), nn.Linear(64, 2))

    def forward(self, history, candidate):
        h, c = self.table(history), self.table(candidate)[:, None]
        wide = c.expand_as(h)
        scores = self.score(torch.cat([h, wide, h - wide, h * wide], -1)).squeeze(-1)
        scores = torch.softmax(scores.masked_fill(history == 0, -1e9), -1)
        pooled = (scores[:, None] @ h)[:, 0]
        return torch.softmax(self.out(self.norm(torch.cat([pooled, c[:, 0], pooled * c[:, 0]], -1))), -1)


class GraphNet(nn.Module):
    """Messages along edges summed by scatter; kind: mean with degrees (GCN) or softmax over each node's edges (GAT)."""

    def __init__(self, attend, width=64):
        super().__init__()
        self.attend, self.layers = attend, nn.ModuleList(nn.Linear(c, width) for c in (32, width))
        self.scores = nn.ModuleList(nn.Linear(2 * width, 1) for _ in range(2))
        self.cell, self.out = nn.GRUCell(width, width), nn.Linear(width, 7)

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        for layer, score in zip(self.layers, self.scores):
            y = layer(x)
            if self.attend:
                raw = functional.leaky_relu(score(torch.cat([y[source], y[target]], 1)), 0.2).squeeze(1)
                share = torch.exp(raw - raw.max())
                total = torch.zeros(x.shape[0]).scatter_add(0, target, share)
                message = y[source] * (share / (total[target] + 1e-9))[:, None]
            else:
                degree = torch.ones(x.shape[0]).scatter_add(0, target, torch.ones_like(target, dtype=torch.float32))
                message = y[source] * (degree[source] * degree[target]).rsqrt()[:, None]
            x = torch.relu(torch.zeros_like(y).scatter_add(0, target[:, None].expand_as(message), message) + y)
        return self.out(self.cell(x, x))


class Experts(nn.Module):
    """A mixture of experts with the two best of eight: scores by TopK, weights gathered, all experts by batched products."""

    def __init__(self, width=128, hidden=256, experts=8, gathered=False):
        super().__init__()
        self.gathered, self.router = gathered, nn.Linear(width, experts)
        self.wide, self.gate, self.narrow = nn.Parameter(torch.randn(experts, width, hidden) * 0.05), nn.Parameter(torch.randn(experts, width, hidden) * 0.05), nn.Parameter(torch.randn(experts, hidden, width) * 0.05)

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        best = torch.softmax(self.router(y), -1).topk(2, -1)
        shares = best.values / best.values.sum(-1, keepdim=True)
        if self.gathered:
            wide, gate, narrow = (table[best.indices] for table in (self.wide, self.gate, self.narrow))
            z = functional.silu(torch.einsum("td,tkdh->tkh", y, gate)) * torch.einsum("td,tkdh->tkh", y, wide)
            return x + (torch.einsum("tkh,tkhd->tkd", z, narrow) * shares[..., None]).sum(1)
        z = functional.silu(torch.einsum("td,edh->teh", y, self.gate)) * torch.einsum("td,edh->teh", y, self.wide)
        made = torch.einsum("teh,ehd->ted", z, self.narrow)
        weights = torch.zeros(x.shape[0], self.router.out_features).scatter(1, best.indices, shares)
        return x + (made * weights[..., None]).sum(1)


class SelectiveScan(nn.Module):
    """Mamba's layer written out as products: cumulated sums of decays, a chunk at a time (as Mamba 2 does it)."""

    def __init__(self, width=128, state=16, heads=8, chunk=32):
        super().__init__()
        self.heads, self.chunk, self.state = heads, chunk, state
        self.enter, self.leave = nn.Linear(width, 2 * width + 2 * state + heads), nn.Linear(width, width)
        self.mix, self.decay, self.width = nn.Conv1d(width, width, 4, padding=3, groups=width), nn.Parameter(torch.zeros(heads)), width

    def forward(self, x):
        batch, length, _ = x.shape
        inner, gate, b, c, step = self.enter(x).split([self.width, self.width, self.state, self.state, self.heads], -1)
        inner = functional.silu(self.mix(inner.transpose(1, 2))[..., :length]).transpose(1, 2)
        step = functional.softplus(step)
        pieces = length // self.chunk
        log = (-torch.exp(self.decay) * step).view(batch, pieces, self.chunk, self.heads).permute(0, 3, 1, 2).cumsum(-1)
        values = (inner.view(batch, length, self.heads, -1) * step[..., None]).view(batch, pieces, self.chunk, self.heads, -1)
        b, c = b.view(batch, pieces, self.chunk, -1), c.view(batch, pieces, self.chunk, -1)
        within = torch.exp((log[..., :, None] - log[..., None, :]).masked_fill(torch.triu(torch.ones(self.chunk, self.chunk, dtype=torch.bool), 1), float("-inf")))
        one = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", c, b, within, values)
        states = torch.einsum("bcln,bhcl,bclhp->bchpn", b, torch.exp(log[..., -1:] - log), values)
        carried, kept = torch.zeros_like(states[:, 0]), []
        for piece in range(pieces):
            kept.append(carried)
            carried = carried * torch.exp(log[:, :, piece, -1])[..., None, None] + states[:, piece]
        two = torch.einsum("bcln,bchpn,bhcl->bclhp", c, torch.stack(kept, 1), torch.exp(log))
        return x + self.leave((one + two).reshape(batch, length, -1) * functional.silu(gate))


class StyleNet(nn.Module):
    """Styles: InstanceNorm scaled by a style, padding by reflection, transposed convolutions (as CycleGAN and AdaIN do)."""

    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(3, width, 7), nn.InstanceNorm2d(width), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.InstanceNorm2d(2 * width), nn.ReLU())
        self.blocks = nn.ModuleList(nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(2 * width, 2 * width, 3)) for _ in range(3))
        self.styles, self.norm = nn.ModuleList(nn.Linear(64, 4 * width) for _ in range(3)), nn.InstanceNorm2d(2 * width)
        self.last = nn.Sequential(nn.ConvTranspose2d(2 * width, width, 3, 2, 1, output_padding=1), nn.InstanceNorm2d(width), nn.ReLU(), nn.ReflectionPad2d(3), nn.Conv2d(width, 3, 7), nn.Tanh())

    def forward(self, x, style):
        y = self.first(x)
        for block, affine in zip(self.blocks, self.styles):
            scale, shift = affine(style)[:, :, None, None].chunk(2, 1)
            y = y + torch.relu(self.norm(block(y)) * (1 + scale) + shift)
        return self.last(y)


class TextLines(nn.Module):
    """CRNN: convolutions with pooling over one axis, an LSTM of two directions, log softmax."""

    def __init__(self, symbols=37):
        super().__init__()
        layers, narrow = [], 1
        for wide, pool in ((32, 2), (64, 2), (128, (2, 1)), (128, (2, 1))):
            layers += [nn.Conv2d(narrow, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU(), nn.MaxPool2d(pool)]
            narrow = wide
        self.body, self.lstm, self.out = nn.Sequential(*layers), nn.LSTM(256, 128, 2, bidirectional=True), nn.Linear(256, symbols)

    def forward(self, x):
        y = self.body(x).flatten(1, 2).permute(2, 0, 1)
        return functional.log_softmax(self.out(self.lstm(y)[0]), -1)


class SpectralNet(nn.Module):
    """A Fourier operator with the transform as products, and an implicit network with sines and hard activations."""

    def __init__(self, width=32, size=64, modes=12):
        super().__init__()
        angle = 2 * torch.pi * torch.outer(torch.arange(modes), torch.arange(size)) / size
        self.register_buffer("cosine", angle.cos())
        self.register_buffer("sine", angle.sin())
        self.first, self.skip, self.last = nn.Conv2d(3, width, 1), nn.Conv2d(width, width, 1), nn.Sequential(nn.Conv2d(width, 64, 1), nn.Hardswish(), nn.Conv2d(64, 1, 1), nn.Hardtanh())
        self.real, self.imaginary = nn.Parameter(torch.randn(width, width, modes) * 0.05), nn.Parameter(torch.randn(width, width, modes) * 0.05)

    def forward(self, x):
        y = self.first(x)
        real, imaginary = y @ self.cosine.t(), y @ self.sine.t()
        a = torch.einsum("bixm,iom->boxm", real, self.real) - torch.einsum("bixm,iom->boxm", imaginary, self.imaginary)
        b = torch.einsum("bixm,iom->boxm", real, self.imaginary) + torch.einsum("bixm,iom->boxm", imaginary, self.real)
        return self.last(torch.sin(self.skip(y) + a @ self.cosine + b @ self.sine))


def graph(attend):
    return row(GraphNet(attend), torch.randn(500, 32), torch.randint(0, 500, (2, 3000)))


def picture(size, channels=3):
    return torch.randn(1, channels, size, size)


MODELS = {
    "diffusion_unet": lambda: row(DiffusionNet(), picture(32, 4), torch.tensor([10.0]), torch.randn(1, 20, 64)),
    "image_decoder": lambda: row(ImageDecoder(), picture(24, 4)),
    "edsr": lambda: row(EdsrNet(), picture(64), open_sizes={"x": {2: "height", 3: "width"}}),
    "edsr_transposed": lambda: row(EdsrNet(transposed=True), picture(64)),
    "esrgan_dense": lambda: row(DenseRestorer(), picture(96)),
    "nafnet": lambda: row(NafNet(), picture(128), open_sizes={"x": {0: "batch"}}),
    "yolo_c2f": lambda: row(Yolo(), picture(320)),
    "unet_3d": lambda: row(VolumeNet(), torch.randn(1, 1, 32, 32, 32)),
    "point_edges": lambda: row(PointNet(), torch.randn(1, 3, 512)),
    "flow_warp": lambda: row(FlowNet(), picture(128), picture(128)),
    "keypoints": lambda: row(KeypointNet(), picture(192)),
    "dlrm": lambda: row(Recommender(), torch.randn(64, 13), torch.randint(0, 5000, (64, 26))),
    "deepfm": lambda: row(Recommender(deep=True), torch.randn(64, 13), torch.randint(0, 5000, (64, 26))),
    "deep_interest": lambda: row(InterestNet(), torch.randint(0, 5000, (32, 50)), torch.randint(0, 5000, (32,)), open_sizes={"x": {0: "batch"}, "y": {0: "batch"}}),
    "graph_gcn": lambda: graph(False),
    "graph_gat": lambda: graph(True),
    "experts_all": lambda: row(Experts(), torch.randn(64, 128)),
    "experts_gathered": lambda: row(Experts(gathered=True), torch.randn(8, 128)),
    "selective_scan": lambda: row(SelectiveScan(), torch.randn(1, 128, 128)),
    "style_transfer": lambda: row(StyleNet(), picture(128), torch.randn(1, 64)),
    "text_lines": lambda: row(TextLines(), torch.randn(1, 1, 32, 128)),
    "fourier_operator": lambda: row(SpectralNet(), picture(64)),
}
