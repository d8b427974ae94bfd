/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Between host.cpp and managed.c. */

#ifdef __cplusplus
extern "C" {
#define COMPLEX __complex__ double
#else
#define COMPLEX _Complex double
#endif

struct large {
    long words[7];
};
struct mixed {
    long number;
    double real;
};
struct pair {
    long first, second;
};
typedef float four __attribute__((vector_size(16)));

/* ---- of the host ---- */

long in_registers(long a, long b, long c, long d, long e, long f, double g, double h);
long in_memory(long a, long b, long c, long d, long e, long f, long g, long h, double i, double j, double k, double l,
               double m, double n, double o, double p, double q, char r, struct large s, short t);
long double extended(long double a, struct mixed b, long double c);
struct large returned_large(struct large of);
struct mixed returned_mixed(long number);
struct pair returned_pair(long number);
four returned_vector(four of);
COMPLEX returned_complex(COMPLEX of);
long double returned_extended(long number);
float returned_float(long number);

/* Not 0 while the world is stopped. wait_for_stop returns then, and the world goes on soon afterwards. */
extern volatile int is_stopped;
void wait_for_stop(void);

long call_back(long depth);
void call_function(void (*function)(void));
void throw_below(long depth);
void jump_below(void *target, long depth);

/* ---- managed ---- */

long work(long count);
long pass_everything(void);
long go_down(long depth);
long be_thrown_through(long depth);
long take_unwound(void);
long be_jumped_to(long depth);
long be_jumped_over(void *target, long depth);
long jump_and_call(long depth);
struct tn_handle;
long value_of(struct tn_handle *handle);
void throw_in_stop(void);
void jump_in_stop(void *target);
long enter_from_stop(void);
long be_caught(long depth); /* catch.ll */
long come_back(void);
long return_from_stop(void);
long be_thrown_in_stop(void), take_early(void);
long be_jumped_to_in_stop(void);
long jump_and_enter_in_stop(void);
long read_through_handle(void);

#ifdef __cplusplus
}
#endif
