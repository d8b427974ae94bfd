# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# doc/LINKER.md has the phases of a link as the code has them: names in order, who holds the lock, what their time
# counts as.

. tests/build/check

code=$(sed -n 's/^    {"\([a-z]*\)", [A-Z]*, [A-Z]*, \([a-z]*\), TN__LINK_\([A-Z]*\), .*/\1 \2 \3/p' \
    src/link/core/link.c |
    sed 's/ true / held /; s/ false / /' | tr A-Z a-z)
page=$(sed -n '/^## The phases/,/^If anything/ s/^| \([a-z]*\) | *\(held\)* *| \([a-z]*\) |.*/\1 \2 \3/p' \
    doc/LINKER.md | tr -s ' ')

some 'the code has phases' "$(echo "$code" | grep '^apply apply$')"
none 'the page has the phases of the code' "$(diff <(echo "$code") <(echo "$page"))"
