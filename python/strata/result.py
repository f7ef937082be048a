# SPDX-License-Identifier: Apache-2.0
"""A result and its answers. Everything is asked of libstrata.so; here answers only change their shape."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from strata import _library
from strata._library import Error, UsageError

if TYPE_CHECKING:
    import pandas

__all__ = ["Column", "Result", "Table", "schema"]

# Options that are given once for each value; lists of others are one value with commas.
_REPEATED = {"filter", "report-knob", "source-object", "search-dir", "source-search-dir", "metadata"}
# Groupings whose rows are a tree of any depth: every row counts.
_TREES = {"task-stack", "callstack", "function-stack"}


class Column(NamedTuple):
    key: str
    title: str
    unit: str


class Table:
    """The answer to a question: columns, and rows as dictionaries.

    Iterating and indexing go over `to_dicts()`; `rows` keeps the nesting of groupings (`children`); `document` is the
    whole JSON (schema strata.report/1), the same as `strata report … -format json` prints.
    """

    def __init__(self, document: dict[str, Any], text: Callable[[], str] | None = None) -> None:
        self.document = document
        self.columns = [Column(one["key"], one["title"], one["unit"]) for one in document["columns"]]
        self._text = text
        self._flat: list[dict[str, Any]] | None = None

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.document["rows"]

    @property
    def totals(self) -> dict[str, Any]:
        return self.document["totals"]

    @property
    def source(self) -> str:
        """What the figures come from: "CPU timer 100 Hz …"."""
        return self.document["source"]

    @property
    def quality(self) -> dict[str, Any]:
        """What was lost, cut or estimated, by name; `notes` are sentences about it."""
        return self.document["quality"]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Flat rows, as in CSV: the innermost ones with the keys of the levels above; None where there is no value."""
        if self._flat is None:
            self._flat = list(self._flatten())
        return [dict(row) for row in self._flat]

    def _flatten(self) -> Iterator[dict[str, Any]]:
        levels = self.document["group_by"]
        group_keys = [name.replace("-", "_") for name in levels]
        is_tree = bool(levels) and levels[-1] in _TREES
        keys = [column.key for column in self.columns]
        empty = dict.fromkeys(keys)
        waiting: list[tuple[dict[str, Any], int, dict[str, Any]]] = [(row, 0, {}) for row in reversed(self.rows)]
        while waiting:
            row, level, above = waiting.pop()
            children = row.get("children") or ()
            if (level + 1 >= len(levels)) if is_tree else not children:
                yield {**empty, **above, **{key: value for key, value in row.items() if key != "children"}}
            if children and level < len(group_keys) and group_keys[level] in row:
                key = group_keys[level]
                if not (is_tree and level + 1 >= len(levels)):
                    above = {**above, key: row[key]}
            waiting += [(child, level + 1, above) for child in reversed(children)]

    def to_pandas(self) -> pandas.DataFrame:
        """The flat rows as a DataFrame, in the order of the columns."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() requires pandas, which is not installed; use to_dicts()") from None
        return pandas.DataFrame(self.to_dicts(), columns=[column.key for column in self.columns])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_dicts())

    def __len__(self) -> int:
        if self._flat is None:
            self._flat = list(self._flatten())
        return len(self._flat)

    def __getitem__(self, index: Any) -> Any:
        return self.to_dicts()[index]

    def __repr__(self) -> str:
        keys = ", ".join(column.key for column in self.columns)
        return f"<strata.Table {self.document['report']} of {self.document['result']}: {len(self)} rows of {keys}>"

    def __str__(self) -> str:
        """The table as the command prints it, of a report whose result is open; else one line."""
        try:
            return self._text().rstrip("\n") if self._text else repr(self)
        except Error:
            return repr(self)


class Result:
    """A result folder, open for questions. Use it in a `with`, or `close()` it, or let go of it."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        given = None if path is None else os.fsencode(path)
        if given is not None and b"\0" in given:
            raise UsageError("the name of a result contains a NUL character")
        self._handle: int | None = _library.open_result(given)
        self._close = weakref.finalize(self, _library.load().strata_close, self._handle)
        self._lock = threading.Lock()  # nobody closes it while somebody asks
        self.path = path
        self._said_lost = False  # strata.events has said what is missing

    def close(self) -> None:
        with self._lock:
            self._handle = None
            self._close()

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        named = "the newest in the working folder" if self.path is None else os.fspath(self.path)
        return f"<strata.Result {named}{'' if self._handle else ', closed'}>"

    def _ask(self, question: Callable[[int], str]) -> str:
        with self._lock:
            if self._handle is None:
                raise UsageError("the result is closed")
            return question(self._handle)

    def query(self, sql: str, *, memory_limit: int = 0) -> Table:
        """One SELECT of SQLite's dialect; `strata.schema()` lists the tables. memory_limit is in MB (0: 256)."""
        return Table(_parse(self._ask(lambda handle: _library.query(handle, sql, memory_limit))))

    def report(self, kind: str, *words: str, **options: Any) -> Table:
        """A report by name, with the options of `strata report`: group_by="process,thread" or a list, filter={"module":
        "libtorch*"}, sort_desc="count", limit=10, call_stack_mode="all" …
        """
        line = [kind, *words, *_words_of(options)]
        text = self._ask(lambda handle: _library.report(handle, line))
        return Table(_parse(text), lambda: self._ask(lambda handle: _library.report(handle, line, as_text=True)))

    def export(self, form: str, path: str | os.PathLike[str], *words: str, **options: Any) -> None:
        """Writes a file in the form of another tool (`strata export ?` lists them), with the options of that command:
        time_filter="2.5:4", metadata={"key": "value"} … A name that ends in .gz is compressed.
        """
        name = os.fsdecode(path)
        line = [form, *words, *_words_of(options), f"-output={name if name != '-' else './-'}"]

        def write(handle: int) -> str:
            _library.export(handle, line)
            return ""

        self._ask(write)

    def report_text(self, kind: str, *words: str, **options: Any) -> str:
        """The same as the text that `strata report` prints; nothing else is made."""
        line = [kind, *words, *_words_of(options)]
        return self._ask(lambda handle: _library.report(handle, line, as_text=True))

    @property
    def tasks(self) -> Table:
        """Tasks by their type: how many, how long."""
        return self.report("tasks", group_by="task-type")

    @property
    def operators(self) -> Table:
        """Operators of the framework, by name."""
        return self.report("operators")

    @property
    def findings(self) -> Table:
        """What is worth changing, the largest saving first."""
        return self.report("findings")


def schema() -> str:
    """The tables and columns that `Result.query` can ask, for people."""
    return _library.schema()


def _parse(text: str) -> dict[str, Any]:
    try:
        return json.loads(text)
    except RecursionError:
        raise Error(
            "the rows of this report are nested deeper than Python's JSON reader supports: use fewer levels, or query()"
        ) from None


def _words_of(options: dict[str, Any]) -> list[str]:
    """As on the command line. None and False: not given; True: an option without a value."""
    words = []
    for key, value in options.items():
        name = key.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(f"-{name}")
            continue
        if isinstance(value, dict):
            values = [f"{left}={right}" for left, right in value.items()]
        elif isinstance(value, (list, tuple)):
            values = [str(one) for one in value]
            if name not in _REPEATED:
                values = [",".join(values)]
        else:
            values = [os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
        words += [f"-{name}={one}" for one in values]
    return words
