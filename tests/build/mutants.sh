# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The mistakes that slow tests make on purpose (tests/*/support/*.mutants) can still be made: each expression changes
# one file. Otherwise it would be noticed only when all of them run, which takes an hour.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# texts: prints the files that sed is given, changed, each after its name; of all files in one process
texts() { sed -s "1F;$1" "${@:2}"; }

# check LIST FILE...: the expression is the last column
check() {
    local list=$1 line changed wrong=0 count=0
    shift
    texts '' "$@" >"$work/was" || exit 1
    while IFS= read -r line; do
        [[ $line != \#* && -n $line ]] || continue
        changed=$(texts "${line##*$'\t'}" "$@" | awk '
            FNR == 1 { second = NR > 1 }
            /^(src|tests)\/[a-z_\/0-9]*\.[ch]$/ { file = $0; next }
            !second { was[file] = was[file] $0 "\n"; next }
            { now[file] = now[file] $0 "\n" }
            END { for (file in was) count += was[file] != now[file]; print count + 0 }' "$work/was" -)
        count=$((count + 1))
        [ "$changed" = 1 ] && continue
        echo "not ok build/mutants ${line%$'\t'*}: it changes $changed files"
        wrong=1
    done <"$list"
    [ "$count" != 0 ] || wrong=1
    [ "$wrong" != 0 ] || echo "ok build/mutants $list"
}

check tests/gc/support/collector.mutants src/gc/*/*.[ch] tests/gc/copying/*.c
check tests/image/support/heap.mutants src/image/save/*.c src/image/heap/*.c src/image/write/saved.c \
    src/base/os_linux.c src/base/os_linux_replace.c src/gc/collect/permanent.c
check tests/image/support/recompile.mutants src/image/load/*.c
