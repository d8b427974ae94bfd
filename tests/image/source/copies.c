/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Uses copies_base.c: itself, through its bodies, through what is local, in initializers. */

extern const int limit, table[4];
int g(int x), h(int x), outer(int x), uses_limit(int x), element(int x), letter(int x), count(void), even(int n),
    kept(int x), weakly(int x);

#ifdef ASSEMBLY /* of a module, which is not divided then */
__asm__(".globl from_assembly\nfrom_assembly = 5\n");
#endif

static int cache, start;
static int (*const pointers[2])(int) = {g, h};

int f(int x)
{
    return g(x) * 10;
}
int k(int x)
{
    return h(x) * 10;
}
int o(int x)
{
    return outer(x);
}
int l(int x)
{
    return limit + x;
}
int t(int x)
{
    return table[1] + x;
}
int u(int x)
{
    return uses_limit(x);
}
int m(int x)
{
    return element(x);
}
int w(int x)
{
    return letter(x);
}
int c(int x)
{
    return count() + x;
}
int e(int x)
{
    return even(4) + x;
}
int s(int x)
{
    return kept(x);
}
int v(int x)
{
    return weakly(x);
}
int p(int x)
{
    return pointers[0](x);
}
int plain(int x)
{
    return x + 1;
}

/* What is local would tell its other users what a copy has: a result, the only value of a variable, the only argument
 * of a function. */
static __attribute__((noinline)) int inner(int x)
{
    return g(1) * 100 + x * 0;
}
int around(int x)
{
    return inner(x) + 1;
}
int fill(int x)
{
    return cache = g(1) + x * 0;
}
int filled(int x)
{
    return cache + x;
}
static __attribute__((noinline)) int times(int x)
{
    return x * 7;
}
int timed(int x)
{
    return times(g(1)) + x;
}

/* Initial values are not computed from copies. */
__attribute__((constructor)) static void begin(void)
{
    start = g(2);
}
int begun(int x)
{
    return start + x;
}
