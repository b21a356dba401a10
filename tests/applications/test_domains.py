"""PacketAnalysis knows which domain of a name somebody registered, and lists of domains."""

import re
from functools import cache
from importlib import resources

import pytest
from harness.applications.packets import Suffixes
from hypothesis import given
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

import topologies
from harness.applications.packet_analysis import (
    KnownDomains,
    PacketAnalysis,
    domains_in,
    public_suffixes,
)
from harness.errors import UserError
from harness.models import Manual
from tests.applications.drive import run
from tests.applications.test_packet_analysis import asked, fast


@cache
def suffixes():
    return Suffixes(public_suffixes())


@cache
def library():
    return PublicSuffixList()


def test_the_lists_own_examples_are_cut_as_it_says():
    text = resources.files("publicsuffixlist").joinpath("test_psl.txt").read_text(encoding="utf-8")
    examples = re.findall(r"^checkPublicSuffix\('([^']+)', (?:'([^']+)'|null)\)", text, re.M)
    ascii_only = [(name, domain) for name, domain in examples if name.isascii()]
    assert len(ascii_only) > 60
    for name, domain in ascii_only:
        if not name.startswith("."):
            found, label = suffixes().domain_of(name.lower())
            assert found == (domain or name).lower(), name
            assert label == found.split(".")[0]


LABEL = st.sampled_from(
    ["a", "co", "uk", "com", "ck", "www", "jp", "kobe", "city", "mm", "github", "io", "unknown",
     "amazonaws", "compute", "s3", "xn--p1ai", "kawasaki", "ac", "no", "x"]
)  # fmt: skip


@given(st.lists(LABEL, min_size=1, max_size=6))
def test_any_name_is_cut_as_the_library_cuts_it(labels):
    name = ".".join(labels)
    assert suffixes().domain_of(name)[0] == (library().privatesuffix(name) or name)


def test_a_file_of_domains_may_be_one_of_hosts(tmp_path):
    path = tmp_path / "domains"
    path.write_text("# all\nExample.org\n\n0.0.0.0 ads.test. # a host\nmünchen.de\n", "utf-8")
    assert domains_in(str(path)) == ("example.org", "ads.test", "xn--mnchen-3ya.de")
    path.write_text("a b c\n", "utf-8")
    with pytest.raises(UserError) as refused:
        topologies.build("packet-analysis", {"own": str(path), "records": 10}, 0)
    assert str(refused.value) == f"{path}: line 1 must be a domain, not 'a b c'"


NAMES = [f"{number * 7919**6 % 16**20:020x}{number:04x}.t.corp.example" for number in range(40)]


@pytest.mark.parametrize(
    ("known", "kinds"),
    [
        (KnownDomains(), {1, 3}),
        (KnownDomains(own=("corp.example",)), {3}),
        (KnownDomains(own=("example",)), {3}),
        (KnownDomains(services=("corp.example",)), {3}),
        (KnownDomains(own=("orp.example",)), {1, 3}),
        (KnownDomains(listed=("t.corp.example",)), {3, 5}),
    ],
)
def test_nothing_is_searched_in_domains_of_ones_own(known, kinds):
    built = PacketAnalysis(fast(asked(NAMES * 3)), False, 1, 1, False, keep=100, known=known)
    assert run(built, Manual()).correct
    assert {report["kind"] for report in built.results()} - {2} == kinds
