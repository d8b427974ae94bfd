# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Managed code that was compiled for another version of the runtime ABI: whatever would load, link or run it says so,
# and names both versions.

. tests/build/check

: "${CC:=gcc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon
here=$(sed -n 's/^#define TN_GC_ABI //p' include/tenon_gc.h)
wanted="managed code for version 99 of the runtime ABI, and this is version $here: compile it again"
input=tests/tool/Inputs/managed.ll

# refused NAME FILE COMMAND...: the command fails and says this of the file.
refused() {
    local name=$1 file=$2 said
    shift 2
    if said=$("$@" 2>&1); then echo "not ok $name: it is accepted"; return; fi
    some "$name" "$(echo "$said" | grep -F "$file: $wanted")"
}

printf '\x63\0\0\0' >"$work/99"
"$tenon" compile "$input" -o "$work/good.o" && objcopy --update-section tenon_abi="$work/99" "$work/good.o" \
    "$work/other.o" &&
    echo 'int other(void) { return 0; }' | "$CC" -xc -c - -o "$work/plain.o" || exit 1
ar rc "$work/other.a" "$work/plain.o" "$work/other.o"
succeeds "of this version" "$tenon" run "$work/good.o"
refused "run" "$work/other.o" "$tenon" run "$work/other.o"
refused "run, in an archive" "$work/other.a(other.o)" "$tenon" run "$work/other.a"
cat >"$work/host.c" <<'END'
#include <stdio.h>
#include "tenon_heap.h"
int main(void)
{
    struct tn_error err;
    struct tn_heap *heap;
    return tn_heap_create(NULL, &heap, &err) ? puts(err.text), 1 : 0;
}
END
sed 's/@main/@second/' "$input" >"$work/second.ll"
"$tenon" compile "$work/second.ll" -o "$work/second.o" &&
    "$CC" -static -Iinclude "$work/host.c" "$work/second.o" "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" \
        -lpthread -o "$work/program" || exit 1
succeeds "a program of this version" "$work/program"
objcopy --update-section tenon_abi="$work/99" "$work/second.o" &&
    "$CC" -static -Iinclude "$work/host.c" "$work/second.o" "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" \
        -lpthread -o "$work/program" || exit 1
refused "a program" "this program" "$work/program"

sed 's/@build/@first_build/; s/@sum/@first_sum/; s/@node/@first_node/; s/@name/@first_name/; s/@format/@first_format/' \
    "$input" >"$work/first.ll"
for kind in exe shared image; do
    refused "build --kind=$kind" "$work/second.o" "$tenon" build --kind=$kind -o "$work/out" "$work/first.ll" \
        "$work/second.o"
done

"$CC" -Iinclude -rdynamic tests/image/source/collected_files.c "$BUILD/tests/gc/copying.o" "$BUILD/libtenon.a" \
    -lpthread -o "$work/loading" || exit 1
for kind in shared image; do
    succeeds "build --kind=$kind of this version" "$tenon" build --kind=$kind -o "$work/out" "$input"
    succeeds "$kind of this version" "$work/loading" "$work/out"
    at=$(objdump -h "$work/out" | awk '$2 == "tenon_abi" { print $6 }')
    printf '\x63\0\0\0' | dd of="$work/out" bs=1 seek=$((0x$at)) conv=notrunc 2>/dev/null
    refused "$kind" "$work/out" "$work/loading" "$work/out"
done
