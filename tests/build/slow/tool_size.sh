# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The tool with one target stays below its limit, which is in tools/build/rules.mk; so does the one of `make release`,
# whose functions are in the order of a start (tools/build/small/order.mk).

. tests/build/check

smallest() {
    make --no-print-directory size TARGETS=X86 BUILD="$BUILD/x86" SANITIZE= | tail -n 1 | tr -s " "
}

if line=$(set -o pipefail && smallest); then
    echo "ok size of the tool for X86 (${line# })"
else
    echo "not ok size of the tool for X86: $line"
fi

if ! make --no-print-directory release TARGETS=X86 BUILD="$BUILD/x86" SANITIZE= >"$BUILD/x86.log" 2>&1; then
    tail "$BUILD/x86.log"
    echo "not ok make release"
    exit 1
fi
succeeds "make release: its size" smallest
nm "$BUILD/x86/tenon.debug" | awk '
    NR == FNR { address[$3] = "x" $1; next }
    FNR > 300 { exit }
    $1 in address { if (address[$1] >= last) ordered++; last = address[$1]; found++ }
    END { print found + 0, ordered + 0 }' - "$BUILD/x86/gen/order.txt" >"$BUILD/x86.ordered"
read -r found ordered <"$BUILD/x86.ordered"
if [ "$found" -gt 200 ] && [ "$ordered" -gt $((found * 3 / 4)) ]; then
    echo "ok make release: functions are in the order of a start ($ordered of $found)"
else
    echo "not ok make release: of $found functions, $ordered are in the order of a start"
fi
