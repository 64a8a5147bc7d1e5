"""Where the nodes of a retrieved trie stand: a tidy drawing without overlap, in whole units.

Depth runs left to right, one column a level. A node stands on the same line as its
heaviest child, so that each line reads as one continuation of the text; every other
child opens a new line further down. Lines of selected nodes are ``SELECTED_LINE`` units
high, lines of unselected ones ``UNSELECTED_LINE``. The label of a node stands on its
line, in its own column, between the column of its parent and the node: two nodes never
share both, hence neither dots nor labels can overlap, whatever the font.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import networkx as nx

from spec_core.tree import ROOT

SELECTED_LINE = 4
UNSELECTED_LINE = 3


@dataclass(frozen=True)
class Layout:
    """One position a node, and the extent of the whole.

    Args:
        columns: depth of each node; the root is in column 0.
        rows: the lower edge of each node's line, counted downwards from 0.
        root_row: the same for the root.
        width: number of columns beside the root's.
        height: the lower edge of the lowest line.
    """

    columns: list[int]
    rows: list[int]
    root_row: int
    width: int
    height: int


def layout(parents: Sequence[int], weights: Sequence[float] | None = None, selected: int | None = None) -> Layout:
    """Lay out a tree given by its parent vector.

    Args:
        parents: index of each node's parent; ``ROOT`` for a child of the root.
        weights: heavier children come first; without weights the given order stays.
        selected: nodes before this index went through the target, the others did not
            and come after their selected siblings. None: all were selected.
    """
    n = len(parents)
    selected = n if selected is None else selected
    graph = nx.DiGraph()
    graph.add_node(ROOT)
    graph.add_edges_from((parent, node) for node, parent in enumerate(parents))

    def heaviest_first(nodes: Iterable[int]) -> list[int]:
        return sorted(nodes, key=lambda i: (i >= selected, -(weights[i] if weights else 0), i))

    columns = nx.single_source_shortest_path_length(graph, ROOT)
    first = {node: heaviest_first(graph.successors(node))[0] for node in graph if graph.out_degree(node)}
    rows = {ROOT: SELECTED_LINE}
    lowest = SELECTED_LINE
    for node in nx.dfs_preorder_nodes(graph, ROOT, sort_neighbors=heaviest_first):
        if node == ROOT:
            continue
        parent = parents[node]
        if first[parent] == node:
            rows[node] = rows[parent]
        else:
            lowest += SELECTED_LINE if node < selected else UNSELECTED_LINE
            rows[node] = lowest
    return Layout(columns=[columns[i] for i in range(n)], rows=[rows[i] for i in range(n)],
                  root_row=rows[ROOT], width=max(columns.values()), height=lowest)
