"""LoginFailures finds what a plain program finds, under every model, in good input and in bad."""

import gzip
import json
import random
import re
from functools import cache
from pathlib import Path

import pytest
from harness.applications.login import sizes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topologies
from harness.applications.login_failures import FORMS, SCHEMAS, generate, input_of
from harness.cli import main
from harness.errors import UserError
from harness.models import Dynamic, Manual
from tests.applications.drive import MODELS, in_any_order, run
from tests.applications.reference_login_failures import reference

ODD = (
    b"",
    b"not a line of a log",
    b"Jun 14 15:16:01 combo sshd(pam_unix)[19939]:",
    b"Jun 31 25:16:01 combo sshd: authentication failure; rhost=a user=b",
    b"Jum 14 15:16:01 combo sshd: authentication failure; rhost=a user=b",
    b"Jun 14 15:16:01 combo sshd: authentication failure without anything",
    b"Jun 14 15:16:01 combo sshd: authentication failure; " + b"rhost=" + b"r" * 100,
    b"Jun 14 15:16:01 combo sshd: authentication failure; \xff\xfe rhost=\xe9 user=b",
    b"Jun 14 15:16:01 " + b"h" * 40 + b" sshd: authentication failure; rhost=a user=b",
    b"x" * 500,
    b"  Jun  4  05:06:07   combo  sshd:  authentication failure;  user=a=b; rhost=c",
)


def with_odd_lines(text, seed):
    draw = random.Random(seed)
    lines = text.split(b"\n")[:-1]
    for line in ODD:
        lines.insert(draw.randrange(len(lines)), line)
    return b"\n".join(lines)


def check(form, built, expected):
    found = built.results()
    assert found.keys() == expected.keys()
    for sink in found:
        assert in_any_order(found[sink]) == in_any_order(expected[sink])
    if form == "large":  # whose sequencers restore it
        assert found["failures"] == expected["failures"]


def test_tuples_in_c_are_as_large_as_their_schemas():
    assert {schema.name: schema.size for schema in SCHEMAS} == sizes()


@pytest.mark.parametrize(("form", "operators", "by_hand"), [("figure", 14, 13), ("large", 27, 9)])
def test_the_forms_have_the_papers_operators_and_threaded_ports(form, operators, by_hand):
    for placement, ports in (("none", 0), ("hand", by_hand)):
        graph, _ = topologies.build(
            "login-failures", {"form": form, "records": 10, "placement": placement}, 0
        )
        graph.check()
        assert len(graph.operators) == operators and len(graph.threaded) == ports


@cache
def many_lines(form):
    """A log, and what the plain program finds in it."""
    text = with_odd_lines(generate(8000, 5), 5)
    return text, reference(text, form)


@pytest.mark.heavy
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS)
def test_the_result_is_that_of_a_plain_program(form, model):
    text, expected = many_lines(form)
    built = FORMS[form](text, False, 1, False, keep=10**6)
    totals = run(built, MODELS[model]())
    assert totals.correct and totals.drained, (totals.error, totals.conservation)
    assert len(expected["failures"]) > 4000
    assert form == "figure" or (
        len(expected["suspects writer"]) > 400 and expected["break-ins writer"]
    )
    check(form, built, expected)
    # of the odd lines two tell of failures and cannot be read, four are none of a log
    counts = built.counts()
    assert (counts["records"], counts["broken"], counts["others"]) == (8000 + len(ODD), 2, 3)


PIECES = [
    b"Jan",
    b"Dec",
    b"Jux",
    b" ",
    b"  ",
    b"14",
    b"0",
    b"31",
    b"15:16:01",
    b"24:00:00",
    b"h",
    b"sshd[1]:",
    b"\t",
    b"\xff",
]
PIECES += [
    b"authentication failure;",
    b"user=",
    b"rhost=a",
    b"uid=0",
    b"=",
    b";",
    b"session opened for user ",
    b"bob",
    b"(",
]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=14).map(b"".join), max_size=12))
def test_lines_of_any_pieces_are_read_as_the_plain_program_reads_them(lines):
    text = b"\n".join([b"Jun 1 00:00:00 h sshd: session opened for user bob by", *lines])
    built = FORMS["large"](text, False, 1, False, keep=10**6)
    assert run(built, Manual()).correct
    check("large", built, reference(text, "large"))


def test_lines_of_todays_logs_are_read_too():
    line = (
        b"2024-06-14T15:16:01.250000+02:00 box sshd[7]: pam_unix(sshd:auth): authentication "
        b"failure; "
        b"logname= uid=0 euid=0 tty=ssh ruser= rhost=192.0.2.9  user=root\r\n"
    )
    built = FORMS["figure"](line, False, 1, False, keep=10)
    assert run(built, Manual()).correct
    (failure,) = built.results()["failures"]
    assert failure["time"] == 1_718_370_961_250_000_000
    assert (failure["rhost"], failure["user"], failure["tty"]) == ("192.0.2.9", "root", "ssh")
    far = FORMS["figure"](
        line + line.replace(b"2024", b"9999") + line.replace(b"2024", b"1969"),
        False,
        1,
        False,
        keep=10,
    )
    assert run(far, Manual()).correct and far.counts()["broken"] == 2


def test_the_input_is_gone_through_again_with_times_that_go_on():
    text = generate(500, 1)
    built = FORMS["figure"](text, False, 3, False, keep=10**6)
    totals = run(built, Manual())
    assert totals.correct and totals.sent == 1500
    once = sorted(failure["time"] for failure in reference(text, "figure")["failures"])
    times = sorted(failure["time"] for failure in built.results()["failures"])
    span = times[len(once)] - times[0]
    assert span > once[-1] - once[0]
    assert times == [time + cycle * span for cycle in range(3) for time in once]


FAILED = b" h sshd[1]: authentication failure; uid=0 tty=ssh rhost=a user=bob"


def test_a_log_goes_on_into_the_next_year_and_late_lines_of_the_last_one_are_of_that():
    ends = (b"Dec 31 23:59:58", b"Dec 31 23:59:59", b"Jan  1 00:00:00")
    text = b"\n".join(
        day + FAILED
        for day in (*ends, b"Dec 31 23:59:59", b"May  1 00:00:00", b"Sep  1 00:00:00", *ends)
    )
    built = FORMS["large"](text, False, 2, False, keep=100)
    assert run(built, Manual()).correct
    times = [failure["time"] // 10**9 for failure in built.results()["failures"]]
    may, year = 121 * 86400 + 2, 366 * 86400
    once = [0, 1, 2, 1, may, may + 123 * 86400, year, year + 1, year + 2]  # since the first of them
    assert [time - times[0] for time in times] == once + [
        times[9] - times[0] + time for time in once
    ]
    assert times[9] - times[8] == 1


LONG = "n" * 255
FORMS_OF_LINES = {
    "RFC 3164": "Sep  8 17:00:30 web sshd[7]: ",
    "RFC 3164 with a priority": "<86>Sep  8 17:00:30 web sshd[7]: ",
    "RFC 5424": "<86>1 2023-09-08T17:00:30Z web sshd 7 - - ",
    "RFC 5424 with data": '<86>1 2023-09-08T17:00:30Z web sshd 7 ID [a b="c \\" ] d"][e] \ufeff',
    "ISO": "2023-09-08T19:00:30.000000+02:00 web sshd[7]: ",
    "short-iso": "2023-09-08T19:00:30+0200 web sshd[7]: ",
    "short-precise": "Sep 08 17:00:30.123456 web sshd[7]: ",
    "short-full": "Fri 2023-09-08 19:00:30 CEST web sshd-session[7]: ",
    "short-full of a zone that is not known": "Fri 2023-09-08 17:00:30 NPT web sshd[7]: ",
    "a date and a time": "2023-09-08 17:00:30 web sshd[7]: ",
    "a date, a time and a zone": "2023-09-08 19:00:30 CEST web sshd[7]: ",
    "a date and a time with its zone": "2023-09-08 19:00:30.5+02:00 web sshd[7]: ",
    "RFC 3164 with facility and level": "Sep  8 17:00:30 <auth.info> web sshd[7]: ",
    "a long host": f"Sep  8 17:00:30 {LONG} sshd[7]: ",
}


@pytest.mark.parametrize("form", FORMS_OF_LINES)
def test_every_form_of_a_line_is_read(form):
    message = (
        f"pam_unix(sshd:auth): authentication failure; uid=0 tty=ssh rhost={LONG}  user={LONG}"
    )
    blanks = " " * 8000  # a line may be long
    text = "\ufeff" + "".join(
        f"{FORMS_OF_LINES[form]}{blanks if '5424' not in form else ''}{message}\n" for _ in range(3)
    )
    text += "-- Boot 3f --\n\n  a line that goes on\n"
    for shape in FORMS:
        built = FORMS[shape](text.encode(), False, 1, False, keep=10)
        assert run(built, Manual()).correct
        found = built.results()["failures"]
        assert [(each["rhost"], each["user"]) for each in found] == [(LONG, LONG)] * 3
        second = found[0]["time"] // 10**9
        assert second % 86400 == 17 * 3600 + 30
        assert second == 1_694_192_430 or "RFC 3164" in form or "precise" in form or "long" in form
        assert built.counts()["broken"] == 0 and built.counts()["others"] == 3


def test_entries_of_the_journal_in_json_are_read():
    entry = {
        "__REALTIME_TIMESTAMP": "1694192430123456",
        "_HOSTNAME": "web",
        "SYSLOG_IDENTIFIER": "sshd",
        "MESSAGE": 'authentication failure; uid=0 tty=ssh rhost=é user=DOMAIN\\bob "',
    }
    text = "\n".join(json.dumps(entry | more) for more in ({}, {"MESSAGE": [1, 2]}, {"x": None}))
    built = FORMS["figure"](text.encode(), False, 1, False, keep=10)
    assert run(built, Manual()).correct
    found = built.results()["failures"]
    assert [(each["rhost"], each["user"]) for each in found] == [("é", "DOMAIN\\bob")] * 2
    assert found[0]["time"] == 1_694_192_430_123_456_000


def test_messages_that_are_bytes_in_json_are_read():
    message = b"pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= "
    entry = {
        "__REALTIME_TIMESTAMP": "1694192430123456",
        "_HOSTNAME": "web",
        "SYSLOG_IDENTIFIER": "sshd",
    }
    said = (
        message + b"rhost=192.0.2.9  user=root\r",
        message + b"rhost=" + b"r" * 200 + b"  user=\xff\xfe",
        b"authentication failure; uid=0 rhost=a user=b",
        b"\x1b[31mnothing" + b"." * 200,
    )
    lines = [json.dumps(entry | {"MESSAGE": list(each)}) for each in said]
    lines += [json.dumps(entry | {"MESSAGE": each}) for each in ([256], [[1]], [1.5], ["a"], {}, 1)]
    for shape in FORMS:
        built = FORMS[shape]("\n".join(lines).encode(), False, 1, False, keep=10)
        assert run(built, Manual()).correct
        found = [(each["rhost"], each["user"]) for each in built.results()["failures"]]
        assert sorted(found) == [("192.0.2.9", "root"), ("a", "b"), ("r" * 200, "\ufffd\ufffd")]
        assert (built.counts()["broken"], built.counts()["others"]) == (0, 6)


def test_a_message_that_was_repeated_counts_as_often():
    line = (
        b"Jun 14 15:16:01 h sshd[1]: message repeated 6 times: [ pam_unix(sshd:auth): "
        b"authentication failure; uid=0 tty=ssh rhost=a user=bob]\n"
    )
    for shape in FORMS:
        built = FORMS[shape](line, False, 1, False, keep=100)
        assert run(built, Manual()).correct
        assert [each["user"] for each in built.results()["failures"]] == ["bob"] * 6
    assert built.counts()["suspects writer"] == 1


FAILURE = "Jun 14 15:16:01 h sshd[1]: authentication failure; uid=0 tty=ssh rhost=a user=bob"
OTHER = "Jun 14 15:16:01 h cron[1]: done"


@pytest.mark.parametrize(
    ("lines", "failures"),
    [
        ([FAILURE, "Jun 14 15:16:31 h last message repeated 6 times"], 7),
        ([FAILURE, "Jun 14 15:16:31 --- last message repeated 1 time ---", OTHER], 2),
        ([FAILURE, *["Jun 14 15:16:31 h last message repeated 2 times"] * 3], 7),
        ([FAILURE + " x" * 99, "Jun 14 15:16:31 h last message repeated 2 times"], 3),
        ([FAILURE, OTHER, "Jun 14 15:16:31 h last message repeated 6 times"], 1),
        ([FAILURE, "Jun 14 15:16:31 elsewhere last message repeated 6 times"], 1),
        ([FAILURE, "Jun 14 15:16:31 h last message repeated 99999 times"], 1),
        ([FAILURE, "Jun 14 15:16:31 h app: last message repeated many times"], 1),
        (["Jun 14 15:16:31 h last message repeated 6 times", FAILURE], 1),
        (["", "Jun 14 15:16:31 h last message repeated 6 times", FAILURE], 1),
        (["x", *["Jun 14 15:16:31 h last message repeated 6 times"] * 2, FAILURE], 1),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_that_stands_for_the_one_before_counts_as_often(lines, failures, end):
    for form in FORMS:
        built = FORMS[form](end.join(lines).encode(), False, 2, False, keep=100)
        assert run(built, Manual()).correct
        assert [each["user"] for each in built.results()["failures"]] == ["bob"] * failures * 2


def minutes(count, month="Jun", day=14):
    """A failure a minute of one host."""
    return [
        f"{month} {day:2} {n // 60 % 24:02}:{n % 60:02}:05 h sshd[1]: authentication failure; "
        "uid=0 tty=ssh rhost=a user=bob"
        for n in range(count)
    ]


@pytest.mark.parametrize("when", ["Jun 14 23:00:00", "Jun 20 01:00:00", "Dec 25 01:00:00"])
@pytest.mark.parametrize("place", [0, 50, 99])
def test_one_line_with_a_wrong_clock_makes_no_suspect_and_moves_no_other_line(when, place):
    lines = minutes(100)
    line = f"{when} h sshd[2]: session opened for user eve by"
    wrong = [*lines[:place], line, *lines[place:]]
    right = FORMS["large"]("\n".join(lines).encode(), False, 1, False, keep=1000)
    built = FORMS["large"]("\n".join(wrong).encode(), False, 1, False, keep=1000)
    assert run(built, Manual()).correct and run(right, Manual()).correct
    found, wanted = built.results()["failures"], right.results()["failures"]
    apart = found[0]["time"] - wanted[0]["time"]  # a first line of December begins another year
    assert [each["time"] - apart for each in found] == [each["time"] for each in wanted]
    assert not built.results()["suspects writer"]


@pytest.mark.parametrize("seconds", [60, 15])
def test_clocks_that_go_back_in_november_make_no_suspect(seconds):
    lines = [
        f"Nov  3 {(n - (3600 if n >= 7200 else 0)) // 3600:02}:{n // 60 % 60:02}:{n % 60:02} h "
        "sshd[1]: authentication failure; uid=0 tty=ssh rhost=a user=bob"
        for n in range(0, 4 * 3600, seconds)
    ]
    built = FORMS["large"]("\n".join(lines).encode(), False, 1, False, keep=10**4)
    assert run(built, Manual()).correct
    assert len(built.results()["failures"]) == len(lines)
    assert not built.results()["suspects writer"] and built.counts()["late"] == 0


def test_break_ins_are_found_behind_a_wrong_clock_and_late_sessions_are_counted():
    lines = []
    for n in range(3000):
        clock = f"Jun 14 {n // 3600:02}:{n // 60 % 60:02}:{n % 60:02} h sshd[1]: "
        lines.append(f"{clock}authentication failure; uid=0 tty=ssh rhost=a user=bob")
        if n in (300, 2900):
            lines.append(f"{clock}session opened for user bob by (uid=0)")
        if n == 1000:
            lines.append(f"Jul 14 00:00:00 h sshd[1]: {lines[-1][26:]}")
            lines.append("Jul 14 00:00:00 h sshd[1]: session opened for user bob by (uid=0)")
        if n == 2000:
            lines.append("Jun 10 00:00:00 h sshd[1]: session opened for user bob by (uid=0)")
    expected = reference("\n".join(lines).encode(), "large")
    built = FORMS["large"]("\n".join(lines).encode(), False, 1, False, keep=10**4)
    assert run(built, Dynamic(threads=2)).correct
    check("large", built, expected)
    assert len({each["opened"] for each in expected["break-ins writer"]}) >= 2
    assert built.counts()["late"] == 1 and built.counts()["ahead of time"] == 2


FOUR_DAYS = [
    (month, day, hour)
    for month, day in ((b"Dec", 30), (b"Dec", 31), (b"Jan", 1), (b"Jan", 2))
    for hour in range(0, 24, 2)
]


def test_failures_far_apart_make_no_suspects_when_a_year_begins():
    text = b"\n".join(
        b"%s %2d %02d:00:00" % (day, number, hour) + FAILED for day, number, hour in FOUR_DAYS
    )
    built = FORMS["large"](text, False, 1, False, keep=100)
    assert run(built, Manual()).correct
    assert len(built.results()["failures"]) == 48 and not built.results()["suspects writer"]


@pytest.mark.parametrize(
    ("what", "suspects"),
    [
        ("session opened for user bob", 0),
        ("authentication failure; rhost=a user=bob", 4000 + 400 + 66),
    ],
)
def test_the_join_forgets_where_only_one_of_its_sides_gets_something(what, suspects):
    times = (
        f"Jun {n // 86400 + 1:2} {n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}"
        for n in range(20_000)
    )
    text = "".join(f"{time} h sshd[1]: {what}\n" for time in times).encode()
    built = FORMS["large"](text, False, 1, False)
    assert run(built, Manual()).correct
    assert built.counts()["suspects writer"] == suspects
    assert built.join.counted(0) + built.join.counted(1) < 4500  # of an hour, the lateness


def test_the_digest_tells_results_apart_and_not_their_order():
    digests = {}
    for name, text in (
        ("one", generate(2000, 1)),
        ("other", generate(2000, 2)),
        ("again", generate(2000, 1)),
    ):
        built = FORMS["figure"](text, False, 1, False)
        run(built, Dynamic(threads=3) if name == "again" else Manual())
        digests[name] = built.digests()["failures"]
    assert digests["one"] == digests["again"] != digests["other"]


def test_of_a_damaged_gzip_file_all_before_the_damage_is_read(tmp_path):
    text = generate(3000, 4)
    packed = gzip.compress(text)
    for name, data, least in (
        ("check", packed[:-8] + bytes(8), len(text)),  # its check and its size are wrong
        ("middle", packed[:9000] + bytes(40) + packed[9040:], len(text) // 5),
        ("second", packed + packed[:200] + b"junk" * 9, len(text)),
        ("behind", packed + b"junk", len(text)),
    ):
        (tmp_path / name).write_bytes(data)
        found, cut = input_of(1, 0, str(tmp_path / name))
        assert cut and found[:least] == (text + text)[:least], (
            name
        )  # behind it may be what damaged bytes unpack to


def test_a_file_of_many_members_with_zeros_between_them_is_read(tmp_path):
    lines = generate(1000, 4).splitlines(keepends=True)
    (tmp_path / "log.gz").write_bytes(
        b"".join(gzip.compress(line) + bytes(n % 3) for n, line in enumerate(lines))
    )
    assert input_of(1, 0, str(tmp_path / "log.gz")) == (b"".join(lines), False)


def test_a_file_is_read_plain_packed_and_packed_but_cut_off(tmp_path):
    text = generate(3000, 4)
    for name, data, truncated in (
        ("plain", text, False),
        ("packed.gz", gzip.compress(text), False),
        ("twice.gz", gzip.compress(text[:1000]) + gzip.compress(text[1000:]), False),
        ("cut.gz", gzip.compress(text)[:-2000], True),
    ):
        (tmp_path / name).write_bytes(data)
        found, cut = input_of(1, 0, str(tmp_path / name))
        assert (
            cut == truncated
            and text.startswith(found)
            and (found == text) != truncated
            and len(found) > 1000
        )
    built = FORMS["figure"](found, cut, 1, False, keep=10**6)
    assert run(built, Manual()).correct and built.counts()["truncated"] == 1
    check("figure", built, reference(found, "figure"))


OTHER = {
    "nothing": b"",
    "binary": b"\x00\x01\x02" * 1000,
    "JSON": b'{"a": 1}\n' * 10,
    "packed text": gzip.compress(b"no log\n" * 99),
    "broken gzip": b"\x1f\x8bjunk",
}


@pytest.mark.parametrize("kind", OTHER)
def test_a_file_of_another_kind_is_refused_in_one_line(tmp_path, kind):
    path = tmp_path / "other"
    path.write_bytes(OTHER[kind])
    with pytest.raises(UserError) as refused:
        topologies.build("login-failures", {"input": str(path)}, 0)
    assert (
        str(refused.value)
        == f"{path}: must be lines of a system log (time, host, service, message); none of its "
        "first MiB is one"
    )


def test_a_first_line_of_more_than_a_mib_is_a_broken_line_of_a_log(tmp_path, capsys):
    text = b"x" * (2**20 + 9) + b"\n" + generate(50, 4)
    path = tmp_path / "log"
    path.write_bytes(text)
    found, cut = input_of(1, 0, str(path))
    assert (found, cut) == (text, False)
    output = tmp_path / "found.jsonl"
    assert main(["run", "login-failures", "--set", f"input={path}", "--output", str(output)]) == 0
    assert "records 51, broken 1, " in capsys.readouterr().out and output.exists()


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(
        UserError, match=r"^/nowhere/log: cannot be read: No such file or directory$"
    ):
        topologies.build("login-failures", {"input": "/nowhere/log"}, 0)


def test_the_python_code_of_the_page_runs():
    page = (Path(__file__).parents[2] / "docs/how-to/applications.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec(compile(block, "docs/how-to/applications.md", "exec"), {"__name__": "page"})


def test_generated_lines_are_like_those_of_a_real_log():
    text = generate(20_000, 9)
    assert text == generate(20_000, 9) != generate(20_000, 10)
    lines = text.split(b"\n")[:-1]
    failed = [line for line in lines if b"authentication failure" in line]
    assert len(lines) == 20_000 and len(failed) / len(lines) == pytest.approx(0.57, abs=0.02)
    assert sum(b"rhost=203.0.113.7 " in line for line in failed) / len(failed) == pytest.approx(
        0.88, abs=0.02
    )
    assert 10 <= sum(b"session opened" in line for line in lines) <= 40
    assert 95 <= len(text) / len(lines) <= 120


@pytest.mark.heavy
def test_a_record_of_a_run_tells_what_was_counted(tmp_path):
    from harness.cli.run_report import conclusion
    from harness.measurement.run import run_once
    from harness.measurement.spec import run_of

    path = tmp_path / "log"
    path.write_bytes(with_odd_lines(generate(2000, 1), 1))
    values = topologies.find("login-failures").values({"input": str(path), "cycles": 1})
    record = run_once(
        run_of(topology="login-failures", parameters=values, model="manual", tuples=10**6)
    )
    assert record["correct"] and record["error"] is None
    assert (
        record["application"]["records"] == 2000 + len(ODD) and record["application"]["broken"] == 2
    )
    told = (
        "run 1 counted: records 2,011, broken 2, others 3, truncated 0, failures "
        f"{record['application']['failures']:,}"
    )
    assert told in conclusion([record])
