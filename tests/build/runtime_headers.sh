# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The public headers: one page per concept, each of which stands alone, in C11 and C++17.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# beginning FILE: the comment that it begins with, behind the licence.
beginning() { sed -n '3,/\*\/$/p' "$1"; }

for header in include/tenon.h include/tenon/*.h; do
    name=${header#include/}
    printf '#include "%s"\n#include "%s"\n' "$name" "$name" >"$work/alone.c"
    succeeds "$name alone, in C11" "${CC:-gcc}" -std=c11 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror \
        -Iinclude \
        -fsyntax-only "$work/alone.c"
    succeeds "$name alone, in C++17" "${CXX:-g++}" -std=c++17 -Wall -Wextra -Werror -Iinclude \
        -fsyntax-only -xc++ "$work/alone.c"
    some "$name begins with what it is about" "$(beginning "$header" | sed -n '1s,^/\* ,,p')"
    some "$name has an example" "$(beginning "$header" | grep '^ \*     .*;')"
    some "$name is a page" "$([ "$(wc -l <"$header")" -le 300 ] && echo yes)"
    [ "$name" = tenon.h ] || some "tenon.h includes $name" "$(grep -F "\"$name\"" include/tenon.h)"
done

# reserve SIZE: compiles a program whose reserve for thread-local variables has this size.
reserve() {
    printf '#include "tenon.h"\nTN_TLS_RESERVE(%s);\n' "$1" >"$work/reserve.c"
    "${CC:-gcc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$work/reserve.c" 2>&1 &&
        "${CXX:-g++}" -std=c++17 -Wall -Wextra -Werror -Iinclude -fsyntax-only -xc++ "$work/reserve.c" 2>&1
}
for size in 16 '1 << 16' 'sizeof(double) * 512'; do succeeds "a reserve of $size bytes" reserve "$size"; done
for size in 15 9 'sizeof(int)'; do some "a reserve of $size bytes is refused" "$(reserve "$size")"; done
