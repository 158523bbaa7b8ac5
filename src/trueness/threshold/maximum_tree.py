"""Which entry of a range of neighbours is largest?

Both searches of this room, over pairs of cuts and over the cuts of groups, bound what a
block of neighbouring cuts can give by the largest entry in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueness._core.arrays import Array, Floats, Ints

# below every sum, by the kind of number: of floats, of 64 bits, and of weights beyond
_LOWEST: dict[str, Any] = {"f": -np.inf, "i": -(1 << 62), "O": -(1 << 300)}


class MaximumTree:
    """The largest entries of all blocks of 1, 2, 4, ... neighbours (a segment tree).

    ``maxima[1]`` is the largest of all entries, block k has the halves 2k and 2k + 1,
    and the entries themselves are the blocks from ``first_leaf`` on.
    """

    def __init__(self, values: Array) -> None:
        # the next power of two, so that every block has two halves
        leaves = 1 << (values.size - 1).bit_length()
        maxima = np.full(2 * leaves, _LOWEST[values.dtype.kind], dtype=values.dtype)
        maxima[leaves : leaves + values.size] = values

        # level by level, from the leaves to the root
        level = leaves
        while level > 1:
            left_halves = maxima[level : 2 * level : 2]
            right_halves = maxima[level + 1 : 2 * level : 2]
            maxima[level // 2 : level] = np.maximum(left_halves, right_halves)
            level //= 2

        self.first_leaf = leaves
        self.maxima = maxima

    def largest(self, first: Ints, stop: Ints) -> Floats:
        """Return the largest entry from ``first`` up to ``stop``, for many ranges.

        -inf for an empty range. Each range is covered by two blocks a level at most.
        """
        left_node = first + self.first_leaf
        right_node = np.maximum(first, stop) + self.first_leaf
        maximum = np.full(left_node.size, -np.inf)
        while (left_node < right_node).any():
            not_empty = left_node < right_node
            # a block at an odd end is not half of a larger block within the range
            odd_left = np.flatnonzero(not_empty & ((left_node & 1) == 1))
            odd_right = np.flatnonzero(not_empty & ((right_node & 1) == 1))
            self._raise_to_block(maximum, odd_left, left_node)
            self._raise_to_block(maximum, odd_right, right_node - 1)

            # one level up: the next whole block to the right of the start
            left_node = (left_node + 1) // 2
            right_node = right_node // 2

        return maximum

    def _raise_to_block(self, largest: Floats, ranges: Ints, blocks: Ints) -> None:
        """Take the block of each of these ranges into account, in place."""
        largest[ranges] = np.maximum(largest[ranges], self.maxima[blocks[ranges]])
