# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What an image uses of another one that was rebuilt: what has not changed is bound, what has is an error that says what
# was wanted and what was found (doc/PACKAGES.md).

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$BUILD/tenon

# The base, with a change of one thing that is used, or of things that are not.
cat >"$work/base.c" <<'END'
#include "tenon_heap.h"
#ifndef G
#define G int g(int x) { return x + 1; }
#endif
#ifndef S
#define S struct s { long a[4]; };
#endif
#ifndef V
#define V int v[4] = {5, 6, 7, 8};
#endif
#ifndef T
#define T __thread int t;
#endif
#ifndef UNUSED
#define UNUSED int unused(int x) { return x; } int spare = 3;
#endif
#ifndef SIZE
#define SIZE 24
#endif
#ifndef REFERENCES
#define REFERENCES 1
#endif
G S V T UNUSED
const struct tn_type node_type = {
    .name = "struct node", .kind = TN_KIND_FIXED, .alignment = 8, .size = SIZE, .references = REFERENCES};
#ifndef SUM
#define SUM(s) s.a[0] + s.a[3]
#endif
long sum(struct s s) { return SUM(s); }
int h(int x) { return x * 2; }
int *next(void) { return &t; }
END
cat >"$work/pkg.c" <<'END'
#include "tenon_heap.h"
static const struct tn_type own = {
    .name = "struct node", .kind = TN_KIND_FIXED, .alignment = 8, .size = 24, .references = 1};
const struct tn_type *type(void) { return &own; }
struct s { long a[4]; };
extern int g(int), h(int), v[];
long sum(struct s s);
int f(int x) { return g(x) * 10; }
int k(int x) { return h(x) * 10; }
int m(int x) { struct s s = {{x, 0, 0, 2}}; return (int)sum(s) + v[1]; }
int *where(void) { return v; }
int (*which(void))(int) { return g; }
END
echo '!tenon.facts = !{!0}
!0 = !{!"layout.h", !"one"}' >"$work/facts.ll"
sed s/one/two/ "$work/facts.ll" >"$work/facts_two.ll"
sed s/layout.h/other.h/ "$work/facts.ll" >"$work/facts_other.ll"
cat >"$work/host.c" <<'END'
/* host IMAGE FUNCTION BASE...: opens them in order, and calls the function with 1. */
#include <stdio.h>
#include "tenon.h"
#include "tenon_image.h"
int main(int argc, char **argv)
{
    struct tn_image *images[4] = {NULL}, *image;
    struct tn_error err;
    struct tn_image_load_options options = {.size = sizeof options, .images = images};
    for (; argc > 3 + (int)options.image_count; options.image_count++)
        if (tn_image_open(argv[3 + options.image_count], &options, &images[options.image_count], &err))
            return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
    if (tn_image_open(argv[1], &options, &image, &err))
        return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
    printf("%d\n", ((int (*)(int))tn_image_lookup(image, argv[2]))(1));
    tn_image_close(image);
    while (options.image_count)
        tn_image_close(images[--options.image_count]);
    return 0;
}
END
"$CC" -Wall -Werror -Iinclude "$work/host.c" "$BUILD/libtenon.a" -static -o "$work/host" || exit 1
compile() { "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -emit-llvm -fPIC -w -Iinclude -c "$@"; }
compile "$work/pkg.c" -o "$work/pkg.bc" || exit 1

# build_base NAME [-DCHANGE...]: $facts is its file of facts.
build_base() {
    name=$1
    shift
    compile "$@" "$work/base.c" -o "$work/$name.bc" &&
        "$tenon" build --kind=image --name base --targets "$targets" -o "$work/$name" "$work/$name.bc" \
            "$work/${facts:-facts}.ll"
}
stale() { # WHAT BASE TEXT [FUNCTION]
    found=$("$work/host" "$work/pkg" "${4:-f}" "$work/$2")
    some "$1, $setting" "$(echo "$found" | grep -F "TN_ESTALE: $work/pkg: it uses '" | grep -F -e "$3")"
}
fine() { # WHAT BASE FUNCTION RESULT
    some "$1, $setting" "$("$work/host" "$work/pkg" "$3" "$work/$2" | grep -x -- "$4")"
}

three='x86-64;x86-64-v3,clone_all;x86-64-v2'
for setting in 'x86-64 1' 'x86-64 3' "$three 1" "$three 3"; do
    targets=${setting% *}
    build_base base && "$tenon" build --kind=image --name pkg --targets "$targets" --shards "${setting#* }" \
        --depends "$work/base" -o "$work/pkg" "$work/pkg.bc" "$work/facts.ll" || exit 1
    fine "the same build" base f 20
    fine "and a variable, and a structure" base m 9
    build_base other -DG='int g(int x) { return x + 100; }'
    fine "a function with another body" other f 1010
    fine "and others beside it" other k 20
    build_base other -DUNUSED='int unused(long x, int y) { return x; } char spare[9];'
    fine "what is not used may change" other f 20
    build_base other -DUNUSED= -DT='static __thread int t;'
    fine "and go" other f 20
    build_base other -DV='int v[4] = {0, 60}; int first = 1;'
    fine "a variable with other values, elsewhere" other m 63

    build_base other -DG='int g(long x) { return x; }'
    stale "a parameter" other "'g' of the image 'base': wanted the function i32 (i32); found the function i32 (i64)"
    build_base other -DG='void g(int x) {}'
    stale "a result" other "'g' of the image 'base': wanted the function i32 (i32); found the function void (i32)"
    build_base other -DG='short g(short x) { return x; }'
    stale "attributes" other "found the function i16 signext (i16 signext)"
    build_base other -DG='__attribute__((preserve_most)) int g(int x) { return x; }'
    stale "a calling convention" other "found the function cc 14 i32 (i32)"
    build_base other -DG='int g(int x, ...) { return x; }'
    stale "more parameters" other "found the function i32 (i32, ...)"
    build_base other -DS='struct s { long a[5]; };'
    stale "a structure by value" other \
        "wanted the function i64 (ptr byval({[4 x i64]}) align 8); found the function i64 (ptr byval({[5 x i64]})"
    build_base other -DG='int g;'
    stale "a function that is a variable" other \
        "wanted the function i32 (i32); found a variable of 4 bytes, aligned to 4"
    build_base other -DG=
    stale "a function that is gone" other "wanted the function i32 (i32); found nothing of this name"
    build_base other -DG='static int g(int x) { return x; } int (*address)(int) = g;'
    stale "a function that is local" other "found nothing of this name"
    build_base other -DV='int v[5];'
    stale "a variable's size" other \
        "wanted a variable of 16 bytes, aligned to 16; found a variable of 20 bytes, aligned to 16"
    build_base other -DV='_Alignas(64) int v[4];'
    stale "a variable's alignment" other "found a variable of 16 bytes, aligned to 64"
    build_base other -DV='__thread int v[4];'
    stale "a thread-local variable" other "found a thread-local variable of 16 bytes, aligned to 16, general-dynamic"
    build_base other -DV=
    stale "a variable that is gone" other "wanted a variable of 16 bytes, aligned to 16; found nothing of this name"
    build_base other -DSIZE=32
    stale "a type's size" other "'struct node' of the image 'base': wanted a type of 24 bytes, aligned to 8, "
    build_base other -DREFERENCES=2
    stale "a type's references" other "found a type of 24 bytes, aligned to 8, "
    facts=facts_two build_base other
    stale "a fact" other "'layout.h' of the image 'base': wanted the fact one; found the fact two"
    facts=facts_other build_base other
    stale "a fact that is gone" other "wanted the fact one; found nothing of this name"
done

# What the input was compiled with has to agree with the image that it is built on.
build_base other -DG='int g(long x) { return x; }'
build_pkg() {
    "$tenon" build --kind="${kind:-image}" --name pkg --depends "$work/$1" -o "$work/pkg" "$work/${2:-pkg}.bc" 2>&1
}
some "the build compares, too" \
    "$(build_pkg other | grep "it uses 'g' of the image 'base': wanted the function i32 (i32); found")"
echo 'int g(); int once(int x) { return g(x); }' >"$work/open.c"
compile -std=gnu11 "$work/open.c" -o "$work/open.bc"
build_pkg base open
some "a declaration without parameters" "$("$work/host" "$work/pkg" once "$work/base" | grep -x 2)"
build_base other -DG='int g(int x, int y) { return x; }'
some "has the type that was found" \
    "$("$work/host" "$work/pkg" once "$work/other" | grep -F 'wanted the function i32 (i32)')"

# Edges are shown.
build_pkg base
"$tenon" inspect "$work/pkg" >"$work/shown"
some "an edge to a function" "$(grep -F "    function 'g': i32 (i32)" "$work/shown")"
some "an edge to a variable" "$(grep -F "    variable 'v', 16 bytes, aligned to 16" "$work/shown")"
some "none to what is not used" "$(grep -c "unused\|spare\|'next'" "$work/shown" | grep -x 0)"

# Calls and addresses are those of entries, for all who use them.
cat >"$work/same.c" <<'END'
extern int g(int), v[];
extern int (*which(void))(int), *where(void);
int same(int x) { return 100 * (which() == g) + 10 * (where() == v) + x; }
END
compile "$work/same.c" -o "$work/same.bc"
targets='x86-64;x86-64-v3,clone_all' build_base base
build_pkg base
"$tenon" build --kind=image --name all --depends "$work/base" --depends "$work/pkg" -o "$work/same" "$work/same.bc"
some "one address for all" "$("$work/host" "$work/same" same "$work/base" "$work/pkg" | grep -x 111)"

# Other kinds: a shared library, and archives in one program.
setting=shared
build_base base
kind=shared build_pkg base
fine "a shared library" base f 20
build_base other -DG='int g(int x) { return x + 100; }'
fine "beside another build" other f 1010
build_base other -DG='int g(long x) { return x; }'
stale "that has another type" other "found the function i32 (i64)"
cat >"$work/linked.c" <<'END'
#include <stdio.h>
#include "tenon_image.h"
extern const char base[], pkg[];
int f(int);
int main(void)
{
    struct tn_image *images[2];
    struct tn_error err;
    struct tn_image_load_options options = {.size = sizeof options, .images = images, .image_count = 1};
    if (tn_image_open_linked(base, NULL, &images[0], &err) || tn_image_open_linked(pkg, &options, &images[1], &err))
        return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
    return printf("%d\n", f(1)), 0;
}
END
link() { # NAME [-DCHANGE]: the package, which was built on the base, with this build of it
    compile "${@:2}" "$work/base.c" -o "$work/$1.bc" &&
        "$tenon" build --name base -o "$work/$1.a" "$work/$1.bc" "$work/facts.ll" &&
        "$CC" -Iinclude "$work/linked.c" "$work/pkg.a" "$work/$1.a" "$BUILD/libtenon.a" -static -o "$work/$1.linked" &&
        "$work/$1.linked"
}
"$tenon" build --name pkg --depends "$work/base" -o "$work/pkg.a" "$work/pkg.bc"
some "in one program" "$(link same | grep -x 20)"
some "with another build" "$(link body -DG='int g(int x) { return x + 100; }' | grep -x 1010)"
some "that has another type" \
    "$(link type -DG='int g(long x) { return x; }' | grep "TN_ESTALE: pkg: .*found the function i32 (i64)")"

# A cell of the base leads those who import the function, too.
cat >"$work/redirect.c" <<'END'
#include <stdio.h>
#include "tenon_image.h"
static int other(int x) { return x + 6; }
int main(int argc, char **argv)
{
    struct tn_image *images[2];
    struct tn_error err;
    struct tn_image_load_options options = {.size = sizeof options, .images = images, .image_count = 1};
    if (argc != 3 || tn_image_open(argv[1], NULL, &images[0], &err) ||
        tn_image_open(argv[2], &options, &images[1], &err))
        return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
    int (*f)(int) = (int (*)(int))tn_image_lookup(images[1], "f");
    int before = f(1);
    if (tn_image_redirect(images[0], "g", (void *)other, &err))
        return puts(err.text), 1;
    printf("%d %d\n", before, f(1));
    tn_image_close(images[1]);
    tn_image_close(images[0]);
    return 0;
}
END
"$CC" -Iinclude "$work/redirect.c" "$BUILD/libtenon.a" -static -o "$work/redirect" || exit 1
for targets in x86-64 'x86-64;x86-64-v3,clone_all'; do
    "$tenon" build --kind=image --name base --replaceable --targets "$targets" -o "$work/base" "$work/base.bc"
    build_pkg base
    some "the base redirects its importers, $targets" "$("$work/redirect" "$work/base" "$work/pkg" | grep -x '20 70')"
done

# Images in a circle.
some "no image depends on itself through others" \
    "$("$tenon" build --kind=image --name base --depends "$work/pkg" -o "$work/circle" "$work/base.bc" 2>&1 |
        grep "the image 'base' would depend on itself: 'pkg' depends on it$")"
previous=base
for name in b c d; do
    echo "int in_$name(void) { return 1; }" >"$work/$name.c"
    compile "$work/$name.c" -o "$work/$name.bc" &&
        "$tenon" build --kind=image --name $name --depends "$work/$previous" -o "$work/$name" "$work/$name.bc" || exit 1
    previous=$name
done
for name in base b c; do
    through=$([ $name = c ] || echo ", through others")
    some "neither does $name through d" \
        "$("$tenon" build --kind=image --name $name --depends "$work/d" -o "$work/circle" "$work/base.bc" 2>&1 |
            grep "the image '$name' would depend on itself: 'd' depends on it$through$")"
done
some "another name is no circle" "$("$tenon" build --kind=image --name e --depends "$work/d" --depends "$work/b" \
    -o "$work/e" "$work/base.bc" 2>&1 && "$tenon" inspect "$work/e" | grep -x "  c, base, through others" )"

# An executable is one image: what it uses of another one is missing when it is built, and another one is not open when
# it starts.
echo 'int g(int); int main(void) { return g(1); }' >"$work/uses.c"
echo 'int main(void) { return 0; }' >"$work/only.c"
compile "$work/uses.c" -o "$work/uses.bc" && compile "$work/only.c" -o "$work/only.bc" || exit 1
some "an executable cannot use functions of others" \
    "$("$tenon" build --kind=exe --depends "$work/base" -o "$work/exe" "$work/uses.bc" 2>&1 |
        grep "nothing that a program comes with has g$")"
none "and is not written then" "$(ls "$work/exe" 2>/dev/null)"
"$tenon" build --kind=exe --depends "$work/base" -o "$work/exe" "$work/only.bc" "$work/facts.ll"
said=$("$work/exe" 2>&1)
some "one that depends on others says so when it starts" \
    "$(echo "$? $said" | grep "^126 .*it depends on the image 'base', which is not among the open ones$")"
