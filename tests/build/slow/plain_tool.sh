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

# Without the inliner, the vectorisers and the sanitizers, the tool compiles the same programs, and has none of them.
lean=$BUILD/lean
if ! make --no-print-directory all TARGETS=X86 BUILD="$lean" INLINE=0 VECTORIZE=0 SANITIZERS=0 SANITIZE= \
    >"$lean.log" 2>&1; then
    tail "$lean.log"
    echo "not ok make INLINE=0 VECTORIZE=0 SANITIZERS=0"
    exit 1
fi
succeeds "without the inliner, it runs a program" "$lean/tenon" run -O2 tools/build/small/order.ll
left_out='llvm::(InlinerPass|SLPVectorizerPass|LoopVectorizePass|AddressSanitizerPass|ThreadSanitizerPass)::run'
none "nothing of these is in it" "$(nm -C "$lean/tenon.debug" | grep -E "$left_out")"
some "the plain one has them" "$(nm -C "$plain/tenon.debug" | grep -E "$left_out")"
some "it says that it has no sanitizers" "$("$lean/tenon" opt '--passes=tenon<sanitize_thread>' \
    tools/build/small/order.ll 2>&1 | grep "'sanitize_thread' of a pipeline: this code generator was built without")"
