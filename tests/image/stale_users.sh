# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that the system's linker makes of managed code, and that open saved objects themselves: refused if their
# types have changed since. Programs that open none contain nothing of that.

. tests/build/check
. tests/image/support/saved_code.bash

"$CC" -Iinclude -Isrc -rdynamic $source/values_host.c "$BUILD/tests/gc/copying.o" \
    "$BUILD/libtenon.a" -lpthread -o "$work/host" &&
    "$work/host" save "$work/heap" || exit 1

cat >"$work/main.c" <<'END'
#include <stdio.h>
#include "tenon_heap.h"
#include "tenon_image.h"
long use(void);
int main(int argc, char **argv)
{
    struct tn_image_load_options options = {.size = sizeof options, .heaps = tn_image_heaps()};
    struct tn_image *list;
    struct tn_error err = {.text = "no heap"};
    int failed = tn_heap_create(NULL, &options.heap, &err) || tn_heap_attach(options.heap, &err) ||
                 tn_image_open(argv[argc - 1], &options, &list, &err);
    puts(failed ? err.text : use() == 1 ? "it runs" : "it is wrong");
    return failed;
}
END

# The program of these types, which allocates one object.
linked() {
    printf '%s\n' '#include "tenon_managed.h"' "$@" >"$work/code.c"
    managed "$work/code.c" -o "$work/code.bc" && "$tenon" compile -O2 "$work/code.bc" -o "$work/code.o" &&
        "$CC" -Iinclude "$work/main.c" "$work/code.o" "$BUILD/libtenon.a" -lpthread -o "$work/program"
}
use='long use(void) { return tn_new(struct node) != 0; }'
node='struct node { struct node tn_ref *next; long value; }; TN_TYPE(struct node, next);'

# changed NAME TEXT CODE...
changed() {
    local name=$1 text="list: the code of this program has another type 'struct node' than its objects: $2"
    shift 2
    linked "$@" && "$work/program" "$work/heap" >"$work/got"
    one "$name" "$(head -n 1 "$work/got")" "$text"
}
one() {
    if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: $2"; fi
}

changed "exchanged members" "'references' differs (only the second has one at offset 0)" \
    'struct node { long value; struct node tn_ref *next; }; TN_TYPE(struct node, next);' "$use"
changed "a member more" "'size' differs (24 and 16)" \
    'struct node { struct node tn_ref *next; long value, more; }; TN_TYPE(struct node, next);' "$use"
changed "a second reference" "'references' differs (only the first has one at offset 8)" \
    'struct node { struct node tn_ref *next, *other; }; TN_TYPE(struct node, next, other);' "$use"
changed "a member less" "'size' differs (8 and 16)" \
    'struct node { struct node tn_ref *next; }; TN_TYPE(struct node, next);' "$use"
changed "a type that it does not use" "'kind' differs (leaf and fixed)" \
    'struct node { long next, value; }; TN_LEAF(struct node);' \
    'struct other { long value; }; TN_LEAF(struct other);' "${use//node/other}"
linked "$node" "$use"
one "the same type" "$("$work/program" "$work/heap")" "it runs"
linked "${node//node/other}" "${use//node/other}"
one "another name" "$("$work/program" "$work/heap")" "it runs"

# ---- who pays ----

parts() { nm "$1" | grep -c ' [TtWw] tn__\(code\|saved\)_types_enter$'; }
one "a program that opens objects compares them" "$(parts "$work/program")" 2
sed 's/tn_image_heaps()/NULL/' "$work/main.c" >"$work/plain.c"
"$CC" -Iinclude "$work/plain.c" "$work/code.o" "$BUILD/libtenon.a" -lpthread -o "$work/plain"
one "another one does not" "$(nm "$work/plain" | grep -c 'tn__.*types_enter')" 0
cat >"$work/jit.c" <<'END'
#include "tenon_heap.h"
#include "tenon_jit.h"
int main(void)
{
    static const struct tn_jit_module module;
    struct tn_jit *jit = NULL;
    return tn_jit_create(NULL, &jit, NULL) || tn_observe_managed_code(tn_jit_session(jit), NULL) ||
           tn_jit_add_module(jit, NULL, &module, NULL);
}
END
"$CC" -Iinclude "$work/jit.c" "$BUILD/libtenon.a" -lpthread -o "$work/jit"
one "nor does a JIT" "$(nm "$work/jit" | grep -c ' [TtW] tn__\(code\|saved\)_types')" 0
