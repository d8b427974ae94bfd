/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What copies.c uses: each macro changes the body or the value of one thing. */

#ifndef G
#define G x + 1
#endif
#ifndef H
#define H x * 2
#endif
#ifndef OUTER
#define OUTER g(x) + 3
#endif
#ifndef LIMIT
#define LIMIT 5
#endif
#ifndef TABLE
#define TABLE 2
#endif
#ifndef TEXT
#define TEXT "text"
#endif
#ifndef COUNT
#define COUNT ++counter
#endif
#ifndef EVEN
#define EVEN 1
#endif
#ifndef STATE
#define STATE 1
#endif
#ifndef WEAK
#define WEAK x + 30
#endif
#ifdef MORE
int more(int x)
{
    return x;
}
#endif

int odd(int n), even(int n);
int counter;
const int limit = LIMIT;
const int table[4] = {1, TABLE, 3, 4};
static int state;

int g(int x)
{
    return G;
}
int h(int x)
{
    return H;
}
int outer(int x)
{
    return OUTER;
}
int uses_limit(int x)
{
    return limit + x;
}
int element(int x)
{
    return table[x];
}
int letter(int x)
{
    return TEXT[x];
}
int count(void)
{
    return COUNT;
}
int even(int n)
{
    return n ? odd(n - 1) : EVEN;
}
int odd(int n)
{
    return n ? even(n - 1) : 0;
}
int kept(int x)
{
    return (state += x) * STATE;
}
__attribute__((weak)) int weakly(int x)
{
    return WEAK;
}
