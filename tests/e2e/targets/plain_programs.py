# SPDX-License-Identifier: Apache-2.0
"""Programs as people write them, without any marks.

usage: plain_programs.py KIND

Training: adam (Adam, nothing else), reads (the same, and a loop that reads single values; prints the seconds of a step
that it took, by the clock and of the CPU), ranges (with a mark around
the model), closure (PyTorch Lightning, whose optimizer calls the model).
Threads: turns (six that take turns), lock (six that want the interpreter's lock), crowd (parallel regions of sixteen
threads for each CPU), ranks (two processes of DDP over gloo).
Inference: vit, vit_few, resnet, tokens (a GPT that generates), eager (operators alone), parameters (a model is made
and not called).
"""

import os
import sys
import threading
import time

import torch
from torch import nn

COUNT = 10
functional = nn.functional


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.BatchNorm2d(32),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


def adam(then=None):
    model = convolutions()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = torch.randn(2, 3, 16, 16), torch.randint(0, 10, (2,))
    for _ in range(60):
        optimizer.zero_grad()
        functional.cross_entropy(model(images), labels).backward()
        if then:
            then()
        optimizer.step()


def reads():
    values, took, used = torch.rand(3000), [], []

    def evaluate():
        total, began, began_cpu = 0.0, time.perf_counter(), time.thread_time()
        for i in range(len(values)):
            total += values[i].item()  # one by one
        took.append(time.perf_counter() - began)
        used.append(time.thread_time() - began_cpu)

    adam(evaluate)
    print(sum(took) / len(took), sum(used) / len(used))


def ranges():
    model, batch = nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)]), torch.randn(64, 256)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(300):
        optimizer.zero_grad()
        with torch.profiler.record_function("compute"):
            for _ in range(3):
                loss = model(batch).sum()
        loss.backward()
        optimizer.step()


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        return value * 1.0

    @staticmethod
    def backward(context, gradient):
        time.sleep(0.012)
        return gradient * 1.0


def closure():
    import pytorch_lightning as lightning

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, 4)

        def training_step(self, batch, _):
            out = self.layer(batch[0])
            for _ in range(600):  # operators in no module
                out = out * 1.0
            return functional.cross_entropy(Slow.apply(out), batch[1])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    data = torch.utils.data.TensorDataset(torch.randn(8 * COUNT, 16), torch.randint(0, 4, (8 * COUNT,)))
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", **quiet)
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=8))


def run_threads(count, work):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def turns():
    events, numbers = [threading.Event() for _ in range(6)], torch.rand(150, 150)
    events[0].set()

    def work(number):
        torch.set_num_threads(1)
        for _ in range(8):
            events[number].wait()
            events[number].clear()
            with torch.profiler.record_function("step"):
                for _ in range(60):
                    torch.mm(numbers, numbers)
            events[(number + 1) % len(events)].set()

    run_threads(len(events), work)


def lock():
    def work(_):
        for _ in range(2):
            with torch.profiler.record_function("step"):
                sum(i & 3 for i in range(1000000))

    run_threads(6, work)


def crowd():
    cpus = len(os.sched_getaffinity(0))
    values = torch.rand(33000 * 16 * cpus)
    torch.set_num_threads(16 * cpus)
    until = time.monotonic() + 2
    while time.monotonic() < until:
        with torch.profiler.record_function("step"):
            for _ in range(20):
                values.mul(2.0)


def train_rank(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch, labels = torch.randn(128, 256), torch.randint(0, 10, (128,))
    for _ in range(20):
        optimizer.zero_grad()
        functional.cross_entropy(model(batch), labels).backward()
        optimizer.step()
    torch.distributed.destroy_process_group()


def ranks():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torch.multiprocessing.spawn(train_rank, args=(port,), nprocs=2)


class Block(nn.Module):
    def __init__(self, width, heads, is_causal=False):
        super().__init__()
        self.heads, self.is_causal = heads, is_causal
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.parts, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, data):
        batch, length, width = data.shape
        parts = self.parts(self.before(data)).split(width, 2)
        heads = [part.view(batch, length, self.heads, -1).transpose(1, 2) for part in parts]
        seen = functional.scaled_dot_product_attention(*heads, is_causal=self.is_causal)
        data = data + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return data + self.feed(self.after(data))


class Vision(nn.Module):
    def __init__(self, width=64, depth=6):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.places = nn.Parameter(torch.randn(1, 64, width))
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, images):
        data = self.patches(images).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.blocks(data)).mean(1))


class Language(nn.Module):
    def __init__(self, width=64, depth=3, words=500, longest=32):
        super().__init__()
        self.longest = longest
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList([Block(width, 4, True) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        data = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            data = block(data)
        return self.head(self.norm(data))

    @torch.no_grad()
    def generate(self, tokens, count):
        for _ in range(count):
            logits = self(tokens[:, -self.longest :])[:, -1]
            tokens = torch.cat([tokens, torch.multinomial(torch.softmax(logits, -1), 1)], 1)
        return tokens


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.one = nn.Conv2d(channels, channels, 3, padding=1)
        self.two = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, data):
        return torch.relu(data + self.two(torch.relu(self.one(data))))


@torch.inference_mode()
def vit(images=COUNT):
    model, image = Vision().eval(), torch.randn(2, 3, 64, 64)
    for _ in range(images):
        model(image).argmax(1)


def vit_few():
    vit(4)


@torch.no_grad()
def resnet():
    model = nn.Sequential(
        nn.Conv2d(3, 16, 7, 2, 3), nn.ReLU(), *[Residual(16) for _ in range(4)], nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(16, 10),
    ).eval()  # fmt: skip
    for _ in range(COUNT):
        model(torch.randn(2, 3, 64, 64))


def tokens():
    Language().eval().generate(torch.zeros(1, 1, dtype=torch.long), COUNT)


def eager():
    weights = [torch.randn(200, 200) for _ in range(4)]
    for _ in range(COUNT):
        data = torch.randn(64, 200)
        for weight in weights:
            data = torch.relu(data @ weight)
        torch.softmax(data, 1).max(1)


def parameters():
    return [nn.TransformerEncoderLayer(128, 4, 512) for _ in range(8)]


if __name__ == "__main__":
    torch.manual_seed(0)
    if sys.argv[1] != "crowd":
        torch.set_num_threads(1)
    globals()[sys.argv[1]]()
