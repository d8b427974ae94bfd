# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Executables of dowel: what global variables led to is there, objects and closures can be used and changed, and nothing
# of the compiler is.

. tests/dowel/dowel

if [ "$(uname -m)" != x86_64 ]; then
    echo "ok dowel build # SKIP executables are for x86-64"
    exit 0
fi
cat >"$work/heap.dowel" <<'END'
struct tree { left: tree, right: tree, value: i64 }
fn make(depth: i64, value: i64): tree {
    if depth == 0 { return null }
    return tree(make(depth - 1, value * 2), make(depth - 1, value * 2 + 1), value)
}
fn sum(t: tree): i64 {
    if t == null { return 0 }
    return t.value + sum(t.left) + sum(t.right)
}
let t = make(10, 1)
let n = 42
let half = 0.5
let yes = true
let s = "kept"
let eight = "12345678"
let sixteen = [eight + eight]
let a = [1, 2, 3]
let empty: tree = null
let add = fn(x: i64): i64 { return x + len(s) }
print("made")
fn main() {
    print(text(sum(t)) + " " + text(n) + " " + text(half) + " " + text(yes) + " " + s)
    a[1] = 20
    print(a[0] + a[1])
    print(empty == null)
    print(add(3))
    t.left = make(3, 5)
    for i in 0..1000 { make(5, i) }
    print(sum(t))
    print(eight + " " + text(len(eight)))
    print(eight)
    print(sixteen[0])
    print(a[3])
}
END
answers "it is built, and only what is beside functions runs" "made" "$dowel" build "$work/heap.dowel" -o "$work/heap"
expected="523776 42 0.5 true kept
21
true
7
305691
12345678 8
12345678
1234567812345678
$work/heap.dowel:33: there is no element 3 of 3"
answers "the executable has its heap" "$expected" "$work/heap"
answers "under stress too" "$expected" env TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$work/heap"
answers "where there is nothing else" "$expected" env -i "$work/heap"
answers "the same as without building" "made
$expected" "$dowel" "$work/heap.dowel"
none "nothing of LLVM is in it" "$(strings "$work/heap" | grep -i 'llvm\.memcpy')"

echo 'fn main() { print("hello") }' >"$work/hello.dowel"
succeeds "hello is built" "$dowel" build "$work/hello.dowel" -o "$work/hello"
answers "it runs" "hello" "$work/hello"
succeeds "it is within 600 KB" test "$(stat -c %s "$work/hello")" -le 600000
answers "it has code for three CPUs" "x86-64
x86-64-v3
x86-64-v4" bash -c "'$BUILD/tenon' inspect '$work/hello' | grep -o '^ *[0-9] x86-64[^,]*' | sed 's/.* //'"

cat >"$work/sin.dowel" <<'END'
extern fn sin(x: double): double
fn main() { print(sin(0.5)) }
END
succeeds "what calls libm is built" "$dowel" build "$work/sin.dowel" -o "$work/sin"
answers "and runs" "0.479425538604203" "$work/sin"

echo 'print(1)' >"$work/none.dowel"
some "without a main it says so" "$("$dowel" build "$work/none.dowel" -o "$work/none" 2>&1 |
    grep "none.dowel:1:1: there is no function 'main'")"
some "a file that cannot be written is an error" "$("$dowel" build "$work/hello.dowel" -o "$work/no/where" 2>&1 |
    grep 'cannot be written')"

# Memory that is out while the executable is made: an allocation of the one size that a name as long as this has.
name=$(printf 'n%.0s' {1..200})
cat >"$work/no_memory.c" <<'END'
#include <stddef.h>
void *__libc_calloc(size_t count, size_t size);
void *calloc(size_t count, size_t size)
{
    return size == sizeof(void *) * 2 + sizeof "object...1" + 200 ? NULL : __libc_calloc(count, size);
}
END
succeeds "an allocator without memory is built" "$CC" -shared -fPIC "$work/no_memory.c" -o "$work/no_memory.so"
printf 'let %s = "x"\nfn main() { print(%s) }\n' "$name" "$name" >"$work/long.dowel"
answers "with it, there is no executable" "dowel: out of memory" \
    env LD_PRELOAD="$work/no_memory.so" "$dowel" build "$work/long.dowel" -o "$work/long"

for i in {1..1001}; do echo "let v$i = \"x$i\""; done >"$work/many.dowel"
echo 'fn main() { print(v1 + v1001) }' >>"$work/many.dowel"
succeeds "many objects are built" "$dowel" build "$work/many.dowel" -o "$work/many"
answers "and are there" "x1x1001" "$work/many"
