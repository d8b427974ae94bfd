# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that end early: limits, signals. Each says where.

. tests/dowel/dowel

ends() { "$dowel" "$@" 2>&1; }

cat >"$work/crash.dowel" <<'END'
extern fn raise(number: int): int
fn inner(n: i64): i64 {
    return raise(n)
}
fn outer(n: i64): i64 { return inner(n) + 1 }
print("begins")
print(outer(11))
END
some "a signal is reported" "$({ ends "$work/crash.dowel"; } 2>&1 |
    grep -x 'dowel: the program is ended by a signal: Segmentation fault')"
answers "with lines, from the inside" "  crash.dowel:3: 'inner'
  crash.dowel:5: 'outer'
  crash.dowel:7" bash -c "'$dowel' '$work/crash.dowel' 2>&1 | grep '^  ' | sed 's|  .*/|  |'"
answers "and the signal ends the program" 139 \
    bash -c "exec 2>/dev/null; '$dowel' '$work/crash.dowel' >/dev/null; echo \$?"

cat >"$work/loops.dowel" <<'END'
fn loops(n: i64): i64 {
    let sum = n
    while sum > 0 { sum = sum % 1000 + 1 }
    return sum
}
print(loops(5))
END
answers "a program has as much time as it is given" "dowel: the time is up
1" bash -c "'$dowel' --limit 1s '$work/loops.dowel' 2>&1 | head -n 1; echo \${PIPESTATUS[0]}"
some "the report says where it was" "$(ends --limit 1s "$work/loops.dowel" | grep "loops.dowel:3: 'loops'")"

cat >"$work/grows.dowel" <<'END'
struct list { next: list, room: [i64] }
fn grow(n: i64): i64 {
    let all: list = null
    for i in 0..n { all = list(all, array(1000, 0)) }
    return len(all.room)
}
print(grow(1000))
print(grow(1000000))
END
some "and as much memory" "$(ends --limit 64M "$work/grows.dowel" | grep '^dowel: out of memory')"
some "what needs less runs" "$(ends --limit 64M "$work/grows.dowel" | head -n 1 | grep -x 1000)"
for limit in 0s s 5 5x 5sM -1s 99999999s ''; do
    some "'$limit' is no limit" "$(ends --limit "$limit" "$work/loops.dowel" | grep '^usage: ')"
done
