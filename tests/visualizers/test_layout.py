"""The layout promises that nothing overlaps; checked on random trees."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from visualizers.layout import SELECTED_LINE, UNSELECTED_LINE, layout


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Parents, weights and the number of selected nodes; the selected set is closed under parents."""
    selected = draw(st.integers(0, 24))
    total = selected + draw(st.integers(0, 24))
    parents = [draw(st.integers(-1, min(i, total) - 1)) for i in range(total)]
    weights = [draw(st.integers(1, 50)) for _ in range(total)]
    return parents, weights, selected


@given(trees())
def test_no_two_nodes_come_closer_than_a_line_in_one_column(tree: tuple[list[int], list[int], int]) -> None:
    parents, weights, selected = tree
    places = layout(parents, weights, selected)
    by_column: dict[int, list[tuple[int, int]]] = {}
    for node, (column, row) in enumerate(zip(places.columns, places.rows, strict=True)):
        by_column.setdefault(column, []).append((row, node))
    for nodes in by_column.values():
        for (above, _), (below, node) in pairwise(sorted(nodes)):
            assert below - above >= (SELECTED_LINE if node < selected else UNSELECTED_LINE)


@given(trees())
def test_no_edge_crosses_a_label(tree: tuple[list[int], list[int], int]) -> None:
    """An edge runs down below its parent, then right on its child's line.

    On the way down it may meet no node of the parent's column; on its line nothing else
    may stand in the child's column, which the test above gives.
    """
    parents, weights, selected = tree
    places = layout(parents, weights, selected)
    for node, parent in enumerate(parents):
        top = places.root_row if parent < 0 else places.rows[parent]
        column = places.columns[node] - 1
        assert top <= places.rows[node]
        between = [i for i in range(len(parents)) if places.columns[i] == column and top < places.rows[i] <= places.rows[node]]
        assert not between


@given(trees())
def test_depth_is_the_column_and_extent_holds_all(tree: tuple[list[int], list[int], int]) -> None:
    parents, weights, selected = tree
    places = layout(parents, weights, selected)
    for node, parent in enumerate(parents):
        assert places.columns[node] == (1 if parent < 0 else places.columns[parent] + 1)
    assert places.height == max([places.root_row, *places.rows])
    assert places.width == max([0, *places.columns])


def test_the_heaviest_child_continues_the_line() -> None:
    places = layout([-1, -1, 1], [2, 9, 5])
    assert places.rows == [2 * SELECTED_LINE, SELECTED_LINE, SELECTED_LINE]


def test_unselected_siblings_come_last_and_take_less_room() -> None:
    places = layout([-1, -1], [1, 50], selected=1)
    assert places.rows == [SELECTED_LINE, SELECTED_LINE + UNSELECTED_LINE]


def test_an_empty_tree_is_the_root_alone() -> None:
    places = layout([])
    assert (places.columns, places.rows, places.width) == ([], [], 0)
