# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# time limit: 600
#
# Executables that are written without a linker: they run, also stripped and where nothing else is, and other tools
# understand them.

. tests/build/check
. tests/image/alone

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tenon=$BUILD/tenon
source=tests/image/source
targets='x86-64;x86-64-v2;x86-64-v3'
headers=$(musl-gcc -### -xc /dev/null 2>&1 | grep -o '[^ ]*/include/[^ ]*musl[^ ]*' | head -n 1)

# Programs have musl, so they are compiled with its headers.
ir() {
    "$LLVM_BIN/clang" --target=x86_64-linux-musl -nostdlibinc -isystem "$headers" -Iinclude -O1 -Xclang \
        -disable-llvm-passes \
        -emit-llvm -c "$@"
}
exe() { "$tenon" build --kind=exe "$@"; }

# says NAME STATUS EXPECTED COMMAND...
says() {
    local name=$1 status=$2 expected=$3 said
    shift 3
    said=$("$@" 2>&1)
    local was=$?
    if [ "$was $said" = "$status $expected" ]; then echo "ok $name"; else echo "not ok $name: status $was: $said"; fi
}

# at_most NAME LIMIT FILE
at_most() {
    local size=$(stat -c %s "$3")
    if [ "$size" -le "$2" ]; then echo "ok $1 ($size bytes, limit $2)"; else echo "not ok $1: $size bytes, limit $2"; fi
}

# ---- a program with everything in it ----

export VARIABLE=value
everything=$'done\nended'
ir -g $source/alone.c -o "$work/alone.bc" || exit 1
succeeds "it is written" exe --targets "$targets" -o "$work/alone" "$work/alone.bc"
says "it runs" 3 "$everything" "$work/alone" argument
exe --targets "$targets" --threads 3 -o "$work/again" "$work/alone.bc"
succeeds "it is the same every time" cmp "$work/alone" "$work/again"
for way in strip 'strip -g' "$LLVM_BIN/llvm-strip" eu-strip; do
    cp "$work/alone" "$work/stripped"
    $way "$work/stripped" 2>"$work/log" || echo "not ok ${way##*/}: $(cat "$work/log")"
    says "it runs after ${way##*/}" 3 "$everything" "$work/stripped" argument
done
if command -v qemu-x86_64 >/dev/null; then
    says "it runs on an emulated CPU" 3 "$everything" qemu-x86_64 -cpu qemu64 "$work/alone" argument
fi
none "readelf has no complaint" "$(readelf --all --wide "$work/alone" 2>&1 >/dev/null)"
# What elfutils 0.188 does not know: RELR, notes of others.
none "nor has elflint" "$(eu-elflint --gnu-ld "$work/alone" 2>&1 | grep -v -e "'.relr.dyn' has wrong type" \
    -e "unknown object file note type 1 with owner name 'Tenon'" -e '^No errors$')"
some "tenon inspect knows it" "$("$tenon" inspect "$work/alone" | grep 'targets: ')"
none "nothing is writable and executable" "$(readelf --wide --segments "$work/alone" | grep 'RWE')"
some "it may lie anywhere" "$(readelf --wide --file-header "$work/alone" | grep 'DYN (Position-Independent')"

# ---- debuggers ----

gdb --batch --ex 'break add' --ex run --ex backtrace --ex 'info symbol printf' --args "$work/alone" argument \
    >"$work/gdb" 2>&1
some "gdb stops at a function" "$(grep 'Breakpoint 1, add (.*alone\.c:[0-9]' "$work/gdb")"
some "and names its callers" "$(grep '#1 .* in main.*alone\.c:[0-9]' "$work/gdb")"
some "and what belongs to the stub" "$(grep '^printf in section' "$work/gdb")"
if perf record -q -o "$work/perf" "$work/alone" busy >/dev/null 2>&1; [ -s "$work/perf" ]; then
    some "perf names functions" "$(perf report -q -i "$work/perf" --stdio --sort symbol 2>/dev/null |
        grep -m 1 '%.* busy')"
else
    echo "ok perf # SKIP perf record does not work here"
fi

# ---- sizes, and where nothing else is ----

cat >"$work/one.c" <<'END'
int printf(const char *, ...);
int main(void) { return printf("one\n") != 4; }
END
ir "$work/one.c" -o "$work/one.bc" && exe -o "$work/one" "$work/one.bc" && strip "$work/one"
says "one function" 0 one "$work/one"
at_most "its size" 220000 "$work/one"
echo one >"$work/expected"
alone "it runs in an empty folder" "$work/expected" "$work/one"

ir examples/collected/words.c -o "$work/words.bc" && exe -o "$work/words" "$work/words.bc" && strip "$work/words"
at_most "size of a collected program" 320000 "$work/words"
"$tenon" run "$work/words.bc" <examples/collected/words.c >"$work/expected"
for stress in 0 1; do
    TENON_GC_STRESS=$stress "$work/words" <examples/collected/words.c >"$work/counted"
    succeeds "collected, stress $stress" cmp "$work/counted" "$work/expected"
done
some "the list is not empty" "$(grep ' word$' "$work/expected")"

# Objects that the compiler made, and destructors of C++.
cat >"$work/noisy.cpp" <<'END'
extern "C" int puts(const char *), from_object(const char *);
struct noisy {
    const char *end;
    noisy(const char *begin, const char *end) : end(end) { from_object(begin); }
    ~noisy() { puts(end); }
};
static noisy one("+one", "-one"), two("+two", "-two");
extern "C" int shared_by_both() { return 7; }
int main() { return shared_by_both(); }
END
echo 'int puts(const char *), shared_by_both(void);
int from_object(const char *s) { return puts(s) + shared_by_both(); }' >"$work/object.c"
"$LLVM_BIN/clang++" --target=x86_64-linux-musl -O1 -Xclang -disable-llvm-passes -fno-exceptions -emit-llvm \
    -c "$work/noisy.cpp" \
    -o "$work/noisy.bc" && "$CC" -O2 -fPIE -c "$work/object.c" -o "$work/object.o" &&
        exe -o "$work/noisy" "$work/noisy.bc" "$work/object.o"
says "C++ and an object" 7 $'+one\n+two\n-two\n-one' "$work/noisy"

cp -r examples/product "$work/product"
if make -s -C "$work/product" alone TENON="$PWD/$tenon" CLANG="$LLVM_BIN/clang" >"$work/plate" 2>"$work/log"; then
    some "the example is built without a linker" "$(sed -n 2p "$work/plate" | grep -F '=*#%%%%%@@@@')"
else
    echo "not ok the example is built without a linker: $(cat "$work/log")"
fi

# ---- what is refused ----

cat >"$work/lacks.c" <<'END'
int frobnicate(void), twiddle(void);
int main(void) { return frobnicate() + twiddle(); }
END
echo before >"$work/lacks"
ir "$work/lacks.c" -o "$work/lacks.bc"
exe -o "$work/lacks" "$work/lacks.bc" 2>"$work/log"
some "what is missing is named" "$(grep -w 'frobnicate' "$work/log" | grep -w twiddle)"
some "with the way out" "$(grep -e '--kind=archive' "$work/log")"
says "the old file stays" 0 before cat "$work/lacks"
echo 'int helper(void) { return 1; }' >"$work/mainless.c"
ir "$work/mainless.c" -o "$work/mainless.bc"
some "a program needs main" "$(exe -o "$work/none" "$work/mainless.bc" 2>&1 | grep "'main'")"
exe --targets x86-64-v3 -o "$work/v3" "$work/one.bc"
if command -v qemu-x86_64 >/dev/null; then
    qemu-x86_64 -cpu qemu64 "$work/v3" >"$work/log" 2>&1
    says "a CPU that no target fits: the status" 126 '' sh -c "exit $?"
    some "a CPU that no target fits: what it lacks" "$(grep 'x86-64-v3) needs: .*avx2' "$work/log")"
fi

# ---- what interrupts it ----

# A file system with less room than the program takes.
mkdir "$work/small"
if unshare --user --map-root-user --mount sh -c "mount -t tmpfs -o size=100k none '$work/small' &&
    ! '$tenon' build --kind=exe -o '$work/small/full' '$work/one.bc' && ls '$work/small'" >"$work/left" \
        2>"$work/log"; then
    some "no room for it is an error" "$(grep 'cannot write .*full.*No space' "$work/log")"
    none "and leaves nothing" "$(cat "$work/left")"
else
    some "no room for it # SKIP: $(head -n 1 "$work/log")" "$(grep -v 'tenon build' "$work/log")"
fi
for delay in 0.01 0.03 0.05 0.1 0.2; do
    timeout -s KILL $delay "$tenon" build --kind=exe -o "$work/one" "$work/alone.bc"
    "$work/one" argument >"$work/log" 2>&1 # either of the two, and whole
    grep -qx -e one -e ended "$work/log" || echo "not ok killed after $delay s: $(cat "$work/log")"
done 2>/dev/null
echo "ok killed at some times"
