# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
class Tree:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


def make(depth):
    if depth == 0:
        return Tree(None, None)
    return Tree(make(depth - 1), make(depth - 1))


def count(tree):
    if tree.left is None:
        return 1
    return 1 + count(tree.left) + count(tree.right)


kept = make(16)
print(sum(count(make(16)) for _ in range(20)) + count(kept))
