"""The courtesy scan: what it refuses, where it says it stands, and what it lets pass."""

import pytest

from tui_tuner.evaluate.build.sources import refuse
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.syntax import MOST_BYTES

REFUSED = {
    "absolute include": '#include "/etc/passwd"',
    "absolute include in angle brackets": "#include </etc/passwd>",
    "include of a parent directory": '#include "x/../../secret"',
    "home directory": '#include "~/.ssh/id_rsa"',
    "import": '#import "/etc/passwd"',
    "include_next": "#include_next </etc/passwd>",
    "digraph": '%:include "/etc/passwd"',
    "trigraph": '??=include "/etc/passwd"',
    "comments between the tokens": '/**/ # /* a */ include /* b */ "/etc/passwd"',
    "comment over two lines between the tokens": '#include /* a\n b */ "/etc/passwd"',
    "backslash-newline in the word": '#inc\\\nlude "/etc/passwd"',
    "backslash-space-newline in the word": '#inc\\  \nlude "/etc/passwd"',
    "trigraph backslash-newline": '#inc??/\nlude "/etc/passwd"',
    "backslash-newline in a comment's beginning": '/\\\n* x */ #include "/etc/passwd"',
    "through a macro": '#define F "/etc/passwd"\n#include F',
    "line with a file": '#line 1 "/etc/passwd"\n#error x',
    "line through a macro": "#define L 1 F\n#line L",
    "line marker": '# 1 "/etc/passwd"\n#error x',
    "has_include of an absolute path": '#if __has_include("/etc/shadow")\n#endif',
    "has_include of a macro": "#if __has_include(F)\n#endif",
    "embed": "#embed <file>",
    "incbin": '__asm__(".incbin \\"/etc/passwd\\"");',
    "incbin in pieces": 'asm(".inc" "bin \\"/etc/passwd\\"");',
    "assembler include": 'asm(".include \\"x\\"");',
    "dependency pragma": '#pragma GCC dependency "/etc/passwd"',
    "NUL": "int a;\x00",
    "too long": "/" * (MOST_BYTES + 1),
}

ACCEPTED = {
    "toolkit headers": "#include <cuda_fp16.h>\n#include <cooperative_groups/memcpy_async.h>",
    "probing for a header": "#if defined(__has_include) && __has_include(<cuda_bf16.h>)\n#endif",
    "path in a comment": '// see #include "/etc/passwd"\n/* #include "/x" \n #include "../x" */',
    "path in a string": 'const char* s = "#include </x>";',
    "line number": "#line 12",
    "digit separators and characters": "int a = 1'000'000; char c = '\"'; // it's",
    "member called include": "void f(A a) { a.include(3); }",
    "pragmas": '#pragma unroll 4\n_Pragma("unroll")\n#pragma once',
    "inline assembly": 'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a), "l"(b));',
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED.keys())
def test_source_that_reaches_for_files_is_refused_with_its_reason(source):
    failure = refuse(source, "cuda")

    assert failure is not None
    assert failure.kind is FailureKind.REFUSED
    assert ": " in failure.message


@pytest.mark.parametrize("source", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_ordinary_source_is_not_refused(source):
    assert refuse(source, "cuda") is None


def test_the_message_names_the_line_after_comments_and_continued_lines():
    source = '/* one\n two */ int a; \\\n still three\n// four\n\n# /* five\n six */ include "/etc/passwd"\n'

    failure = refuse(source, "cuda")

    assert failure is not None
    assert failure.message.startswith("kernel.cu:6: #include of an absolute path is not allowed")


def test_the_message_names_the_file_of_the_language():
    failure = refuse('#include "/etc/passwd"', "opencl")

    assert failure is not None
    assert failure.message.startswith("kernel.cl:1: ")
