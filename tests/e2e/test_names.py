# SPDX-License-Identifier: Apache-2.0
"""Names of sampled code: what is kept, where it is looked for, and the reports that show code."""

import shutil
import subprocess
from pathlib import Path

from harness import strict_csv, strict_json
from pythons import interpreter

FINE = ["-knob", "sampling-interval=1"]

SOURCE = """
#include <time.h>

static inline __attribute__((always_inline)) unsigned burn_inlined(unsigned x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 31 + 7; /* the inlined line */
	return x;
}

__attribute__((noinline)) unsigned burn_outer(unsigned x)
{
	return burn_inlined(x) + 1; /* the calling line */
}

int main(void)
{
	volatile unsigned x = 1;
	struct timespec now, end;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	end.tv_sec += 1;
	do {
		for (int i = 0; i < 1000; i++)
			x = burn_outer(x);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	return 0;
}
"""


def compiled(folder, name="burner", *flags):
    source = folder / "burner.c"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id", *flags, "-o", folder / name, source], check=True)
    return folder / name


def collect(strata, *program, options=()):
    result = strata.folder / f"result{len(strata.history)}"
    done = strata("-collect", "hotspots", "-quiet", "-no-summary", *FINE, *options, "-r", result, "--", *program)
    assert done.status == 0, done.err
    return result


def report(strata, name, result, *options):
    done = strata("report", name, *options, "-r", result, "-format", "json")
    assert done.status == 0, done.err
    return strict_json(done.stdout)["rows"]


def functions(strata, result, *options):
    """Function → its row of report hotspots."""
    return {row["function"]: row for row in report(strata, "hotspots", result, *options)}


def numbered(mark):
    return next(i for i, line in enumerate(SOURCE.splitlines(), 1) if mark in line)


def test_lines_inlined_functions_and_instructions(strata):
    result = collect(strata, compiled(strata.folder))
    found = functions(strata, result)
    whole = sum(row["cpu_self_ns"] for row in found.values())
    assert found["burn_inlined"]["cpu_self_ns"] > 0.8 * whole
    assert found["burn_outer"]["cpu_total_ns"] > 0.9 * whole
    without = functions(strata, result, "-inline-mode", "off")
    assert "burn_inlined" not in without
    assert without["burn_outer"]["cpu_self_ns"] > 0.9 * whole

    lines = {row["line"]: row for row in report(strata, "source", result, "burner.c")}
    assert lines[numbered("the inlined line")]["source"].strip().startswith("x = x * 31 + 7;")
    own = sum(row.get("cpu_self_ns") or 0 for row in lines.values())
    assert own > 0.9 * whole
    calling = lines[numbered("the calling line")]
    assert calling["cpu_total_ns"] > 0.9 * whole and calling["cpu_self_ns"] < 0.1 * whole

    code = report(strata, "disassembly", result, "-source-object", "function=burn_outer")
    spent = sum(row.get("cpu_self_ns") or 0 for row in code)
    assert spent > 0.9 * whole
    hottest = max(code, key=lambda row: row.get("cpu_self_ns") or 0)
    assert hottest["line"] in range(numbered("burn_inlined(unsigned x)"), numbered("return x;") + 1)
    for grouping in ("basic-block", "source-line"):
        grouped = report(strata, "disassembly", result, "burn_outer", "-group-by", grouping)
        assert sum(row.get("cpu_self_ns") or 0 for row in grouped) == spent


def test_same_numbers_as_text_csv_and_json(strata):
    result = collect(strata, compiled(strata.folder))
    for name in ("source", "disassembly"):
        rows = report(strata, name, result)
        done = strata("report", name, "-r", result, "-format", "csv")
        table = strict_csv(done.stdout)
        assert len(table) == len(rows)
        for key in ("line", "cpu_self_ns", "cpu_total_ns", "samples"):
            assert [line[key] for line in table] == [str(row.get(key, "")) for row in rows]
        assert strata("report", name, "-r", result).status == 0


def test_stripped_then_with_its_debug_file(strata):
    program = compiled(strata.folder, "whole")
    debug = strata.folder / "symbols"
    debug.mkdir()
    stripped = strata.folder / "burner"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug / "burner.debug"], check=True)
    link = f"--add-gnu-debuglink={debug}/burner.debug"
    subprocess.run(["objcopy", "--strip-all", link, program, stripped], check=True)
    program.unlink()
    result = collect(strata, stripped)
    bare = functions(strata, result)
    hottest = max(bare.values(), key=lambda row: row["cpu_self_ns"])
    assert hottest["function"].startswith("func@0x") and hottest["module"] == "burner"
    assert "burn_outer" in functions(strata, result, "-search-dir", debug)
    # Kept from now on only where that was asked for: the report above did not.
    done = strata("finalize", "-r", result, "-search-dir", debug)
    assert done.status == 0, done.err
    debug.rename(strata.folder / "elsewhere")
    assert "burn_outer" in functions(strata, result)


def test_another_build_is_said_not_used(strata):
    program = compiled(strata.folder)
    result = collect(strata, program)
    keep = strata.folder / "keep"
    keep.mkdir()
    shutil.move(program, keep / "burner")
    compiled(strata.folder, "burner", "-DSOMETHING_ELSE", "-O2")
    # What is kept still holds; made anew, the other file is noticed.
    assert "burn_outer" in functions(strata, result)
    assert strata("finalize", "-r", result).status == 0
    changed = functions(strata, result)
    assert "[burner]" in changed and "burn_outer" not in changed
    assert f"{program} is not the file that ran" in " ".join(strata("report", "hotspots", "-r", result).out.split())
    assert f"{program} is not the file that ran" in strata("report", "hotspots", "-r", result, "-format", "csv").err
    assert f"{program} is not the file that ran" in " ".join(strata("report", "summary", "-r", result).out.split())
    assert strata("finalize", "-r", result, "-search-dir", keep).status == 0
    assert "burn_outer" in functions(strata, result)


def test_source_of_a_python_script(strata, python):
    there = strata.folder / "there"
    there.mkdir()
    script = there / "work.py"
    script.write_text(
        "import time\n"
        "def burn(n):\n"
        "    return sum(i * i for i in range(n))\n"
        "end = time.process_time() + 1\n"
        "while time.process_time() < end:\n"
        "    burn(20000)\n")
    # The script moves; where to is told when collecting, and kept.
    result = collect(strata, python, script, options=["-source-search-dir", strata.folder / "moved here"])
    there.rename(strata.folder / "moved here")
    lines = {row["line"]: row for row in report(strata, "source", result, "work.py")}
    assert [lines[i]["source"] for i in (1, 6)] == ["import time", "    burn(20000)"]
    whole = max(row.get("cpu_total_ns") or 0 for row in lines.values())
    assert lines[3]["cpu_total_ns"] > 0.9 * whole
    assert lines[6]["cpu_total_ns"] > 0.9 * whole
    assert lines[6].get("cpu_self_ns", 0) < 0.1 * whole


def test_a_perf_map_names_dynamic_code(strata):
    """CPython writes one for its trampolines; it is copied into the result."""
    script = strata.folder / "work.py"
    script.write_text(
        "import time\n"
        "def burn_dynamic(n):\n"
        "    return sum(range(n))\n"
        "end = time.process_time() + 0.7\n"
        "while time.process_time() < end:\n"
        "    burn_dynamic(20000)\n"
    )
    result = collect(strata, interpreter("3.12"), "-X", "perf", script)
    for left in result.glob("perf-*.map"):
        (Path("/tmp") / left.name).unlink(missing_ok=True)
    assert strata("finalize", "-r", result).status == 0
    found = functions(strata, result, "-python-frames", "none")
    name = next(name for name in found if name.startswith("py::burn_dynamic:"))
    assert found[name]["module"] == "[Dynamic code]"
    assert found[name]["cpu_total_ns"] > 0.8 * max(row["cpu_total_ns"] for row in found.values())


def test_what_is_not_there_is_named(strata):
    result = collect(strata, compiled(strata.folder))
    for options, says in (
        (["source", "nowhere.c"], "nowhere.c"),
        (["disassembly", "no_such_function"], "no_such_function"),
        (["source", "-source-object", "colour=red"], "source-file"),
        (["tasks", "-source-object", "function=main"], "source-object"),
    ):
        done = strata("report", *options, "-r", result)
        assert done.status != 0
        assert says in done.err
