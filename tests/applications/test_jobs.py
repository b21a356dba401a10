"""Jobs that other benchmarks know find what plain programs find, under every model, in generated
input and in files.
"""

import gzip
import random
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

import topologies
from harness.applications import fraud_detection, nexmark, spike_detection, word_count
from harness.errors import UserError
from harness.models import Manual
from tests.applications import reference_jobs
from tests.applications.drive import in_any_order, run, run_shaken


def of_kind(schema, events):
    return [values for kind, values in events if kind == schema]


def later(tuples, span):
    """The tuples of a second cycle: their times have gone on."""
    return [
        {
            name: value + span if name in ("time", "expires") else value
            for name, value in each.items()
        }
        for each in tuples
    ]


def expected(name, records, seed, cycles):
    """Return what the plain program of a job finds in its generated input."""
    if name.startswith("q"):
        schemas = nexmark.QUERIES[name][1]
        events = list(nexmark.events(records, seed))
        inputs = [
            [
                each
                for cycle in range(cycles)
                for each in later(of_kind(schema, events), cycle * records * nexmark.EVENT)
            ]
            for schema in schemas
        ]
        return getattr(reference_jobs, name)(*inputs)
    if name == "spike-detection":
        readings = list(spike_detection.readings(records, seed))
        times = [each["time"] for each in readings]
        span = max(times) - min(times) + 1
        return reference_jobs.spikes(
            [each for cycle in range(cycles) for each in later(readings, cycle * span)]
        )
    if name == "fraud-detection":
        of = fraud_detection.model()
        transactions = list(fraud_detection.transactions(records, seed, of)) * cycles
        return reference_jobs.frauds(transactions, of.steps)
    texts = [text.encode() for text in word_count.sentences(records, seed)]
    counts = reference_jobs.word_count(texts)
    return [{"word": word, "count": number} for word, number in counts.items()] * cycles


def job_of(name, records, seed, cycles):
    if name.startswith("q"):
        return nexmark.job(name, records, seed, cycles, keep=10**6)
    module = {
        "word-count": word_count,
        "spike-detection": spike_detection,
        "fraud-detection": fraud_detection,
    }[name]
    return module.job("", records, seed, cycles, keep=10**6)


def rounded(results):
    """Numbers without the last digits, which depend on the order of sums."""
    return [
        {
            name: round(value, 9) if isinstance(value, float) else value
            for name, value in each.items()
        }
        for each in results
    ]


def check(built, wanted):
    assert in_any_order(rounded(built.results())) == in_any_order(rounded(wanted))
    assert built.counts()["results"] == len(wanted)


RECORDS = {
    "q1": 1000,
    "q2": 6000,
    "q5": 1000,
    "q8": 2000,
    "word-count": 200,
    "spike-detection": 4000,
    "fraud-detection": 6000,
}
MODELS = ("manual", "dedicated", "dynamic", "multilevel", "coroutine")


@pytest.mark.heavy
@pytest.mark.parametrize("name", RECORDS)
def test_a_job_finds_what_a_plain_program_finds_under_every_model(name, monkeypatch):
    # few enough that each has more than a window of readings, and a dozen transactions
    monkeypatch.setattr(spike_detection, "SENSORS", 3)
    monkeypatch.setattr(fraud_detection, "CUSTOMERS", 300)
    records, seed, cycles = RECORDS[name], 5, 2
    wanted = expected(name, records, seed, cycles)
    assert len(wanted) > 1
    for model in MODELS:
        built = job_of(name, records, seed, cycles)
        totals = run_shaken(built, model, random.Random(seed))
        assert totals.correct and totals.drained, (model, totals.error, totals.conservation)
        check(built, wanted)


def test_windows_of_hot_items_go_on_for_many_seconds(monkeypatch):
    monkeypatch.setattr(nexmark, "EVENT", 20 * nexmark.MILLISECOND)  # 60 s of events
    wanted = expected("q5", 3000, 8, 1)
    assert len({each["end"] for each in wanted}) == 13
    built = job_of("q5", 3000, 8, 1)
    assert run(built, Manual()).correct
    check(built, wanted)


def test_events_have_the_shares_of_the_benchmark():
    events = list(nexmark.events(50_000, 3))
    kinds = Counter(schema.name for schema, _ in events)
    assert kinds == {"person": 1000, "auction": 3000, "bid": 46_000}
    times = [values["time"] for _, values in events]
    assert times == sorted(times)
    assert times[-1] - times[0] == 50_000 * 100_000 - 1_000_000  # 10,000 a second
    bids, auctions = of_kind(nexmark.BID, events), of_kind(nexmark.AUCTION, events)
    hot = sum(bid["auction"] % 100 == 0 for bid in bids) / len(bids)
    assert 0.49 < hot < 0.53
    sellers = sum(auction["seller"] % 100 == 0 for auction in auctions) / len(auctions)
    bidders = sum(bid["bidder"] % 100 == 1 for bid in bids) / len(bids)
    assert 0.72 < sellers < 0.79 and 0.73 < bidders < 0.78
    for schema, size in ((nexmark.PERSON, 200), (nexmark.AUCTION, 500), (nexmark.BID, 100)):
        of_schema = of_kind(schema, events)
        texts = sum(len(v) for each in of_schema for v in each.values() if isinstance(v, str))
        numbers = sum(isinstance(v, int) for v in of_schema[0].values()) * 8
        assert abs(texts / len(of_schema) + numbers - size) < 0.1 * size


def test_words_of_a_file_are_counted_whatever_it_holds(tmp_path):
    content = "a b, a-b_1\r\n\n  é naïve ☃ x\n" + "y" * 70 + "\n" + "z " * 3000 + "\nlast a"
    lines = [line for line in content.encode().split(b"\n") if len(line) <= 4000]
    wanted = reference_jobs.word_count(lines)
    assert wanted["a"] == 3 and wanted["y" * 60] == 1 and "z" not in wanted
    for name, data in (("text", content.encode()), ("text.gz", gzip.compress(content.encode()))):
        (tmp_path / name).write_bytes(data)
        for cycles in (None, 1, 2):  # as a stream, and from memory
            built = word_count.job(str(tmp_path / name), 1, 0, cycles, keep=10**4)
            totals = run(built, Manual())
            assert totals.correct, totals.error
            found = Counter()
            for each in built.results():
                found[each["word"]] += each["count"]
            assert found == Counter({word: n * (cycles or 1) for word, n in wanted.items()})
            assert built.counts()["broken"] == 1


@pytest.mark.parametrize("name", [*RECORDS][4:])
@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\x00\xff" * 99, gzip.compress(b"no\n" * 999, mtime=0)[:-9]]
)
def test_a_file_without_a_record_has_no_results(tmp_path, name, content):
    path = tmp_path / "input"
    path.write_bytes(content)
    graph, _ = topologies.build(name, {"input": str(path), "cycles": "once"}, 0)
    assert run(SimpleNamespace(graph=graph), Manual()).correct
    counts = graph.counts()
    assert counts["truncated"] == content.startswith(b"\x1f")
    if name != "word-count" or not content:
        assert counts["results"] == 0 and counts["broken"] == counts["records"]
        with pytest.raises(UserError, match=": none of its lines can be read"):
            topologies.build(name, {"input": str(path)}, 0)


@pytest.mark.heavy
def test_words_of_standard_input_are_counted():
    program = (
        "from harness.applications import word_count\n"
        "from harness.models import Manual\n"
        "from tests.applications.drive import run\n"
        "built = word_count.job('-', 1, 0, None, keep=10)\n"
        "assert run(built, Manual()).correct\n"
        "print(sorted((each['word'], each['count']) for each in built.results()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input="a b\na\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[('a', 2), ('b', 1)]\n", "")


READINGS = """\
2004-03-31 03:38:15.757009 2 1 20.5 -3.9 11.04 2.03397
2004-03-31 03:38:16 3 1 22.5 -3.9 11.04 2.0
2004-03-31 03:38:46.5 4 2 122.153 -3.9
not a reading
2004-03-31 03:39:16 5 2 nan -3.9 11.04 2.0
2004-03-31 03:39:46 6 1
2004-03-31 03:40:16 7 2 100
"""


def test_readings_of_a_file_are_searched_for_spikes(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text(READINGS, encoding="utf-8")
    for cycles in (None, 2):
        built = spike_detection.job(str(path), 1, 0, cycles, keep=100)
        assert run(built, Manual()).correct
        first = 1_080_704_296 * 10**9
        assert rounded(built.results())[:2] == [
            {"time": first, "device": 1, "value": 22.5, "average": 21.5},
            {"time": first + 120 * 10**9, "device": 2, "value": 100.0, "average": 111.0765},
        ]
        assert built.counts()["broken"] == 3
    built = spike_detection.job(str(path), 1, 0, None, "voltage", keep=100)
    assert run(built, Manual()).correct and built.results() == []


def test_transactions_of_a_file_are_scored_by_a_model_of_a_file(tmp_path):
    (tmp_path / "model").write_text("A,B\n0.99,0.01\n0.9,0.1\n", encoding="utf-8")
    states = "AABABBBBBA"
    lines = [f"C1,T{n},{state}" for n, state in enumerate(states)]
    (tmp_path / "input").write_text("\n".join([*lines, "C1,T9,X", "C1"]), encoding="utf-8")
    built = fraud_detection.job(
        str(tmp_path / "input"), 1, 0, None, str(tmp_path / "model"), keep=100
    )
    assert run(built, Manual()).correct and built.counts()["broken"] == 2
    assert built.results() == []  # the model finds nothing that unlikely
    numbers = [
        {"customer": "C1", "number": f"T{n}", "state": "AB".index(s)} for n, s in enumerate(states)
    ]
    assert reference_jobs.frauds(numbers, ((0.99, 0.01), (0.9, 0.1))) == []
    (tmp_path / "model").write_text("A,B\n0.99,0.01\n0.97,0.03\n", encoding="utf-8")
    built = fraud_detection.job(
        str(tmp_path / "input"), 1, 0, None, str(tmp_path / "model"), keep=100
    )
    assert run(built, Manual()).correct
    found = [each["number"] for each in built.results()]
    assert found == ["T7", "T8"]
    wanted = reference_jobs.frauds(numbers, ((0.99, 0.01), (0.97, 0.03)))
    assert [each["number"] for each in wanted] == found


@pytest.mark.parametrize("content", ["", "A,B\n1,0\n", "A,B\n1,0\n1\n", "A\nx\n"])
def test_a_file_that_is_no_model_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "model"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as refused:
        topologies.build("fraud-detection", {"model": str(path)}, 0)
    assert str(refused.value).startswith(f"{path}: must be a Markov model: ")


@pytest.mark.parametrize("name", [f"nexmark-{query}" for query in nexmark.QUERIES] + [*RECORDS][4:])
def test_a_topology_has_as_many_operators_as_it_says(name):
    graph, values = topologies.build(name, {"records": 100}, 0)
    graph.check()
    assert len(graph.operators) == topologies.find(name).size(**values)
