# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The mistakes that slow tests make on purpose (tests/*/support/*.mutants) can still be made: each expression changes
# one file. Otherwise it would be noticed only when all of them run, which takes an hour.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check LIST FILE...: the expression is the last column
check() {
    local list=$1 line changed wrong=0 count=0
    shift
    rm -rf "$work/was" "$work/now" && mkdir "$work/was" && cp --parents "$@" "$work/was" || exit 1
    while IFS= read -r line; do
        [[ $line != \#* && -n $line ]] || continue
        rm -rf "$work/now" && cp -r "$work/was" "$work/now"
        (cd "$work/now" && sed -s -i "${line##*$'\t'}" "$@")
        changed=$(diff -rq "$work/was" "$work/now" | wc -l)
        count=$((count + 1))
        [ "$changed" = 1 ] && continue
        echo "not ok build/mutants ${line%$'\t'*}: it changes $changed files"
        wrong=1
    done <"$list"
    [ "$count" != 0 ] || wrong=1
    [ "$wrong" != 0 ] || echo "ok build/mutants $list"
}

check tests/gc/support/collector.mutants src/gc/*/*.[ch]
check tests/image/support/heap.mutants src/image/save/*.c src/image/heap/*.c src/image/write/saved.c \
    src/base/os_linux.c src/base/os_linux_replace.c src/gc/collect/permanent.c
