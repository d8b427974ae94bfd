# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# README's picture is what bench/picture draws of doc/FIGURES.md, and says so where a figure is not there.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

succeeds "the picture is drawn" bench/picture doc/FIGURES.md
none "it is the one that README shows" "$(bench/picture doc/FIGURES.md | diff - doc/figures.svg)"
some "README shows it" "$(grep '](doc/figures.svg)' README.md)"
none "it has at most 12 KB" "$(find doc/figures.svg -size +12k)"

sed 's/| 0.39 ms |/| 0.78 ms |/' doc/FIGURES.md >"$work/slower.md"
some "another figure makes another bar" "$(bench/picture "$work/slower.md" | grep '>0.78 ms<')"
sed '/^| Linking sqlite3.o/d' doc/FIGURES.md >"$work/lacking.md"
answers "a row that is not there is an error" "picture: there is no row 'Linking sqlite3.o'" \
    bench/picture "$work/lacking.md"
