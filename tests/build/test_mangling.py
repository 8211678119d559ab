"""Finding a kernel among the symbols of a file."""

import pytest

from tui_tuner.evaluate.build.compilers.symbols import find_kernel, symbol_name

SCALE_4, SCALE_8 = "_Z5scaleIfLi4EEvPT_", "_Z5scaleIfLi8EEvPT_"
SCALE_HALF = "_Z5scaleI6__halfLi4EEvPT_"
ARG_MAX = "_ZN1a3runILi4ENS_5IndexIfEENS_4PairIifEENS_6ArgMaxEEEvT0_T1_PS6_"
SUM, SUM_8 = "_ZN1a3runILi4ENS_4CastIfdEEdNS_3SumEEEvT0_T1_", "_ZN1a3runILi8ENS_4CastIfdEEdNS_3SumEEEvT0_T1_"
IN_A, PLAIN_F = "_ZN1a1fEPfi", "_Z1fPi"


@pytest.mark.parametrize(
    ("symbol", "path", "arguments"),
    [
        ("plain", ("plain",), None),
        ("_Z1kPf", ("k",), None),
        ("_ZL1kPf", ("k",), None),
        ("_ZN5outer5inner1kEPf", ("outer", "inner", "k"), None),
        ("_ZN36_GLOBAL__N__6f55a885_4_k_cu_7f8aae9f4anonEPi", ("anon",), None),
        (SCALE_4, ("scale",), ("float", "4")),
        ("_Z1kILb1ELin3EjEvv", ("k",), ("1", "-3", "unsigned int")),
        ("_ZN1a1fI6__halfEEvPKT_PS2_", ("a", "f"), ("__half",)),
        ("_Z1kIPKfN2ns1TEEvv", ("k",), ("?", "?")),
        ("_Z1kISt4pairIifEEvv", ("k",), ("?",)),
        ("_Zxyz", ("_Zxyz",), None),
        ("_Z99k", ("_Z99k",), None),
    ],
)
def test_a_symbol_is_read_as_namespaces_name_and_template_arguments(symbol, path, arguments):
    name = symbol_name(symbol)

    assert (name.path, name.arguments) == (path, arguments)


@pytest.mark.parametrize(
    ("name", "symbols", "found"),
    [
        ("plain", ["plain", PLAIN_F], ["plain"]),
        ("f", [IN_A, PLAIN_F], [PLAIN_F]),
        ("a::f", [IN_A, PLAIN_F], [IN_A]),
        ("::a :: f", [IN_A, PLAIN_F], [IN_A]),
        ("f", [IN_A, "plain"], [IN_A]),
        ("scale<float, 4>", [SCALE_4, SCALE_8, SCALE_HALF], [SCALE_4]),
        ("scale<float,0x8u>", [SCALE_4, SCALE_8], [SCALE_8]),
        ("scale<half, 4>", [SCALE_4, SCALE_8, SCALE_HALF], [SCALE_HALF]),
        ("scale<float, TILE>", [SCALE_4, "plain"], [SCALE_4]),
        ("scale<element, width>", [SCALE_4], [SCALE_4]),
        ("scale", [SCALE_4, "_Z5scalePf"], ["_Z5scalePf"]),
        ("scale", [SCALE_4], [SCALE_4]),
        ("scale", [SCALE_4, SCALE_8], [SCALE_4, SCALE_8]),
        ("cale", [SCALE_4], []),
        ("no name", [SCALE_4], []),
        ("run<4, a::Cast<float, double>, double, a::Sum>", [ARG_MAX, SUM, SUM_8], [SUM]),
        ("run<4, a::Index<float>, a::Pair<int, float>, a::ArgMax>", [SUM, ARG_MAX], [ARG_MAX]),
    ],
)
def test_a_written_name_finds_the_symbols_that_answer_to_it(name, symbols, found):
    assert find_kernel(name, symbols) == found
