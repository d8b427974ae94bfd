# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A product around libtenon.a: one that has a mimalloc of its own, one that is static and drops what it does not use.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/product.c" <<'END'
#include <stdlib.h>
#include <tenon.h>
int mine;
void *mi_malloc(size_t size)
{
    mine++;
    return malloc(size);
}
int main(void)
{
    struct tn_session *session;
    free(mi_malloc(1));
    if (tn_session_create(NULL, &session, NULL))
        return 2;
    tn_session_destroy(session);
    return mine == 1 ? 0 : 3; /* the runtime has its own */
}
END

# build OUT FLAG...: builds and runs it; the linker's warnings count.
build() {
    local out=$1
    shift
    $CC -Iinclude -Wl,--fatal-warnings "$work/product.c" "$@" "$BUILD/libtenon.a" -Wl,--no-whole-archive -lelf -lz \
        -o "$out" &&
        "$out"
}

succeeds "a dynamic product with a mi_malloc of its own" build "$work/dynamic"
succeeds "a static one" build "$work/static" -static
succeeds "a static-pie one" build "$work/static-pie" -static-pie
succeeds "one that collects sections" build "$work/collected" -static -Wl,--gc-sections
succeeds "one that takes every member" build "$work/whole" -Wl,--whole-archive
some "its stack is not executable" "$(readelf --wide --program-headers "$work/whole" | grep 'GNU_STACK.* RW ')"

# What only other formats and machines than ELF for x86-64 need comes with these.
$CC -O2 -static -Wl,--gc-sections -Iinclude tests/hosts/footprint.c "$BUILD/libtenon.a" -lelf -lz -o "$work/elf"
used=$(nm "$work/elf" | awk '{ print $3 }')
some "a program for ELF links" "$(echo "$used" | grep '^tn__object_apply$')"
none "and has no code of other formats" "$(echo "$used" | grep -E \
    '^tn__(apply_any|scan_any|apply_pair|compare_copies|bind_stand_ins|parse_bound|gather_groups|macho_|coff_)')"
none "and none of other machines" "$(echo "$used" | grep -E 'aarch64|riscv')"

# mimalloc's functions keep their sections, so those that nobody calls can be dropped.
used=$(nm "$work/collected" | awk '{ print $3 }')
some "the allocator's used parts are kept" "$(echo "$used" | grep '^_mi_malloc_generic$')"
none "its unused parts are dropped" "$(echo "$used" | grep -E '^mi_(heap_visit_blocks|zalloc_aligned|heap_strndup)$')"
