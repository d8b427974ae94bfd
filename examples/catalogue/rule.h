/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef RULE_H
#define RULE_H

#include "catalogue.h"

/* Returns the price of the article, which was `price` before. */
uint64_t rule(const struct article *article, uint64_t price);

uint64_t percent(uint64_t price, uint64_t number); /* money.c */

#endif
