# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Mistakes in compiling stale functions again, one at a time (support/recompile.mutants): with each,
# tests/codegen/image/recompile.c must fail. The changed file is linked before the archive, so it takes the place of the
# archive's member.
#
# time limit: 1800

: "${BUILD:=build}" "${CC:=gcc}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
export PKG_CONFIG_PATH=$PWD/$BUILD/pkgconfig
out=$BUILD/tests/image/recompile_mutants
rm -rf "$out" && mkdir -p "$out" || exit 1
compile="$CC -std=c11 -O1 -w -fPIC -D_GNU_SOURCE -Iinclude -Isrc -Itests/codegen/support \
    -isystem $("$LLVM_BIN/llvm-config" --includedir)"
test=tests/codegen/image/recompile.c

objects=("$out/test.o")
$compile -c $test -o "$out/test.o" || exit 1
for file in support base_image; do
    $compile -c tests/codegen/support/$file.c -o "$out/$file.o" && objects+=("$out/$file.o") || exit 1
done

# link [OBJECT]: the program, with that object in place of the archive's member
link() {
    "$CC" "${objects[@]}" "$@" $(pkg-config --libs tenon-codegen) -lcmocka -pthread -lm -o "$out/test"
}
passes() { timeout 120 "$out/test" >"$out/got" 2>&1; }

link || exit 1
passes || { echo "not ok image/recompile_mutants: nothing is wrong, and it fails"; exit 1; }

while IFS=$'\t' read -r what change; do
    [[ $what == \#* || -z $change ]] && continue
    name="recompile mutant: $what" changed=
    for file in src/image/load/*.c; do
        sed "$change" "$file" >"$out/mutant.c"
        cmp -s "$file" "$out/mutant.c" || { changed=$file; break; }
    done
    if [ -z "$changed" ]; then
        echo "not ok $name: no file changes"
    elif ! { $compile -iquote "${changed%/*}" -c "$out/mutant.c" -o "$out/mutant.o" &&
        link "$out/mutant.o"; } 2>"$out/got"; then
        echo "not ok $name: $changed does not compile: $(head -1 "$out/got")"
    else
        passes && echo "not ok $name: the test does not find it" || echo "ok $name"
    fi
done <tests/image/support/recompile.mutants
