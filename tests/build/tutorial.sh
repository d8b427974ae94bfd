# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The chapters of doc/tutorial that need the code generator.

. tests/build/tutorial_page

chapter 3-compile
