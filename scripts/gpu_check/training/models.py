"""The models of the GPU checks, written here so that nothing but torch is needed."""

import torch
from torch import nn
from torch.nn import functional


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        after = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, after, 1, bias=False), nn.BatchNorm2d(after),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, images):
        return functional.relu(self.body(images) + self.shortcut(images))


def resnet50(classes=1000):
    layers = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    before = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            layers.append(Bottleneck(before, width, stride))
            before = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
    return nn.Sequential(*layers)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, tokens):
        batch, length, width = tokens.shape
        split = self.qkv(self.norms[0](tokens)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        tokens = tokens + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return tokens + self.mlp(self.norms[1](tokens))


class Gpt(nn.Module):
    def __init__(self, vocabulary=8192, width=768, heads=12, layers=6, length=512):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.head(self.blocks(self.tokens(tokens) + self.places[: tokens.shape[1]]))


class Training:
    """One step of a model on data that is on the device already.

    mode: eager, compiled (torch.compile), or graphs (forward and backward as one CUDA graph).
    """

    def __init__(self, name, device, dtype="fp32", mode="eager", small=False, channels_last=False, fused=None):
        torch.manual_seed(0)
        self.device = torch.device(device)
        self.amp = torch.bfloat16 if dtype == "bf16" else None
        make = {"resnet50": self._make_resnet, "gpt": self._make_gpt}[name]
        self.model, self.inputs, self.targets = make(small)
        self.model.to(self.device)
        self.inputs, self.targets = self.inputs.to(self.device), self.targets.to(self.device)
        if channels_last:
            self.model.to(memory_format=torch.channels_last)
            self.inputs = self.inputs.to(memory_format=torch.channels_last)
        # fused=None takes SGD, the plainest optimizer.
        parameters = self.model.parameters()
        self.optimizer = (torch.optim.SGD(parameters, lr=1e-4) if fused is None
                          else torch.optim.AdamW(parameters, lr=1e-4, fused=fused, foreach=not fused))
        self._forward = torch.compile(self.model) if mode == "compiled" else self.model
        self._graph = None
        if mode == "graphs":
            self._capture()

    @staticmethod
    def _make_resnet(small):
        batch, side = (2, 32) if small else (32, 224)
        return resnet50(), torch.randn(batch, 3, side, side), torch.arange(batch)

    @staticmethod
    def _make_gpt(small):
        shape = {"vocabulary": 64, "width": 32, "heads": 2, "layers": 2} if small else {}
        model = Gpt(**shape)
        batch, length = (2, 16) if small else (8, 512)
        tokens = torch.randint(model.tokens.num_embeddings, (batch, length + 1))
        return model, tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def _loss(self):
        with torch.autocast(self.device.type, self.amp, enabled=self.amp is not None, cache_enabled=False):
            scores = self._forward(self.inputs)
            return functional.cross_entropy(scores.flatten(0, -2), self.targets.flatten())

    def _capture(self):
        """Warms up on a side stream, then captures, as torch's notes on CUDA graphs say."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.optimizer.zero_grad(set_to_none=True)
                self._loss().backward()
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._loss().backward()

    def step(self):
        if self._graph is not None:
            self._graph.replay()
        else:
            self.optimizer.zero_grad()
            self._loss().backward()
        self.optimizer.step()

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()
