/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64: the tables, and decoding of the kernel's HWCAP words, which already are the intersection of all cores. */

#include "cpu/cpu.h"

enum { HWCAP = TN__CPU_GATES + 1, HWCAP2, HWCAP3, NOWHERE = TN__CPU_NOWHERE };

#define BIT TN__CPU_BIT

#define TABLES "cpu/aarch64.def"

#define MODEL_NUMBER(implementer, part) ((uint64_t)(implementer) << 16 | (uint64_t)(part))
#define MODEL_ROW(implementer, part, id)                                                                               \
    {                                                                                                                  \
        MODEL_NUMBER(implementer, part), MODEL_NUMBER(implementer, part), id                                           \
    }

#include "cpu/tables.h"

static const struct tn__cpu_vector vectors[] = {{SVE, 128}, {SVE2, 256}};

const struct tn_cpu_arch tn__cpu_aarch64 = {
    .name = "aarch64",
    .triple = "aarch64",
    TABLE_MEMBERS,
    .vectors = vectors,
    .vector_count = TN_COUNT(vectors),
    .narrowest = 16,
    .tuning =
        " "
        "addr-lsl-slow-14 aggressive-fma aggressive-interleaving alternate-sextload-cvt-f32-pattern alu-lsl-fast "
        "arith-bcc-fusion arith-cbz-fusion ascend-store-address avoid-ldapur balance-fp-ops cmp-bcc-fusion "
        "disable-fast-inc-vl disable-latency-sched-heuristic disable-ldp disable-maximize-scalable-bandwidth "
        "disable-stp disable-unpredicated-ld-st-lower enable-select-opt execute-only exynos-cheap-as-move "
        "fix-cortex-a53-835769 fmv force-32bit-jump-tables fuse-address fuse-addsub-2reg-const1 fuse-adrp-add fuse-aes "
        "fuse-arith-logic fuse-crypto-eor fuse-csel fuse-cset fuse-literals harden-sls-blr harden-sls-nocomdat "
        "harden-sls-retbr ldp-aligned-only max-interleave-factor-4 no-bti-at-return-twice no-neg-immediates "
        "no-sve-fp-ld1r no-zcz-fpr64 outline-atomics predictable-select-expensive reserve-lr-for-ra "
        "slow-misaligned-128store slow-paired-128 slow-strqro-store store-pair-suppress stp-aligned-only strict-align "
        "tagged-globals tpidr-el1 tpidr-el2 tpidr-el3 tpidrro-el0 use-experimental-zeroing-pseudos "
        "use-fixed-over-scalable-if-equal-cost use-postra-scheduler use-reciprocal-square-root use-wzr-to-vec-move "
        "zcm-fpr128 zcm-fpr32 zcm-fpr64 zcm-gpr32 zcm-gpr64 zcz-fp-workaround zcz-fpr128 zcz-gpr32 zcz-gpr64 a320 a35 "
        "a510 a520 a520ae a53 a55 a57 a65 a710 a715 a72 a720 a720ae a73 a75 a76 a77 a78 a78ae a78c exynosm3 exynosm4 "
        "neoverse512tvb neoversee1 neoversen1 neoversen2 neoversen3 neoversev1 neoversev2 neoversev3 neoversev3AE ",
};

void tn__cpu_aarch64_see(uint64_t hwcap, uint64_t hwcap2, uint64_t hwcap3, uint64_t midr, struct tn__cpu_seen *core)
{
    memset(core, 0, sizeof *core);
    core->cores = 1;
    core->model = MODEL_NUMBER(midr >> 24 & 0xff, midr >> 4 & 0xfff);
    core->words[TN__CPU_GATES] = BIT(TN__CPU_GATE_ANY);
    core->words[HWCAP] = hwcap;
    core->words[HWCAP2] = hwcap2;
    core->words[HWCAP3] = hwcap3;
}
