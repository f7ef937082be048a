# SPDX-License-Identifier: Apache-2.0
"""Programs of the usual kinds under torch's own profiler, which tells what it has seen of them.

operator_truth.py FILE SECTION… [--alone] [--warm] [--repeat N]: writes, for each section, what torch.profiler
knows as JSON to FILE. Every section lies between two ranges of its name. With --alone nothing is profiled: losses
and counters only.
  resnet       a ResNet-18, forward
  encoder      a transformer encoder, as it trains and by the fast path of inference
  train        a network with convolutions: backward and Adam
  parallel     the same with two intra-op threads
  threads      operators in a second Python thread while the first one works
  compile      a model compiled by inductor, forward and backward
  loader       two workers of a DataLoader, each with a profiler of its own
  long         few operators that take milliseconds, --repeat times
"""

import argparse
import json
import os
import sys
import threading

import torch
from torch import nn
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.data import DataLoader, Dataset


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.short = nn.Sequential()
        if stride != 1:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + self.short(x))


def resnet18():
    blocks, inputs = [], 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        blocks += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, 1000),
    )


def small_net():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10)
    )


def train(model, steps, batch=4):
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for step in range(steps):
        with record_function(f"step {step}"):
            optimizer.zero_grad()
            images, labels = torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item().hex())
    return losses


def section_resnet(_):
    model = resnet18()
    return [model(torch.randn(2, 3, 64, 64)).sum().item().hex()]


def section_encoder(_):
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
    words = torch.randn(2, 10, 32)
    loss = model(words).square().mean()
    loss.backward()
    with torch.inference_mode():
        fast = model.eval()(words).sum()
    return [loss.item().hex(), fast.item().hex()]


def section_train(_):
    return train(small_net(), 3)


def section_parallel(_):
    torch.set_num_threads(2)
    losses = train(small_net(), 2, batch=64)
    torch.set_num_threads(1)
    return losses


def section_threads(_):
    found = []
    model, ready, go = small_net(), threading.Event(), threading.Event()

    def work():
        ready.set()
        go.wait()
        found.append(train(model, 2))

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    go.set()
    torch.mm(torch.ones(30, 20), torch.ones(20, 10)).sum().item()
    thread.join()
    return [len(found[0])]  # both draw from one generator: the losses depend on who comes first


def section_compile(_):
    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))
    compiled = torch.compile(model)
    losses = []
    for _ in range(2):
        loss = compiled(torch.randn(8, 16)).square().sum()
        loss.backward()
        losses.append(loss.item().hex())

    @torch.compile
    def broken(x):
        x = x * 2
        torch._dynamo.graph_break()
        return x + 1

    losses.append(broken(torch.ones(3)).sum().item().hex())
    return losses


class Items(Dataset):
    """What each worker makes is profiled in that worker, from its first item to its last."""

    def __init__(self, count, folder):
        self.count, self.folder, self.section = count, folder, None

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.folder and not self.section:
            self.section = Section("worker")
            self.section.__enter__()
        value = torch.full((4, 4), float(index)).mm(torch.eye(4)).relu()
        if self.section and index >= self.count - 2:
            self.section.__exit__(None, None, None)
            with open(os.path.join(self.folder, f"worker{os.getpid()}.json"), "w", encoding="utf-8") as file:
                json.dump(self.section.said(), file)
        return value


def section_loader(args):
    folder = None if args.alone else os.path.dirname(args.file)
    loader = DataLoader(Items(8, folder), batch_size=None, num_workers=2)
    return [sum(float(batch.sum()) for batch in loader).hex()]


def section_long(args):
    first, wide = torch.randn(700, 700), torch.randn(2000, 2000)
    image, kernel = torch.randn(4, 32, 64, 64), torch.randn(64, 32, 3, 3)
    small = torch.rand(400_000)
    for _ in range(args.repeat):
        torch.mm(first, first)
        torch.conv2d(image, kernel)
        torch.lgamma(small)
        torch.exp(wide)
    return []


SECTIONS = {name[8:]: code for name, code in globals().items() if name.startswith("section_")}


class Section:
    """torch.profiler between two marks."""

    def __init__(self, name, alone=False):
        self.name = name
        self.profile = None
        if not alone:
            more = {}
            if name in ("threads", "compile"):
                more["experimental_config"] = _ExperimentalConfig(profile_all_threads=True)
            self.profile = profile(activities=[ProfilerActivity.CPU], record_shapes=True, **more)

    def __enter__(self):
        # Made before: old releases make a tensor for it.
        self.behind = record_function(f"after {self.name}")
        with record_function(f"before {self.name}"):
            pass
        if self.profile:
            self.profile.__enter__()

    def __exit__(self, *error):
        if self.profile:
            self.profile.__exit__(*error)
        with self.behind:
            pass

    def nesting(self):
        """For each thread of torch's numbering, depths in order of begin."""
        found = {}

        def visit(node, depth):
            found.setdefault(node.start_tid, []).append((node.name, depth))
            for child in node.children:
                visit(child, depth + 1)

        for root in self.profile.profiler.kineto_results.experimental_event_tree():
            visit(root, 0)
        return found

    def said(self):
        """Kineto's own records, thread by thread in order of time, and torch's own counts of them."""
        threads, events, nesting = {}, [], self.nesting()
        for event in self.profile.profiler.kineto_results.events():
            threads.setdefault(event.start_thread_id(), []).append(event)
        for thread, own in threads.items():
            # Old releases round to microseconds, and have them in order.
            exact = hasattr(own[0], "start_ns")
            if exact:
                own.sort(key=lambda event: (event.start_ns(), -event.end_ns()))
            if [event.name() for event in own] != [name for name, _ in nesting[thread]]:
                sys.exit("torch's two lists differ")
            for event, (name, depth) in zip(own, nesting[thread]):
                tid = event.device_resource_id() or threading.get_native_id()
                took = event.duration_ns() if exact else event.duration_us() * 1000
                events.append([tid, name, event.shapes(), depth, event.sequence_nr(), took])
        by_shapes = self.profile.key_averages(group_by_input_shape=True)
        return {
            "pid": os.getpid(),
            "events": events,
            "names": [[item.key, item.count] for item in self.profile.key_averages()],
            "shapes": [[item.key, str(item.input_shapes), item.count] for item in by_shapes],
        }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("sections", nargs="+", choices=SECTIONS)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--warm", action="store_true", help="a few operators first, for releases that are learned from")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    said = {"version": torch.__version__}
    for size in range(3, 13 if args.warm else 3):
        torch.randn(2, size, requires_grad=True).mm(torch.randn(size, 5)).sum().backward()
    for name in args.sections:
        torch.manual_seed(7)
        # A profiler here would be inherited by the workers, which have their own.
        section = Section(name, args.alone or name == "loader")
        with section:
            losses = SECTIONS[name](args)
        said[name] = section.said() if section.profile else {}
        said[name]["losses"] = losses
    if "compile" in args.sections:
        said["counters"] = {key: dict(value) for key, value in torch._dynamo.utils.counters.items()}
    with open(args.file, "w", encoding="utf-8") as file:
        json.dump(said, file)


main()
