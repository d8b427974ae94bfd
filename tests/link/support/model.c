/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions of random operations, one after the other. */

#include <stdarg.h>
#include <stdlib.h>

#include "model.h"
#include "model_state.h"

const char *const model_names[NAMES] = {"a", "b", "c", "d", "e", "f", "g"};

unsigned model_roll(struct model *m, unsigned below)
{
    m->random = m->random * 1664525 + 1013904223;
    return (m->random >> 8) % below;
}

void model_note(struct model *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(m->log, "%d: ", m->step);
    vfprintf(m->log, format, arguments);
    fputc('\n', m->log);
    va_end(arguments);
}

void model_fail(const struct model *m, const char *condition)
{
    fflush(m->log);
    fputs(m->logged, stderr); /* may be too long for cmocka */
    fail_msg("seed %u, step %d: %s", m->seed, m->step, condition);
}

/* ---- a session ---- */

static void open_model(struct model *m)
{
    struct tn_error err;
    m->log = open_memstream(&m->logged, &m->log_size);
    assert_non_null(m->log);
    assert_ok(tn_session_create(NULL, &m->session, &err), &err);
    for (int l = 0; l < LIBRARIES; l++) {
        assert_ok(tn_library_create(m->session, "library", &m->libraries[l], &err), &err);
        m->trackers[l][0] = tn_library_tracker(m->libraries[l]);
        for (int t = 1; t < TRACKERS; t++)
            assert_ok(tn_tracker_create(m->libraries[l], &m->trackers[l][t], &err), &err);
    }
    for (int l = 0; l < LIBRARIES; l++) {
        struct tn_search search[LIBRARIES];
        m->search_count[l] = (int)model_roll(m, LIBRARIES + 1);
        for (int i = 0; i < m->search_count[l]; i++) {
            m->search[l][i] = (int)model_roll(m, LIBRARIES);
            m->search_flags[l][i] = model_roll(m, 4) ? 0 : TN_SEARCH_HIDDEN;
            model_note(m, "library %d searches %d%s", l, m->search[l][i],
                       m->search_flags[l][i] ? ", also what it hides" : "");
            search[i] = (struct tn_search){m->libraries[m->search[l][i]], m->search_flags[l][i]};
        }
        assert_ok(tn_library_search(m->libraries[l], search, (size_t)m->search_count[l], &err), &err);
    }
    memset(m->entry, 0xff, sizeof m->entry);
}

static void close_model(struct model *m)
{
    for (int i = 0; i < PENDING; i++)
        if (m->pending[i].waits)
            m->ambiguous = true;
    tn_session_destroy(m->session);
    fclose(m->log);
    free(m->logged);
}

static void do_step(struct model *m)
{
    static model_operation *const adding[] = {model_add_object, model_add_object,  model_add_object, model_add_address,
                                              model_add_alias,  model_add_promise, model_add_promise};
    int library = (int)model_roll(m, LIBRARIES);
    int name = (int)model_roll(m, NAMES), tracker = (int)model_roll(m, TRACKERS);
    if (m->removed[library])
        return;
    unsigned what = model_roll(m, 100);
    if (what < 40)
        adding[model_roll(m, COUNT(adding))](m, library, name, tracker);
    else if (what < 80)
        model_look_up(m, library);
    else if (what < 88)
        model_end_one(m);
    else if (what < 94)
        model_remove_tracker(m, library, tracker);
    else if (what < 97)
        model_transfer(m, library, tracker, (int)model_roll(m, TRACKERS));
    else if (what < 99)
        model_clear_library(m, library);
    else if (model_roll(m, 3) == 0)
        model_remove_library(m, library);
}

/* Runs a session of that many steps, or until the model cannot predict it. */
static void run_session(struct model *m, int steps)
{
    open_model(m);
    for (; steps && !m->ambiguous; steps--, m->step++) {
        do_step(m);
        if (!m->ambiguous)
            model_check_waiting(m);
    }
    close_model(m);
}

long model_run(unsigned seed, int steps)
{
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    long checked = 0;
    for (m->random = seed; m->step < steps;) {
        int step = m->step;
        unsigned random = m->random;
        memset(m, 0, sizeof *m);
        m->seed = seed;
        m->step = step;
        m->random = random;
        run_session(m, 50 << model_roll(m, 6)); /* short sessions reach corner cases more often */
        checked += m->checked;
    }
    free(m);
    return checked;
}
