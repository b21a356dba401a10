"""Names at lines hide neither each other nor points, and stay within the axes."""

from __future__ import annotations

from itertools import combinations

import pytest

from harness.plots import line_names, style

SIZE = (200.0, 120.0)


@pytest.fixture
def ax():
    figure = style.plt.figure(figsize=(SIZE[0] / 72, SIZE[1] / 72), layout="none")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, 10)
    ax.set_ylim(0, 10)
    yield ax
    style.plt.close("all")


def boxes(ax) -> list:
    ax.figure.draw_without_rendering()
    return [text.get_window_extent() for text in ax.texts]


def test_names_of_points_and_lines_at_one_place_do_not_cover_each_other(ax):
    points = [(float(x), 5.0) for x in range(1, 10)]
    names = [
        line_names.Name("law streams", "red", [(5.0, 5.0)]),
        line_names.Name("dynamic", "blue", points),
        line_names.Name("manual", "black", across=5.1),
        line_names.Name("dedicated", "black", across=4.9),
    ]
    line_names.write(ax, names, line_names.Panel(SIZE, points, flat=[5.1, 4.9]))
    found = boxes(ax)
    assert len(found) == 4
    assert not any(one.overlaps(other) for one, other in combinations(found, 2))
    outer = ax.get_window_extent()
    assert all(outer.x0 <= box.x0 and box.x1 <= outer.x1 + 1 for box in found)
    marks = [ax.transData.transform(point) for point in points]
    assert not any(box.contains(*mark) for box in found for mark in marks)


def test_a_name_beside_the_last_point_stays_within_the_axes(ax):
    line_names.write(
        ax, [line_names.Name("a long name", "red", [(9.9, 9.9)])], line_names.Panel(SIZE)
    )
    (box,) = boxes(ax)
    assert box.x1 <= ax.get_window_extent().x1 and box.y1 <= ax.get_window_extent().y1 + 2


def test_other_texts_are_kept_clear(ax):
    taken = (0.0, 0.0, 200.0, 55.0)
    name = line_names.Name("law", "red", [(5.0, 5.0)])
    line_names.write(ax, [name], line_names.Panel(SIZE, boxes=[taken]))
    (text,) = ax.texts
    assert text.get_position()[1] > 0.5


def test_a_name_hides_no_part_of_a_marker_beside_it(ax):
    flat, marker = 9.0, (8.9, 9.87)  # half a point above the place that the name would have
    line_names.write(
        ax,
        [line_names.Name("manual", "black", across=flat)],
        line_names.Panel(SIZE, points=[marker], flat=[flat]),
    )
    (box,) = boxes(ax)
    x, y = ax.transData.transform(marker)
    edge = 3.0 / 72 * ax.figure.dpi
    assert not (box.x0 - edge < x < box.x1 + edge and box.y0 - edge < y < box.y1 + edge)
