# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Two random sets of packages of C and C++ (slow/package_sets.sh has more): what is stale and compiled again, and what
# functions answer.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/image/support/package_sets.bash

said=$(package_sets 10 11 && package_sets 7 8)
none "nothing differs" "$(grep -v '^seen .* 0 failures$' <<<"$said")"
some "functions were stale" "$(grep '^seen [1-9][0-9]* [1-9]' <<<"$said")"
some "packages were refused" "$(grep '^seen [0-9]* [0-9]* [1-9]' <<<"$said")"
