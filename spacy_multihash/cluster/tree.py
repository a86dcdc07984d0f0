"""The tree in which results are merged two by two. It depends on their number alone."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

R = TypeVar("R")


class Node(NamedTuple):
    """The results of the items from start to stop, merged."""

    start: int
    stop: int

    def split(self) -> tuple["Node", "Node"]:
        """Return the nodes that are merged into this one, which has several items.

        The first one has as many items as the largest power of 2 that leaves some for the second.
        """
        middle = self.start + (1 << (self.stop - self.start - 1).bit_length() - 1)
        return Node(self.start, middle), Node(middle, self.stop)


def fold(results: Iterable[R], merge: Callable[[R, R], R]) -> R:
    """Merge results in the order of the tree while they come; the logarithm of them is held.

    results (Iterable): One or more results.
    """
    stack: list[tuple[int, R]] = []  # how many results are merged in each, falling powers of 2
    for result in results:
        size = 1
        while stack and stack[-1][0] == size:
            result = merge(stack.pop()[1], result)
            size *= 2
        stack.append((size, result))
    _, merged = stack.pop()
    while stack:
        merged = merge(stack.pop()[1], merged)
    return merged


def parents(count: int, size: int) -> dict[Node, Node]:
    """Map each node of the tree, but the root, to the node that it is merged into.

    count (int): The number of items.
    size (int): Nodes of as many items or fewer are not divided. It is a power of 2.
    """
    found: dict[Node, Node] = {}
    open_nodes = [Node(0, count)]
    while open_nodes:
        node = open_nodes.pop()
        if node.stop - node.start > size:
            halves = node.split()
            found.update(dict.fromkeys(halves, node))
            open_nodes += halves
    return found
