# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Packages of dowel: functions of an image have the types that its file gave them, and share the heap, errors, closures
# and strings of the program that imports them. A package is built again without its users.

. tests/dowel/dowel

if [ "$(uname -m)" != x86_64 ]; then
    echo "ok dowel package # SKIP its targets are for x86-64"
    exit 0
fi
cat >"$work/shapes.dowel" <<'END'
extern fn sqrt(x: double): double
struct point { x: double, y: double }
struct path { at: point, next: path }
fn distance(a: point, b: point): double {
    let dx = a.x - b.x
    let dy = a.y - b.y
    return sqrt(dx * dx + dy * dy)
}
fn line(count: i64): path {
    let all: path = null
    for i in 0..count { all = path(point(double(i), 0.0), all) }
    return all
}
fn each(p: path, f: fn(point): double): double {
    let sum = 0.0
    while p != null {
        sum = sum + f(p.at)
        p = p.next
    }
    return sum
}
fn risky(n: i64): i64 { return [1, 2][n] }
fn names(): [string: i64] {
    let m = [string: i64]
    m["one"] = 1
    return m
}
fn hello() { print("hello from a package") }
END
cat >"$work/use.dowel" <<'END'
import "shapes.image"
print(distance(point(0.0, 0.0), point(3.0, 4.0)))
let scale = 2.0
print(each(line(1000), fn(p: point): double { return p.x * scale }))
try { risky(5) } catch e { print("caught: " + e) }
print(names()["one"])
hello()
fn main() { print(distance(line(3).at, line(1).at)) }
END
succeeds "a package is built" "$dowel" package "$work/shapes.dowel" -o "$work/shapes.image"
expected="5
999000
caught: there is no element 5 of 2
1
hello from a package
2"
answers "a program uses it" "$expected" env -C "$work" "$dowel" use.dowel
answers "under stress too" "$expected" env -C "$work" TENON_GC_STRESS=1 TENON_GC_VERIFY=1 "$dowel" use.dowel
answers "it has code for three CPUs" "x86-64
x86-64-v3
x86-64-v4" bash -c "'$BUILD/tenon' inspect '$work/shapes.image' | grep -o '^ *[0-9] x86-64[^,]*' | sed 's/.* //'"
sed -i 's/hello from a package/hello again/' "$work/shapes.dowel"
succeeds "it is built again" "$dowel" package "$work/shapes.dowel" -o "$work/shapes.image"
some "and its users see that" "$(env -C "$work" "$dowel" use.dowel | grep -x 'hello again')"
answers "a prompt imports it, too" "5
prompt:1:10: this is i64, and point is wanted" bash -c "cd '$work' && printf '%s\n' 'import \"shapes.image\"' \
    'distance(point(0.0, 3.0), point(4.0, 0.0))' 'distance(1, 2)' | '$dowel' 2>&1"
answers "where functions of packages are not replaced" "prompt:1:4: 'hello' is a function of a package
hello again" bash -c "cd '$work' && printf '%s\n' 'import \"shapes.image\"' 'fn hello() { }' 'hello()' | '$dowel' 2>&1"

# refuses NAME TEXT MESSAGE: a program.
refuses() {
    printf '%s\n' "$2" >"$work/refused.dowel"
    answers "$1" "$3" bash -c "cd '$work' && '$dowel' refused.dowel 2>&1"
}
refuses "a type of the same name is an error" 'import "shapes.image"
struct point { z: i64 }' "refused.dowel:2:8: there is a type 'point' already"
refuses "so is a function" 'import "shapes.image"
fn hello() { }' "refused.dowel:2:4: there are two 'hello'"
refuses "a file that is not there" 'import "none.image"' \
    "refused.dowel:1:20: none.image: cannot be opened: No such file or directory"
echo 'define void @f() { ret void }' >"$work/other.ll"
"$BUILD/tenon" build --kind=image -o "$work/other.image" "$work/other.ll"
refuses "another image" 'import "other.image"' "refused.dowel:1:21: 'other.image' is no package of dowel"
answers "a program that imports is not built" "use.dowel:1:22: executables cannot import packages" \
    bash -c "cd '$work' && '$dowel' build use.dowel -o use 2>&1 >/dev/null"
echo 'print(1)' >"$work/line.dowel"
answers "statements are not in packages" "1
dowel: a package has structs and functions only" \
    bash -c "'$dowel' package '$work/line.dowel' -o '$work/line.image' 2>&1"
echo 'let x = 1' >"$work/global.dowel"
answers "global variables are not in packages" "dowel: a package has structs and functions only" \
    bash -c "'$dowel' package '$work/global.dowel' -o '$work/global.image' 2>&1"
