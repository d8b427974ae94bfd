# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the scripts of this folder share: programs for other machines, linked and run there by run.c, against the same
# objects linked by the machine's own static linker. Both run under qemu-user.
#
# Environment as tests/run sets it: BUILD, LLVM_BIN, JOBS; WHOLE=1: nothing is left out. MACHINES: only some of them;
# x86_64 tests the scripts.

: "${BUILD:=build}" "${JOBS:=2}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${MACHINES:=aarch64 riscv64}"
. "$(dirname "${BASH_SOURCE[0]}")/../../records.bash"
out=$BUILD/tests/link/qemu/$(basename "$0" .sh)
mkdir -p "$out"

# Runs a program of the machine.
emulate() { # MACHINE PROGRAM [ARGUMENT...]
    local machine=$1
    shift
    if [ "$machine" = x86_64 ]; then "$@"; else "qemu-$machine-static" -L "/usr/$machine-linux-gnu" "$@"; fi
}

# The words of a command.
compiler() { # MACHINE gcc|g++|clang|clang++
    case $2 in
    clang*) echo "$LLVM_BIN/$2 --target=$1-linux-gnu" ;;
    *) echo "$1-linux-gnu-$2" ;;
    esac
}

# Compiles sources side by side to FOLDER/*.o, unless they are there and newer.
compile_with() { # FOLDER COMMAND SOURCE...
    local folder=$1 command=$2
    shift 2
    mkdir -p "$folder"
    [ "$(cat "$folder/command" 2>/dev/null)" = "$command" ] || rm -f "$folder"/*.o
    echo "$command" >"$folder/command"
    printf '%s\n' "$@" | xargs -P "$JOBS" -I{} bash -c \
        'object=$1/$(basename "$3").o; [ "$object" -nt "$3" ] || $2 -c "$3" -o "$object"' _ "$folder" "$command" {}
}

compile() { # FOLDER MACHINE COMPILER FLAGS SOURCE...
    local folder=$1 command
    command="$(compiler "$2" "$3") -w $4"
    shift 4
    compile_with "$folder" "$command" "$@"
}

# A check for each machine and each compiler; if $pairwise is set, for the first machine with the first compiler and so
# on, unless WHOLE=1: $1 name, $2 compilers, $3 flags, $4 sources, the rest: arguments of the
# program. Standard input is the file $input, if that is set; the host is $host, or run. libstdc++.a and libgcc.a are
# loaded where they are needed; the unwinder is the host's, because it has to know the host's frames as well.
check_program() {
    local name=$1 compilers=$2 flags=$3 sources=$4 machine compiler chosen rest=$2
    shift 4
    for machine in $MACHINES; do
        chosen=$compilers
        [ -z "${pairwise-}" ] || [ -n "${WHOLE-}" ] || read -r chosen rest <<<"${rest:-$compilers}"
        for compiler in $chosen; do
            local cxx stem=$out/$machine.$compiler libraries=
            cxx=$(compiler "$machine" g++)
            [[ $compiler != *++ ]] || libraries=$($cxx -print-file-name=libstdc++.a)
            libraries="$libraries $($cxx -print-file-name=libatomic.a) $($cxx -print-file-name=libgcc.a)"
            if ! compile "$stem" "$machine" "$compiler" "$flags" $sources 2>"$stem.log" ||
                ! $cxx -static "$stem"/*.o -o "$stem.program" -pthread -latomic -lm 2>"$stem.log"; then
                echo "not ok $name, $machine, $compiler: it cannot be built: $(head -1 "$stem.log")"
                continue
            fi
            record "$stem.ordinary" emulate "$machine" "$stem.program" "$@" <"${input:-/dev/null}"
            record "$stem.linked" emulate "$machine" "$BUILD/$machine-linux-gnu/tests/link/qemu/${host:-run}" \
                "$stem"/*.o $libraries -- "$stem.program" "$@" <"${input:-/dev/null}"
            same "$name, $machine, $compiler" "$stem.ordinary" "$stem.linked"
        done
    done
}
