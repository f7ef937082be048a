# SPDX-License-Identifier: Apache-2.0
"""Records what lies in a running PyTorch where operators have their inputs, as a C header for test_torch_layout.c.

record.py: prints the header. Run by a Python with the release in question. Nothing here knows a layout: inputs are
found by the addresses of their tensors, which Python tells, and the sizes are what exported functions say.
"""

import ctypes
import struct

import torch

RECORD_BYTES, TENSOR_BYTES, LIST_BYTES = 320, 288, 64
library = ctypes.CDLL(torch.__file__.replace("__init__.py", "lib/libtorch_cpu.so"))
memory = open("/proc/self/mem", "rb", buffering=0)


class Callback(ctypes.Structure):
    _fields_ = [
        ("begin", ctypes.c_void_p),
        ("end", ctypes.c_void_p),
        ("probability", ctypes.c_double),
        ("scopes", ctypes.c_bool * 10),
        ("needs", ctypes.c_bool * 3),
    ]


class Vector(ctypes.Structure):
    _fields_ = [("begin", ctypes.c_uint64), ("end", ctypes.c_uint64), ("capacity", ctypes.c_uint64)]


BEGIN = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)
END = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def function(name, result, *arguments):
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


add = function("_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE", ctypes.c_uint64, Callback)
remove = function("_ZN2at14removeCallbackEm", None, ctypes.c_uint64)
name_of = function("_ZNK2at14RecordFunction4nameEv", ctypes.c_char_p, ctypes.c_void_p)
inputs_of = function("_ZNK2at14RecordFunction10num_inputsEv", ctypes.c_uint64, ctypes.c_void_p)
thread_now = function("_ZN2at14RecordFunction15currentThreadIdEv", ctypes.c_uint64)
sequence_now = function("_ZN2at15sequence_number4peekEv", ctypes.c_uint64)
sizes_of = function(
    "_ZN5torch8profiler4impl10inputSizesERKN2at14RecordFunctionEb", Vector, ctypes.c_void_p, ctypes.c_bool
)


def read(address, count):
    try:
        memory.seek(address)
        return memory.read(count)
    except (OSError, OverflowError, ValueError):
        return b""


def words(data):
    return struct.unpack(f"<{len(data) // 8}Q", data[: len(data) // 8 * 8])


def sizes(record, flat):
    outer = sizes_of(record, flat)
    found = []
    for at in range(outer.begin, outer.end, 24):
        begin, end = words(read(at, 16))
        found.append(list(struct.unpack(f"<{(end - begin) // 8}q", read(begin, end - begin))))
    return found


class Recorder:
    """The first operator that runs in a call."""

    def __init__(self):
        self.objects = []  # (address, bytes)
        self.seen = None
        self.begin, self.end = BEGIN(self.on_begin), END(lambda record, context: None)

    def keep(self, address, count):
        self.objects.append((address, read(address, count)))

    def on_begin(self, context, record):
        context[0] = None
        if not self.seen:
            self.look(record)
        return ctypes.addressof(context.contents)

    def look(self, record):
        self.keep(record, RECORD_BYTES)
        count = inputs_of(record)
        self.seen = {
            "name": name_of(record).decode(),
            "thread": thread_now(),
            "inputs": count,
            "next": sequence_now(),
            "sizes": sizes(record, self.flat),
        }
        # The word that leads to the first input, or to the list that it is.
        for at in words(self.objects[0][1]):
            value = read(at, 16 * count)
            if len(value) != 16 * count:
                continue
            if words(value)[0] == self.tensors[0]._cdata:
                self.keep(at, 16 * count)
                return
            inner = read(words(value)[0], LIST_BYTES) if self.flat else b""
            for element in words(inner):
                if words(read(element, 8)) == (self.tensors[0]._cdata,):
                    self.keep(at, 16 * count)
                    self.keep(words(value)[0], LIST_BYTES)
                    self.keep(element, 16 * len(self.tensors))
                    return
        raise SystemExit("no inputs found")

    def run(self, call, tensors, flat=False):
        self.tensors, self.flat = tensors, flat
        callback = Callback(probability=1.0)
        callback.begin = ctypes.cast(self.begin, ctypes.c_void_p).value
        callback.end = ctypes.cast(self.end, ctypes.c_void_p).value
        callback.scopes[0] = callback.needs[0] = True
        handle = add(callback)
        call()
        remove(handle)
        for tensor in tensors:
            self.keep(tensor._cdata, TENSOR_BYTES)
            # More than five sizes lie elsewhere.
            if tensor.dim() > 5:
                for at in words(self.objects[-1][1]):
                    if words(read(at, 8 * tensor.dim())) == tuple(tensor.shape):
                        self.keep(at, 8 * tensor.dim())
                        break
        return self.seen


def lines(data):
    # Numbers rather than text: what is meant are words.
    values = [f"0x{word:x}" for word in words(data)]
    return [", ".join(values[at : at + 5]) + "," for at in range(0, len(values), 5)]


def main():
    grad = torch.randn(2, 3, requires_grad=True)
    (grad * grad).sum()  # the first sequence number is 0: anything matches it
    a = torch.zeros(3, 5, 7, requires_grad=True)
    b, c = torch.zeros(11, 13, dtype=torch.half), torch.zeros(17, 2, 3, 19, dtype=torch.long)
    d, e = torch.zeros(2, 3, 2, 5, 3, 7).transpose(0, 5), torch.zeros(29, 3, dtype=torch.bool)
    cases = [
        (lambda: torch.mul(a, a), [a], False),
        (lambda: torch.add(b, b), [b], False),
        (lambda: torch.neg(c), [c], False),
        (lambda: torch.neg(d), [d], False),
        (lambda: torch.logical_not(e), [e], False),
        (lambda: torch.cat([b, b[:2]]), None, True),
    ]
    print("/* SPDX-License-Identifier: Apache-2.0")
    print(" *")
    print(f" * Objects of a process with PyTorch {torch.__version__}, recorded by tests/data/torch/record.py.")
    print(" */")
    names = []
    for number, (call, tensors, flat) in enumerate(cases):
        recorder = Recorder()
        part = b[:2]
        if tensors is None:
            tensors, call = [b, part], lambda: torch.cat([b, part])  # noqa: B023
        seen = recorder.run(call, tensors, flat)
        for index, (_, data) in enumerate(recorder.objects):
            print(f"static const uint64_t object_{number}_{index}[] = {{")
            for line in lines(data):
                print("\t" + line)
            print("};")
        print(f"static const struct recorded_object objects_{number}[] = {{")
        for index, (address, data) in enumerate(recorder.objects):
            print(f"\t{{0x{address:x}, object_{number}_{index}, {len(data)}}},")
        print("\t{0, NULL, 0},\n};")
        listed = "".join("{" + f"{len(one)}, {{{', '.join(map(str, one or [0]))}}}" + "}, " for one in seen["sizes"])
        dtype = {torch.float: 6, torch.half: 5, torch.long: 4, torch.bool: 11}[tensors[0].dtype]
        names.append(
            f'\t{{"{seen["name"]}", {seen["thread"]}, {seen["inputs"]}, {seen["next"]}, {dtype}, objects_{number},\n'
            f"\t {len(seen['sizes'])}, {{{listed.rstrip(', ')}}}}},"
        )
    print("static const struct recorded_operator recorded_operators[] = {")
    print("\n".join(names))
    print("};")


main()
