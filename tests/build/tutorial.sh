# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The chapters of doc/tutorial that need the code generator.

. tests/build/tutorial_page

install_tree make --no-print-directory install
for name in 3-compile 4-tiers 5-collected 6-image 7-packages; do
    chapter $name
done
if echo '#include <editline/readline.h>' | $CC -include stdio.h -fsyntax-only -xc - 2>/dev/null; then
    chapter 8-dowel
else
    echo "ok chapter 8 # SKIP there is no libedit-dev"
fi
