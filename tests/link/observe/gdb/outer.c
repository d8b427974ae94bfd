/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

struct pair {
    int first, second;
};

int inner(int x);

struct pair pair = {5, 6};

static int middle(int x)
{
    return inner(x) + pair.first;
}

int outer(int x)
{
    int result = middle(x);
    return result + pair.second;
}
