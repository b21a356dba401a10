"""A user's mistake is one line on stderr that names the argument or the value, and exit code 2;
never a traceback.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import COMMANDS, main
from tests.elasticity.traces import record_of

ROOT = Path(__file__).resolve().parents[2]
RUN = "run pipeline --model manual"
DYNAMIC = "run pipeline --model dynamic"
COROUTINE = "run pipeline --model coroutine"
LONG = "9" * 5000

# A command line, then what its one line on stderr must say. TMP is an empty directory, CONFIG a
# file with the text in brackets.
CASES = {
    # which command
    "frobnicate": "frobnicate",
    "--frobnicate run": "--frobnicate",
    "Run pipeline": "'Run'",
    "''": "unknown command ''",
    "rnu pipeline": "did you mean 'run'?",
    # an option that is given twice, or nearly
    f"{RUN} --model dynamic": "--model: must be given once, not as 'manual' and 'dynamic'; millrace "
    "compare",
    f"{DYNAMIC} --threads 1 --threads 2": "--threads: must be given once, not as '1' and '2'",
    "run pipeline --machine xeon --machine local": "--machine: must be given once",
    f"{RUN} --treads 2": "did you mean '--threads'?",
    "run pipeline --model dynamc": "did you mean 'dynamic'?",
    "run pipeline --law milrace": "did you mean 'millrace'?",
    "run pipeline --model coroutine --policy oldest": "did you mean 'oldest_source'?",
    "run pipeline --peer goo": "did you mean 'go'?",
    "plot crosover --tables TMP -o TMP/x.png": "did you mean 'crossover'?",
    # doctor, init, completion
    "doctor --watch 0": "--watch: must be from 0.1",
    "doctor --watch never": "not 'never'",
    "init": "KIND",
    "init grph": "did you mean 'graph'?",
    "init graph -o TMP/a.yaml": "must name a file ending in .py",
    "init graph -o TMP/none/a.py": "there is no directory",
    "init graph -o CONFIG[a: 1]": "must name a file ending in .py",
    "init suite -o CONFIG[a: 1]": "must name a new file",
    "completion": "SHELL",
    "completion fish": "invalid choice: 'fish'",
    # experiments of one's own
    "sweep TMP/none.yaml": "TMP/none.yaml: cannot be read",
    "sweep crossover TMP/none.yaml": "'crossover' is an experiment of the profile",
    "sweep CONFIG[sizes: 1]": "sizes: must be keys and values",
    "plot TMP/none.yaml": "TMP/none.yaml: cannot be read",
    "plot TMP/none.yaml --tables TMP": "--tables is for figures that are no file",
    "plot crossover --tables TMP --records TMP -o TMP/a.png": "--records is for a file",
    # advise
    "advise": "name a topology or a graph file",
    "advise circle": "circle",
    "advise pipeline --budget soon": "not 'soon'",
    "advise pipeline --budget 0": "--budget: must be a time such as 90s, 3m or 1h",
    "advise pipeline --baseline dynamc": "did you mean 'dynamic'?",
    "advise pipeline --machine moon": "machine 'moon' is unknown",
    "advise --from TMP/none.csv": "cannot be read: No such file",
    "advise pipeline --json TMP/none/a.json": "--json",
    "advise pipeline --set cost=free": "not 'free'",
    # profile
    "profile": "TOPOLOGY",
    "profile circle": "circle",
    "profile pipeline -o TMP/none/a.json": "--output",
    "run pipeline --profile TMP/none.json": "--profile is for simulated runs",
    "run pipeline --machine xeon --profile TMP/none.json": "cannot be read: No such file",
    # compare
    "compare": "TOPOLOGY",
    "compare circle": "circle",
    "compare pipeline --model manual": "two arms at least, not manual alone",
    "compare pipeline --model dynamc": "did you mean 'dynamic'?",
    "compare pipeline --model dynamic:threds=2": "did you mean 'threads'?",
    "compare pipeline --model dynamic:threads=0": "a whole number from 1 to 1024",
    "compare pipeline --model dynamic:": "options must follow the colon",
    "compare pipeline --model dynamic:threads=2,threads=3": "threads must be given once",
    "compare pipeline --model dynamic:threads=2 --model dynamic:threads=2": "dynamic-2 must be given "
    "once",
    "compare pipeline --model manual --model manual:threads=2": "threads applies to",
    "compare pipeline --peer goo": "did you mean 'go'?",
    "compare pipeline --machine xeon --peer go": "cannot be simulated",
    "compare pipeline --budget 0": "--budget: must be a time such as 90s, 3m or 1h",
    "compare pipeline --budget soon": "not 'soon'",
    "compare pipeline --by luck": "--by",
    "compare pipeline --set cost=1,1": "must have different values",
    "compare pipeline --set cost=1,free": "free",
    "compare pipeline --duration 0.001": "--duration: must be from 0.01",
    "compare pipeline -o TMP/a.csv": "needs --export",
    "compare pipeline --png TMP/a.svg": "--png must name a file ending in .png",
    "compare pipeline --html TMP/none/a.html": "--html",
    # run: which topology, with what parameters
    "run": "TOPOLOGY",
    "run circle --model manual": "circle",
    "run ../pipeline --model manual": "../pipeline",
    "run '' --model manual": "''",
    f"{RUN} --set": "--set",
    f"{RUN} --set operators": "'operators'",
    f"{RUN} --set operators=": "operators",
    f"{RUN} --set =5": "=5",
    f"{RUN} --set operators=many": "many",
    f"{RUN} --set operators=-1": "operators",
    f"{RUN} --set operators=-3": "-3",
    f"{RUN} --set operators=1.5": "1.5",
    f"{RUN} --set operators={LONG}": "operators",
    f"{RUN} --set operators=3 --set operators=4": "operators",
    f"{RUN} --set wings=2": "wings",
    f"{RUN} --set payload=-1": "payload",
    f"{RUN} --set payload=100000000000": "payload",
    f"{RUN} --set cost=free": "free",
    f"{RUN} --set cost=nan": "nan",
    f"{RUN} --set cost=1,2": "not '1,2'; several values are for millrace compare",
    "explain pipeline --set cost=1,2": "not '1,2'; several values are for millrace compare",
    "explain pipeline --model dynamic:threads=2": "--model: must be the name of a model, not the arm "
    "'dynamic:threads=2': arms are for millrace compare; here each option of a model is one of the "
    "command, as in --model dynamic --threads 2",
    "explain pipeline --model a:b=c": "not the arm 'a:b=c'",
    "show pipeline --model dynamic:threads=2 -o TMP/a.svg": "not the arm 'dynamic:threads=2'",
    # calibrate
    "calibrate --only everything": "--only must be one of cores, lines, copies, system, steps, not "
                                   "'everything'",
    "calibrate --only line": "did you mean 'lines'?",
    "calibrate --output TMP": "--output must name a file, not the directory",
    "calibrate --output TMP/none/mine.yaml": "there is no directory",
    "calibrate --output TMP/mine.txt": "--output must name a .yaml file",
    "calibrate --software ''": "--software",
    "calibrate --output CONFIG[cores: 2]": "cores: unknown key",
    "calibrate --software CONFIG[cost: {}]": "missing key",
    "calibrate --rounds 3": "--rounds",
    # run: which graph file
    "run TMP/none.yaml --model manual": "TMP/none.yaml: cannot be read: No such file or directory",
    "run TMP --model manual": "unknown",
    "run CONFIG[operators: {}] --model manual": "operators: must be a list",
    "run CONFIG[payload: 1] --model manual": "operators: missing key",
    "run CONFIG[payload: 1] --model manual --set cost=5": "has no parameters; 'cost' cannot be set",
    "run TMP/none.py:f --model manual": "TMP/none.py: cannot be read",
    "run .yaml --model manual": ".yaml: cannot be read",
    "show TMP/none.json -o TMP/a.svg": "TMP/none.json: cannot be read",
    "show CONFIG[payload: 1] -o TMP/a.svg": "operators: missing key",
    # run: which model
    "run pipeline --model magic": "magic",
    "run pipeline --model dynamic --threads 0": "--threads",
    "run pipeline --model dynamic --threads -1": "--threads",
    "run pipeline --model dynamic --threads 1.5": "'1.5'",
    "run pipeline --model dynamic --threads 100000": "'100000'",
    "run pipeline --model dynamic --threads ٣": "'٣'",
    "run pipeline --model dedicated --threads 2": "threads",
    f"{RUN} --queue-capacity 10": "queue_capacity",
    "run pipeline --model dedicated --queue-capacity 0": "--queue-capacity",
    "run pipeline --model dedicated --queue-capacity 99999999999": "--queue-capacity",
    f"{RUN} --machine cray": "cray",
    # run: elastic
    f"{RUN} --period 5": "period applies where a law is at work only; nothing is elastic here "
                         "under manual: 5",
    f"{DYNAMIC} --period 5": "nothing is elastic here under dynamic: 5",
    f"{RUN} --elastic": "elastic applies to dynamic and coroutine only, not to the model manual",
    f"{RUN} --law fixed": "elastic applies to dynamic and coroutine only, not to the model manual",
    f"{DYNAMIC} --law cstream": "law 'cstream' does not choose threads; laws that do are: "
                                "millrace, pldi17,",
    f"{DYNAMIC} --replicas 2": "replicas applies to coroutine only, not to the model dynamic",
    f"{COROUTINE} --law nonesuch": "law 'nonesuch' is unknown; laws are: millrace, cstream, "
                                   "pldi17,",
    f"{COROUTINE} --law "
    "middleware19": "law 'middleware19' does not choose replicas or choose threads; laws that do",
    f"{COROUTINE} --law cstream --law-set tau=2": "tau must be from 0 to 1, not '2'",
    f"{COROUTINE} --elastic --threads 5 "
    "--max-threads 4": "threads must be from 1 to 4, the levels of the law, not 5",
    f"{COROUTINE} --max-threads 4": "maximum applies to an elastic pool only, not to one of a "
                                    "fixed level: 4",
    f"{COROUTINE} --period 5": "nothing is elastic here under coroutine: 5",
    f"{COROUTINE} --replicas 65": "--replicas: must be a whole number from 1 to 64, not '65'",
    f"{COROUTINE} --replicas 9 --set "
    "operators=100": "replicas must be at most 6 for graph 'pipeline', of each of",
    "run data-parallel --set width=600 --model coroutine "
    "--replicas 2": "replicas must be at most 1 for graph",
    f"{DYNAMIC} --law nonesuch": "law 'nonesuch' is unknown; laws are: millrace, pldi17,",
    f"{DYNAMIC} --law": "--law",
    f"{DYNAMIC} --law fixed --law-set pace=3": "law fixed has no setting 'pace'",
    f"{DYNAMIC} --law fixed --law-set pace": "--law-set takes NAME=VALUE, not 'pace'",
    f"{DYNAMIC} --law fixed --law-set a=1 --law-set a=2": "--law-set gives 'a' twice: '1' and '2'",
    f"{DYNAMIC} --law fixed --period "
    "0.09": "--period: must be from 0.1 to 86400 seconds, not '0.09'",
    f"{DYNAMIC} --law fixed --period nan": "--period",
    f"{DYNAMIC} --law fixed --period=-1": "--period",
    f"{DYNAMIC} --law fixed "
    "--min-threads 0": "--min-threads: must be a whole number from 1 to 1024, not '0'",
    f"{DYNAMIC} --law fixed "
    "--max-threads 1025": "--max-threads: must be a whole number from 1 to 1024, not '1025'",
    f"{DYNAMIC} --law fixed --max-threads many": "'many'",
    f"{DYNAMIC} --law fixed --min-threads 5 "
    "--max-threads 4": "minimum must be at most the maximum of 4 threads, not 5",
    f"{DYNAMIC} --law fixed --threads 5 "
    "--max-threads 4": "threads must be from 1 to 4, the levels of the law, not 5",
    f"{DYNAMIC} --law fixed --threads 1 --min-threads 2 "
    "--max-threads 3": "threads must be from 2 to 3, the levels of",
    f"{DYNAMIC} --max-threads 4": "maximum applies to an elastic pool only, not to one of a fixed "
                                  "level: 4",
    f"{DYNAMIC} --min-threads 4": "minimum applies to an elastic pool only, not to one of a fixed "
                                  "level: 4",
    f"{DYNAMIC} --queued {LONG}": "queued must be all, none, a number of ports, a share as 30%, or "
                                  "names",
    f"{DYNAMIC} --log TMP": "--log must name a file, not the directory",
    f"{DYNAMIC} --log TMP/none/a.log": "--log 'TMP/none/a.log': there is no directory 'TMP/none'",
    # run: numbers
    f"{RUN} --duration nan": "nan",
    f"{RUN} --duration inf": "inf",
    f"{RUN} --duration=-1": "--duration",
    f"{RUN} --duration 0": "--duration",
    f"{RUN} --duration 1e9": "1e9",
    f"{RUN} --duration 2s": "'2s'",
    f"{RUN} --duration 1_0": "'1_0'",
    f"{RUN} --duration": "--duration",
    f"{RUN} --warmup never": "must be auto, or from 0 to 86400 seconds, not 'never'",
    f"{RUN} --warmup=-1": "--warmup",
    f"{RUN} --warmup nan": "--warmup",
    f"{RUN} --repeats 0": "--repeats",
    f"{RUN} --repeats 1001": "--repeats",
    "run wiki-word-count --set input=- --model manual --repeats "
    "2": "-: can be read only once, so not by a benchmark",
    # run: jobs
    "run vwap --output x.csv --duration "
    "1": "--output is for a job, which goes once over its input; --duration asks for a benchmark",
    "run vwap --output x.csv --repeats 2": "--repeats asks for a benchmark",
    "run vwap --output x.csv --set cycles=2": "cycles=2 asks for a benchmark",
    "run vwap --output x.csv --machine xeon": "--machine asks for a benchmark",
    "run vwap --set records=9 --output x.txt": "--output must end in .jsonl, .ndjson, .json, .csv, .parquet, or be "
                               "- for standard output, not 'x.txt'",
    "run vwap --set records=9 --output TMP/none/x.csv": "there is no directory",
    "run vwap --set records=9 --output - --json -": "--json - and the results would both be on standard output",
    "run pipeline --output x.csv": "a job needs a graph with typed streams",
    "run vwap --warn-left-out 101": "--warn-left-out: must be from 0 to 100 percent, not '101'",
    "run vwap --set input=TMP/none": "cannot be read: No such file",
    "run vwap --set input=TMP": "cannot be read: Is a directory",
    "run vwap --set input=/dev/null": "its first line names no column",
    "run vwap --set input=/dev/null --duration "
    "1": "/dev/null: can be read only once, so not by a benchmark",
    "run packet-analysis --set input=- --set sources=2": "sources must be 1 where input is a pipe",
    f"{RUN} --seed=-1": "--seed",
    f"{RUN} --seed 9223372036854775808": "--seed",
    f"{RUN} --seed {LONG}": "--seed",
    f"{RUN} --tuples=-1": "--tuples",
    f"{RUN} --tuples 1e6": "'1e6'",
    f"{RUN} --tuples 1000000000000001": "--tuples",
    # run: files and left-overs
    f"{RUN} --json TMP": "--json",
    f"{RUN} --json TMP/none/out.json": "TMP/none",
    f"{RUN} --json ''": "--json",
    f"{RUN} --json TMP/{'x' * 300}": "--json",
    f"{RUN} --json": "--json",
    f"{RUN} --colour": "--colour",
    f"{RUN} mix": "mix",
    # topologies, models, show
    "topologies extra": "extra",
    "models extra": "extra",
    "gate": "--base must be given",
    "gate --base main --factor 1": "argument --factor: must be auto, or a number above 1, "
                                   "at most 100, not '1'",
    "gate --base main --pairs 3": "argument --pairs: must be auto, or an even number from 2 to "
                                  "10000, not '3'",
    "gate --base main --suite TMP/none.yaml": "none.yaml",
    "gate history show --history TMP/none": "--history: no verdicts in TMP/none",
    "claims --simulator-error 0.9": "--simulator-error: must be a factor from 1 on, not '0.9'",
    "claims --list --simulator-error 2": "--simulator-error is for claims that are checked",
    "machines power9": "machine 'power9' is unknown (did you mean 'power8'?)",
    f"machines {LONG}": "is unknown; known are: cstream, ",
    "machines --software xeon": "software 'xeon' is unknown",
    "machines TMP/none.yaml": "TMP/none.yaml: cannot be read",
    "machines CONFIG[fence: 5]": "config.yaml: fence: unknown key",
    "watch": "TOPOLOGY",
    "watch circle --model manual": "circle",
    "watch pipeline --model manual --duration 0": "--duration",
    "watch pipeline --model manual --html TMP/none/a.html": "--html",
    "watch pipeline --model manual --repeats 2": "--repeats",
    "watch --replay TMP/none.jsonl": "TMP/none.jsonl",
    "watch --replay TMP": "TMP",
    "explain": "name a topology or a graph file",
    "explain circle --model manual": "circle",
    "explain pipeline --model manual --repeats 2": "--repeats",
    "explain pipeline --replay TMP/none.jsonl": "--replay makes no run",
    "explain --replay TMP/none.jsonl": "TMP/none.jsonl",
    "show": "TOPOLOGY",
    "show circle -o TMP/a.svg": "circle",
    "show pipeline": "-o",
    "show pipeline -o TMP/none/a.svg": "none",
    "show pipeline -o TMP/a.gif": "a.gif",
    "show pipeline --set operators=-1 -o TMP/a.svg": "operators",
    "show pipeline --model magic -o TMP/a.svg": "magic",
    "show pipeline --model dynamic --threads 0 -o TMP/a.svg": "threads",
    "show pipeline --model dynamic --threads many -o TMP/a.svg": "many",
    "show pipeline --threads 2 -o TMP/a.svg": "--threads",
    "show pipeline --seed=-1 -o TMP/a.svg": "--seed",
    # laws: which command, law, setting, record (what is wrong in a record:
    # tests/elasticity/test_replay.py)
    "laws nonesuch": "nonesuch",
    "laws list extra": "extra",
    "laws --law magic": "law 'magic' is unknown; laws are: millrace, pldi17",
    "laws --law ''": "law '' is unknown",
    "laws --law": "--law",
    "laws --every 0": "--every: must be a whole number from 1 to 1000, not '0'",
    "laws --every 1001": "--every: must be a whole number from 1 to 1000, not '1001'",
    "laws --every half": "--every: must be a whole number from 1 to 1000, not 'half'",
    f"laws --every {LONG}": "--every",
    "laws --scenarios TMP/a.yaml": "a.yaml",
    "laws --report TMP": "--report must name a file, not the directory",
    "laws --report TMP/none/a.md": "--report 'TMP/none/a.md': there is no directory 'TMP/none'",
    "laws --table TMP/none/a.parquet": "--table",
    "laws --json TMP/none/a.json": "--json",
    "laws --json ''": "--json",
    "laws bench --every 0": "--every: must be a whole number from 1 to 1000, not '0'",
    "laws bench --law fixed --law magic": "law 'magic' is unknown",
    "laws bench --scenarios": "--scenarios",
    "laws bench --scenarios "
    "TMP/none.yaml": "TMP/none.yaml: cannot be read: No such file or directory",
    "laws bench --scenarios TMP": "TMP: cannot be read: Is a directory",
    "laws bench --scenarios ''": "cannot be read: No such file or directory",
    "laws bench --scenarios CONFIG[: :]": "must be YAML or JSON",
    "laws bench --scenarios "
    "CONFIG[name: one]": "curves must be a list of 1 to 10000 scenarios, not {'name': 'one'}",
    "laws bench extra": "extra",
    "laws --report TMP/a.md list": "--report before the command is for bench only: write options "
                                   "of a command behind it",
    "laws --every 2 list": "--every before the command is for bench only",
    "laws --json TMP/a.json replay --law fixed "
    "TMP/none.json": "--json before the command is for bench only",
    "laws --law fixed replay --law fixed "
    "TMP/none.json": "--law before the command is for bench only",
    "laws --multilevel replay --law fixed "
    "TMP/none.json": "--multilevel before the command is for bench only",
    "laws replay": "RECORD",
    "laws replay TMP/none.json": "--law",
    "laws replay --law magic TMP/none.json": "law 'magic' is unknown; laws are: millrace, pldi17",
    "laws replay --law '' TMP/none.json": "law '' is unknown",
    "laws replay --law fixed "
    "TMP/none.json": "TMP/none.json: cannot be read: No such file or directory",
    "laws replay --law fixed TMP": "cannot be read: Is a directory",
    "laws replay --law fixed TMP --law-set speed": "--law-set takes NAME=VALUE, not 'speed'",
    'laws replay --law fixed CONFIG[{"samples": 1}] --law-set speed=9': "samples must be a list, not 1",
    "laws replay --law fixed CONFIG[max: 4]": "must be JSON",
    "laws replay --law fixed CONFIG[]": "must be a JSON object, not an empty text",
    'laws replay --law fixed CONFIG[{"max": 4, "throughputs": '
    '{}}]': "a record must have the key 'samples'",
    # sweep
    "sweep nonesuch": "nonesuch",
    "sweep pldi17_fig9 --config TMP/none.yaml": "none.yaml",
    "sweep pldi17_fig9 --config TMP": "TMP",
    "sweep pldi17_fig9 --config CONFIG[nonsense: 1]": "nonsense",
    "sweep pldi17_fig9 --config CONFIG[: :]": "config.yaml",
    "sweep pldi17_fig9 --config CONFIG[]": "config.yaml",
    "sweep pldi17_fig9 --cell nonesuch": "nonesuch",
    "sweep --cell nonesuch": "--cell",
    "sweep -o TMP/a.jsonl": "-o",
    "sweep crossover --as xeon": "a machine is described under the name 'xeon'",
    "sweep crossover --as my/box": "letters, digits, dots and hyphens, not 'my/box'",
    "sweep crossover --as big --machine xeon": "--as is for measured runs",
    # bundle
    "bundle": "EXPERIMENT",
    "bundle crossover": "--output",
    "bundle crosover -o TMP/a.tar.gz": "did you mean 'crossover'?",
    "bundle TMP/none.yaml -o TMP/a.tar.gz": "TMP/none.yaml: cannot be read",
    "bundle crossover -o TMP/a.zip": "-o must name a file ending in .tar.gz",
    "bundle crossover -o TMP/none/a.tar.gz": "there is no directory",
    "bundle crossover -o TMP/a.tar.gz --level x86-64-v9": "did you mean 'x86-64",
    "bundle crossover -o TMP/a.tar.gz --level native --wheel TMP/a.whl": "--level is for a wheel",
    "bundle crossover -o TMP/a.tar.gz --wheel TMP/a.whl": "is no wheel of Millrace",
    "bundle crossover -o TMP/a.tar.gz --python TMP/none": "--python",
    "bundle crossover -o TMP/a.tar.gz --add TMP/none": "there is no such file or folder",
    # claims
    "claims p17-5.1-x": "CLAIM-ID 'p17-5.1-x': there is no such claim",
    "claims ''": "CLAIM-ID ''",
    "claims --paper P18": "--paper must be one of P17, M19, ELB, CS, not 'P18'",
    "claims --tables TMP/none": "--tables: no folder",
    "claims --tables TMP": "has no throughput table of an experiment with claims",
    "claims -o TMP/claims.txt": "-o must name a file ending in .md, .html, .json",
    "claims --list -o TMP/claims.md": "-o is for claims that are checked; --list checks none",
    "claims --list --machine xeon": "--machine is for claims that are checked",
    "claims --list --strict": "--strict is for claims that are checked",
    "claims --frobnicate": "--frobnicate",
    # validate
    "validate --cells circle": "'circle'",
    "validate --cells cost=2": "cost must be one of 1, 100, 10000, not '2'",
    "validate --measured TMP/none.jsonl --output "
    "TMP/a.parquet": "TMP/none.jsonl: cannot be read: No such file or directory",
    "validate --output TMP": "--output must name a file",
    "validate --repeats none": "--repeats",
    "validate --patience -1": "--patience: must be from 0 to",
    # aggregate, plot, figures
    "aggregate": "--records",
    "aggregate --records TMP": "--tables",
    "aggregate --records TMP/none --tables TMP/t": "none",
    "aggregate --records TMP --tables TMP/t": "TMP",
    "aggregate --records TMP --tables TMP/t --set-spark memory=2g": "memory=2g",
    "plot": "FIGURE",
    "plot nonesuch --tables TMP -o TMP/a.png": "nonesuch",
    "plot pldi17_fig9 --tables TMP/none -o TMP/a.png": "none",
    "plot pldi17_fig9 --tables TMP": "-o",
    "plot pldi17_fig9 --tables TMP -o TMP/a.gif": "a.gif",
    "figures --config TMP/none.yaml": "none.yaml",
    "figures --jobs 0": "jobs",
    "report none": "FIGURE 'none' is none of",
    "report -o page.pdf": "-o must name a file ending in .html",
    "repro": "FIGURE",
    "repro none": "FIGURE 'none' is none of",
    "artifact": "--output",
    "artifact -o page.pdf": "-o must name a file ending in .md or .zip",
    "figures --jobs many": "many",
    "figures nonesuch": "nonesuch",
}  # fmt: skip


def words_of(line: str, tmp: Path) -> list[str]:
    """The words of a command line, with TMP and CONFIG[…] filled in."""
    words = []
    for word in shlex.split(
        line.replace("CONFIG[", "'CONFIG[").replace("]", "]'") if "CONFIG[" in line else line
    ):
        if word.startswith("CONFIG["):
            config = tmp / "config.yaml"
            config.write_text(word[7:-1])
            word = str(config)
        words.append(word.replace("TMP", str(tmp)))
    return words


def check(code: int, out: str, err: str, expected: str) -> None:
    """Exit code 2, nothing on stdout, one line on stderr that says what is expected."""
    assert (code, out) == (2, ""), err
    assert err.endswith("\n") and err.count("\n") == 1, err
    assert "Traceback" not in err
    assert err.startswith("millrace")
    assert expected in err
    assert len(err) < 600, "a line that a person can read"


@pytest.mark.parametrize("line", CASES, ids=lambda line: line.replace(LONG, "9…9")[:60])
def test_bad_input_is_one_line_and_exit_code_2(line, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    try:
        code = main(words_of(line, tmp_path))
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    check(code, out, err, CASES[line].replace("TMP", str(tmp_path)))


@pytest.mark.heavy
@pytest.mark.parametrize(
    "line",
    [
        "frobnicate",
        "run circle --model manual",
        f"{RUN} --duration nan",
        "plot nonesuch --tables . -o a.png",
    ],
)
def test_bad_input_is_told_the_same_way_by_the_real_command(line, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "harness", *words_of(line, tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    check(done.returncode, done.stdout, done.stderr, CASES.get(line, "nonesuch"))


RECORD = json.dumps(record_of([1, 2], 4))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--law fixed --law-set speed=9", "law fixed has no setting 'speed'; it has none"),
        ("--law pldi17 --law-set sensitivity=2", "sensitivity must be from 0 to 1, not '2'"),
        (
            "--law pldi17 --law-set cpu_limit=0",
            "cpu_limit must be more than 0 and at most 1, not '0'",
        ),
        ("--law pldi17 --law-set doubling=often", "doubling must be true or false, not 'often'"),
        (f"--law pldi17 --law-set sensitivity={LONG}", "sensitivity must be from 0 to 1, not '999"),
        (
            "--law elastic_load_balance --law-set congestion_tolerance=-0.2",
            "congestion_tolerance must be from 0 to 1, not '-0.2'",
        ),
        (
            "--law elastic_load_balance --law-set throughput_tolerance=1.2",
            "throughput_tolerance must be from 0 to 1, not '1.2'",
        ),
        ("--law utilisation --law-set low=0.99", "low must be at most high, 0.95, not 0.99"),
        ("--law fixed --json TMP", "--json"),
        ("--law fixed --json TMP/none/out.json", "--json"),
        ("--law fixed --json ''", "--json"),
        (f"--law fixed --json TMP/{'x' * 300}", "--json"),
    ],
)
def test_bad_options_of_a_replay_are_one_line_and_exit_code_2(options, expected, tmp_path, capsys):
    (tmp_path / "record.json").write_text(RECORD, encoding="utf-8")
    code = main(words_of(f"laws replay TMP/record.json {options}", tmp_path))
    check(code, *capsys.readouterr(), expected)


@pytest.mark.parametrize(
    "words",
    [
        "show pipeline -o NAME.svg",
        "plot crossover --tables NAME -o out.png",
        "claims --tables NAME",
        "figures --config NAME.yaml",
        "run NAME.yaml --model manual",
        "aggregate --records NAME --tables out",
    ],
)
def test_a_name_too_long_for_any_file_is_one_line(words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = main(words.replace("NAME", "x" * 300).split())
    check(code, *capsys.readouterr(), "File name too long")


@pytest.mark.parametrize(
    "words", ["show pipeline -o shut/a.svg", "plot crossover --tables shut -o out.png"]
)
def test_a_folder_that_may_not_be_searched_is_one_line(words, tmp_path, capsys, monkeypatch):
    look = Path.stat

    def refused(path, **how):
        if path.parts[0] == "shut":
            raise PermissionError(13, "Permission denied", str(path))
        return look(path, **how)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "stat", refused)
    check(main(words.split()), *capsys.readouterr(), ": Permission denied")


def test_every_command_has_bad_input_of_its_own():
    assert {line.split()[0] for line in CASES} >= COMMANDS.keys()
    assert len(CASES) > 50


def test_no_command_at_all_shows_the_help_and_is_an_error(capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert all(command in err for command in COMMANDS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_may_not_be_written_is_told_before_anything_runs(tmp_path, capsys):
    (tmp_path / "locked").mkdir(mode=0o500)
    assert main([*RUN.split(), "--json", str(tmp_path / "locked" / "out.json")]) == 2
    check(2, *capsys.readouterr(), "--json")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words", ["topologies", "topologies --json -", "models", "sweep pldi17_fig10 --dry-run"]
)
def test_a_listing_that_finds_no_room_is_one_line(words):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        command = [sys.executable, "-m", "harness", *words.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    said = (
        f"millrace {words.split()[0]}: cannot write to standard output: No space left on device\n"
    )
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.parametrize("words", [*COMMANDS, "gate history"])
def test_help_says_first_what_a_command_is_for_and_shows_two_calls(words, capsys):
    with pytest.raises(SystemExit) as end:
        main([*words.split(), "--help"])
    text = capsys.readouterr().out
    first, rest = text.split("\n", 1)
    assert end.value.code == 0
    assert first[0].isupper() and first.endswith(".") and len(first) < 100
    assert "usage:" in rest and not text.startswith("usage")
    assert len([line for line in rest.splitlines() if line.startswith("  millrace ")]) >= 2
