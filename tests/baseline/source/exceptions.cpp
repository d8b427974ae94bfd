/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Exceptions of several types, by calls of all kinds: what is caught where, with which values. The program's text says
 * all that happens. */

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pthread.h>

namespace {

struct base {
    int number;
    explicit base(int number) : number(number)
    {
    }
    virtual ~base() = default;
};
struct derived : base {
    using base::base;
};
struct other {
    double value;
};

/* Says when it is destroyed. */
struct witness {
    const char *name;
    explicit witness(const char *name) : name(name)
    {
    }
    ~witness()
    {
        printf("~%s ", name);
    }
};

__attribute__((noinline)) int raise(int what, int number)
{
    switch (what) {
    case 1:
        throw number;
    case 2:
        throw base(number);
    case 3:
        throw derived(number);
    case 4:
        throw other{number * 0.5};
    case 5:
        throw "text";
    default:
        return number;
    }
}

__attribute__((noinline)) int with_cleanup(int what, int a, int b, int c, int d, int e, int f, int g, int h)
{
    witness first("first");
    int sum = a + 2 * b + 3 * c + 4 * d;
    sum += raise(what == 6 ? 0 : what, e + f);
    witness second("second");
    sum += raise(what == 6 ? 1 : 0, g * h);
    return sum + a - h;
}

/* The values at the landing differ by the call that has thrown. */
__attribute__((noinline)) int at_landing(int what, int a, double x)
{
    int place = 1;
    double seen = x;
    try {
        a += raise(what == 1, a + 1);
        place = 2;
        seen *= 2;
        a += raise(what == 2, a + 2);
        place = 3;
        seen += a;
        a += raise(what == 3, a + 3);
    } catch (int number) {
        return number * 100 + place * 10 + int(seen);
    }
    return a;
}

__attribute__((noinline)) int caught(int what)
{
    try {
        return with_cleanup(what, what, 2, 3, 4, 5, 6, 7, 8);
    } catch (const derived &d) {
        printf("derived %d ", d.number);
    } catch (base &b) {
        printf("base %d ", b.number);
    } catch (int number) {
        printf("int %d ", number);
        if (what == 6)
            return -6;
    } catch (...) {
        printf("any ");
        try {
            throw;
        } catch (const other &o) {
            printf("other %.1f ", o.value);
        } catch (const char *text) {
            printf("%s ", text);
        }
    }
    return -what;
}

#if __cplusplus < 201700L
__attribute__((noinline)) void listed(int what) throw(int, other)
{
    raise(what, 30);
}

__attribute__((noinline)) void none(int what) throw()
{
    raise(what, 31);
}

void unexpected_one()
{
    printf("unexpected ");
    throw 77;
}

void lists()
{
    std::set_unexpected(unexpected_one);
    for (int what = 0; what < 6; what++)
        try {
            listed(what);
            printf("%d: none\n", what);
        } catch (int number) {
            printf("%d: int %d\n", what, number);
        } catch (const other &o) {
            printf("%d: other %.1f\n", what, o.value);
        }
}
#endif

/* The end of a thread unwinds its frames. */
void *thread(void *)
{
    witness in_thread("thread");
    pthread_exit(nullptr);
}

struct in_constructor {
    witness member{"member"};
    in_constructor()
    {
        raise(2, 50);
    }
};

using function = int(int, int);
function *volatile pointer = raise;

__attribute__((noinline)) int by_pointer(int what)
{
    try {
        return pointer(what, 60);
    } catch (base &b) {
        return b.number + 1;
    }
}

} // namespace

int main()
{
    for (int what = 0; what < 7; what++)
        printf("= %d\n", caught(what));
    for (int what = 0; what < 4; what++)
        printf("%d %d\n", what, at_landing(what, 5, 1.5));
#if __cplusplus < 201700L
    lists();
#endif
    try {
        in_constructor made;
    } catch (base &b) {
        printf("constructor %d\n", b.number);
    }
    printf("%d %d\n", by_pointer(0), by_pointer(3));
    pthread_t one;
    if (pthread_create(&one, nullptr, thread, nullptr) == 0)
        pthread_join(one, nullptr);
    std::set_terminate([] {
        printf("terminated\n");
        fflush(stdout);
        _Exit(3);
    });
#if __cplusplus < 201700L
    std::set_unexpected([] { printf("no list "), std::terminate(); });
    none(2);
#endif
    raise(4, 1);
}
