# SPDX-License-Identifier: Apache-2.0
"""strata serve shows the source files that belong to a result, and no others: a result names them itself, and one that
was brought from elsewhere may name any file of the user who serves it."""

import subprocess

import pytest
from harness import strict_json
from served import Server, is_built

__all__ = ["is_built"]

SECRET = "swordfish"
SPIN = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: sum(range(1000))\n"
NATIVE = """
#include <time.h>
static volatile double sink;
__attribute__((noinline)) static void burn(void)
{
#line 1 "%s"
	for (int i = 0; i < 1000000; i++) sink += i;
}
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 2) burn();
	return 0;
}
"""


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "private" / "secret"
    path.parent.mkdir()
    path.write_text(f"{SECRET} 1\n{SECRET} 2\n{SECRET} 3\n{SECRET} 4\n")
    return path


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data"
    path.mkdir()
    return path


def collect(strata, data, *program, options=()):
    done = strata("collect", "hotspots", "-q", *options, "-r", data / "r000hs", "--", *program)
    assert done.status == 0, done.err


def collect_python(strata, data, python, file, options=()):
    """A program that says of its code that it is of the file, as a hostile result may."""
    script = data.parent / "script.py"
    script.write_text(f"exec(compile({SPIN!r}, {str(file)!r}, 'exec'))\n")
    collect(strata, data, python, script, options=options)
    return script


def compile_c(tmp_path, text, *options):
    (tmp_path / "burn.c").write_text(text)
    subprocess.run(["cc", "-g", "-O1", *options, "-o", tmp_path / "burn", tmp_path / "burn.c"], check=True)
    return tmp_path / "burn"


def source(client, file):
    answer = client.ask(client.id("r000hs"), ["source", "-source-object", f"source-file={file}"])
    assert answer.status == 200, answer.body
    return answer


def command_line(strata, data, file):
    done = strata("report", "source", "-r", data / "r000hs", "-source-object", f"source-file={file}", "-format", "json")
    assert done.status == 0, done.err
    return done.stdout


def test_file_that_is_no_source(strata, data, python, secret):
    script = collect_python(strata, data, python, secret)
    # The result does name the file, and who has it may look at it.
    assert SECRET.encode() in command_line(strata, data, secret)
    with Server(strata, data) as server:
        client = server.client()
        refused = source(client, secret)
        assert SECRET.encode() not in refused.body
        subject = refused.json["subject"]
        assert subject.startswith(f"{secret}: not shown, ") and "-source-search-dir" in subject
        times = [row for row in refused.json["rows"] if row["cpu_total_ns"]]
        assert times and {row["source"] for row in times} == {"[source not shown]"}
        for answer in (
            client.ask(client.id("r000hs"), ["summary"]),
            client.ask(client.id("r000hs"), ["html"], verb="export", file="x.html"),
        ):
            assert answer.status == 200, answer.body
            assert SECRET.encode() not in answer.body
        # The user's own script is what it always was.
        assert source(client, script).body == command_line(strata, data, script)


def test_link_with_the_name_of_a_source(strata, data, python, secret, tmp_path):
    link = tmp_path / "harmless.py"
    link.symlink_to(secret)
    collect_python(strata, data, python, link)
    with Server(strata, data) as server:
        refused = source(server.client(), link)
        assert SECRET.encode() not in refused.body and "not shown" in refused.json["subject"]


def test_folder_that_the_result_names(strata, data, python, secret):
    collect_python(strata, data, python, "/nowhere/secret", options=("-source-search-dir", secret.parent))
    assert SECRET.encode() in command_line(strata, data, "/nowhere/secret")
    with Server(strata, data) as server:
        refused = source(server.client(), "/nowhere/secret")
        assert SECRET.encode() not in refused.body and "not shown" in refused.json["subject"]


def test_folder_that_the_server_was_given(strata, data, python, secret, tmp_path):
    collect_python(strata, data, python, secret)
    with Server(strata, data, "-source-search-dir", secret.parent) as server:
        assert source(server.client(), secret).body == command_line(strata, data, secret)
    other = tmp_path / "other"
    other.mkdir()
    with Server(strata, data, "-source-search-dir", other) as server:
        assert SECRET.encode() not in source(server.client(), secret).body


def test_path_that_leads_out_of_a_folder(strata, data, python, secret, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    file = "../private/secret"
    collect_python(strata, data, python, file)
    with Server(strata, data, "-source-search-dir", other) as server:
        assert SECRET.encode() not in source(server.client(), file).body


@pytest.mark.parametrize("name", ["secret", "secret.c"])
def test_native_code(strata, data, secret, name):
    """A module on this machine names the file: then it must at least be a source file."""
    file = secret.rename(secret.with_name(name))
    collect(strata, data, compile_c(data.parent, NATIVE % file))
    assert SECRET.encode() in command_line(strata, data, file)
    with Server(strata, data) as server:
        answer = source(server.client(), file)
    assert (SECRET.encode() in answer.body) == (name == "secret.c")
    if name == "secret.c":
        assert answer.body == command_line(strata, data, file)


def test_names_that_no_module_confirms(strata, data, secret, tmp_path):
    """What the result keeps of names is its own word; the program tells."""
    file = secret.rename(secret.with_suffix(".c"))
    program = compile_c(tmp_path, NATIVE % file)
    collect(strata, data, program)
    subprocess.run(["strip", program], check=True)
    with Server(strata, data) as server:
        assert SECRET.encode() not in source(server.client(), file).body
    # Built anew, with code at other places, it is still built from that file.
    compile_c(tmp_path, "int other(int x) { return x * 3; }\n" + NATIVE % file)
    with Server(strata, data) as server:
        assert SECRET.encode() in source(server.client(), file).body


def test_instructions(strata, data, secret):
    words = ("disassembly", "-source-object", "function=burn")
    collect(strata, data, compile_c(data.parent, NATIVE % secret))
    done = strata("report", words[0], "-r", data / "r000hs", *words[1:], "-format", "json")
    assert SECRET.encode() in done.stdout
    with Server(strata, data) as server:
        client = server.client()
        answer = client.ask(client.id("r000hs"), words)
    assert answer.status == 200 and SECRET.encode() not in answer.body
    own = [row for row in strict_json(done.stdout)["rows"] if row["source_file"] != "secret"]
    assert [row for row in answer.json["rows"] if row["source_file"] != "secret"] == own
