"""Recall and false alarms of PacketAnalysis' search for made-up names, on public lists.

    git clone https://github.com/baderj/domain_generation_algorithms
    git clone https://github.com/andrewaeva/DGA
    python -m studies.recall_of_names domain_generation_algorithms \\
        DGA/dga_wordlists/opendns-*.txt DGA/help/1000domains/alexa_1000.txt

The first argument is a folder with a folder for each family, whose text files hold its names. All
others are lists of natural names. Prints the share of the names of each family that are found, the
mean and the median of all families, and for each list the share of names that are taken for made
up. A name counts whose domain somebody could register; each once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from harness.applications import packets
from harness.applications.packet_analysis import WEIGHTS, public_suffixes
from studies.fit_names import MIN_LENGTH, taken_for_made_up

NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]*[a-z0-9-])*\.[a-z][a-z0-9-]*")


def names_in(files: Iterable[Path]) -> set[str]:
    """Return the domains of the names that lines of files begin with."""
    suffixes = packets.Suffixes(public_suffixes())
    found = set()
    for path in files:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if name := NAME.fullmatch(re.split(r"[\s,]", line.strip().lower(), maxsplit=1)[0]):
                found.add(suffixes.domain_of(name[0])[0])
    return found


def share_found(names: Iterable[str]) -> float:
    """Return the share of names that are taken for made up; short labels are not looked at."""
    suffixes = packets.Suffixes(public_suffixes())
    labels = [suffixes.domain_of(name)[1] for name in names]
    long = [label for label in labels if MIN_LENGTH <= len(label) <= 63]
    return taken_for_made_up(long, WEIGHTS) * len(long) / len(labels) if long else 0.0


def recall_of(folder: Path) -> dict[str, tuple[int, float]]:
    """Return the number of names of each family, and the share of them that are found."""
    families = {}
    for family in sorted(path for path in folder.iterdir() if path.is_dir()):
        names = names_in(sorted(family.rglob("*.txt")))
        if names:
            families[family.name] = (len(names), share_found(names))
    return families


def main() -> None:
    """Print the shares for the lists that are given."""
    if len(sys.argv) < 3:
        sys.exit("usage: python -m studies.recall_of_names FAMILIES LIST ...")
    families = recall_of(Path(sys.argv[1]))
    for family, (names, share) in sorted(families.items(), key=lambda each: each[1][1]):
        print(f"{family:24} {names:6} names {share:6.1%}")
    shares = [share for _, share in families.values()]
    print(
        f"{len(shares)} families: mean {np.mean(shares):.1%}, median {np.median(shares):.1%} found"
    )
    for path in map(Path, sys.argv[2:]):
        names = names_in([path])
        print(f"{path.name}: {share_found(names):.1%} of {len(names):,} natural names are alarms")


if __name__ == "__main__":
    main()
