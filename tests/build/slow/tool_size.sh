# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The tool with one target stays below its limit, which is in tools/build/rules.mk.

. tests/build/check

smallest() {
    make --no-print-directory size TARGETS=X86 BUILD="$BUILD/x86" SANITIZE= | tail -n 1 | tr -s " "
}

if line=$(set -o pipefail && smallest); then
    echo "ok size of the tool for X86 (${line# })"
else
    echo "not ok size of the tool for X86: $line"
fi
