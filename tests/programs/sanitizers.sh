# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Hosts with the runtimes of AddressSanitizer, ThreadSanitizer and MemorySanitizer load code that is instrumented by
# options, or because of attributes of functions: mistakes in it are found, with function and line. A host without a
# runtime says so.

. tests/build/check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${CC:=gcc}" "${BUILD:=build}"
export PKG_CONFIG_PATH=$BUILD/pkgconfig
# The runtimes' own symbolizer knows nothing of loaded code.
export ASAN_OPTIONS=detect_leaks=0:symbolize=0 TSAN_OPTIONS=exitcode=0:symbolize=0

line_of() { grep -n "/\* $1 \*/" tests/programs/sanitized_code.c | cut -d: -f1; }

# host SANITIZER: the program of that name.
host() {
    "$CC" -g -O1 -fsanitize="$1" tests/programs/sanitized.c $(pkg-config --variable=small_ldflags tenon-codegen) \
        $(pkg-config --cflags --libs tenon-codegen) -o "$work/$1"
}

# The same for MemorySanitizer, which is clang's. Of the host, only the code that it loads is instrumented, so nothing
# else may be marked as uninitialised.
export MSAN_OPTIONS=symbolize=0:poison_in_malloc=0:poison_in_free=0
memory_host() {
    "$LLVM_BIN/clang" -g -O1 -DLOADS_MSAN -c tests/programs/sanitized.c $(pkg-config --cflags tenon-codegen) \
        -o "$work/memory.o" &&
        "$LLVM_BIN/clang" -fsanitize=memory "$work/memory.o" $(pkg-config --variable=small_ldflags tenon-codegen) \
            $(pkg-config --libs tenon-codegen) -o "$work/memory"
}

# ir NAME FLAGS...: bitcode of the code to load
ir() {
    local name=$1
    shift
    "$LLVM_BIN/clang" -g -O1 -Xclang -disable-llvm-passes -emit-llvm -c "$@" tests/programs/sanitized_code.c \
        -o "$work/$name.bc"
}

# finds HOST BITCODE PASSES FUNCTION WHAT MARK [lazy]
finds() {
    local said name="$1 finds $4 (${3:-attributes}${7:+, lazily})" line
    line=$(line_of "$6")
    said=$("$work/$1" "$work/$2.bc" "$3" "$4" ${7+"$7"} 2>"$work/log")
    if grep -qxF "$5 in $4 at sanitized_code.c:$line" <<<"$said"; then
        echo "ok $name"
    else
        echo "not ok $name: ${said//$'\n'/ }; $(head -c 300 "$work/log" | tr '\n' ' ')"
    fi
}

# says NAME TEXT HOST BITCODE PASSES FUNCTION
says() {
    local said
    said=$("$work/$3" "$work/$4.bc" "$5" "$6" 2>"$work/log" | tr '\n' ' ')
    case $said in
    *"$2"*) echo "ok $1" ;;
    *) echo "not ok $1: $said; $(head -c 300 "$work/log" | tr '\n' ' ')" ;;
    esac
}

succeeds "a host for AddressSanitizer" host address
succeeds "a host for ThreadSanitizer" host thread
succeeds "a host for MemorySanitizer" memory_host
ir plain
ir address -fsanitize=address
ir thread -fsanitize=thread
ir memory -fsanitize=memory

for passes in 'tenon<level=0;sanitize_address>' 'tenon<level=2;sanitize_address>'; do
    finds address plain "$passes" heap_overflow heap-buffer-overflow heap-overflow
    finds address plain "$passes" after_free heap-use-after-free after-free
    finds address plain "$passes" stack_overflow stack-buffer-overflow stack-overflow
    finds address plain "$passes" global_overflow global-buffer-overflow global-overflow
    finds address plain "$passes" heap_overflow heap-buffer-overflow heap-overflow lazy
    says "no false alarm ($passes)" "end" address plain "$passes" no_mistake
done
finds address address '' heap_overflow heap-buffer-overflow heap-overflow
says "attributes without passes" "end" address address 'tenon<no_sanitize_address>' heap_overflow

for passes in 'tenon<level=0;sanitize_thread>' 'tenon<level=2;sanitize_thread>'; do
    finds thread plain "$passes" data_race data-race data-race
    finds thread plain "$passes" data_race data-race data-race lazy
    says "no false alarm ($passes)" "end" thread plain "$passes" no_mistake
done
finds thread thread '' data_race data-race data-race

for passes in 'tenon<level=0;sanitize_memory>' 'tenon<level=2;sanitize_memory>'; do
    finds memory plain "$passes" never_written use-of-uninitialized-value never-written
    finds memory plain "$passes" never_written use-of-uninitialized-value never-written lazy
    says "no false alarm ($passes)" "end" memory plain "$passes" all_written
done
finds memory memory '' never_written use-of-uninitialized-value never-written

says "a host without AddressSanitizer" "'__asan_init' needed by " thread address '' heap_overflow
says "and what the symbol is of" "of AddressSanitizer's runtime; the host was not built with -fsanitize=address" \
    thread address '' heap_overflow
says "a host without ThreadSanitizer" \
    "of ThreadSanitizer's runtime; the host was not built with -fsanitize=thread" address plain \
    'tenon<sanitize_thread>' data_race
says "a host without MemorySanitizer" \
    "of MemorySanitizer's runtime; the host was not built with -fsanitize=memory" address plain \
    'tenon<sanitize_memory>' never_written
