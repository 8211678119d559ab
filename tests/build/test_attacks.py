"""Every known way of source text to make a compiler read a file, tried on real compilers in the real sandbox."""

import subprocess

import pytest

from tests.waiting import LIMIT_S
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits
from tui_tuner.evaluate.sandbox.run import run_confined

SECRET = "open_sesame_4711"  # noqa: S105 - what must not be seen

PRINTING = {
    "include": '#include "{file}"\n',
    "line directive and error": '#line 1 "{file}"\n#error x\n',
    "line marker and error": '# 1 "{file}"\n#error x\n',
    "digraph": '%:include "{file}"\n',
    "through a macro": '#define F "{file}"\n#include F\n',
    "import": '#import "{file}"\n',
    "comments between the tokens": '# /* a */ include /* b */ "{file}"\n',
    "backslash-newline": '#inc\\\nlude "{file}"\n',
}
NOT_PRINTING = {
    "line directive and a plain error": '#line 1 "{file}"\nint a = undeclared_name;\n',
    "has_include": '#if __has_include("{file}")\nint a;\n#endif\n',
    "embed": 'const char a[] = {{\n#embed "{file}"\n}};\n',
    "host assembler incbin": '__asm__(".incbin \\"{file}\\"");\n',
}
DEVICE_ASSEMBLER = {
    "device incbin": '__global__ void k() {{ asm(".incbin \\"{file}\\";"); }}\n',
    "device include": '__global__ void k() {{ asm(".include \\"{file}\\""); }}\n',
}


@pytest.fixture
def secret(tmp_path_factory):
    file = tmp_path_factory.mktemp("outside") / "secret.txt"
    file.write_text(f"{SECRET} {SECRET}_more\n")
    return file


def write_source(directory, name, text, secret):
    (directory / name).write_text(text.format(file=secret))


async def files_and_output(command, directory, policy, read=()):
    """All that a confined compiler printed and wrote, as one string."""
    done = await run_confined(command, directory=directory, policy=policy, read=read, timeout_s=LIMIT_S)
    assert not done.timed_out
    written = (path.read_bytes().decode("latin-1") for path in directory.iterdir() if path.suffix in (".o", ".cubin"))
    return done.output + "".join(written)


@pytest.mark.parametrize("attack", PRINTING.values(), ids=PRINTING.keys())
def test_an_unconfined_compiler_prints_the_file(attack, gxx, secret, tmp_path):
    write_source(tmp_path, "a.cpp", attack, secret)

    done = subprocess.run([gxx, "-c", "a.cpp"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert SECRET in done.stderr


ALL = PRINTING | NOT_PRINTING


@pytest.mark.parametrize("attack", ALL.values(), ids=ALL.keys())
async def test_a_confined_host_compiler_gives_nothing_of_a_file_away(attack, gxx, secret, policy, tmp_path):
    write_source(tmp_path, "a.cpp", attack, secret)

    assert SECRET not in await files_and_output((gxx, "-c", "a.cpp"), tmp_path, policy)


ALL_CUDA = ALL | DEVICE_ASSEMBLER


@pytest.mark.parametrize("attack", ALL_CUDA.values(), ids=ALL_CUDA.keys())
async def test_a_confined_nvcc_gives_nothing_of_a_file_away(attack, nvcc, secret, policy, tmp_path):
    write_source(tmp_path, "kernel.cu", attack, secret)
    command = (str(nvcc.program), "-cubin", f"-arch={nvcc.architecture}", "kernel.cu", "-o", "kernel.cubin")

    assert SECRET not in await files_and_output(command, tmp_path, policy, read=(nvcc.program.parent.parent,))


async def test_a_full_host_build_by_nvcc_does_not_embed_a_file(nvcc, secret, policy, tmp_path):
    write_source(tmp_path, "kernel.cu", NOT_PRINTING["host assembler incbin"], secret)
    command = (str(nvcc.program), "-c", f"-arch={nvcc.architecture}", "kernel.cu", "-o", "kernel.o")

    everything = await files_and_output(command, tmp_path, policy, read=(nvcc.program.parent.parent,))

    assert "Assembler messages" in everything
    assert SECRET not in everything


async def test_including_an_endless_device_ends_at_once_with_permission_denied(gxx, policy, tmp_path):
    (tmp_path / "a.cpp").write_text('#include "/dev/zero"\n')

    done = await run_confined((gxx, "-c", "a.cpp"), directory=tmp_path, policy=policy, timeout_s=LIMIT_S)

    assert not done.timed_out
    assert "Permission denied" in done.output


async def test_a_macro_bomb_is_stopped_by_the_memory_limit(gxx, policy, tmp_path):
    # Three times the limit, and not without end: so much could also be had by a compiler that nothing limits.
    doubling = "\n".join(f"#define B{i}(x) B{i - 1}(x x)" for i in range(1, 23))
    (tmp_path / "a.cpp").write_text(f"#define B0(x) x x\n{doubling}\nint y = B22(z);\n")
    limits = ResourceLimits(memory=2**29)

    done = await run_confined((gxx, "-c", "a.cpp"), directory=tmp_path, policy=policy, limits=limits)

    assert done.returncode != 0
    assert "memory" in done.output


async def test_flags_in_the_environment_do_not_reach_nvcc(nvcc, policy, tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DINJECTED")
    monkeypatch.setenv("NVCC_PREPEND_FLAGS", "-DINJECTED")
    (tmp_path / "kernel.cu").write_text("#ifdef INJECTED\n#error injected\n#endif\n__global__ void k() {}\n")
    command = (str(nvcc.program), "-cubin", f"-arch={nvcc.architecture}", "kernel.cu", "-o", "kernel.cubin")

    done = await run_confined(command, directory=tmp_path, policy=policy, read=(nvcc.program.parent.parent,))

    assert done.returncode == 0, done.output
