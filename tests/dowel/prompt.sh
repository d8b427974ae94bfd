# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The prompt: values, mistakes, functions that are defined again under their callers, and what code and heap look like.

. tests/dowel/dowel

says() { "$dowel" 2>&1; }

answers "values are shown, and mistakes change nothing" "3
ab
prompt:1:1: there is no 'y'
10
[i64]" says <<'END'
1 + 2
"a" + "b"
y
let x = 5
x * 2
[1, 2]
END

answers "functions are defined again under their callers" "20
1010
prompt:1:4: 'f' is fn(i64): i64: its callers would not fit
1010" says <<'END'
fn f(n: i64): i64 { return n + 1 }
fn g(n: i64): i64 { return f(n) * 10 }
g(1)
fn f(n: i64): i64 { return n + 100 }
g(1)
fn f(n: double): i64 { return 1 }
g(1)
END

answers "what is made stays when its function is replaced" "old 3
new 3" says <<'END'
fn make(): fn(i64): string {
    let s = "old "
    return fn(n: i64): string { return s + text(n) }
}
let first = make()
fn make(): fn(i64): string {
    let s = "new "
    return fn(n: i64): string { return s + text(n) }
}
first(3)
make()(3)
END

answers "an error at the prompt is no end" "prompt:1: there is no element 9 of 1
4" says <<'END'
[1][9]
2 + 2
END

answers "a mistake is in its line" "prompt:3:12: there is no 'x'" says <<'END'
fn f(): i64 {
    let n = 1
    return x
}
END

answers "what follows a mistake in an extern line is no C" "prompt:1:16: there is no type 'nope'
prompt:1:8: an int is for C functions: write i64" says <<'END'
extern fn f(x: nope): i64
let x: int = 1
END

answers "a variable without a value can be given one" "prompt:1: there is no element 9 of 1
prompt:1: 's' has no value yet
x" says <<'END'
let s = text([1][9])
s
s = "x"
s
END

some ":ir shows code" "$(printf '%s\n' 'fn f(n: i64): i64 { return n + 1 }' ':ir f' | says | grep 'add i64')"
some ":asm shows code" "$(printf '%s\n' 'fn f(n: i64): i64 { return n + 1 }' ':asm f' | says | grep 'ret')"
some ":ir knows functions by their own names" "$(printf '%s\n' 'fn main(): i64 { return 7 }' ':ir main' | says |
    grep '^define .*i64 @"*main')"
none "and shows no others" "$(printf '%s\n' 'fn g(): i64 { return 7 }' 'fn f(): i64 { return g() }' ':ir f' ':asm f' |
    says | grep 'dowel\.')"
some ":gc shows the heap" "$(echo ':gc' | says | grep '1 collections')"
some ":time shows a time" "$(echo ':time 1 + 1' | says | grep ' ms$')"
answers "also of several lines" "2
3" bash -c "printf '%s\n' ':time for i in 2..4 {' '    print(i)' '}' | '$dowel' 2>&1 | grep -v ' ms$'"
answers "functions are compiled when they are called" "f: tier 0 (-O0), at least 0 calls
g: not compiled" says <<'END'
fn f(): i64 { return 1 }
fn g(): i64 { return 2 }
let x = f()
:tier f
:tier g
END
answers "lines that were typed, also in the session before" "they come back" \
    env HOME="$work" python3 tests/dowel/history.py "$dowel"
# They are compiled beside the program, so the prompt is asked until they have been.
second_tier() {
    local asked line
    coproc says
    printf '%s\n' 'fn fib(n: i64): i64 {' 'if n < 2 { return n }' 'return fib(n - 1) + fib(n - 2)' '}' >&"${COPROC[1]}"
    asked=$'fib(20)\n:tier fib\n'
    printf %s "$asked" >&"${COPROC[1]}"
    while read -r line <&"${COPROC[0]}"; do
        case $line in
        "fib: tier 1 (-O2)"*) break ;;
        "fib: tier 0"*) printf %s "$asked" >&"${COPROC[1]}" ;;
        esac
    done
    echo "$line"
    exec {COPROC[1]}>&-
}
some "functions that are called often reach the second tier" "$(second_tier | grep 'fib: tier 1 (-O2)')"
some "a full stack is reported with the function" "$(says <<'END' | grep "the stack is full in 'deep"
fn deep(n: i64): string { return deep(n + 1) + text(n) }
deep(0)
END
)"

if command -v gdb >/dev/null; then
    cat >"$work/lines.dowel" <<'END'
fn inner(n: i64): i64 {
    let m = n + 1
    return m * 2
}
fn outer(n: i64): i64 { return inner(n) + 1 }
print(outer(20))
END
    gdb -q -batch -ex "set breakpoint pending on" -ex "break lines.dowel:3" -ex run -ex bt \
        --args "$dowel" --gdb "$work/lines.dowel" >"$work/gdb" 2>&1
    some "gdb stops at a line" "$(grep -x '3.*return m \* 2' "$work/gdb")"
    some "and shows the frames" "$(grep 'outer () at .*lines.dowel:5' "$work/gdb")"
else
    echo "ok gdb # SKIP there is no gdb"
fi

mkdir -m 700 "$work/cache" "$work/perf"
program='fn half(n: i64): i64 { return n / 2 }
half(42)
:tier half'
answers "without a cache, code is compiled" "21
half: tier 0 (-O0), at least 0 calls" bash -c "echo '$program' | '$dowel' --cache '$work/cache'"
answers "the next time it comes from there" "21
half: tier 0 (-O0), at least 0 calls, from the cache" bash -c "echo '$program' | '$dowel' --cache '$work/cache'"
answers "perf gets functions" 21 bash -c "echo '${program%:*}' | '$dowel' --perf '$work/perf'"
some "by their names, with their lines" "$(strings "$work"/perf/jit-*.dump | grep -x 'dowel\.half[$.@a-z0-9]*')"
some "and files" "$(strings "$work"/perf/jit-*.dump | grep -x '.*prompt')"
