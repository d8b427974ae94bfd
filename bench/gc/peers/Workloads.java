/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The workloads of bench/gc in Java: Workloads NAME [ARGUMENT...]. Standard output is the same. */

import java.util.Arrays;

final class Workloads {
    static final long SEED = 88172645463325252L;
    static String[] arguments;
    static long state = SEED;

    static long argument(int index, long otherwise) {
        return index < arguments.length ? Long.parseLong(arguments[index]) : otherwise;
    }

    static long nextRandom() {
        state ^= state << 13;
        state ^= state >>> 7;
        return state ^= state << 17;
    }

    public static void main(String[] given) {
        arguments = given;
        switch (given[0]) {
        case "bt" -> Bt.run();
        case "gcbench" -> GcBench.run();
        case "young" -> Young.run();
        case "lru" -> Lru.run();
        case "latency" -> Latency.run();
        default -> System.exit(2);
        }
    }

    static final class Bt {
        static final class Tree {
            Tree left, right;
        }

        static Tree make(int depth) {
            Tree t = new Tree();
            if (depth > 0) {
                t.left = make(depth - 1);
                t.right = make(depth - 1);
            }
            return t;
        }

        static int count(Tree t) {
            return t.left != null ? 1 + count(t.left) + count(t.right) : 1;
        }

        static void run() {
            final int smallest = 4, depth = (int)argument(1, 18);
            System.out.printf("stretch tree of depth %d\t check: %d\n", depth + 1, count(make(depth + 1)));
            Tree lasting = make(depth);
            for (int d = smallest; d <= depth; d += 2) {
                int rounds = 1 << (depth - d + smallest), sum = 0;
                for (int i = 0; i < rounds; i++)
                    sum += count(make(d));
                System.out.printf("%d\t trees of depth %d\t check: %d\n", rounds, d, sum);
            }
            System.out.printf("long lived tree of depth %d\t check: %d\n", depth, count(lasting));
        }
    }

    static final class GcBench {
        static final class Node {
            Node left, right;
            long i, j;
        }

        static void growDown(int depth, Node n) {
            if (depth <= 0)
                return;
            n.left = new Node();
            n.right = new Node();
            growDown(depth - 1, n.left);
            growDown(depth - 1, n.right);
        }

        static Node growUp(int depth) {
            if (depth <= 0)
                return new Node();
            Node left = growUp(depth - 1), right = growUp(depth - 1), n = new Node();
            n.left = left;
            n.right = right;
            return n;
        }

        static long sizeOfTree(int depth) {
            return (2L << depth) - 1;
        }

        static void run() {
            final int length = 500000, smallest = 4;
            int lastingDepth = (int)argument(1, 16), largest = (int)argument(2, 16);
            growUp(largest + 2);
            Node lasting = new Node();
            growDown(lastingDepth, lasting);
            double[] array = new double[length];
            for (int i = 0; i < length / 2; i++)
                array[i] = 1.0 / (i + 1);
            for (int d = smallest; d <= largest; d += 2) {
                long rounds = 2 * sizeOfTree(largest + 2) / sizeOfTree(d);
                for (long i = 0; i < rounds; i++)
                    growDown(d, new Node());
                for (long i = 0; i < rounds; i++)
                    growUp(d);
            }
            if (lasting.left == null || array[1000] != 1.0 / 1001)
                System.out.println("failed");
            System.out.println("ok");
        }
    }

    static final class Young {
        static class Any {
            Small next;
        }
        static final class Small extends Any {
            long word;

            Small(long word) {
                this.word = word;
            }
        }
        static final class Middle extends Any {
            long word0, word1, word2;
        }
        static final class Large extends Any {
            long word0, word1, word2, word3, word4, word5, word6;
        }

        static final int RING = 1024;
        static final Any[] ring = new Any[RING];

        static void run() {
            long count = argument(1, 100) * 1000000, sum = 0;
            for (long i = 0; i < count; i += 4) {
                int slot = (int)(i / 2 % RING);
                Small first = new Small(i);
                Middle m = new Middle();
                m.next = first;
                m.word0 = i;
                Small second = new Small(i);
                Large l = new Large();
                l.next = second;
                l.word0 = i;
                ring[slot] = m;
                ring[slot + 1] = l;
                sum += m.next.word;
            }
            System.out.println("sum " + sum);
        }
    }

    static final class Lru {
        static final class Value {
            long word0, word1, word2;

            Value(long key) {
                word0 = word1 = word2 = key;
            }
        }
        static final class Entry {
            long key;
            Entry chain, newer, older;
            Value value;
        }

        static Entry[] buckets;
        static Entry newest, oldest;
        static long live, capacity, hits, sum;

        static int bucketOf(long key) {
            return (int)(key * 0x9E3779B97F4A7C15L >>> 20 & buckets.length - 1);
        }

        static void unlink(Entry e) {
            if (e.newer != null)
                e.newer.older = e.older;
            else
                newest = e.older;
            if (e.older != null)
                e.older.newer = e.newer;
            else
                oldest = e.newer;
        }

        static void makeNewest(Entry e) {
            e.newer = null;
            e.older = newest;
            if (newest != null)
                newest.newer = e;
            else
                oldest = e;
            newest = e;
        }

        static void evict() {
            Entry e = oldest;
            int bucket = bucketOf(e.key);
            Entry at = buckets[bucket];
            if (at == e) {
                buckets[bucket] = e.chain;
            } else {
                while (at.chain != e)
                    at = at.chain;
                at.chain = e.chain;
            }
            unlink(e);
            live--;
        }

        static void request(long key) {
            int bucket = bucketOf(key);
            Entry e = buckets[bucket];
            while (e != null && e.key != key)
                e = e.chain;
            if (e != null) {
                hits++;
                sum += e.value.word0;
                unlink(e);
                makeNewest(e);
                if (hits % 4 == 0)
                    e.value = new Value(key);
                return;
            }
            if (live == capacity)
                evict();
            e = new Entry();
            e.key = key;
            e.value = new Value(key);
            e.chain = buckets[bucket];
            buckets[bucket] = e;
            makeNewest(e);
            live++;
        }

        static void run() {
            final int batch = 1000;
            long requests = argument(2, 20000000), worst = 0;
            capacity = argument(1, 4000000);
            int count = 1;
            while (count < capacity)
                count *= 2;
            buckets = new Entry[count];
            for (long key = 0; key < capacity; key++)
                request(key);
            long start = System.nanoTime();
            for (long i = 0; i < requests; i += batch) {
                long before = System.nanoTime();
                for (int j = 0; j < batch; j++)
                    request(Long.remainderUnsigned(nextRandom(), capacity * 2));
                worst = Math.max(worst, System.nanoTime() - before);
            }
            System.err.printf("loop %.3f s, worst %d requests %.2f ms\n", (System.nanoTime() - start) / 1e9, batch,
                              worst / 1e6);
            System.out.println("hits " + hits + " sum " + sum + " live " + live);
        }
    }

    static final class Latency {
        static final class Tree {
            Tree left, right;
            long word0, word1;
        }

        static final int DEPTH = 9, GARBAGE = 4, LOOKS = 4, REPLACED = 8;

        static Tree make(int depth, long key) {
            Tree t = new Tree();
            t.word0 = key;
            if (depth > 0) {
                t.left = make(depth - 1, 2 * key);
                t.right = make(depth - 1, 2 * key + 1);
            }
            return t;
        }

        static long addUp(Tree t) {
            return t.left != null ? t.word0 + addUp(t.left) + addUp(t.right) : t.word0;
        }

        static void report(int[] times, long total) {
            Arrays.sort(times);
            System.err.printf("loop %.3f s, us:", total / 1e9);
            for (double part : new double[] {.5, .99, .999, .9999})
                System.err.printf(" p%s %.0f", String.format("%.2f", part * 100).replaceAll("\\.?0+$", ""),
                                  times[(int)(times.length * part)] / 1e3);
            System.err.printf(" max %.0f\n", times[times.length - 1] / 1e3);
        }

        static void run() {
            int requests = (int)argument(1, 50000), trees = (int)argument(2, 15625);
            long sum = 0;
            Tree[] store = new Tree[trees];
            for (int i = 0; i < trees; i++)
                store[i] = make(DEPTH, i);
            int[] times = new int[requests];
            long start = System.nanoTime();
            for (int i = 0; i < requests; i++) {
                long begin = System.nanoTime();
                for (int j = 0; j < GARBAGE; j++)
                    sum += addUp(make(DEPTH, i));
                if (i % REPLACED == 0)
                    store[(int)Long.remainderUnsigned(nextRandom(), trees)] = make(DEPTH, i);
                for (int j = 0; j < LOOKS; j++)
                    sum += addUp(store[(int)Long.remainderUnsigned(nextRandom(), trees)]);
                times[i] = (int)Math.min(System.nanoTime() - begin, Integer.MAX_VALUE);
            }
            report(times, System.nanoTime() - start);
            System.out.println("sum " + Long.toUnsignedString(sum));
        }
    }
}
