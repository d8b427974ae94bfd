# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# README's picture is what bench/picture draws of doc/FIGURES.md, and says so where a figure is not there. README's
# figures are those of doc/FIGURES.md: all that a row has are in one row there.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

succeeds "the picture is drawn" bench/picture doc/FIGURES.md
none "it is the one that README shows" "$(bench/picture doc/FIGURES.md | diff - doc/figures.svg)"
some "README shows it" "$(grep '](doc/figures.svg)' README.md)"
none "it has at most 12 KB" "$(find doc/figures.svg -size +12k)"

sed '/^| Linking sqlite3.o/s/| [0-9.]* ms |/| 0.87 ms |/' doc/FIGURES.md >"$work/slower.md"
some "another figure makes another bar" "$(bench/picture "$work/slower.md" | grep '>0.87 ms<')"
sed '/^| Linking sqlite3.o/d' doc/FIGURES.md >"$work/lacking.md"
answers "a row that is not there is an error" "picture: there is no row 'Linking sqlite3.o'" \
    bench/picture "$work/lacking.md"

# unknown PAGE: rows of the page's table of figures whose numbers with a unit no row of FIGURES.md has.
unknown() {
    sed -n '/^| | Tenon | the peer |$/,/^$/s/^| [^-|]/&/p' "$1" | while read -r row; do
        pattern=$(cut -d '|' -f 3- <<<"$row" | grep -oE '[0-9.]+ (us|ms|s|MB)\b' |
            sed 's/ .*//; s/\./[.]/; s/.*/(?=.*(?<![0-9.])&(?![0-9.]))/' | tr -d '\n')
        grep -qP "^\|$pattern" doc/FIGURES.md || echo "$row"
    done
}
none "README's figures are in FIGURES" "$(unknown README.md)"
sed '/^| linking SQLite/s/| [0-9.]* ms |/| 0.01 ms |/' README.md >"$work/readme.md"
some "another figure is found" "$(unknown "$work/readme.md" | grep '^| linking SQLite')"
