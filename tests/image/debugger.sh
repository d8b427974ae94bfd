# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What gdb sees of a file that tn_image_open has loaded: a breakpoint by name that is set before, a backtrace through
# the host and the file, lines and variables; nothing any more once it is closed.

. tests/build/check

if ! command -v gdb >/dev/null; then
    echo "ok gdb # SKIP gdb is not installed"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=tests/image/source

"$LLVM_BIN/clang" -g -O1 -Xclang -disable-llvm-passes -emit-llvm -c $source/debugged_part.c -o "$work/part.bc" || exit 1
build() { "$BUILD/tenon" build --targets 'x86-64;x86-64-v3' "$@" "$work/part.bc"; }
build --kind=shared -o "$work/shared" && build --kind=image -o "$work/image" && build -o "$work/part.a" &&
    "$CC" -shared -Wl,--whole-archive "$work/part.a" -Wl,--no-whole-archive -o "$work/system" &&
    strip "$work/shared" -o "$work/stripped" && objcopy --only-keep-debug "$work/shared" "$work/debug" || exit 1

cat >"$work/script" <<'END'
set debuginfod enabled off
set breakpoint pending on
set width 0
break inner
run
backtrace
list inner
print value
print shared_counter
break called_back
continue
backtrace
tbreak closed
delete 1
continue
echo -- closed\n
info line inner
END

# debug NAME HOST FILE FILE-FOR-GDB
debug() {
    gdb -q --batch -x "$work/script" --args "$2" "$3" "$4" >"$work/said" 2>&1 </dev/null
    some "$1: a breakpoint by name" "$(grep 'Breakpoint 1, inner (value=3) at .*debugged_part.c:[0-9]' "$work/said")"
    some "$1: its callers" "$(grep -A2 '^#0 .* inner (' "$work/said" | tr '\n' ' ' |
        grep '#1 .* in run (value=3) at .*debugged_part.c:[0-9]* #2 .* main (')"
    some "$1: lines" "$(grep '^[0-9]*.*static int inner(int value)' "$work/said")"
    some "$1: variables" "$(grep -A1 ' = 3$' "$work/said" | grep ' = 8$')"
    some "$1: callers of what it calls" "$(grep -A4 '^#0 .* called_back ()' "$work/said" | tr '\n' ' ' |
        grep '#1 .* in inner .*#2 .* in run .*#3 .* in main ')"
    some "$1: nothing once it is closed" "$(sed '1,/^-- closed/d' "$work/said" | grep '"inner" not defined')"
}

for way in '' -static; do
    "$CC" -Wall -Wextra -Werror -g -O1 -Iinclude $way $source/debugged.c "$BUILD/libtenon.a" -o "$work/host" || exit 1
    for file in shared image system; do
        debug "$file${way:+, $way}" "$work/host" "$work/$file" "$work/$file"
    done
done
debug "stripped, shown as it was before" "$work/host" "$work/stripped" "$work/shared"
debug "stripped, with its debug data elsewhere" "$work/host" "$work/stripped" "$work/debug"
"$work/host" "$work/shared" "$work/part.a" >"$work/said"
some "what has no sections is refused" "$(grep 'no ELF file with sections' "$work/said")"

# A debugger that comes later.
mkfifo "$work/line"
"$work/host" "$work/shared" "$work/shared" <"$work/line" >"$work/called" &
exec 9>"$work/line"
while kill -0 $! 2>/dev/null && ! grep -q 'called back' "$work/called"; do sleep 0.05; done
gdb -q --batch --ex 'set debuginfod enabled off' --ex 'set width 0' --ex backtrace -p $! >"$work/said" 2>&1 </dev/null
echo >&9
wait $!
if grep -q 'Operation not permitted' "$work/said"; then
    echo "ok a debugger that comes later # SKIP it may not attach here"
else
    some "a debugger that comes later" "$(tr '\n' ' ' <"$work/said" |
        grep ' in inner (.*debugged_part.c:[0-9]* #[0-9]* .* in run .* in main ')"
fi

# A program as it is shipped.
strip --keep-symbol=__jit_debug_register_code --keep-symbol=__jit_debug_descriptor "$work/host" -o "$work/small"
gdb -q --batch -x "$work/script" --args "$work/small" "$work/shared" "$work/shared" >"$work/said" 2>&1 </dev/null
some "a stripped program" "$(grep 'Breakpoint 1, inner (value=3) at .*debugged_part.c:[0-9]' "$work/said")"
sed '/observe_gdb/s/ || tn_image_observe_gdb[^)]*)//' $source/debugged.c >"$work/without.c"
"$CC" -Iinclude -static "$work/without.c" "$BUILD/libtenon.a" -o "$work/without" || exit 1
none "a program that shows nothing has no interface" "$(nm "$work/without" | grep -E 'jit_|image_shown')"
