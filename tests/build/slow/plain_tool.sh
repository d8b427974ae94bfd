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

# Without the inliner and the vectorisers, the tool compiles the same programs, and has neither of them.
lean=$BUILD/lean
if ! make --no-print-directory all TARGETS=X86 BUILD="$lean" INLINE=0 VECTORIZE=0 SANITIZE= >"$lean.log" 2>&1; then
    tail "$lean.log"
    echo "not ok make INLINE=0 VECTORIZE=0"
    exit 1
fi
succeeds "without the inliner, it runs a program" "$lean/tenon" run -O2 tools/build/small/order.ll
none "nothing of the inliner and the vectorisers is in it" \
    "$(nm -C "$lean/tenon.debug" | grep -E 'llvm::(InlinerPass|SLPVectorizerPass|LoopVectorizePass)::run')"
some "the plain one has them" "$(nm -C "$plain/tenon.debug" | grep -E 'llvm::(InlinerPass|SLPVectorizerPass)::run')"
