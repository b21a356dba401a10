"""Whatever is wrong in a config or an experiment: one line with the file, the key, the rule and the
value.
"""

from __future__ import annotations

import pytest

from harness.cli import main
from harness.errors import UserError
from harness.experiments.config import load_config

SWEEP = {"topology": "pipeline", "parameters": {"operators": 3, "cost": 1}}

BAD_CONFIGS = {
    "a misspelt key": (
        {"repeats": ..., "repeat": 3},
        "config.yaml: repeat: unknown key (did you mean 'repeats'?)",
    ),
    "a key that is like no other": (
        {"zzz": 1},
        "config.yaml: zzz: unknown key; keys are: profile, experiments,",
    ),
    "a bench that there is not": (
        {"bench_every": {"sas": 6}},
        "config.yaml: bench_every.sas: unknown key (did you mean 'saso'?)",
    ),
    "a missing key": ({"duration_s": ...}, "config.yaml: duration_s: missing key"),
    "a word for a number": (
        {"repeats": "three"},
        "config.yaml: repeats: must be a whole number, not 'three'",
    ),
    "a fraction for a whole number": (
        {"repeats": 2.5},
        "config.yaml: repeats: must be a whole number, not 2.5",
    ),
    "yes for a number": (
        {"repeats": True},
        "config.yaml: repeats: must be a whole number, not true",
    ),
    "too small": ({"repeats": 0}, "config.yaml: repeats: must be 1 or more, not 0"),
    "too large": (
        {"duration_s": 1e6},
        "config.yaml: duration_s: must be 3600 or less, not 1000000.0",
    ),
    "infinite": (
        {"duration_s": float("inf")},
        "config.yaml: duration_s: must be 3600 or less, not Infinity",
    ),
    "not a number": (
        {"duration_s": float("nan")},
        "config.yaml: duration_s: must be a finite number, not NaN",
    ),
    "a negative seed": ({"seed": -1}, "config.yaml: seed: must be 0 or more, not -1"),
    "another word than auto": (
        {"warmup": "soon"},
        "config.yaml: warmup: must be auto, or seconds from 0 to 3600, not 'soon'",
    ),
    "queues of nothing": (
        {"queue_capacity": 0},
        "config.yaml: queue_capacity: must be null, or a whole number from 1 to 1048576",
    ),
    "a period too short to say anything": (
        {"period_s": 0.05},
        "config.yaml: period_s: must be 0.1 or more, not 0.05",
    ),
    "no experiments": ({"experiments": []}, "config.yaml: experiments: must not be empty, not []"),
    "an experiment twice": (
        {"experiments": ["one", "one"]},
        "config.yaml: experiments: must not name anything twice",
    ),
    "an experiment that is not there": (
        {"experiments": ["ones"]},
        "experiments[0]: must name a file in",
    ),
    "an experiment outside the folder": (
        {"experiments": ["../one"]},
        "experiments[0]: must be a word of letters",
    ),
    "a bench that is none": (
        {"benches": ["sas"]},
        "config.yaml: benches[0]: must be one of saso, saso_placement, not 'sas' (did you mean "
        "'saso'?)",
    ),
    "an unknown machine": (
        {"machine": "locl"},
        "config.yaml: machine: must be one of local, cstream, power8, xeon, not 'locl' "
        "(did you mean 'local'?)",
    ),
    "results elsewhere": (
        {"results": "../other"},
        "config.yaml: results: must be a folder below the working directory",
    ),
    "results here": (
        {"results": "."},
        "config.yaml: results: must be a folder below the working directory, not '.'",
    ),
    "figures here": (
        {"figures": "./."},
        "config.yaml: figures: must be a folder below the working directory, not './.'",
    ),
    "results that look like an option": (
        {"results": "-x"},
        "config.yaml: results: must be a relative path",
    ),
    "results at an absolute path": (
        {"results": "/tmp/x"},
        "config.yaml: results: must be a relative path",
    ),
    "a Spark setting that is none": (
        {"spark": {"master": "local"}},
        "config.yaml: spark: must be a Spark setting",
    ),
    "a list for a Spark setting": (
        {"spark": {"spark.master": ["a"]}},
        "config.yaml: spark.spark.master: must be a text, a number",
    ),
    "a profile that no size is for": (
        {"profile": "large"},
        "one.yaml: sizes: has no size for the profile 'large'; sizes are: tiny",
    ),
}

BAD_SIZES = {
    "a setting of a law without a value": (
        {
            "arms": [
                {
                    "model": "multilevel",
                    "law": "middleware19",
                    "law_settings": {"satisfaction": None},
                }
            ]
        },
        "law_settings.satisfaction: must be a number or true or false or a text, not null",
    ),
    "a misspelt key": (
        {"sweep": []},
        "one.yaml: sizes.tiny.sweep: unknown key (did you mean 'sweeps'?)",
    ),
    "no arms": ({"arms": []}, "one.yaml: sizes.tiny.arms: must not be empty"),
    "a measured window of nothing": (
        {"duration_s": 0},
        "one.yaml: sizes.tiny.duration_s: must be 0.05 or more, not 0",
    ),
    "a warm-up that is none": (
        {"warmup": -1},
        "one.yaml: sizes.tiny.warmup: must be auto, or seconds from 0 to 3600, not -1",
    ),
    "no repeats": ({"repeats": 0}, "one.yaml: sizes.tiny.repeats: must be 1 or more, not 0"),
    "a period too short to read the CPUs in": (
        {"period_s": 0.05},
        "one.yaml: sizes.tiny.period_s: must be 0.1 or more",
    ),
    "a seed of its own": ({"seed": 2}, "one.yaml: sizes.tiny.seed: unknown key"),
    "an unknown topology": (
        {"sweeps": [{"topology": "pipline"}]},
        "one.yaml: sizes.tiny.sweeps[0]: topology 'pipline' is unknown (did you mean 'pipeline'?)",
    ),
    "an unknown parameter": (
        {"sweeps": [{"topology": "pipeline", "parameters": {"cots": 1}}]},
        "one.yaml: sizes.tiny.sweeps[0]: topology pipeline has no parameter 'cots' (did you mean "
        "'cost'?)",
    ),
    "a parameter out of range": (
        {"sweeps": [SWEEP, {"topology": "pipeline", "parameters": {"operators": -1}}]},
        "one.yaml: sizes.tiny.sweeps[1]: parameter operators of topology pipeline must be a whole "
        "number from 0 to",
    ),
    "a parameter of the wrong type": (
        {"sweeps": [{"topology": "pipeline", "parameters": {"cost": 1.5}}]},
        "sizes.tiny.sweeps[0].parameters.cost: must be a whole number or a word, or a list of "
        "different ones, not 1.5",
    ),
    "a value twice": (
        {"sweeps": [{"topology": "pipeline", "parameters": {"cost": [1, 1]}}]},
        "sizes.tiny.sweeps[0].parameters.cost: must be a whole number or a word, or a list of "
        "different ones, not [1, 1]",
    ),
    "a cell twice": (
        {"sweeps": [SWEEP, SWEEP]},
        "sizes.tiny.sweeps[1]: must not repeat a cell, not 'pipeline,operators=3,cost=1",
    ),
    "an unknown model": (
        {"arms": [{"model": "manuel"}]},
        "sizes.tiny.arms[0].model: must be one of manual, dedicated, dynamic, multilevel, "
        "coroutine, "
        "not 'manuel' (did you mean 'manual'?)",
    ),
    "an unknown peer": (
        {"arms": [{"peer": ["asyncio", "asynco"]}]},
        "sizes.tiny.arms[0].peer: must be one of asyncio, asyncio-batched, crossbeam,",
    ),
    "threads of a peer": (
        {"arms": [{"peer": "asyncio", "threads": 2}]},
        "sizes.tiny.arms[0]: must be peer, duration_s or queue_capacity in an arm with a peer",
    ),
    "a peer on a simulated machine": (
        {"arms": [{"peer": "asyncio"}], "machines": ["xeon"]},
        "sizes.tiny.arms[0].peer: must be measured: only our own runtime is simulated, not "
        "'asyncio'",
    ),
    "an arm of nothing": ({"arms": [{"threads": 2}]}, "sizes.tiny.arms[0].model: missing key"),
    "threads for a model without": (
        {"arms": [{"model": "manual", "threads": 2}]},
        "sizes.tiny.arms[0].threads: threads applies to dynamic, multilevel and coroutine only, "
        "not to the model manual",
    ),
    "no threads at all": (
        {"arms": [{"model": "dynamic", "threads": 0}]},
        "arms[0].threads: must be a whole number from 1 to 1024, the word machine, or a list of "
        "different ones, not 0",
    ),
    "a law for a model without threads": (
        {"arms": [{"model": "manual", "elastic": True}]},
        "sizes.tiny.arms[0].elastic: elastic applies to dynamic and coroutine only, not to the "
        "model manual",
    ),
    "an unknown law": (
        {"arms": [{"model": "manual"}, {"model": "dynamic", "law": "nonesuch"}]},
        "sizes.tiny.arms[1].law: law 'nonesuch' is unknown; laws are: millrace,",
    ),
    "elastic that is neither yes nor no": (
        {"arms": [{"model": "dynamic", "elastic": "very"}]},
        "sizes.tiny.arms[0].elastic: must be true or false, not 'very'",
    ),
    "levels of a law for a fixed number of threads": (
        {"arms": [{"model": "dynamic", "maximum": 4}]},
        "sizes.tiny.arms[0].maximum: maximum applies to an elastic pool only, not to one of a "
        "fixed level: 4",
    ),
    "levels the wrong way round": (
        {"arms": [{"model": "dynamic", "law": "fixed", "minimum": 5, "maximum": 4}]},
        "sizes.tiny.arms[0]: minimum must be at most the maximum of 4 threads, not 5",
    ),
    "a level that cannot be": (
        {"arms": [{"model": "dynamic", "law": "fixed", "maximum": 0}]},
        "sizes.tiny.arms[0].maximum: must be a whole number from 1 to 1024, the word machine, or a "
        "list of different ones, not 0",
    ),
    "a start that is no level of the law": (
        {"arms": [{"model": "dynamic", "law": "fixed", "threads": 6, "maximum": 4}]},
        "sizes.tiny.arms[0]: threads must be from 1 to 4, the levels of the law, not 6",
    ),
    "two starts of one law": (
        {"arms": [{"model": "dynamic", "law": "fixed", "threads": [1, 2], "maximum": 4}]},
        "sizes.tiny.arms[0]: must not repeat an arm, not 'dynamic-elastic-fixed'",
    ),
    "an arm twice": (
        {"arms": [{"model": "dynamic", "threads": 1}, {"model": "dynamic", "threads": [2, 1]}]},
        "sizes.tiny.arms[1]: must not repeat an arm, not 'dynamic-1'",
    ),
}

BAD_TEXTS = {
    "empty": ("", "must hold keys and values, as in KEY: VALUE; found nothing"),
    "a list": ("- a\n- b\n", "must hold keys and values, as in KEY: VALUE; found list"),
    "not YAML": ("profile: [quick\nrepeats: 3\n", "line 2: not YAML: "),
    "tabs": ("profile:\n\tquick\n", "line 2: not YAML: "),
    "a key given twice": (
        "repeats: 1\nrepeats: 2\n",
        "line 2: not YAML: key 'repeats' is given twice",
    ),
    "a key that is no text": ("profile: a\n1: 2\n", "line 2: not YAML: key '1' is no text"),
    "a list as a key": ("? [a, b]\n: c\n", "line 1: not YAML: key 'sequence' is no text"),
    "a date that is none": ("profile: 2020-13-45\n", "not YAML: month must be in 1..12"),
    "a number too long to read": (f"repeats: {'9' * 5000}\n", "not YAML: Exceeds the limit"),
    "nested without end": (
        "experiments: " + "[" * 100_000 + "\n",
        "config.yaml: not YAML: nested more than 100 deep",
    ),
    "a list that holds itself": (
        "profile: a\nrepeats: 1\nduration_s: 1\nexperiments: &a [*a]\n",
        "experiments[0]: must be",
    ),
    "a truth that is none": (
        "repeats: !!bool maybe\n",
        "config.yaml: not YAML: a tag does not fit its value",
    ),
    "a number without digits": (
        'repeats: !!int ""\n',
        "config.yaml: not YAML: a tag does not fit its value",
    ),
    "a time that is none": (
        "repeats: !!timestamp x\n",
        "config.yaml: not YAML: a tag does not fit its value",
    ),
    "a control character": ("profile: \x07\n", "not YAML: "),
}


def refusal(path: object) -> str:
    with pytest.raises(UserError) as caught:
        load_config(path)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("case", BAD_CONFIGS)
def test_a_bad_config_is_refused(profile, case):
    changes, words = BAD_CONFIGS[case]
    assert words in refusal(profile(config=changes))


@pytest.mark.parametrize("case", BAD_SIZES)
def test_a_bad_experiment_is_refused(profile, case):
    changes, words = BAD_SIZES[case]
    assert words in refusal(profile(size=changes))


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_a_file_that_is_no_config_is_refused(tmp_path, case):
    text, words = BAD_TEXTS[case]
    path = tmp_path / "config.yaml"
    path.write_text(text, encoding="utf-8")
    assert words in refusal(path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"profile: \xff\n")
    assert "config.yaml: must be UTF-8 text" in refusal(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    assert refusal(tmp_path / "none.yaml").endswith(
        "none.yaml: cannot be read: No such file or directory"
    )


def test_missing_sizes_are_refused(profile):
    assert "one.yaml: sizes: missing key" in refusal(profile(experiment={"sizes": ...}))


@pytest.mark.parametrize("command", [["sweep", "--dry-run"], ["figures"]])
def test_a_bad_config_ends_a_command_with_exit_code_2_and_one_line(profile, capsys, command):
    assert main([*command, "--config", str(profile(config={"repeats": 0}))]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "repeats: must be 1 or more, not 0" in error
