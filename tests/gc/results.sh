#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# time limit: 600
#
# Results of managed functions in registers and in memory: structs of references and numbers of every kind, of as many
# members as just fit and one more. They are called, at each optimisation level, while everything moves at each
# safepoint; for the other machines they are compiled here too (qemu/machines.sh calls them there).

. tests/gc/support/machine.bash
out=$BUILD/tests/gc/results$there
mkdir -p "$out"

# Members: r, a reference; i, l, two integers; f, d, q floats; v, w vectors of 4 and 8 floats; p, a vector of two
# references.
rows="r ri rii riii riiii rl rli ril lr d rd rdd rddddd ddddd ddddddddd rf rff rfffff rv rvv rvvv rvvvv rvvvvv vvvvv
    rw rww rq rqq rqqq riiid riid ddrii ddriii rdv rddvv fdvr p pp ppppp pd ri1 r11111111 rrrrrrrr rrrrrrrrr rrrrrrrrd"

# On x86-64, the third and the fourth float or double would be returned in registers of the x87: refused, as long double
# is.
x87="rddd rdddd ddd rfff rffff dfd"

# Writes a function that makes such a result, and one that calls it and looks at each member.
write() {
    awk -v row="$1" '
    function make(m, i,    t) { # its value from %n and %o: %m<i>
        t = types[m]
        if (m == "r") return ""
        if (m == "i") return sprintf("  %%m%d = add i64 %%n, %d\n", i, i)
        if (m == "1") return sprintf("  %%m%d = trunc i64 %%n to i1\n", i)
        if (m == "l") return sprintf("  %%s%d = sext i64 %%n to i128\n  %%m%d = shl i128 %%s%d, 60\n", i, i, i)
        if (m ~ /[fdq]/) return sprintf("  %%m%d = uitofp i64 %%n to %s\n", i, t)
        if (m ~ /[vw]/)
            return sprintf("  %%s%d = uitofp i64 %%n to float\n", i) \
                sprintf("  %%m%d = insertelement %s zeroinitializer, float %%s%d, i64 3\n", i, t, i)
        return sprintf("  %%m%d = insertelement %s zeroinitializer, ptr addrspace(10) %%o, i64 1\n", i, t)
    }
    function look(m, i) { # %e<i> becomes the number %x<i>
        if (m == "r") return sprintf("  %%x%d = call i64 @number_of(ptr addrspace(10) %%e%d)\n", i, i)
        if (m == "p")
            return sprintf("  %%s%d = extractelement <2 x ptr addrspace(10)> %%e%d, i64 1\n", i, i) \
                sprintf("  %%x%d = call i64 @number_of(ptr addrspace(10) %%s%d)\n", i, i)
        if (m == "i") return sprintf("  %%x%d = sub i64 %%e%d, %d\n", i, i, i)
        if (m == "1")
            return sprintf("  %%s%d = zext i1 %%e%d to i64\n  %%t%d = and i64 %%n, -2\n", i, i, i) \
                sprintf("  %%x%d = or i64 %%s%d, %%t%d\n", i, i, i)
        if (m == "l") return sprintf("  %%s%d = ashr i128 %%e%d, 60\n  %%x%d = trunc i128 %%s%d to i64\n", i, i, i, i)
        if (m ~ /[fdq]/) return sprintf("  %%x%d = fptoui %s %%e%d to i64\n", i, types[m], i)
        return sprintf("  %%s%d = extractelement %s %%e%d, i64 3\n  %%x%d = fptoui float %%s%d to i64\n",
            i, types[m], i, i, i)
    }
    BEGIN {
        types["r"] = "ptr addrspace(10)"; types["p"] = "<2 x ptr addrspace(10)>"
        types["i"] = "i64"; types["1"] = "i1"; types["l"] = "i128"
        types["f"] = "float"; types["d"] = "double"; types["q"] = "fp128"
        types["v"] = "<4 x float>"; types["w"] = "<8 x float>"
        n = length(row)
        for (i = 1; i <= n; i++) struct = struct (i > 1 ? ", " : "{ ") types[substr(row, i, 1)]
        struct = struct " }"
        printf "define %s @make_%s(ptr addrspace(10) %%o, i64 %%n) noinline gc \"tenon\" {\n  call void @collect()\n",
            struct, row
        old = "poison"
        for (i = 1; i <= n; i++) {
            m = substr(row, i, 1)
            printf "%s  %%v%d = insertvalue %s %s, %s %s, %d\n",
                make(m, i), i, struct, old, types[m], m == "r" ? "%o" : "%m" i, i - 1
            old = "%v" i
        }
        printf "  ret %s %s\n}\n", struct, old
        printf "define i64 @check_%s(i64 %%n) noinline gc \"tenon\" {\n", row
        printf "  %%o = call ptr addrspace(10) @new_box(i64 %%n)\n"
        printf "  %%v = call %s @make_%s(ptr addrspace(10) %%o, i64 %%n)\n  call void @collect()\n", struct, row
        sum = "true"
        for (i = 1; i <= n; i++) {
            m = substr(row, i, 1)
            printf "  %%e%d = extractvalue %s %%v, %d\n%s", i, struct, i - 1, look(m, i)
            printf "  %%c%d = icmp eq i64 %%x%d, %%n\n  %%a%d = and i1 %s, %%c%d\n", i, i, i, sum, i
            sum = "%a" i
        }
        printf "  %%r = zext i1 %s to i64\n  ret i64 %%r\n}\n", sum
    }'
}

# module ROW...
module() {
    printf 'declare void @collect()\ndeclare ptr addrspace(10) @new_box(i64)\n'
    printf 'declare i64 @number_of(ptr addrspace(10))\n'
    for row; do write "$row"; done
}
# What is wider than frames are aligned fits into registers on x86-64 only.
[ -z "$MACHINE" ] || rows="${rows/rw rww/} $x87"
module $rows >"$out/results.ll"
module ${rows/rw rww/} $x87 >"$out/all.ll"
checks=$(for row in $rows; do printf 'X(check_%s) ' "$row"; done)
$clang "-DCHECKS(X)=$checks" -c tests/gc/results/results.c -o "$out/c.bc" ||
    echo "not ok gc/results: it does not compile"

cpus="x86-64 native"
[ -z "$MACHINE" ] || cpus=default
for cpu in $cpus; do
    option=--cpu=$cpu
    [ "$cpu" != default ] || option=
    for level in 0 1 2 3; do
        for stress in 0 1; do
            name="gc/results $cpu -O$level, stress $stress"
            said=$(TENON_GC_STRESS=$stress TENON_GC_VERIFY=$stress timeout "$limit" $run $option -O$level \
                "$out/c.bc" "$out/results.ll" 2>&1)
            if [ "$said" = done ]; then
                echo "ok $name"
            else
                echo "not ok $name: $(head -n 3 <<<"$said" | tr '\n' ' ')"
            fi
        done
    done
done
[ -z "$MACHINE" ] || exit 0
for triple in aarch64-linux-gnu riscv64-linux-gnu; do
    for level in 0 2; do
        name="gc/results $triple -O$level"
        if said=$("$BUILD/tenon" compile --triple $triple -O$level "$out/all.ll" -o "$out/results.o" 2>&1); then
            echo "ok $name"
        else
            echo "not ok $name: $(head -n 1 <<<"$said")"
        fi
    done
done

# refused ROW TEXT OPTION...
refused() {
    module "$1" >"$out/refused.ll"
    local said=$("$BUILD/tenon" compile "${@:3}" "$out/refused.ll" -o "$out/results.o" 2>&1)
    if [[ $said == *"$2"* ]]; then
        echo "ok gc/results: $1 is refused"
    else
        echo "not ok gc/results: $1 is refused: $said"
    fi
}
for row in $x87; do refused $row 'third float or double in registers; store it instead [extended-result]'; done
# Memory for results lies in frames, which are aligned to 16 bytes.
refused rwwww 'aligned to more than 16 bytes, and frames are not; store it instead [alignment]' --cpu x86-64
refused wwwww 'aligned to more than 16 bytes, and frames are not; store it instead [alignment]' --cpu native
refused rw 'aligned to more than 16 bytes, and frames are not; store it instead [alignment]' --triple riscv64-linux-gnu
