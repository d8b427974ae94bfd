# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the command leaves out of LLVM (tools/build/small/absent.cpp). Whatever reaches such a part hears its name; and
# no pass, level, target, object format or sanitizer reaches one without an option of LLVM's developers.

: "${BUILD:=build}" "${LLVM_BIN:=$(llvm-config-22 --bindir)}" "${TARGETS:=X86 AArch64 RISCV}"
. tests/build/check

work=$BUILD/tests/build/absent
rm -rf "$work" && mkdir -p "$work"
tenon=$BUILD/tenon
absent="is not in this program; 'make SMALL=0' builds one with all of LLVM"
if [ "${SMALL:-1}" = 0 ]; then
    echo "ok absent # SKIP nothing was left out"
    exit
fi

# What compilers make of C and C++ that has much to select, to lower, to vectorise and to instrument.
cat >"$work/unit.cpp" <<'UNIT'
typedef __SIZE_TYPE__ size_t;
typedef float v4 __attribute__((vector_size(16)));
extern "C" {
void use(void *), *memcpy(void *, const void *, size_t), *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t), printf(const char *, ...);
double sqrt(double), fma(double, double, double), floor(double);
}
struct big { long field[9]; };
struct base { virtual ~base(); virtual int ask(int) = 0; };
namespace names { int counted; const char text[] = "a text of some length"; }
thread_local int own = 3;
static int table(int n)
{
    switch (n) {
    case 0: return 9; case 1: return 4; case 2: return 70; case 3: return -3; case 4: return 12; case 9: return 5;
    case 10: return 7; case 11: return 8; case 12: return 1; default: return n / 7 + n % 10;
    }
}
int stack(int n)
{
    int a[4], b[n + 1];
    char c[100];
    use(a), use(b), use(c);
    return a[2] + b[n] + c[n] + table(n);
}
float sum(const float *a, const float *b, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
void fill(int *a, const short *b, int n) { for (int i = 0; i < n; i++) a[i] = b[i] > 3 ? b[i] * 5 : a[i] >> 2; }
v4 blend(v4 a, v4 b) { return __builtin_shufflevector(a, b, 0, 5, 2, 7) * a + b; }
big copy(const big *b) { big r = *b; memset(&r, 0, 24); return r; }
#ifdef __SIZEOF_INT128__
__int128 wide(__int128 a, __int128 b) { return a * b + a / (b | 1); }
#endif
double reals(double d, long double l, float h) { return sqrt(d) + fma(d, d, 2) + floor(d) + (double)(l * l) + h; }
int swap(int *at, int v) { __atomic_fetch_add(at, v, __ATOMIC_SEQ_CST); return __atomic_exchange_n(at, v, 4); }
bool change(long *at, long a, long b) { return __atomic_compare_exchange_n(at, &a, b, false, 2, 0); }
int pass(const char *format, ...)
{
    __builtin_va_list list;
    __builtin_va_start(list, format);
    int n = __builtin_va_arg(list, int);
    __builtin_va_end(list);
    return n + printf(format, n);
}
int jump(const int *code)
{
    static void *const to[] = {&&add, &&end};
    int n = 0;
next:
    goto *to[*code++ & 1];
add:
    n++;
    goto next;
end:
    return n;
}
int throws(base *b) { try { return b->ask(own++); } catch (int i) { return i; } catch (...) { throw 7; } }
int bits(unsigned x)
{
    return __builtin_popcount(x) + __builtin_clz(x | 1) + __builtin_bswap32(x) + (x << 7 | x >> 25);
}
int equal(const char *a) { return memcmp(a, names::text, 16) == 0 ? names::counted++ : __builtin_expect(a[0], 0); }
void assembly() { __asm__ volatile(".macro twice x\n.rept 2\n\\x\n.endr\n.endm\ntwice nop\n.purgem twice"); }
__attribute__((noinline)) int tail(int n, int a) { return n ? tail(n - 1, a + n) : a; }
UNIT

declare -A triples=([X86]="x86_64-linux-gnu i686-linux-gnu x86_64-apple-macosx11 x86_64-pc-windows-msvc"
    [AArch64]="aarch64-linux-gnu aarch64-apple-macosx11 aarch64-pc-windows-msvc"
    [RISCV]="riscv64-linux-gnu riscv32-linux-gnu")
triples_here=$(for target in $TARGETS; do echo "${triples[$target]}"; done)

# compile TRIPLE OPTION...: that file as $work/unit.bc; false: clang has no such target or option.
compile() {
    "$LLVM_BIN/clang++" --target="$1" "${@:2}" -g -O1 -w -ffreestanding -Xclang -disable-llvm-passes -emit-llvm \
        -c "$work/unit.cpp" -o "$work/unit.bc" 2>"$work/refused"
}

# Collects in $wrong what LLVM gives up, or what ends in another way than the command does. MemorySanitizer does not
# know RISC-V.
wrong=
watch() { # COMMAND...
    local said status=0
    said=$("$tenon" "$@" 2>&1 >"$work/out") || status=$?
    said=${said//LLVM: unsupported architecture/}
    if [ $status -gt 1 ] || [[ $said = *LLVM:* ]]; then wrong+="tenon $*: status $status: ${said:0:200}; "; fi
    runs=$((runs + 1))
}

# ---- the parts, by what reaches them ----

# PART|triple|options of LLVM. Of parts that are not here no option and no module is known that reaches
# them.
while IFS='|' read -r part triple options; do
    name=$(sed -n "s/^PART($part, \"\(.*\)\")/\1/p" tools/build/small/absent.cpp)
    some "$part is a part" "$name"
    [[ $triples_here = *$triple* || $triple = x86* ]] || continue
    answers "$part: $triple $options" "tenon compile: LLVM: $name $absent" env TENON_LLVM_ARGS="$options" "$tenon" \
        compile --triple="$triple" bench/one.ll -o "$work/out"
done <<'PARTS'
global_isel|x86_64-linux-gnu|-global-isel
global_isel|aarch64-linux-gnu|-global-isel
global_isel|riscv64-linux-gnu|-global-isel
sampled_profile|x86_64-linux-gnu|-enable-fs-discriminator -fs-profile-file=x
global_merge_functions|x86_64-linux-gnu|-enable-global-merge-func
debugify|x86_64-linux-gnu|-debugify-and-strip-all-safe
debugify|x86_64-linux-gnu|-debugify-check-and-strip-all-safe
mir|x86_64-linux-gnu|-stop-after=finalize-isel
mir|x86_64-linux-gnu|-stop-before=machine-scheduler
machine_verifier|x86_64-linux-gnu|-verify-machineinstrs
machine_verifier|x86_64-linux-gnu|-verify-regalloc
machine_verifier|x86_64-linux-gnu|-verify-misched
machine_verifier|x86_64-linux-gnu|-verify-coalescing
other_formats|x86_64-linux-wasm|
other_formats|x86_64-unknown-spirv|
other_formats|x86_64-linux-goff|
PARTS

# ---- everything else ----

# Each level, for each object format and each sanitizer.
for target in $TARGETS; do
    for triple in ${triples[$target]}; do
        wrong=
        runs=0
        for option in -O1 -fsanitize=address -fsanitize=memory -fsanitize=thread; do
            compile "$triple" "$option" || continue
            for level in 0 1 2 3; do watch compile -O$level "$work/unit.bc" -o "$work/unit.o"; done
            watch compile --emit=asm "$work/unit.bc" -o "$work/unit.s"
        done
        some "$triple: there are runs" "$([ $runs -lt 5 ] || echo $runs)"
        none "$triple: each level, with each sanitizer" "$wrong"
    done
done

# Each pass and stage.
mapfile -t passes < <("$tenon" opt)
some "passes are found" "$(printf '%s\n' "${passes[@]}" | grep -x loop-vectorize)"
for target in $TARGETS; do
    triple=${triples[$target]%% *}
    compile "$triple" -fsanitize=address
    wrong=
    for pass in "${passes[@]}"; do watch opt --passes="$pass" "$work/unit.bc"; done
    none "$triple: each pass" "$wrong"
done

# The stack's layout under AddressSanitizer and the depth of macros are texts that LLVM writes to streams.
compile x86_64-linux-gnu -fsanitize=address && "$tenon" compile -O1 "$work/unit.bc" -o "$work/unit.o"
some "the stack's layout" "$(strings "$work/unit.o" | grep ' a:[0-9]')"
# Names in reports of AddressSanitizer are C++'s.
some "names are demangled" "$(strings "$work/unit.o" | grep -x 'names::counted')"
