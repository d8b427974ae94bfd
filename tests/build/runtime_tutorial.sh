# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The chapters of doc/tutorial that need libtenon.a alone.

. tests/build/tutorial_page

unset LLVM_LINK
install_tree tools/build/install.sh install
chapter 1-plugin
chapter 2-reload
