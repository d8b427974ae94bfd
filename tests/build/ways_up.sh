# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# tools/build/ways_up.py finds a pointer to a function however a room above sets it, and nothing else: two rooms of a
# few lines, and each line of `upper.c` by itself.

. tests/build/check

lower='
typedef void after_fork(int child);
struct hooks { int count, size; void (*before)(void); int (*after)(int, int); after_fork *forked; };
struct holder { struct hooks hooks; const struct hooks *other; };
struct request { void (*done)(void *context); };
static void (*watcher)(void);
void (*shared)(int);
void watch(int flags, void (*watch)(void)) { watcher = watch; }
void walk(void (*visit)(void)) { visit(); }
void tn__below(void) { }
'
upper='
static void first(void) { }
static int second(int a, int b) { return a + b; }
'

# found LINE: what the finder says of upper.c with this line in a function.
found() {
    PYTHONDONTWRITEBYTECODE=1 python3 - "$lower" "$upper$1" <<'END'
import sys
sys.path.insert(0, "tools/build")
import ways_up
texts = {"lower.h": sys.argv[1], "upper.c": sys.argv[2]}
pointers = ways_up.find(texts, lambda path: [path == "upper.c"])
print(" ".join(sorted(f"{p.holder}.{p.member}" for p in pointers)))
END
}

while IFS='|' read -r name expected line; do
    answers "$name" "$expected" found "$line"
done <<'END'
members that are named|hooks.after hooks.before|static const struct hooks h = {.before = first, .after = second};
members in their order|hooks.after hooks.before|static struct hooks h = {1, 2, first, second};
a row of an array|hooks.before|static const struct hooks h[] = {{1, 2, first}, {0}};
a literal|hooks.after|void set(struct holder *x) { use((struct hooks){.after = second}); }
a function's type|hooks.forked|static const struct hooks h = {.forked = &first};
an assignment to a member|hooks.before|void set(struct holder *x) { x->hooks.before = first; }
an assignment through a pointer|hooks.after|void set(struct hooks *hooks) { hooks->after = second; }
a variable|.shared|void set(void) { shared = first; }
a variable that a function sets|.watcher|void set(void) { watch(1, first); }
nothing||
a null pointer||static const struct hooks h = {.before = NULL};
a pointer of the client||void set(struct holder *x, struct request *options) { x->hooks.before = options->done; }
a parameter||void set(void) { walk(first); }
a function below||static const struct hooks h = {.before = tn__below};
another struct's member of that name||struct mine { void (*before)(void); }; static struct mine m = {.before = first};
END
