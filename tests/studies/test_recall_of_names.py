"""The study of made-up names counts what is found of each family's names."""

import pytest

from studies import recall_of_names

FOUND = ["xkqzjwvtrp.com", "qzxwvkjhgf.co.uk", "8f6bacmw30xxv6sc.cn"]
NOT_FOUND = ["weather.org", "short.com"]


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        (FOUND, 3),
        (["# A COMMENT", "", "2020-01-01", "word", "-----+", *FOUND], 3),
        (["www." + FOUND[0], FOUND[0] + " ", FOUND[0] + ",a family"], 1),
    ],
)
def test_each_domain_counts_once_whatever_else_a_file_holds(tmp_path, lines, names):
    path = tmp_path / "list.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert len(recall_of_names.names_in([path])) == names


def test_a_family_is_a_folder_and_short_labels_are_not_found(tmp_path):
    for family, names in (("one", FOUND), ("two", FOUND[:2] + NOT_FOUND), ("three", NOT_FOUND)):
        (tmp_path / family / "version").mkdir(parents=True)
        (tmp_path / family / "version" / "a.txt").write_text("\n".join(names), encoding="utf-8")
    (tmp_path / "empty").mkdir()
    assert recall_of_names.recall_of(tmp_path) == {
        "one": (3, 1.0),
        "two": (4, 0.5),
        "three": (2, 0.0),
    }
