# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The runtime reads no environment variables and prints nothing. Products run with each variable whose name could be
# made of what the archive, or the product itself, contains.

. tests/build/check

: "${CC:=gcc}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/product.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <tenon.h>
int main(int argc, char **argv)
{
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    void *address;
    if (argc != 2 || tn_session_create(NULL, &session, &err) || tn_library_create(session, "main", &library, &err) ||
        tn_add_file(library, argv[1], &err) || tn_lookup(library, "nine", &address, &err))
        return puts(err.text), 1;
    int answer = ((int (*)(void))address)();
    tn_session_destroy(session);
    return answer;
}
END
echo 'int nine(void) { return 9; }' | $CC -O1 -fPIC -xc -c - -o "$work/nine.o" || exit 1

# The words in what FILE holds when it runs, the names of options of mimalloc after their prefix too.
words() {
    strings --data "$1" | grep -oE '[A-Za-z_][A-Za-z0-9_]{2,}' | grep -vE '^(PATH|TENON_GC.*|LD_.*)$' | sort -u |
        awk '{ print } /^[a-z_]*$/ { print "mimalloc_" $0; print "MIMALLOC_" toupper($0) }'
}

# Programs may look at a part of their environment only, so few variables are set at a time.
said_with() {
    local value=$1 variables
    shift
    while mapfile -t -n 200 variables && [ ${#variables[@]} -gt 0 ]; do
        env -i "${variables[@]/%/=$value}" timeout 60 "$@" 2>&1
        echo "status $?"
    done | sort -u
}

# quiet NAME ARCHIVE PROGRAM...: the values are a number, and what tests make memory fail with.
quiet() {
    local name=$1 archive=$2 value
    shift 2
    { words "$archive"; words "$1"; } | sort -u >"$work/words"
    some "$name: names of variables are found" "$(grep '^MIMALLOC_' "$work/words")"
    for value in 1 'F*'; do
        answers "$name: $value" "status 9" said_with "$value" "$@" <"$work/words"
    done
}

# host NAME ARCHIVE COMPILER FLAG...
host() {
    local name=$1 archive=$2
    shift 2
    "$@" -O1 -Iinclude "$work/product.c" "$archive" -pthread -o "$work/product" || { echo "not ok $name"; return; }
    quiet "$name" "$archive" "$work/product" "$work/nine.o"
}
host dynamic "$BUILD/libtenon.a" "$CC"
host static "$BUILD/libtenon.a" "$CC" -static
[ ! -f "$BUILD/musl/libtenon.a" ] || host musl "$BUILD/musl/libtenon.a" musl-gcc -static

if [ -x "$BUILD/tenon" ]; then
    echo 'define i32 @main() { ret i32 9 }' >"$work/main.ll"
    "$BUILD/tenon" build --kind=exe "$work/main.ll" -o "$work/exe" || exit 1
    quiet executable "$BUILD/musl/libtenon.a" "$work/exe"
fi

# Of the allocator: what it could read the environment or print with.
mkdir "$work/members"
(cd "$work/members" && ar x "$OLDPWD/$BUILD/libtenon.a" alloc.o)
none "the allocator has no way to" "$(nm --undefined-only "$work/members/alloc.o" |
    grep -E ' (.*getenv|.*environ|f?puts|v?f?printf|f?write|put.*|fput.*)$')"
