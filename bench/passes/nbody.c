/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Five bodies that attract each other, after The Computer Language Benchmarks Game. Vectors are boxes, bodies objects.
 *     nbody [STEPS] */

#include <math.h>

#include "kernel.h"

enum { BODIES = 5 };

struct triple {
    double x, y, z;
};
TN_LEAF(struct triple);
typedef BOX(struct triple) triple;

struct body {
    struct triple at, velocity;
    double mass;
};
TN_LEAF(struct body);

typedef struct body tn_ref *body;

struct bodies {
    size_t length;
    body items[];
};
TN_ARRAY_OF_REFERENCES(struct bodies, items);
typedef struct bodies tn_ref *bodies;

static triple make(double x, double y, double z)
{
    return NEW_BOX(struct triple, x, y, z);
}

static triple position(body b)
{
    return make(b->at.x, b->at.y, b->at.z);
}

static triple difference(triple a, triple b)
{
    return make(UNBOX(a).x - UNBOX(b).x, UNBOX(a).y - UNBOX(b).y, UNBOX(a).z - UNBOX(b).z);
}

static triple scaled(triple a, double by)
{
    return make(UNBOX(a).x * by, UNBOX(a).y * by, UNBOX(a).z * by);
}

static double dot(triple a, triple b)
{
    return UNBOX(a).x * UNBOX(b).x + UNBOX(a).y * UNBOX(b).y + UNBOX(a).z * UNBOX(b).z;
}

static void push(body b, triple by)
{
    b->velocity.x += UNBOX(by).x;
    b->velocity.y += UNBOX(by).y;
    b->velocity.z += UNBOX(by).z;
}

static void advance(bodies all, double dt)
{
    for (size_t i = 0; i < all->length; i++)
        for (size_t k = i + 1; k < all->length; k++) {
            body a = all->items[i], b = all->items[k];
            triple d = difference(position(a), position(b));
            double square = dot(d, d), magnitude = dt / (square * sqrt(square));
            push(a, scaled(d, -b->mass * magnitude));
            push(b, scaled(d, a->mass * magnitude));
        }
    for (size_t i = 0; i < all->length; i++) {
        body b = all->items[i];
        b->at.x += dt * b->velocity.x;
        b->at.y += dt * b->velocity.y;
        b->at.z += dt * b->velocity.z;
    }
}

int main(int argc, char **argv)
{
    long steps = (long)argument(argc, argv, 1, 1000000);
    uint64_t state = SEED;
    bodies all = tn_new_array(struct bodies, items, BODIES);
    for (size_t i = 0; i < BODIES; i++) {
        body b = tn_new(struct body);
        b->at.x = (double)(next_random(&state) % 1000) / 100;
        b->at.y = (double)(next_random(&state) % 1000) / 100;
        b->at.z = (double)(next_random(&state) % 1000) / 100;
        b->mass = i == 0 ? 40 : 0.01 * (double)i;
        all->items[i] = b;
    }
    for (long i = 0; i < steps; i++)
        advance(all, 0.001);
    printf("%.9f %.9f\n", all->items[1]->at.x, all->items[4]->at.z);
    return 0;
}
