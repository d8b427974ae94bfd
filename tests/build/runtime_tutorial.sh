# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The chapters of doc/tutorial that need libtenon.a alone.

. tests/build/tutorial_page

chapter 1-plugin
chapter 2-reload
