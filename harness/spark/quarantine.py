"""Lines that are not usable records -> quarantine: the place of each, and the reason. No line is
dropped without a row here.

Reasons, tried in this order: an empty line; not UTF-8; unreadable JSON (cut short, damaged, two
records in a line); not an object; another schema version; not a record (fields missing, or of
another type); impossible values; a run that was read already.

The rules are SQL text, so each is one line to read, and Python sends all of them to Spark in one
message. Column functions would send a message each (all tables took 18,000 of them, 0.7 ms each;
now 2,700).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from harness.measurement.record import declaration
from harness.measurement.record.declaration import SAMPLE, SCHEMA_VERSION
from harness.measurement.record.kinds import Array, Field, Integer, Map, Number, String, Struct
from harness.spark.schemas import PARAMETERS, RECORD, conform

KEPT_CHARACTERS = 500  # of a line's text in the table
NAMED_FIELDS = 5  # fields that a reason names before it says how many more there are

FIELDS = declaration.RECORD.fields
NAMES = [
    field.name
    for field in FIELDS
    if isinstance(field.kind, String) and field.required and not field.null
]
COMPOUND = [field.name for field in FIELDS if isinstance(field.kind, (Struct, Array, Map))]
SERIES = [field.name for field in FIELDS if field.kind == Array(SAMPLE)]
# reads a bad line again, to distinguish a missing field from one of a wrong type
KEYS = "from_json(value, 'map<string,string>')"


def quarantine(records: DataFrame, root: str) -> DataFrame:
    """Return one row per line that is not a usable record: file (relative to `root`), line (from
    1), reason, text (its first 500 characters).
    """
    columns = ["file", "block", "row", "reason", "text"]
    unread = records.where("reason IS NOT NULL").select(*columns)
    rejected = unread.unionByName(duplicates(records, root).select(*columns))
    numbered = rejected.join(F.broadcast(_blocks(records)), on=["file", "block"], how="left")
    return conform(
        numbered.withColumns(
            {
                "file": relative_path("file", root),
                "line": F.expr("lines_before + row - first_row + 1"),
            }
        ),
        "quarantine",
    )


def why_unusable() -> Column:
    """Return the reason why a line is not a usable record; null if it is one.

    The frame has the columns value (the line), wrapped (the line inside the object that was
    parsed), record (the parsed object), misfit (True if something in the line did not fit
    `schemas.RECORD`).
    """
    rules = " ".join(
        f"WHEN {broken} THEN {reason}" for broken, reason in (*_form_rules(), *_value_rules())
    )
    return F.expr(f"CASE {rules} END")


def duplicates(records: DataFrame, root: str = "") -> DataFrame:
    """Return one row per usable record whose `run_id` an earlier line has: file, block, row,
    reason, text. Files count in the order of their names.
    """
    earliest = F.min("place").over(Window.partitionBy("run_id"))
    return (
        records.where("reason IS NULL")
        .selectExpr(
            "file",
            "block",
            "row",
            "struct(file, block, row) AS place",
            "record.run_id AS run_id",
            "text",
        )
        .withColumn("earliest", earliest)
        .where("place <> earliest")
        .withColumn(
            "reason",
            F.concat(
                F.expr("concat('duplicate: run ', run_id, ' is in ')"),
                relative_path("earliest.file", root),
            ),
        )
        .select("file", "block", "row", "reason", "text")
    )


def path_of(url: str) -> Column:
    """Return the path that the file URL in the column `url` means; another URL as it is."""
    return F.regexp_replace(F.expr(f"url_decode(replace({url}, '+', '%2B'))"), "^file:/+", "/")


def relative_path(url: str, root: str) -> Column:
    """Return the path that the file URL in the column `url` means, relative to `root` if it is
    below it.
    """
    path = path_of(url)
    prefix = root.rstrip("/") + "/"
    return F.when(path.startswith(prefix), F.substr(path, F.lit(len(prefix) + 1))).otherwise(path)


def _blocks(records: DataFrame) -> DataFrame:
    """Return one row per block of a file: file, block, first_row, lines_before (lines of the file
    before the block).
    """
    blocks = records.groupBy("file", "block").agg(
        F.min("row").alias("first_row"), F.count("*").alias("lines")
    )
    earlier = Window.partitionBy("file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    return blocks.select(
        "file",
        "block",
        "first_row",
        F.coalesce(F.sum("lines").over(earlier), F.lit(0)).alias("lines_before"),
    )


def _form_rules() -> list[tuple[str, str]]:
    """Return the rules for the form of a record: (condition of a broken rule, reason)."""
    required = [field.name for field in RECORD if not field.nullable]
    incomplete = "(" + " OR ".join(f"record.{name} IS NULL" for name in required) + ")"
    missing = _compact(
        f"IF(record.{name} IS NULL AND NOT map_contains_key({KEYS}, '{name}'), '{name}', NULL)"
        for name in required
    )
    unfit = {
        field.name: f"record.{field.name} IS NULL"
        + (f" AND {KEYS}['{field.name}'] IS NOT NULL" if field.nullable else "")
        for field in RECORD
    }
    ill_typed = _compact(f"IF({broken}, '{name}', NULL)" for name, broken in unfit.items())
    return [
        (r"value RLIKE r'^\s*$'", "'empty line'"),
        ("NOT is_valid_utf8(value)", "'not UTF-8 text'"),
        (
            "misfit AND try_parse_json(wrapped) IS NULL",
            "'unreadable JSON: cut short, damaged, or two in a line'",
        ),
        (f"(misfit OR record IS NULL) AND {KEYS} IS NULL", "'not a record: not a JSON object'"),
        (
            f"record.schema_version <> {SCHEMA_VERSION}",
            f"concat('schema_version is ', record.schema_version, ', not {SCHEMA_VERSION}')",
        ),
        (
            f"{incomplete} AND size({missing}) > 0",
            f"'not a record: without ' || {_listed(missing)}",
        ),
        (
            f"({incomplete} OR misfit) AND size({ill_typed}) > 0",
            f"'not a record: wrong type of ' || {_listed(ill_typed)}",
        ),
        (
            "misfit",
            f"'not a record: wrong type inside {', '.join(COMPOUND[:-1])} or {COMPOUND[-1]}'",
        ),
        # a text field accepts any JSON value as its text
        *[
            (f"record.{name} RLIKE r'^\\s*[\\[{{]'", f"'not a record: wrong type of {name}'")
            for name in NAMES
        ],
    ]


def _value_rules() -> list[tuple[str, str]]:
    """Return the rules for the values of a record: (condition of a broken rule, reason)."""
    rules = [("record.run_id = ''", "'impossible value: run_id is empty'")]
    for name, kind in _numbers(declaration.RECORD):
        limit = f"more than {kind.least}" if _is_above(kind) else f"{kind.least} or more"
        rule = f"{limit}{' and finite' if isinstance(kind, Number) else ''}"
        reason = f"concat('impossible value: {name} is ', record.{name}, ', not {rule}')"
        rules.append((f"NOT ({_possible(f'record.{name}', kind)})", reason))
    for name, kind in PARAMETERS.items():
        text = f"record.parameters['{name}']"
        reason = (
            f"concat('impossible value: parameters.{name} is ', {text}, ', not a whole number "
            "from 0')"
        )
        if not isinstance(kind, StringType):
            rules.append(
                (
                    f"{text} IS NOT NULL AND NOT coalesce(try_cast({text} AS INT) >= 0, false)",
                    reason,
                )
            )
    return rules + [
        rule
        for series in SERIES
        for field in SAMPLE.fields
        for rule in _sample_rules(f"record.{series}", field)
    ]


def _numbers(struct: Struct, prefix: str = "") -> Iterator[tuple[str, Integer | Number]]:
    """Yield each number of an object and of the objects in it: its path and its kind."""
    for field in struct.fields:
        if isinstance(field.kind, (Integer, Number)):
            yield prefix + field.name, field.kind
        elif isinstance(field.kind, Struct):
            yield from _numbers(field.kind, f"{prefix}{field.name}.")


def _sample_rules(samples: str, field: Field) -> list[tuple[str, str]]:
    """Return the rules for a number in every sample: (condition of a broken rule, reason). An
    optional number may be missing, but must be possible where it is present.
    """
    series, kind = f"{samples}.{field.name}", field.kind
    if not isinstance(kind, (Integer, Number)):
        return []
    must_be_there = field.required and not field.null
    reason = (
        f"'impossible value: {field.name} of a sample is "
        f"{'missing, ' if must_be_there else ''}negative or not finite'"
    )
    rules = [
        (
            f"NOT ({_possible(f'array_min({series})', kind)} AND "
            f"{_possible(f'array_max({series})', kind)})",
            reason,
        )
    ]
    if must_be_there:
        # array_contains is null, not false, if an element is null and no element matches
        rules.append(
            (
                f"size({series}) > 0 AND array_contains({series}, {_literal(-1, kind)}) IS NULL",
                reason,
            )
        )
    return rules


def _possible(number: str, kind: Integer | Number) -> str:
    """Return the SQL condition that a number is within its limits, and finite. Spark orders "not a
    number" above infinity.
    """
    finite = f" AND {number} < double('infinity')" if isinstance(kind, Number) else ""
    return f"{number} {'>' if _is_above(kind) else '>='} {kind.least}{finite}"


def _is_above(kind: Integer | Number) -> bool:
    return isinstance(kind, Number) and kind.above


def _literal(number: int, kind: Integer | Number) -> str:
    return f"{number}{'D' if isinstance(kind, Number) else 'L' if kind.bits == 64 else ''}"


def _compact(candidates) -> str:
    return f"array_compact(array({', '.join(candidates)}))"


def _listed(names: str) -> str:
    """Return the first of the names in an array, joined, and the number of further ones."""
    more = f"size({names}) - {NAMED_FIELDS}"
    rest = f"IF({more} > 0, concat(' and ', {more}, ' more'), '')"
    return f"array_join(slice({names}, 1, {NAMED_FIELDS}), ', ') || {rest}"
