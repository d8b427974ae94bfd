#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# answers.c calls each function of sessions, libraries, trackers and JITs that says whether it has done something.

. tests/build/check

functions=$(cat include/tenon/*.h include/tenon_jit.h | tr '\n' ' ' | grep -o 'TN_API int [^;]*;' |
    grep -E '\((const )?struct tn_(session|library|tracker|jit|assumption) \*' |
    sed 's/TN_API int \([a-z_]*\).*/\1/' | sort)
some "there are such functions" "$(wc -l <<<"$functions" | grep -E '^[4-9][0-9]$')"
for function in $functions; do
    some "it calls $function" "$(grep -w "$function" tests/jit/answers.c)"
done
