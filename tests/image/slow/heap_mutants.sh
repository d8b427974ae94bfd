# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Mistakes in saving and opening objects, one at a time (support/heap.mutants): with each, one of the tests below must
# fail. The changed file is linked before the archive, so it takes the place of the archive's member.
#
# time limit: 1800

: "${BUILD:=build}" "${CC:=gcc}"
out=$BUILD/tests/image/heap_mutants
rm -rf "$out" && mkdir -p "$out" || exit 1
compile="$CC -std=c11 -O1 -w -fPIC -D_GNU_SOURCE -Iinclude -Isrc -Itests/image/support -Itests/gc/copying"
tests="image/heap/open image/heap/needs image/heap/damaged image/heap/unique image/heap/patches image/heap/same
    image/heap/depends image/heap/code image/save/save image/save/rebase image/save/graphs base/os"
parts="image/support/saved image/support/graph image/support/zones image/support/with_code
    gc/copying/copy gc/copying/copying gc/copying/space" objects=()

for test in $tests; do
    $compile -c "tests/$test.c" -o "$out/${test##*/}.o" || exit 1
done
for part in $parts; do
    $compile -c "tests/$part.c" -o "$out/${part##*/}.o" || exit 1
    objects+=("$out/${part##*/}.o")
done

# link [OBJECT]: all programs, with that object in place of the archive's member
link() {
    local test
    for test in $tests; do
        "$CC" "$out/${test##*/}.o" "${objects[@]}" "$@" "$BUILD/libtenon.a" \
            -lcmocka -lpthread -o "$out/${test##*/}" || return
    done
}

# The first program that fails.
finder() {
    local test
    for test in $tests; do
        GRAPHS=1:12 timeout 60 "$out/${test##*/}" >"$out/got" 2>&1 || { echo "${test##*/}"; return; }
    done
}

link || exit 1
found=$(finder 2>/dev/null)
[ -z "$found" ] || { echo "not ok image/heap_mutants: nothing is wrong, and it fails in $found"; exit 1; }

while IFS=$'\t' read -r what change; do
    [[ $what == \#* || -z $change ]] && continue
    name="heap mutant: $what" changed=
    for file in src/image/save/*.c src/image/heap/*.c src/image/write/saved.c src/base/os_linux.c \
        src/base/os_linux_replace.c src/gc/collect/permanent.c; do
        sed "$change" "$file" >"$out/mutant.c"
        cmp -s "$file" "$out/mutant.c" || { changed=$file; break; }
    done
    if [ -z "$changed" ]; then
        echo "not ok $name: no file changes"
    elif ! { $compile -iquote "${changed%/*}" -c "$out/mutant.c" -o "$out/mutant.o" &&
        link "$out/mutant.o"; } 2>"$out/got"; then
        echo "not ok $name: $changed does not compile: $(head -1 "$out/got")"
    else
        found=$(finder 2>/dev/null)
        [ -n "$found" ] && echo "ok $name" || echo "not ok $name: no test finds it"
    fi
done <tests/image/support/heap.mutants
rm -f /tmp/tenon-saved-* /tmp/tenon-graph-*
