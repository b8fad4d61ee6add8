"""Small models whose operations are counted, each as a function that makes one training step."""

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, TOKENS = 32, 4, 12


def step_of(model, *inputs):
    def step():
        model.zero_grad(set_to_none=True)
        result = model(*inputs)
        result = getattr(result, "logits", result)
        result.float().sum().backward()

    return step


def two_layer_cnn():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.Flatten(),
                          nn.LazyLinear(10))
    images = torch.randn(4, 3, 16, 16)
    model(images)
    return step_of(model, images)


class Residual(nn.Module):
    """ResNet's basic block."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.first, self.second = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(after), nn.BatchNorm2d(after)])
        self.skip = nn.Conv2d(before, after, 1, stride, bias=False) if stride > 1 or before != after else nn.Identity()

    def forward(self, x):
        y = self.norms[0](self.first(x)).relu()
        return (self.norms[1](self.second(y)) + self.skip(x)).relu()


def resnet18():
    """Its 18 layers, at an eighth of their width."""
    widths = [(8, 8, 1), (8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2), (64, 64, 1)]
    model = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                          *[Residual(*each) for each in widths], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return step_of(model, torch.randn(2, 3, 64, 64))


class Attention(nn.Module):
    def __init__(self, flash, causal):
        super().__init__()
        self.flash, self.causal = flash, causal
        self.projections, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, positions, _ = x.shape
        heads = self.projections(x).view(batch, positions, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        query, key, value = heads
        if self.flash:
            mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        else:
            scores = query @ key.transpose(-1, -2) / 8
            if self.causal:
                hidden = torch.ones(positions, positions, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(hidden, float("-inf"))
            mixed = scores.softmax(-1) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, positions, WIDTH))


class Block(nn.Module):
    def __init__(self, flash=True, causal=False, network=None):
        super().__init__()
        self.attention = Attention(flash, causal)
        self.network = network or nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.network(self.norms[1](x))


def vit():
    class Patches(nn.Module):
        def __init__(self):
            super().__init__()
            self.cut = nn.Conv2d(3, WIDTH, 8, 8)

        def forward(self, x):
            return self.cut(x).flatten(2).transpose(1, 2)

    model = nn.Sequential(Patches(), Block(), Block(), nn.Linear(WIDTH, 10))
    return step_of(model, torch.randn(2, 3, 32, 32))


def gpt(flash):
    model = nn.Sequential(nn.Embedding(50, WIDTH), Block(flash, causal=True), Block(flash, causal=True), nn.Linear(WIDTH, 50))
    return step_of(model, torch.randint(50, (4, TOKENS)))


def gpt_flash():
    return gpt(flash=True)


def gpt_plain():
    return gpt(flash=False)


def lstm():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrent, self.head = nn.LSTM(8, 16, num_layers=2, batch_first=True), nn.Linear(16, 4)

        def forward(self, x):
            return self.head(self.recurrent(x)[0][:, -1])

    return step_of(Last(), torch.randn(4, 6, 8))


def unet():
    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, stride=2, padding=1)])
            self.up = nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1, output_padding=1)
            self.out = nn.Conv2d(16, 2, 1)

        def forward(self, x):
            wide = self.down[0](x).relu()
            back = self.up(self.down[1](wide).relu())
            return self.out(torch.cat([wide, back], 1))

    return step_of(UNet(), torch.randn(2, 3, 16, 16))


def moe():
    """Each token goes to the two best of four networks; all products of the experts are batched."""

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(WIDTH, 4)
            self.into, self.back = nn.Parameter(torch.randn(4, WIDTH, 64)), nn.Parameter(torch.randn(4, 64, WIDTH))

        def forward(self, x):
            tokens = x.flatten(0, 1)
            weights, chosen = self.gate(tokens).softmax(-1).topk(2)
            gates = torch.zeros(len(tokens), 4).scatter(1, chosen, weights)
            done = torch.bmm(torch.bmm(tokens.expand(4, -1, -1), self.into).relu(), self.back)
            return torch.einsum("te,etw->tw", gates, done).view_as(x)

    return step_of(nn.Sequential(Block(network=Experts()), nn.Linear(WIDTH, 4)), torch.randn(2, TOKENS, WIDTH))


def depthwise_cnn():
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 32, 1),
                          nn.Conv2d(32, 32, 3, padding=2, dilation=2, groups=4), nn.Flatten(1), nn.LazyLinear(4))
    images = torch.randn(2, 3, 12, 12)
    model(images)
    return step_of(model, images)


def one_and_three_dimensions():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.line, self.back = nn.Conv1d(4, 8, 5, stride=2, padding="valid"), nn.ConvTranspose1d(8, 4, 5, stride=2)
            self.room = nn.Conv3d(1, 4, 3, padding="same")

        def forward(self, x):
            x = self.back(self.line(x))
            return self.room(x.view(2, 1, 4, 5, 5))

    return step_of(Both(), torch.randn(2, 4, 25))


def bert():
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(vocab_size=60, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS,
                        intermediate_size=64, max_position_embeddings=32)
    model = BertForMaskedLM(config)
    model.eval()  # no dropout: both runs take the same path
    return step_of(model, torch.randint(60, (2, TOKENS)))


def torchs_count(step):
    """What torch.utils.flop_counter counts, by operator. It lacks attention on the CPU: its formula is the same."""
    from torch.utils import flop_counter

    aten = torch.ops.aten
    of_cpu = {
        aten._scaled_dot_product_flash_attention_for_cpu:
            lambda query, key, value, *rest, **more: flop_counter.sdpa_flop_count(query, key, value),
        aten._scaled_dot_product_flash_attention_for_cpu_backward:
            lambda gradient, query, key, value, *rest, **more:
                flop_counter.sdpa_backward_flop_count(gradient, query, key, value),
    }
    counter = flop_counter.FlopCounterMode(display=False, custom_mapping=of_cpu)
    with counter:
        step()
    counted = counter.get_flop_counts()["Global"]
    return {str(operator).replace(".", "::"): count for operator, count in counted.items() if count}
