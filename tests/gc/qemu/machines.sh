# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Managed code on AArch64 and RISC-V, under qemu-user: scripts of tests/gc, with code that the command compiles here.
# Left out: unit tests of heaps, and programs.sh (SCRIPTS=programs runs it), which take long under emulation;
# overflow.sh and stop.sh, which measure or need the command on the machine; limits.sh; registers.sh, the barrier of
# x86-64; what runs `tenon run --lazy`, images, and but for permanent.sh
# TENON_GC=concurrent. Unless WHOLE=1, RISC-V has those scripts alone where its own code of the runtime takes part:
# frames, handlers, calls and transitions.
#
# time limit: 1500

: "${MACHINES:=aarch64 riscv64}"
: "${SCRIPTS:=jumps handlers values stack results transitions leaves permanent conventions generate}"
quick=riscv64
[ -z "${WHOLE-}" ] || quick=
for machine in $MACHINES; do
    for script in $SCRIPTS; do
        [[ $machine != "$quick" || $script =~ ^(handlers|stack|transitions|conventions)$ ]] || continue
        MACHINE=$machine bash tests/gc/$script.sh | sed -E "s/^(not )?ok /&$machine /"
    done
done
