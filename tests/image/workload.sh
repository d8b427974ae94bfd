# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# An image of what a workload was seen to need. tests/codegen/image/image.c shows that the same workload compiles
# nothing on it.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$PWD/$BUILD/tenon runtime=$PWD/$BUILD/libtenon.a
unset TENON_TRACE_COMPILE TENON_CPU TENON_CPU_TARGET

"$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Wall -Wextra -Werror -emit-llvm -c tests/image/source/calc.c \
    -o "$work/calc.bc" || exit 1
"$CC" -Wall -Wextra -Werror -Iinclude -O2 -c tests/image/source/open.c -o "$work/open.o" || exit 1
cd "$work" || exit 1
mkdir tmp
export TMPDIR=$work/tmp
build() { "$tenon" build --targets 'x86-64;x86-64-v3' "$@"; }
jit="$tenon run --lazy calc.bc --"

build --workload "$jit sum 3 4 5" --workload "$jit sum 1" -o image.a calc.bc >out 2>said
some "the workload runs" "$(grep -x 'sum 12' said)"
some "and the second one" "$(grep -x 'sum 1' said)"
none "what it prints is not mixed with the output" "$(cat out)"
none "nothing is amiss" "$(grep -v '^sum' said)"
names() { "$LLVM_BIN/llvm-nm" --defined-only --extern-only -j "$1" 2>/dev/null | grep -xE 'main|sum|spread|product' |
    tr '\n' ' '; }
equal() { if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: '$2', not '$3'"; fi; }
equal "what was compiled is public" "$(names image.a)" "main sum "

TENON_TRACE_COMPILE=first $jit sum 3 4 5 >/dev/null
equal "with a just-in-time compiler it compiles" "$(grep -c '^precompile("\(main\|sum\)")' first)" 2
succeeds "a program without one" "$CC" -static open.o image.a "$runtime" -o program
equal "says the same" "$(./program sum 3 4 5)" "sum 12"
equal "and what the workload did not do, since main leads to it" "$(./program spread 3 4 9)" "spread 6"

# A trace may be used later, and with more besides; local functions in it come with the public ones.
TENON_TRACE_COMPILE=trace $jit spread 3 4 9 >/dev/null
some "local functions are traced" "$(grep largest trace)"
build --trace trace --root product -o more.a calc.bc 2>said
none "and not missed" "$(cat said)"
equal "with another root" "$(names more.a)" "main product spread "

# Functions that have signatures are found by them: a front end may choose other names the next time.
cat >first.ll <<'END'
define i32 @main() {
  %a = call i32 @add_1(i32 1)
  ret i32 0
}
define i32 @add_1(i32 %x) noinline "tenon.signature"="add(Int32, \22a\22)" {
  ret i32 %x
}
define double @add_2(double %x) noinline "tenon.signature"="add(Float64)" {
  ret double %x
}
define i32 @add_3(i32 %x) {
  ret i32 %x
}
END
sed 's/add_1/add_9/; s/add_2/add_1/; s/add_9/add_2/' first.ll >second.ll
TENON_TRACE_COMPILE=signatures "$tenon" run --lazy first.ll
some "a trace has signatures" "$(grep -F 'precompile("add_1", "add(Int32, \"a\")") #' signatures)"
added() {
    "$LLVM_BIN/llvm-nm" --defined-only --extern-only -j "$1" 2>/dev/null | grep -xE '(new_)?add_[0-9]' | tr '\n' ' '
}
build --trace signatures -o first.a first.ll
equal "the same names" "$(added first.a)" "add_1 "
build --trace signatures -o second.a second.ll
equal "the name of another function" "$(added second.a)" "add_2 "
sed 's/add_[12]/new_&/' first.ll >third.ll
build --trace signatures -o third.a third.ll 2>said
equal "another name" "$(added third.a)" "new_add_1 "
none "of which nothing is missed" "$(cat said)"
sed 's/ "tenon.signature"="[^"]*"//' first.ll >none.ll
build --trace signatures -o none.a none.ll
equal "without signatures, names count" "$(added none.a)" "add_1 "
printf 'precompile("add_3", "add(Float64)")\n' >other
build --trace other -o other.a first.ll
equal "a signature counts more than a name" "$(added other.a)" "add_2 "
printf 'precompile("add_3", "cut)' >cut
some "a signature that is cut" "$(build --trace cut -o cut.a first.ll 2>&1 | grep "'cut', line 1: not a line of")"

# refused NAME TEXT ARGUMENT...
script -qec "'$tenon' build --workload 'sleep 1.3; echo its own' -o none.a --root main calc.bc" /dev/null </dev/null \
    >terminal 2>&1
none "a workload has the terminal for itself" "$(tr -d '\r' <terminal | sed '/its own/q' | grep -v -x 'its own')"

mkdir away
build_relative() { TMPDIR=tmp "$tenon" build -o relative.a --workload \
    "cd away && $tenon run --lazy ../calc.bc -- sum 1" calc.bc; }
build_relative >out 2>said
equal "a workload may go elsewhere" "$(names relative.a)" "main sum "

refused() {
    local name=$1 text=$2
    shift 2
    build -o refused.a "$@" 2>said
    if [ ! -e refused.a ] && grep -qF "$text" said; then
        echo "ok $name"
    else
        echo "not ok $name: $(head -n 3 said)"
    fi
}
refused "a workload that fails" "ended with status 2" --workload "$jit sum" calc.bc
refused "one that is not there" "ended with status 127" --workload ./nothing calc.bc
refused "one that is killed" "ended by signal 9" --workload 'kill -9 $$' calc.bc
refused "one that is interrupted, as tenon is" "ended by signal 2" --workload 'kill -INT $PPID $$; sleep 9' calc.bc
refused "one that compiles nothing" "the trace names no function" --workload true calc.bc
refused "shards by workload" "let the workload run with TENON_TRACE_COMPILE=FILE" --workload true --shard 0 calc.bc
refused "a build file by workload" "let the workload run with TENON_TRACE_COMPILE=FILE" --workload true --ninja x \
    calc.bc
printf 'precompile("\\"odd\\\\\\377name\n' >cut
refused "a trace that is cut" "'cut', line 1: not a line of a compile trace" --trace cut calc.bc
printf 'precompile("a\\"b\\\\101\\101") # 1 ms, -O2\n' >odd
build --trace odd --trace odd -o odd.a calc.bc 2>said
some "names are read as they were written" "$(grep -F "'a\"b\\101A' of the trace is not in the input" said)"
equal "and said once" "$(grep -c 'is not in the input' said)" 1
none "nothing stays behind" "$(ls tmp)"
