#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Every name of the table of host symbols is found by a loaded program, and no other name is: an object refers to all of
# them, and counts those that have an address.

set -u
: "${BUILD:=build}" "${CC:=gcc}"
cd "$(dirname "$0")/../.." || exit 1
out=$BUILD/tests/headers/table
mkdir -p "$out"
echo 1..2

sed -n 's/^\.Lname.*\.string "\(.*\)"$/\1/p' "$BUILD/gen/host_symbols.s" >"$out/names"
names=$(wc -l <"$out/names")
awk 'BEGIN { print "\t.data\n\t.globl table\ntable:" }
     { print "\t.8byte " $1 }
     END { print "\t.8byte 0\n\t.weak tn_no_such_name\n\t.globl absent\nabsent:\t.8byte tn_no_such_name"
           print "\t.section .note.GNU-stack,\"\",%progbits" }' "$out/names" >"$out/names.s"
cat >"$out/main.c" <<'END'
#include <stdio.h>

extern const void *const table[], *const absent;

int main(void)
{
    int count = 0;
    while (table[count])
        count++;
    printf("%d %d\n", count, absent != NULL);
    return 0;
}
END
$CC -c "$out/names.s" -o "$out/names.o" && $CC -O1 -c "$out/main.c" -o "$out/main.o" || exit 1
found=$(timeout 20 "$BUILD/tenon" run "$out/main.o" "$out/names.o" 2>&1)
if [ "$names" -gt 2000 ]; then
    echo "ok headers/table has $names names"
else
    echo "not ok headers/table: only $names names"
fi
if [ "$found" = "$names 0" ]; then
    echo "ok headers/table is complete and sorted"
else
    echo "not ok headers/table: expected '$names 0', got '$(echo "$found" | head -3)'"
fi
