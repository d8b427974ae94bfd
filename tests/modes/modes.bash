# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The mode matrix: programs of a few files, each linked and run in every mode of Tenon. Each prints what it prints when
# the system's linker has linked it, and ends with the same status.
#
# Programs are in cases/*.case (see prepare), one for each rule; the build compiles them and links them natively once
# (rules.mk). To try one: make build/tests/modes/made && tests/run tests/modes/*.sh, with CASES="weak_first ..." and
# MODES="lazy tiers ..." for a few.
#
# Environment as tests/run sets it: BUILD, LLVM_BIN.

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/records.bash

# The modes: name, form of the inputs (prepare), how, options.
#     gcc, clang    objects of that compiler
#     ir            bitcode; of archives the objects
#     even, odd     bitcode and objects in turns, beginning with the former or the latter
#     build         bitcode of all that the system's linker took
#     first, last   of the same, bitcode of the first or the last, and objects
# How: `run` is tenon run; `host` the client (host.c); `library` too, of the shared library that the system's linker
# makes, and what the system prints that opens it is right; others are what `tenon build` makes, the client's option
# for it comes behind.
modes='
eager-gcc      gcc     run
eager-clang    clang   run
eager-ir       ir      run     -O2
eager-even     even    run     -O0
baseline       ir      run     -O0
lazy           ir      run     --lazy -O1
lazy-even      even    run     --lazy -O0
lazy-odd       odd     run     --lazy -O2
tiers          ir      run     --tiers
threads-1      ir      run     --threads 1 -O1
threads-4      ir      run     --threads 4 -O0 --no-baseline
threads-even   even    run     --threads 4 -O1
ahead          ir      run     --lazy --ahead calls -O0
cache-first    ir      run     --cache @cache -O1
cache-second   ir      run     --cache @cache -O1
lazy-first     odd     run     --lazy --ahead all --cache @cache -O1
lazy-second    odd     run     --lazy --ahead all --cache @cache -O1
client-gcc     gcc     host
client-stubs   clang   host    --stubs --thread
client-ir      ir      host
client-lazy    even    host    --lazy --thread
client-opened  gcc     host    --opened
opened-even    even    host    --opened --thread
opened-shared  build   library --opened --thread
client-threads ir      host    --lazy --threads=2 --thread
exe            build   exe
exe-first      first   exe
exe-last       last    exe
shared         build   shared  --dlopen --thread
image          build   image   --open --thread
replaceable    build   replaceable --open --retire
package        build   package --open --thread
stale          build   stale   --open --thread
'

# Packages: the file with main is one, all others are another, on which it depends. In the mode `stale`, the bodies of
# the latter are written in another way when the program runs: those that have copies of them are compiled again. Limits
# of images are theirs.

# divided STEM: divides the inputs into the arrays `base` and `using`. False: there is nothing to divide, or the parts
# would define the same, or need each other, or be initialised in another order than the whole.
divided() {
    local inputs file main
    mapfile -t inputs <"$1/build.inputs"
    main=$("$LLVM_BIN/llvm-nm" -A --extern-only "${inputs[@]}" | awk '
        { sub(/:$/, "", $1); name[NR] = $NF; file[NR] = $1; defined[NR] = $(NF - 1) !~ /^[Uwv]$/ }
        defined[NR] && $NF == "main" { main = $1; mains++ }
        END {
            for (i = 1; i <= NR; i++) if (file[i] == main && defined[i]) own[name[i]]
            for (i = 1; i <= NR; i++) if (file[i] != main && name[i] in own) exit
            if (mains == 1) print main
        }')
    base=() using=("$main")
    for file in ${inputs[@]+"${inputs[@]}"}; do
        [ "$file" = "$main" ] || base+=("$file")
    done
    [ -n "$main" ] && [ ${#base[@]} -gt 0 ] &&
        ! "$LLVM_BIN/llvm-dis" -o - "$main" | grep -qE '^@llvm\.global_[cd]tors '
}

# built_package STEM HOW: makes STEM/HOW, and STEM/HOW.base, on which it is opened
built_package() {
    local stem=$1 how=$2 base using file changed=() options=(--targets 'x86-64;x86-64-v2,clone_all' -O1 --kind=image)
    divided "$stem" || return
    "$BUILD/tenon" build "${options[@]}" --name base -o "$stem/$how.base" "${base[@]}" &&
        "$BUILD/tenon" build "${options[@]}" --depends "$stem/$how.base" "${base[@]/#/--use=}" --keep-ir \
            -o "$stem/$how" "${using[@]}" || return
    [ "$how" = stale ] || return 0
    for file in "${base[@]}"; do
        "$LLVM_BIN/opt" -passes=mem2reg "$file" -o "$stem/stale.${file##*/}" && changed+=("$stem/stale.${file##*/}") ||
            return
    done
    "$BUILD/tenon" build "${options[@]}" --name base -o "$stem/$how.base" "${changed[@]}"
}

# built STEM HOW FORM: makes STEM/HOW of the inputs
built() {
    local stem=$1 how=$2 inputs options=(--targets x86-64)
    mapfile -t inputs <"$stem/$3.inputs"
    case $how in
    package | stale)
        built_package "$stem" "$how" >"$stem/$how.log" 2>&1
        return
        ;;
    image) options=(--targets 'x86-64;x86-64-v2,clone_all') ;;
    replaceable) options+=(--replaceable) ;;
    esac
    "$BUILD/tenon" build --kind="${how/replaceable/image}" "${options[@]}" -O1 -o "$stem/$how" "${inputs[@]}" \
        >"$stem/$how.log" 2>&1
}

# check_mode STEM NAME FORM HOW [OPTION...]: one line for a program in a mode; none, if that were the same as another.
check_mode() {
    local stem=$1 name=$2 form=$3 how=$4 case=${1##*/} inputs base using libraries=() native=$1/native
    shift 4
    local options=("${@/#@/$stem/}") got=$stem/got.$name skipped=$name
    [ -s "$stem/$form.inputs" ] || return 0
    [[ $how != package && $how != stale ]] || skipped="($name|image)"
    [ "$how" != exe ] || skipped="($name|exe)"
    skipped=$(grep -m1 -E "^([^:]* )?$skipped( [^:]*)?:" "$stem/skip")
    if [ -n "$skipped" ]; then
        echo "ok modes/$case, $name # SKIP ${skipped#*: }"
        return
    fi
    mapfile -t inputs <"$stem/$form.inputs"
    [ ! -f "$stem/libraries" ] || mapfile -t libraries <"$stem/libraries"
    case $how in
    host) native=$stem/twice ;;
    shared | image | replaceable) native=$stem/library ;;
    library)
        native=$stem/library inputs=("$stem/clang/program.so")
        [ -e "${inputs[0]}" ] || return 0
        ;;
    package | stale)
        divided "$stem" || return 0
        native=$stem/library
        options+=("$stem/$how.base")
        ;;
    esac
    if [ -s "$stem/ends" ] && [ "$native" != "$stem/native" ]; then
        [ "$how" != host ] || native=$stem/native
        options+=(--once)
    fi
    [[ $name != *-first ]] || rm -rf "$stem/cache"
    case $how in
    run) set -- "$BUILD/tenon" run ${options[@]+"${options[@]}"} "${inputs[@]}" ${libraries[@]+"${libraries[@]}"} ;;
    host | library) set -- "$BUILD/tests/modes/host" ${options[@]+"${options[@]}"} "${inputs[@]}" ;;
    *)
        built "$stem" "$how" "$form" || { echo "not ok modes/$case, $name: $(tail -1 "$stem/$how.log")"; return; }
        set -- "$stem/exe"
        [ "$how" = exe ] || set -- "$BUILD/tests/modes/host" "${options[@]}" "$stem/$how"
        ;;
    esac
    record "$got" timeout 60 "$@" </dev/null 2>/dev/null # where the shell says that a program was aborted
    # What the command says of a program that a signal ends.
    [ "$how" != run ] || sed -i '/^tenon run: the program fails with SIG/,/^  A debugger shows more/d' "$got.err"
    same "modes/$case, $name" "$native" "$got"
}

# check_case STEM MODE...: a program in these modes
check_case() {
    local stem=$1 name form how options
    shift
    while read -r name form how options; do
        [[ " $* " = *" $name "* && " ${MODES:-$name} " = *" $name "* ]] || continue
        check_mode "$stem" "$name" "$form" "$how" $options
    done <<<"$modes"
}

# modes_by HOW...: the names of the modes that are run so
modes_by() {
    local name form how options
    while read -r name form how options; do
        [ -z "$name" ] || [[ " $* " != *" $how "* ]] || echo "$name"
    done <<<"$modes"
}

# check_cases MODE...: all programs, or those of $CASES, in those of these modes that $MODES names, or in all
check_cases() {
    local case
    for case in ${CASES:-$(cd tests/modes/cases && printf '%s\n' *.case)}; do
        case=$BUILD/tests/modes/${case%.case}
        [ -f "$case/made" ] || { echo "not ok modes/${case##*/}: make $case/made comes first"; continue; }
        check_case "$case" "$@"
    done
}
