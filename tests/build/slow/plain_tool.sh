# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Without what makes it smaller (tools/build/small), the tool is built, runs programs and disassembles.

. tests/build/check

plain=$BUILD/plain
if ! make --no-print-directory all TARGETS=X86 BUILD="$plain" SMALL=0 SANITIZE= >"$plain.log" 2>&1; then
    tail "$plain.log"
    echo "not ok make SMALL=0"
    exit 1
fi
succeeds "it runs a program" "$plain/tenon" run tools/build/small/order.ll
some "it disassembles" "$("$plain/tenon" disasm tools/build/small/start.ll | grep -w retq)"
none "it has no stand-in" "$(nm "$plain/tenon.debug" | grep tn__llvm_absent)"
none "its functions are in no order of ours" "$(ls "$plain/gen/order.txt" 2>/dev/null)"
