# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A program contains the collectors that it names: the default one, unless it chooses that itself (tests/gc/collectors).

. tests/build/check

: "${BUILD:=build}" "${CC:=gcc}"
unset TENON_GC
out=$BUILD/tests/gc/collectors
mkdir -p "$out"
for own in "" -DOWN; do
    "$CC" -std=c11 -Wall -Wextra $own -static -Iinclude -Isrc tests/gc/collectors/host.c "$BUILD/libtenon.a" -lpthread \
        -o "$out/host$own" || exit 1
done

# says NAME WANTED COMMAND...
says() {
    local name=$1 wanted=$2
    shift 2
    none "$name" "$("$@" 2>&1 | diff <(echo "$wanted") -)"
}

copying() { nm "$1" | grep -E ' tn(__copy|__space_take|_collector_copying)$'; }
generational() { nm "$1" | grep -E ' tn(__gen_[a-z]+|_collector_generational)$'; }

says "the default" collected "$out/host"
says "named" collected env TENON_GC=generational "$out/host"
some "it is in the program" "$(generational "$out/host")"
none "the other is not in the program" "$(copying "$out/host")"
says "not in the program" "1 TENON_GC=copy: the program does not contain this collector" env TENON_GC=copy "$out/host"
says "the program's choice" own "$out/host-DOWN"
none "it is then the only one" "$(copying "$out/host-DOWN"; generational "$out/host-DOWN")"
says "no collector" "0 TENON_GC names no collector: 'other'; there are: generational, concurrent" \
    env TENON_GC=other "$out/host-DOWN"
