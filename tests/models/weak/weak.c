/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Litmus tests of every publication, under the memory models of AArch64 and RISC-V. All candidate executions of a test
 * are enumerated: which write each read reads from, and in which order the writes to each variable reach memory. An
 * execution is possible if the axioms of the model hold (Arm Architecture Reference Manual, B2.3; RISC-V Unprivileged
 * ISA, chapter "RVWMO"): accesses to one variable agree with the program's order; nothing is written between the two
 * halves of an update; and nothing has to happen both before and after the same access. On both machines a write
 * reaches all other processors at once, so the models differ in one function, is_kept_in_order.
 *
 * Standard input has a test in each line: verdicts for AArch64 and RISC-V, a name in quotes, a program. A verdict is n
 * if the execution in which all reads read the values that they name must be impossible, and p if it must be
 * possible. Tests with a mistake show that the order is needed, and that the check notices what is missing.
 *
 * Threads are separated by `|`, steps by `;`:
 *     R x 1     a read that reads 1             RA: acquires (ldar; a load, then fence r, rw); RS: is sequentially
 *                                               consistent as well (ldar; fence rw, rw before that)
 *     W x 1     a write                         WL: releases (stlr; fence rw, w, then a store)
 *     U x 0 1   an update from 0 to 1 that acquires and releases: a pair of exclusive accesses, as on the first
 *               processors of AArch64, which have no better; one instruction on RISC-V
 *     F, FW     a full barrier; one between writes (dmb ishst; fence rw, w)
 *     M         a barrier, and each other thread executes one somewhere between its steps (membarrier)
 * A step may end in @N or !N: its address, or whether it is executed, depends on the N-th step of its thread, from 1.
 * Variables are 0 at first. */

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 20, THREADS = 3 };
enum kind { READ, WRITE, FULL, WRITES, MEMBARRIER };
enum machine { AARCH64, RISCV };

struct event {
    enum kind kind;
    char variable;
    int value, thread, step;
    bool acquires, releases, is_fenced, is_update; /* the second half of an update is the event after it */
    int address, control;                          /* the steps that it depends on, or 0 */
};

static struct event events[MAX];
static int count, first_of[THREADS + 1], threads;
static int from[MAX];    /* of reads: the write, or -1: the initial value */
static int place[MAX];   /* of writes: their place among those to the variable */
static int cut[THREADS]; /* of threads: the first event after the barrier that a membarrier has them execute */
static bool before[MAX][MAX];
static bool has_membarrier;
static enum machine machine;

static void parse(const char *text)
{
    struct event event = {.thread = 0};
    int step = 0, used;
    count = threads = first_of[0] = 0;
    has_membarrier = false;
    while (*text) {
        char word[4];
        if (sscanf(text, " %3[A-Z]%n", word, &used) != 1 || count + 2 > MAX)
            exit(2);
        text += used;
        event = (struct event){.thread = threads, .step = ++step};
        event.kind = strchr("RU", *word)   ? READ
                     : *word == 'W'        ? WRITE
                     : !strcmp(word, "FW") ? WRITES
                     : *word == 'F'        ? FULL
                                           : MEMBARRIER;
        event.acquires = *word == 'U' || word[1] == 'A' || word[1] == 'S';
        event.is_fenced = word[1] == 'S';
        event.releases = !strcmp(word, "WL");
        event.is_update = *word == 'U';
        if (event.kind <= WRITE && sscanf(text, " %c %d%n", &event.variable, &event.value, &used) == 2)
            text += used;
        struct event second = event;
        if (event.is_update && sscanf(text, " %d%n", &second.value, &used) == 1)
            text += used;
        if (*text == '@' || *text == '!')
            *(*text == '@' ? &event.address : &event.control) = text[1] - '0', text += 2;
        has_membarrier |= event.kind == MEMBARRIER;
        events[count++] = event;
        if (event.is_update) {
            second.kind = WRITE, second.acquires = false, second.releases = true;
            events[count++] = second;
        }
        while (isspace(*text) || *text == ';' || *text == '|')
            if (*text++ == '|')
                first_of[++threads] = count, step = 0;
    }
    first_of[++threads] = count;
    for (int r = 0; r < count; r++) {
        bool is_there = events[r].kind != READ || !events[r].value;
        for (int w = 0; w < count; w++)
            is_there |= events[w].kind == WRITE && events[w].variable == events[r].variable &&
                        events[w].value == events[r].value;
        if (!is_there)
            exit(2); /* a value that is never written cannot be read, whatever the order is */
    }
}

static bool is_access(int i)
{
    return events[i].kind <= WRITE;
}

static bool depends(int i, int on, bool by_address)
{
    int step = by_address ? events[i].address : events[i].control;
    return step && events[on].step == step && events[on].kind == READ;
}

/* True if the machine keeps the accesses a and b of a thread in the order of the program. */
static bool is_kept_in_order(int a, int b)
{
    const struct event *x = &events[a], *y = &events[b];
    bool is_one = machine == RISCV; /* an update is one access, which acquires and releases */
    if (x->acquires || (is_one && (x->is_update || y->is_update || y->is_fenced)) || y->releases)
        return true;
    if (machine == AARCH64 && x->releases && y->acquires)
        return true;
    if (depends(b, a, true) || (y->kind == WRITE && depends(b, a, false)))
        return true;
    for (int i = a + 1; i < b; i++) {
        if (events[i].kind == FULL || events[i].kind == MEMBARRIER)
            return true;
        if (events[i].kind == WRITES && y->kind == WRITE && (x->kind == WRITE || machine == RISCV))
            return true;
        if (y->kind == WRITE && events[i].kind <= WRITE && depends(i, a, true))
            return true; /* the address of an access between them might be a bad one */
    }
    return x->variable == y->variable &&
           (y->kind == WRITE || (machine == RISCV && x->kind == READ && y->kind == READ && from[a] != from[b]));
}

static bool reads_before(int read, int write) /* `write` is later than what `read` reads */
{
    return events[read].variable == events[write].variable &&
           (from[read] < 0 ? read + 1 != write || !events[read].is_update : place[from[read]] < place[write]) &&
           from[read] != write;
}

/* What the accesses to a variable and, if `all`, the thread's order and barriers put before what. */
static void relate(bool all)
{
    memset(before, 0, sizeof before);
    for (int a = 0; a < count; a++) {
        for (int b = 0; b < count; b++) {
            const struct event *x = &events[a], *y = &events[b];
            bool same_thread = x->thread == y->thread, same = x->variable == y->variable;
            if (a == b || !is_access(a) || !is_access(b))
                continue;
            if (all)
                before[a][b] = same_thread && a < b && is_kept_in_order(a, b);
            else
                before[a][b] = same_thread && a < b && same;
            if (all && same_thread)
                continue;
            before[a][b] |= (y->kind == READ && from[b] == a) ||
                            (x->kind == READ && y->kind == WRITE && reads_before(a, b)) ||
                            (x->kind == WRITE && y->kind == WRITE && same && place[a] < place[b]);
        }
    }
    for (int m = 0; all && m < count; m++) {
        if (events[m].kind != MEMBARRIER)
            continue;
        for (int a = 0; a < count; a++) {
            int thread = events[a].thread;
            if (thread == events[m].thread || !is_access(a))
                continue;
            for (int b = 0; b < count; b++) {
                if (is_access(b) && events[b].thread == events[m].thread)
                    *(b > m ? &before[a][b] : &before[b][a]) |= b > m ? a < cut[thread] : a >= cut[thread];
                else if (is_access(b) && events[b].thread == thread)
                    before[a][b] |= a < cut[thread] && b >= cut[thread];
            }
        }
    }
}

static bool has_cycle(void)
{
    for (int k = 0; k < count; k++)
        for (int a = 0; a < count; a++)
            for (int b = 0; b < count; b++)
                before[a][b] |= before[a][k] && before[k][b];
    for (int a = 0; a < count; a++)
        if (before[a][a])
            return true;
    return false;
}

static bool updates_are_whole(void)
{
    for (int r = 0; r < count; r++) {
        if (!events[r].is_update || events[r].kind != READ)
            continue;
        for (int w = 0; w < count; w++)
            if (events[w].kind == WRITE && events[w].variable == events[r].variable && w != r + 1 && w != from[r] &&
                place[w] < place[r + 1] && (from[r] < 0 || place[w] > place[from[r]]))
                return false;
    }
    return true;
}

static bool agrees_with_variables(void)
{
    if (!updates_are_whole())
        return false;
    relate(false);
    return !has_cycle();
}

/* Tries all places of the barriers that a membarrier has threads execute, from thread t on. */
static bool try_cuts(int t)
{
    if (t == threads) {
        relate(true);
        return !has_cycle();
    }
    for (cut[t] = first_of[t]; cut[t] <= first_of[t + 1]; cut[t]++)
        if (try_cuts(t + 1))
            return true;
    return false;
}

/* Tries all writes for the reads, and all places for the writes, from event i on. */
static bool is_possible(int i)
{
    if (i == count)
        return agrees_with_variables() && try_cuts(has_membarrier ? 0 : threads);
    if (events[i].kind == READ) {
        for (int w = -1; w < count; w++) {
            from[i] = w;
            if ((w < 0 ? events[i].value == 0
                       : events[w].kind == WRITE && events[w].variable == events[i].variable &&
                             events[w].value == events[i].value) &&
                is_possible(i + 1))
                return true;
        }
        return false;
    }
    if (events[i].kind != WRITE)
        return is_possible(i + 1);
    int writes = 0;
    for (int w = 0; w < count; w++)
        writes += events[w].kind == WRITE && events[w].variable == events[i].variable;
    for (place[i] = 0; place[i] < writes; place[i]++) {
        bool is_taken = false;
        for (int w = 0; w < i; w++)
            is_taken |= events[w].kind == WRITE && events[w].variable == events[i].variable && place[w] == place[i];
        if (!is_taken && is_possible(i + 1))
            return true;
    }
    return false;
}

int main(void)
{
    char line[400], wanted[3], name[100], program[250];
    int failed = 0, rows = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%2[np] \"%99[^\"]\" %249[^\n]", wanted, name, program) != 3)
            continue;
        for (machine = AARCH64; machine <= RISCV; machine++, rows++) {
            parse(program);
            char got = is_possible(0) ? 'p' : 'n';
            printf("%s %s, %s%s\n", got == wanted[machine] ? "ok" : "not ok", machine == AARCH64 ? "AArch64" : "RISC-V",
                   name,
                   got == wanted[machine] ? ""
                   : got == 'p'           ? ": it is possible"
                                          : ": it is impossible");
            failed += got != wanted[machine];
        }
    }
    return failed || !rows;
}
