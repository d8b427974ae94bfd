# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the scripts of this folder share: real programs from Debian's own archives, run by `tenon run` and compared with
# what the ordinary command or build of the same program says.
#
# Environment as tests/run sets it: BUILD, LLVM_BIN.

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/records.bash
here=tests/programs
out=$BUILD/tests/programs/$(basename "$0" .sh) # a folder each: the scripts run side by side
archives=/usr/lib/$(gcc -print-multiarch)
bitcode=$BUILD/tests/programs/bitcode # what rules.mk makes there is the scripts' in common
mkdir -p "$out"

# The main of each program comes to tenon as clang's own, unoptimised output, so that -O0 and -O2 differ.
bitcode() { # NAME [FLAG...] -> $out/NAME.bc
    local name=$1
    shift
    "$LLVM_BIN/clang" -O1 -Xclang -disable-llvm-passes -Wall -Wextra -Werror "$@" -c -emit-llvm "$here/$name.c" \
        -o "$out/$name.bc"
}

# One check: was loaded code seen, and never a mapping that is writable and executable? $1 name, $2 report of
# watch_maps.
never_wx() {
    if grep -q '^wx ' "$2"; then
        echo "not ok $1: $(grep '^wx ' "$2")"
    elif ! grep -q '^loaded ' "$2"; then
        echo "not ok $1: no loaded code was seen in $(head -1 "$2")"
    else
        echo "ok $1"
    fi
}

# Both checks at -O0 and -O2: $1 name, $2 record of the ordinary program, the rest: what stands after `tenon run -ON`.
# Standard input is the file $input, if that is set.
check_program() {
    local name=$1 ordinary=$2 level stem
    shift 2
    for level in -O0 -O2; do
        stem=$out/$name$level
        rm -f "$stem.maps"
        record "$stem" "$out/watch_maps" "$stem.maps" "$BUILD/tenon" run $level "$@" <"${input:-/dev/null}"
        same "programs/$name$level" "$ordinary" "$stem"
        never_wx "programs/$name$level.maps" "$stem.maps"
    done
}

${CC:-gcc} -O1 -Wall -Wextra -Werror "$here/watch_maps.c" -o "$out/watch_maps" || exit 1
