# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Hosts that are shared libraries, as modules of Python and Java are: loaded by a running program, which has little
# thread-local memory left for them, and exporting nothing but what is theirs.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${CC:=gcc}" "${BUILD:=build}"
export PKG_CONFIG_PATH=$BUILD/pkgconfig

cat >"$work/loaded.c" <<'END'
static __thread int count = 40;
static __thread char room[800];
int answer(void) { return ++count + room[7]; }
END

cat >"$work/host.c" <<'END'
#include <stdio.h>
#include <tenon.h>
const char *complaint(void);
int run(const void *bytes, size_t size);
static struct tn_error err;
const char *complaint(void) { return err.text; }
/* Twice: the thread-local variables are those of one thread. */
int run(const void *bytes, size_t size)
{
    struct tn_session *session;
    struct tn_library *library;
    struct tn_input input = {.size = sizeof input, .name = "loaded.o", .bytes = bytes, .length = size};
    void *address;
    if (tn_session_create(NULL, &session, &err) || tn_library_create(session, "main", &library, &err) ||
        tn_add_resolver(library, tn_resolve_dlsym, NULL, &err) || tn_add_object(library, &input, &err) ||
        tn_lookup(library, "answer", &address, &err))
        return -1;
    int (*answer)(void) = __extension__(int (*)(void)) address;
    int result = answer();
    result = answer();
    tn_session_destroy(session);
    return result;
}
END

cat >"$work/compiler.c" <<'END'
#include <string.h>
#include <tenon_codegen.h>
int compile(const char *ir);
const char *message(void);
static struct tn_error err;
const char *message(void) { return err.text; }
int compile(const char *ir)
{
    struct tn_buffer object;
    int code = tn_compile("module.ll", ir, strlen(ir), NULL, &object, NULL, &err);
    if (code)
        return code;
    int size = (int)object.size;
    tn_buffer_free(&object);
    return size;
}
END

cat >"$work/host.py" <<'END'
import ctypes, sys, threading
host = ctypes.CDLL(sys.argv[1])
host.complaint.restype = ctypes.c_char_p
with open(sys.argv[2], "rb") as file:
    loaded = file.read()
def run():
    result = host.run(loaded, ctypes.c_size_t(len(loaded)))
    print(result if result >= 0 else host.complaint().decode())
run()
thread = threading.Thread(target=run)
thread.start()
thread.join()
END

cat >"$work/compiler.py" <<'END'
import ctypes, sys
compiler = ctypes.CDLL(sys.argv[1])
compiler.message.restype = ctypes.c_char_p
size = compiler.compile(b"define i32 @f() {\n ret i32 7\n}\n")
print("compiled" if size > 0 else compiler.message().decode())
print("refused" if compiler.compile(b"define nonsense") < 0 else "accepted")
END

exports() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort | paste -sd ' '; }
says() { python3 "$@" 2>&1 | paste -sd ' '; }

# Libraries are often linked with this: what is missing would only show when Python loads them.
strict=-Wl,-z,defs
for model in "" -fPIC; do
    succeeds "an object${model:+ ($model)} is compiled" "$CC" -O1 $model -c "$work/loaded.c" -o "$work/loaded.o"
    succeeds "a host of libtenon.a is linked" "$CC" -shared -fPIC $strict "$work/host.c" \
        $(pkg-config --cflags --libs tenon) -o "$work/host.so"
    some "Python loads it, and it loads the object${model:+ ($model)}" \
        "$(says "$work/host.py" "$work/host.so" "$work/loaded.o" | grep -x '42 42')"
done
some "it exports what is its own" "$(exports "$work/host.so" | grep -x 'complaint run')"

succeeds "a host with the compiler is linked" "$CC" -shared -fPIC $strict "$work/compiler.c" \
    $(pkg-config --cflags --libs tenon-codegen) -o "$work/compiler.so"
some "Python loads it, and it compiles" "$(says "$work/compiler.py" "$work/compiler.so" | grep -x 'compiled refused')"
some "it exports what is its own" "$(exports "$work/compiler.so" | grep -x 'compile message')"
