# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What scripts share that run a program twice: what it prints, and its status, have to be the same.

# Runs a command (standard input passes through) and leaves output, errors and status in files that begin with $1.
record() {
    local stem=$1
    shift
    "$@" >"$stem.out" 2>"$stem.err"
    echo $? >"$stem.status"
}

# One check: do two records agree? $1 name, $2 record of the ordinary program, $3 of what Tenon made of it.
same() {
    local part
    if [ ! -s "$2.out" ]; then
        echo "not ok $1: the ordinary program printed nothing: $(head -1 "$2.err")"
        return
    fi
    for part in err status out; do
        cmp -s "$2.$part" "$3.$part" && continue
        echo "not ok $1: $part differs: $(diff "$2.$part" "$3.$part" | grep -a '^[<>]' | head -4 | tr '\n' ' ')"
        return
    done
    echo "ok $1"
}
