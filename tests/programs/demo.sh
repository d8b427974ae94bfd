#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The demo, which compares outputs itself, and every command that it says to try next.

. "$(dirname "$0")/programs.bash"
LC_ALL=C
if ! examples/demo.sh >"$out/demo" 2>&1; then
    echo "not ok programs/demo: $(tail -3 "$out/demo" | tr '\n' ' ')"
    exit 1
fi
echo "ok programs/demo"
sed '1,/^What to try next/d; s/  *#.*//; /^$/d' "$out/demo" >"$out/next"
[ "$(wc -l <"$out/next")" -ge 4 ] && echo "ok programs/demo.next" ||
    echo "not ok programs/demo.next: $(cat "$out/next")"
number=0
while read -r line; do
    number=$((number + 1))
    if bash -c "$line" >"$out/next.$number" 2>&1 </dev/null && [ -s "$out/next.$number" ]; then
        echo "ok programs/demo.next.$number"
    else
        echo "not ok programs/demo.next.$number: $line: $(tail -1 "$out/next.$number")"
    fi
done <"$out/next"
