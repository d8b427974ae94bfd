/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Between matrix_a.c and matrix_b.c. */

extern int shared_data, shared_array[5];
extern int common_counter;
extern int common_array[100];

int twice_a(int x);
int add_b(int x);
__attribute__((visibility("hidden"))) int hidden_b(int x);
int count_b(void);
int weak_in_both(void);
const char *string_b(void);
int (*function_of_b(void))(int);
int call_from_b(int (*function)(int), int x);

extern __attribute__((weak)) int weak_missing(void);
extern __attribute__((weak)) int weak_missing_data;
