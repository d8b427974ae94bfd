# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# As tests/image/package_sets.sh, 200 sets.
#
# time limit: 3600

: "${BUILD:=build}" "${CC:=gcc}"
. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tests/image/support/package_sets.bash

said=$(package_sets 100 300)
none "nothing differs" "$(grep -v '^seen .* 0 failures$' <<<"$said")"
some "functions were stale" "$(grep '^seen [1-9][0-9][0-9]* [1-9][0-9][0-9]' <<<"$said")"
some "packages were refused" "$(grep '^seen [0-9]* [0-9]* [1-9]' <<<"$said")"
