"""Schemas: laid out as the C compiler lays out a struct, packed and unpacked without loss, refused
in one line.
"""

import ctypes
import json
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.connectors import FileSink, FileSource
from harness.engine import open_engine
from harness.errors import UserError
from harness.graph import Graph, GraphError
from harness.graph.schema import Schema
from harness.models import Dynamic
from harness.operators.windows import aggregate, by_count, last

NUMBERS = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint8": st.integers(0, 2**8 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "float32": st.floats(width=32, allow_nan=False),
    "float64": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "time": st.integers(-(2**63), 2**63 - 1),
}
TYPES = st.one_of(
    st.sampled_from(sorted(NUMBERS)),
    st.integers(1, 40).map("bytes[{}]".format),
    st.integers(4, 40).map("string[{}]".format),
)
SCHEMAS = st.lists(TYPES, min_size=1, max_size=12).map(
    lambda types: Schema("made", {f"a{place}": kind for place, kind in enumerate(types)})
)


def values_of(schema, draw):
    values = {}
    for attribute in schema.attributes:
        if attribute.kind == "string":
            values[attribute.name] = draw(st.text("abcé", max_size=attribute.bound // 2))
        elif attribute.kind == "bytes":
            values[attribute.name] = draw(
                st.binary(min_size=attribute.bound, max_size=attribute.bound)
            )
        else:
            values[attribute.name] = draw(NUMBERS[attribute.kind])
    return values


@given(SCHEMAS, st.data())
def test_a_tuple_comes_back_from_its_content_as_it_was(schema, data):
    values = values_of(schema, data.draw)
    content = schema.pack(values)
    assert len(content) == schema.size and schema.size % 8 == 0
    assert schema.unpack(content) == values


@given(SCHEMAS, st.data())
def test_numpy_sees_the_same_values_in_the_content(schema, data):
    values = values_of(schema, data.draw)
    record = np.frombuffer(schema.pack(values), schema.dtype)[0]
    for attribute in schema.attributes:
        seen = record[attribute.name]
        if attribute.kind == "string":
            assert seen["text"].tobytes()[: seen["length"]].decode() == values[attribute.name]
        elif attribute.kind == "bytes":
            assert seen.tobytes() == values[attribute.name]
        else:
            assert seen == values[attribute.name]


def test_the_c_compiler_lays_the_struct_out_the_same_way(tmp_path):
    types = [
        "uint8",
        "time",
        "string[5]",
        "bytes[3]",
        "int16",
        "float32",
        "string[8]",
        "boolean",
        "float64",
        "bytes[1]",
    ]
    schema = Schema("made", {f"a{place}": kind for place, kind in enumerate(types)})
    names = ", ".join(f"offsetof(struct made, {attribute.name})" for attribute in schema.attributes)
    source = tmp_path / "made.c"
    source.write_text(
        f"#include <stddef.h>\n#include <stdint.h>\n{schema.c_struct()}\nsize_t places[] = "
        f"{{{names}, sizeof(struct made)}};\n"
    )
    library = tmp_path / "made.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    places = (ctypes.c_size_t * (len(types) + 1)).in_dll(ctypes.CDLL(str(library)), "places")
    assert list(places) == [*(attribute.offset for attribute in schema.attributes), schema.size]


@pytest.mark.parametrize(
    ("types", "told"),
    [
        ({}, "must have from 1 to 1000 attributes, not 0"),
        ({"a": "int"}, "type of a must be one of int8"),
        ({"a": "string[0]"}, "a must hold at least 1 byte"),
        ({"a b": "int8"}, "an attribute's name must be a word"),
        ({"a": "bytes[99999999]"}, "a tuple must have at most"),
    ],
)
def test_a_schema_that_cannot_be_is_refused(types, told):
    with pytest.raises(UserError, match=r"^schema made: [^\n]*$") as refused:
        Schema("made", types)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"n": 1}, "must have n, text, not n"),
        ({"n": 1, "txt": ""}, "must have text"),
        ({"n": 300, "text": ""}, "cannot be made of"),
        ({"n": 1, "text": "too long"}, "at most 4 bytes, not 8"),
    ],
)
def test_a_tuple_that_does_not_fit_its_schema_is_refused(values, told):
    with pytest.raises(ValueError, match=told):
        Schema("made", {"n": "uint8", "text": "string[4]"}).pack(values)


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("string[8]", 5, "a must be text, not 5"),
        ("string[8]", None, "a must be text, not None"),
        ("string[8]", [65, 66], r"a must be text, not \[65, 66\]"),
        ("bytes[4]", 4, "a must have 4 bytes, not 4"),
        ("bytes[4]", "abcd", "a must have 4 bytes, not 'abcd'"),
        ("boolean", "false", "a must be true or false, not 'false'"),
        ("boolean", 2, "a must be true or false, not 2"),
        ("float32", 1e300, "cannot be made of"),
        ("float64", 10**400, "cannot be made of"),
        ("int64", 2**63, "cannot be made of"),
        ("int64", 1.5, "cannot be made of"),
    ],
)
def test_a_value_of_another_type_is_refused(kind, value, told):
    with pytest.raises(ValueError, match=told):
        Schema("made", {"a": kind}).pack({"a": value})


NUMBER, TEXT = Schema("number", {"n": "uint32"}), Schema("text", {"t": "string[8]"})


def test_streams_must_carry_what_their_targets_take():
    graph = Graph("g")
    source = graph.typed_source("source", lambda: (), NUMBER)
    graph.connect(source, graph.typed_sink("sink", lambda port, values: None, TEXT))
    with pytest.raises(
        GraphError,
        match=r"stream source\[0\] -> sink\[0\] has tuples of number, but the port takes text",
    ):
        graph.check()


def test_typed_operators_do_not_mix_with_others():
    graph = Graph("g")
    graph.connect(graph.typed_source("source", lambda: (), NUMBER), graph.sink("sink"))
    with pytest.raises(GraphError, match="'source' is typed and 'sink' is not"):
        graph.check()


def test_a_function_of_another_signature_is_refused():
    untyped = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint64)(lambda _: 0)
    with pytest.raises(
        GraphError,
        match=r"operator 'p': a native function must be 'int32_t \(millrace_context \*, uint32_t",
    ):
        Graph("g").typed("p", untyped, NUMBER, TEXT)


# -- strings without a bound -----------------------------------------------------------------------


@given(
    st.lists(st.one_of(TYPES, st.just("string")), min_size=1, max_size=6), st.integers(300, 2000)
)
def test_strings_without_a_bound_share_what_is_left_of_a_slot(types, slot):
    named = {f"a{place}": kind for place, kind in enumerate(types)}
    schema = Schema("made", named, slot)
    bounds = {schema[name].bound for name, kind in named.items() if kind == "string"}
    if not bounds:
        assert schema == Schema("made", named)
        return
    (bound,) = bounds
    assert schema.size <= slot
    wider = {
        name: f"string[{bound + 1}]" if kind == "string" else kind for name, kind in named.items()
    }
    assert Schema("made", wider).size > slot
    values = {
        name: "x" * bound if kind == "string" else _any_value(schema[name])
        for name, kind in named.items()
    }
    assert schema.unpack(schema.pack(values)) == values


def _any_value(attribute):
    return {"string": "é", "bytes": bytes(attribute.bound)}.get(attribute.kind, 1)


def test_a_longer_text_than_the_slot_allows_does_not_fit():
    schema = Schema("note", {"at": "time", "text": "string"})
    assert schema.size == 1024 and schema["text"].type == "string[1012]"
    with pytest.raises(ValueError, match=r"note.text must have at most 1012 bytes, not 1013"):
        schema.pack({"at": 0, "text": "x" * 1013})


@pytest.mark.parametrize("slot", [0, 15, 2**27, "big", True])
def test_a_slot_that_cannot_be_is_refused_in_one_line(slot):
    with pytest.raises(UserError) as refused:
        Schema("note", {"at": "time", "text": "string"}, slot)
    assert str(refused.value) == (
        f"schema note: slot must be a whole number from 16 to 67108864 bytes, not {slot!r}"
    )


@pytest.mark.heavy
def test_texts_without_a_bound_go_through_windows_and_connectors(tmp_path):
    note = Schema("note", {"who": "string[8]", "text": "string"}, slot=256)
    lines = [{"who": "a", "text": "x" * n} for n in (0, 200, 240, 241, 5000)]
    (tmp_path / "in").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    graph = Graph("notes")
    source = graph.typed_source("in", FileSource(str(tmp_path / "in"), note), note)
    each = aggregate(graph, "each", note, by_count(1), {"text": last("text")}, by="who")
    gives = each.typed.gives[0]
    assert gives["text"].bound == note["text"].bound == 240
    graph.chain(
        source, each, graph.typed_sink("out", FileSink(str(tmp_path / "out"), gives), gives)
    )
    engine = open_engine(graph, Dynamic(threads=2))
    engine.start()
    while not engine.finished():
        engine.sample(0.01)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.left_out == {"in: broken": 2}
    found = [json.loads(line)["text"] for line in (tmp_path / "out").read_text().splitlines()]
    assert found == ["x" * n for n in (0, 200, 240)]
