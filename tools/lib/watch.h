/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What `tenon run` and `tenon compile` show of compilations (watch.c, reports.c), and of time (times.c, progress.c). */

#ifndef TENON_TOOL_WATCH_H
#define TENON_TOOL_WATCH_H

#include "lib/tool.h"

/* ---- times.c: any thread may call these ---- */

/* From now on there is a trace; what took less is left out, but in totals. The other functions do nothing before. */
void tool_time_start(uint64_t shortest_ns);
/* One bar of --time-trace; both texts are copied. */
void tool_time_event(const char *what, const char *detail, uint64_t begin_ns, uint64_t end_ns);
/* The same on the line of a thread, or of something else that has a name (TOOL_TRACK...). */
enum { TOOL_TRACK_CYCLES = 1 };
void tool_time_event_of(int track, const char *what, const char *detail, uint64_t begin_ns, uint64_t end_ns);
/* Names a line, if it has no name; the text is not copied. */
void tool_time_name(int track, const char *name);
/* A pass of this thread has ended. Those of one function are also a bar named `what`, which is compared by address. */
void tool_time_trace_pass(const struct tn_pass *pass, const char *what);
/* The passes over the function that was the last one are over. */
void tool_time_end_function(void);
/* Writes what there is, in the format of Chrome's and Perfetto's trace viewers. False: an error was reported. */
bool tool_write_time_trace(const char *name);

/* One run of a pass, for --time-passes. */
void tool_time_pass(const struct tn_pass *pass);
void tool_print_pass_times(FILE *out);

/* ---- reports.c ---- */

/* Opens the files that options name, and has the observer write to them. False: an error was reported. */
bool tool_reports_start(const struct settings *settings, struct tn_compile_observer *observer);
bool tool_reports_end(void);
/* How many functions were left to LLVM by the baseline compiler so far, for each reason; with --stats. */
void tool_print_reasons(FILE *out);

/* ---- progress.c ---- */

/* If standard error is a terminal, a line is kept there from now on about what takes longer than a second. */
bool tool_progress_start(void);
void tool_progress_phase(const char *module, enum tn_phase ended);
void tool_progress_function(void);
/* So many parts of so many are done: a bar takes the place of what happens to modules. */
void tool_progress_parts(size_t done, size_t parts);
/* Takes the line away until as many calls have released it as have held it: other output goes to the terminal. */
void tool_progress_hold(void);
void tool_progress_release(void);
/* Takes the line away: the program runs. */
void tool_progress_stop(void);

#endif
