# SPDX-License-Identifier: Apache-2.0
"""Programs whose stack pointer is not where a stack is: sampled, and not one byte of theirs touched."""



def test_data_under_the_stack_pointer(strata, programs):
    result = strata.folder / "result"
    options = ["-knob", "sampling-interval=1"]
    done = strata("-collect", "hotspots", "-quiet", *options, "-r", result, "--", programs / "stack_elsewhere")
    assert done.status == 0, f"status {done.status}, bytes overwritten: {done.out}{done.err}"
    assert done.out == "0\n"
    asked = strata("query", "-r", result, "-format", "csv", "SELECT count(*) AS n FROM samples")
    assert int(asked.out.split()[1]) > 100, asked.out
