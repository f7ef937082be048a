# SPDX-License-Identifier: Apache-2.0
"""Readers of profile formats that share no code with strata.

Each gives the same: stacks as tuples of function names from the outermost on, with nanoseconds.
"""

import collections
import gzip
import json

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# Messages of pprof's profile.proto: field number, type, repeated. Written down from its documentation.
PPROF = {
    "ValueType": {"type": (1, "int64"), "unit": (2, "int64")},
    "Label": {"key": (1, "int64"), "str": (2, "int64"), "num": (3, "int64"), "num_unit": (4, "int64")},
    "Sample": {
        "location_id": (1, "uint64", True),
        "value": (2, "int64", True),
        "label": (3, "Label", True),
    },
    "Mapping": {
        "id": (1, "uint64"),
        "memory_start": (2, "uint64"),
        "memory_limit": (3, "uint64"),
        "file_offset": (4, "uint64"),
        "filename": (5, "int64"),
        "build_id": (6, "int64"),
        "has_functions": (7, "bool"),
        "has_filenames": (8, "bool"),
        "has_line_numbers": (9, "bool"),
        "has_inline_frames": (10, "bool"),
    },
    "Line": {"function_id": (1, "uint64"), "line": (2, "int64")},
    "Location": {
        "id": (1, "uint64"),
        "mapping_id": (2, "uint64"),
        "address": (3, "uint64"),
        "line": (4, "Line", True),
        "is_folded": (5, "bool"),
    },
    "Function": {
        "id": (1, "uint64"),
        "name": (2, "int64"),
        "system_name": (3, "int64"),
        "filename": (4, "int64"),
        "start_line": (5, "int64"),
    },
    "Profile": {
        "sample_type": (1, "ValueType", True),
        "sample": (2, "Sample", True),
        "mapping": (3, "Mapping", True),
        "location": (4, "Location", True),
        "function": (5, "Function", True),
        "string_table": (6, "string", True),
        "drop_frames": (7, "int64"),
        "keep_frames": (8, "int64"),
        "time_nanos": (9, "int64"),
        "duration_nanos": (10, "int64"),
        "period_type": (11, "ValueType"),
        "period": (12, "int64"),
        "comment": (13, "int64", True),
        "default_sample_type": (14, "int64"),
    },
}


def pprof_class():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="pprof", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for message_name, fields in PPROF.items():
        message = file.message_type.add(name=message_name)
        for name, (number, kind, *repeated) in fields.items():
            field = message.field.add(name=name, number=number)
            field.label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            if kind in PPROF:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f".pprof.{kind}"
            else:
                field.type = getattr(kinds, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pprof.Profile"))


class Pprof:
    """A pprof file, checked the way its own tools check it, with every reference resolved."""

    def __init__(self, data):
        self.profile = profile = pprof_class()()
        profile.ParseFromString(gzip.decompress(data))
        self.strings = list(profile.string_table)
        assert self.strings[0] == ""
        self.functions = {one.id: one for one in profile.function}
        self.mappings = {one.id: one for one in profile.mapping}
        self.locations = {one.id: one for one in profile.location}
        for table, rows in (
            (self.functions, profile.function),
            (self.mappings, profile.mapping),
            (self.locations, profile.location),
        ):
            assert len(table) == len(rows), "an id is used twice"
            assert 0 not in table, "0 is no id"
        self.types = [(self.strings[t.type], self.strings[t.unit]) for t in profile.sample_type]
        for location in profile.location:
            assert not location.mapping_id or location.mapping_id in self.mappings
            assert location.line, "a location without a function"
            mapping = self.mappings.get(location.mapping_id)
            if mapping:
                assert mapping.memory_start <= location.address < mapping.memory_limit

    def lines(self, location):
        """Functions of a location, outermost first: the inlined ones stand before the one they are in."""
        return [
            (self.strings[self.functions[line.function_id].name], line.line)
            for line in reversed(self.locations[location].line)
        ]

    def labels(self, sample):
        return {self.strings[label.key]: self.strings[label.str] for label in sample.label}

    def samples(self):
        """(stack of (function, line) from the outermost on, values by type, labels)."""
        for sample in self.profile.sample:
            assert len(sample.value) == len(self.types)
            stack = tuple(line for location in reversed(sample.location_id) for line in self.lines(location))
            yield stack, dict(zip([name for name, _ in self.types], sample.value)), self.labels(sample)

    def stacks(self):
        sums = collections.Counter()
        for stack, values, _ in self.samples():
            sums[tuple(name for name, _ in stack)] += values["cpu"]
        return sums


def folded_stacks(data):
    sums = collections.Counter()
    for line in data.decode("utf-8").splitlines():
        stack, _, value = line.rpartition(" ")
        assert stack, line
        sums[tuple(stack.split(";"))] += int(value)
    return sums


SPEEDSCOPE_UNITS = {"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes", "none"}


def check_speedscope(file):
    """The published file format, sampled profiles only: which fields there are, and of which type."""
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(file) <= {"$schema", "profiles", "shared", "name", "exporter", "activeProfileIndex"}
    assert 0 <= file.get("activeProfileIndex", 0) < len(file["profiles"])
    frames = file["shared"]["frames"]
    for frame in frames:
        assert set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame["name"], str)
        assert isinstance(frame.get("file", ""), str)
        assert isinstance(frame.get("line", 0), int)
    for profile in file["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled"
        assert profile["unit"] in SPEEDSCOPE_UNITS
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack)
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])


def speedscope_stacks(data):
    """By thread name."""
    file = json.loads(data)
    check_speedscope(file)
    names = [frame["name"] for frame in file["shared"]["frames"]]
    threads = {}
    for profile in file["profiles"]:
        assert profile["name"] not in threads
        sums = threads[profile["name"]] = collections.Counter()
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            sums[tuple(names[frame] for frame in stack)] += weight
    return threads


def chrome_stacks(trace):
    """V8 profiles of a trace, by (pid, tid): stacks and their CPU time; and the times of samples in µs."""
    threads, times, nodes, clocks = {}, {}, {}, {}
    for event in trace["traceEvents"]:
        if event["ph"] != "P":
            continue
        who = event["pid"], event["tid"], event["id"]
        data = event["args"]["data"]
        if event["name"] == "Profile":
            assert who not in nodes
            nodes[who], clocks[who] = {}, data["startTime"]
            threads[who[:2]], times[who[:2]] = collections.Counter(), []
            continue
        assert event["name"] == "ProfileChunk"
        for node in data["cpuProfile"]["nodes"]:
            parent = nodes[who][node["parent"]] if "parent" in node else ()
            name = node["callFrame"]["functionName"]
            nodes[who][node["id"]] = (*parent, name) if "parent" in node else ()
        samples = data["cpuProfile"]["samples"]
        for node, delta, weight in zip(samples, data["timeDeltas"], data["weights_ns"], strict=True):
            clocks[who] += delta
            times[who[:2]].append(clocks[who])
            threads[who[:2]][nodes[who][node] or ("[no frame shown]",)] += weight
    return threads, times
