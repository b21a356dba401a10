"""Tests of what PacketAnalysis knows of names can be found again from its source."""

import gzip
import os
import random
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness.applications import packet_analysis
from studies import fit_names

# longer than 31 letters is what another kind of string is for
LONG = "counterrevolutionariesandothers"


def packed_words(groups):
    """In MessagePack, as wordfreq's lists are."""

    def string(text):
        text = text.encode()
        return (bytes((0xA0 | len(text),)) if len(text) < 32 else bytes((0xD9, len(text)))) + text

    lists = [bytes((0x90 | len(words),)) + b"".join(map(string, words)) for words in groups]
    header = b"\x82" + string("format") + string("cB") + string("version") + b"\x01"
    return b"\xdc" + (len(groups) + 1).to_bytes(2, "big") + header + b"".join(lists)


def test_words_are_those_of_three_letters_the_most_frequent_ones_first(tmp_path):
    wheel = tmp_path / "words.whl"
    groups = [[], ["the"], ["of", "can't", "été", "cat"], [LONG + LONG], ["x86", "tac"]]
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("wordfreq/data/large_en.msgpack.gz", gzip.compress(packed_words(groups)))
    assert fit_names.words_of(str(wheel)) == ["the", "cat", LONG + LONG, "tac"]


def test_pairs_of_letters_are_counted():
    counts = fit_names.pairs_in(["cat", "cab", "aab"])
    assert counts[2][0] == 2 and counts[0][1] == 2 and counts[0][0] == 1 and counts[0][19] == 1
    assert sum(map(sum, counts)) == 6


def test_weights_are_those_at_which_the_likelihood_is_greatest():
    draw = random.Random(3)
    natural = [fit_names.natural_label(packet_analysis.WORDS, draw) for _ in range(300)]
    made_up = [fit_names.made_up_label(draw) for _ in range(300)]
    natural[:30], made_up[:30] = made_up[:30], natural[:30]  # else there is no greatest
    weights = fit_names.fitted(natural, made_up)
    slopes = [0.0] * 5
    for label, outcome in [*((each, 0) for each in natural), *((each, 1) for each in made_up)]:
        features = (1.0, *packet_analysis.features_of(label))
        rest = outcome - 1 / (
            1 + 2.718281828459045 ** -sum(a * b for a, b in zip(weights, features, strict=True))
        )
        slopes = [slope + rest * feature for slope, feature in zip(slopes, features, strict=True)]
    assert max(map(abs, slopes)) < 0.5  # of 600 labels: weights have four places


def test_the_weights_in_use_tell_made_up_names_from_others():
    draw = random.Random(5)
    natural = [fit_names.natural_label(packet_analysis.WORDS, draw) for _ in range(1000)]
    made_up = [fit_names.made_up_label(draw) for _ in range(1000)]
    assert fit_names.taken_for_made_up(natural, packet_analysis.WEIGHTS) < 0.05
    assert fit_names.taken_for_made_up(made_up, packet_analysis.WEIGHTS) > 0.94


def test_what_is_in_use_is_what_the_program_prints():
    wheel = os.environ.get("MILLRACE_WORDFREQ", "")
    if not wheel:
        pytest.skip("MILLRACE_WORDFREQ does not name wordfreq's wheel, of 57 MB")
    words = [sys.executable, "-m", "studies.fit_names", wheel]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert (
        lines[:26]
        == (Path(packet_analysis.__file__).parent / "letter_pairs.csv").read_text().split()
    )
    assert lines[26] == str(packet_analysis.WEIGHTS)
    assert [f"{share} %" for share in re.findall(r"([0-9.]+)%", lines[27])] == ["2.8 %", "4.0 %"]
