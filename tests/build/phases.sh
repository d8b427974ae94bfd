# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# doc/LINKER.md has the phases of a link as the code has them: names in order, who holds the lock, what their time
# counts as.

. tests/build/check

code=$(sed -n 's/^    {"\([a-z]*\)", [A-Z]*, [A-Z]*, \([a-z]*\), TN__LINK_\([A-Z]*\), .*/\1 \2 \3/p' \
    src/link/passes/link.c |
    sed 's/ true / held /; s/ false / /' | tr A-Z a-z)
page=$(sed -n '/^## The phases/,/^If anything/ s/^| \([a-z]*\) | *\(held\)* *| \([a-z]*\) |.*/\1 \2 \3/p' \
    doc/LINKER.md | tr -s ' ')

some 'the code has phases' "$(echo "$code" | grep '^apply apply$')"
none 'the page has the phases of the code' "$(diff <(echo "$code") <(echo "$page"))"

# Phases are called through pointers, which clang does not follow (make lint): rows say whether the lock is held, and
# functions whether they need it.
differing_phases() {
    sed -n 's/^    {"[a-z]*", [A-Z]*, [A-Z]*, \([a-z]*\), TN__LINK_[A-Z]*, \([a-z_]*\)},$/\1 \2/p' "$1" |
        while read -r held function; do
            needed=false
            grep -q "^\(static \)*int $function(struct tn__link \*link) TN__LOCKED" "$1" src/link/passes/link.h &&
                needed=true
            [ "$held" = "$needed" ] || echo "$function"
        done
}
none 'the lock is held by phases that need it' "$(differing_phases src/link/passes/link.c)"
other=$(mktemp)
sed 's/PACKED, true, TN__LINK_LAYOUT/PACKED, false, TN__LINK_LAYOUT/' src/link/passes/link.c >"$other"
some 'a phase that lacks it is found' "$(differing_phases "$other" | grep '^take_all$')"
rm "$other"
