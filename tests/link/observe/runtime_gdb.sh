# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What gdb sees of loaded code: a breakpoint by name that is set before anything is loaded, a backtrace from the host
# through loaded frames to the host, source lines and variables; nothing after the code was removed.

. tests/build/check

if ! command -v gdb >/dev/null; then
    echo "ok gdb # SKIP gdb is not installed"
    exit 0
fi

here=tests/link/observe/gdb
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${CC:=gcc}"

# A product as it is shipped: --gc-sections, and stripped except for the two names.
$CC -g -O1 -Iinclude -Wl,--gc-sections $here/host.c "$BUILD/libtenon.a" -o "$work/host" || exit 1
strip --keep-symbol=__jit_debug_register_code --keep-symbol=__jit_debug_descriptor "$work/host" -o "$work/stripped"
some "the interface survives strip" "$(nm "$work/stripped" 2>&1 | grep __jit_debug_descriptor)"
none "nothing else does" "$(nm "$work/stripped" | grep -w main)"
# Nothing of this is in programs that do not ask for it.
$CC -Iinclude -Wl,--gc-sections -x c - -x none "$BUILD/libtenon.a" -o "$work/without" <<'END' || exit 1
#include <tenon.h>
int main(void)
{
    struct tn_session *session;
    return tn_session_create(NULL, &session, NULL);
}
END
none "a program that asks for no debugger has no interface" \
    "$(nm "$work/without" | grep -E 'jit_debug|tn__debug_image')"

cat >"$work/script" <<'END'
set debuginfod enabled off
set breakpoint pending on
set width 0
break inner
run
echo -- at inner\n
backtrace
list
print pair
info symbol inner
x/24i inner
break host_callback
continue
echo -- at host_callback\n
backtrace
finish
delete
tbreak nothing_loaded
continue
echo -- removed\n
END

cat >"$work/again" <<'END'
tbreak inner
continue
echo -- at inner again\n
backtrace 2
END

# in_gdb NAME HOST: runs the scripts; the output is in $work/NAME.log.
in_gdb() {
    gdb -nx -q -batch -x "$work/script" -ex 'info line inner' -x "$work/again" --args "$work/$2" "$work/inner.o" \
        "$work/outer.o" >"$work/$1.log" 2>&1
    sed -n '/^-- removed/,/^Temporary/p' "$work/$1.log" >"$work/$1.removed.log"
}

# says CHECK NAME PATTERN
says() {
    if grep -Eq "$3" "$work/$2.log"; then echo "ok $2: $1"; else none "$2: $1" "$(tail -n 20 "$work/$2.log")"; fi
}

check_lines() { # NAME
    says "a breakpoint set by name before anything was loaded" "$1" \
        '^(Thread.*)?Breakpoint 1, inner \(x=3\) at .*inner\.c:[678]$'
    says "frames with lines, into the host" "$1" '^#1 .* middle \(.*\) at .*outer\.c:1[0-9]$'
    says "the host's frame" "$1" '^#3 .* in load_and_call \('
    says "source lines" "$1" '^7\s+int doubled = host_callback\(x\);$'
    says "stubs by name" "$1" '<abort@stub>$'
    says "variables" "$1" '^\$1 = \{first = 5, second = 6\}$'
    says "from the host back into loaded code" "$1" '^#1 .* inner \(x=.*\) at .*inner\.c:[678]$'
    says "the value that a function returns" "$1" '^Value returned is \$2 = 6$'
    says "nothing once it was removed" "$1.removed" '^(No symbol "inner"|Function "inner" not defined)'
    if [ "$(grep -c '^#0 .*inner (x=3) at .*inner\.c' "$work/$1.log")" = 2 ]; then
        echo "ok $1: it stops at both"
    else
        none "$1: it stops at both" "$(tail -n 20 "$work/$1.log")"
    fi
}

compile() { # COMPILER FLAG...
    local compiler=$1 name
    shift
    for name in inner outer; do
        $compiler "$@" -fno-inline -fPIC -c "$here/$name.c" -o "$work/$name.o" || exit 1
    done
}

compile "$CC" -g -O1
in_gdb gcc host
check_lines gcc
compile "$CC" -g -gdwarf-4 -O1 -fomit-frame-pointer -fno-asynchronous-unwind-tables -ffunction-sections
in_gdb dwarf4 host
check_lines dwarf4
if [ -n "${LLVM_BIN:-}" ] && [ -x "$LLVM_BIN/clang" ]; then
    compile "$LLVM_BIN/clang" -g -O1 -fno-optimize-sibling-calls
    in_gdb clang host
    check_lines clang
fi

# Without -g, and in a stripped host: names and frames.
compile "$CC" -O1
sed -i '/^list/,$d' "$work/script"
in_gdb stripped stripped
says "a breakpoint by name" stripped '^Breakpoint 1, 0x[0-9a-f]+ in inner \(\)$'
says "frames of loaded code" stripped '^#2 .* in outer \(\)$'
says "frames beyond" stripped '^#4 .*'
