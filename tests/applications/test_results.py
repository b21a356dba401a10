"""Applications find what plain programs find, under every model, while threads, queues and all else
change at random.
"""

import random

import pytest

from harness.applications.login_failures import FORMS
from harness.applications.packet_analysis import PacketAnalysis
from harness.applications.vwap import Vwap
from harness.applications.wiki_word_count import WikiWordCount
from tests.applications import (
    reference_login_failures,
    reference_packet_analysis,
    reference_vwap,
    reference_wiki_word_count,
)
from tests.applications import test_login_failures as login_failures
from tests.applications import test_packet_analysis as packet_analysis
from tests.applications import test_vwap as vwap
from tests.applications import test_wiki_word_count as wiki_word_count
from tests.applications.drive import run_shaken


def form_of(form):
    def build(draw, seed):
        text = login_failures.with_odd_lines(
            login_failures.generate(draw.randint(200, 4000), seed), seed
        )
        built = FORMS[form](text, False, 1, draw.random() < 0.3, keep=10**6)
        return built, lambda: login_failures.check(
            form, built, reference_login_failures.reference(text, form)
        )

    return build


def vwap_of(draw, seed):
    text = vwap.with_odd_lines(vwap.generate(draw.randint(200, 3000), seed), seed)
    built = Vwap(text, False, 1, draw.random() < 0.3, keep=10**6)
    return built, lambda: vwap.check(built, reference_vwap.reference(text))


def wiki_word_count_of(draw, seed):
    text = wiki_word_count.with_odd_lines(
        wiki_word_count.generate(draw.randint(20, 200), seed), seed
    )
    built = WikiWordCount(text, False, 1, draw.random() < 0.3, keep=10**7)
    return built, lambda: wiki_word_count.check(built, reference_wiki_word_count.reference(text))


def packet_analysis_of(draw, seed):
    capture = packet_analysis.with_odd_packets(
        packet_analysis.generate(draw.randint(100, 1500), seed), seed
    )
    sources = draw.choice([1, 1, 2])
    built = PacketAnalysis(capture, False, 1, sources, draw.random() < 0.3, keep=10**6)
    return built, lambda: packet_analysis.check(
        built, reference_packet_analysis.reference(capture, sources)
    )


APPLICATIONS = {
    "login-failures": form_of("figure"),
    "larger login-failures": form_of("large"),
    "vwap": vwap_of,
    "wiki-word-count": wiki_word_count_of,
    "packet-analysis": packet_analysis_of,
}
MODELS = ("manual", "dedicated", "dynamic", "multilevel", "coroutine")


def shaken(application, model, seed):
    draw = random.Random(seed)
    built, check = APPLICATIONS[application](draw, seed)
    totals = run_shaken(built, model, draw)
    assert totals.correct and totals.drained, (seed, totals.error, totals.conservation)
    check()


@pytest.mark.heavy
@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_the_result_is_that_of_a_plain_program_whatever_changes(application, model):
    for seed in range(2):
        shaken(application, model, seed)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("model", MODELS)
def test_the_result_is_the_same_in_a_hundred_runs(application, model):
    for seed in range(100, 200):
        shaken(application, model, seed)
