// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The workloads of bench/gc in Go: workloads NAME [ARGUMENT...]. Standard output is the same.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"
)

var state uint64 = 88172645463325252

func nextRandom() uint64 {
	state ^= state << 13
	state ^= state >> 7
	state ^= state << 17
	return state
}

func argument(index int, otherwise uint64) uint64 {
	if index+1 >= len(os.Args) {
		return otherwise
	}
	value, _ := strconv.ParseUint(os.Args[index+1], 10, 64)
	return value
}

// ---- bt ----

type tree struct{ left, right *tree }

func makeTree(depth int) *tree {
	t := new(tree)
	if depth > 0 {
		t.left = makeTree(depth - 1)
		t.right = makeTree(depth - 1)
	}
	return t
}

func count(t *tree) int {
	if t.left == nil {
		return 1
	}
	return 1 + count(t.left) + count(t.right)
}

func bt() {
	const smallest = 4
	depth := int(argument(1, 18))
	fmt.Printf("stretch tree of depth %d\t check: %d\n", depth+1, count(makeTree(depth+1)))
	lasting := makeTree(depth)
	for d := smallest; d <= depth; d += 2 {
		rounds, sum := 1<<(depth-d+smallest), 0
		for i := 0; i < rounds; i++ {
			sum += count(makeTree(d))
		}
		fmt.Printf("%d\t trees of depth %d\t check: %d\n", rounds, d, sum)
	}
	fmt.Printf("long lived tree of depth %d\t check: %d\n", depth, count(lasting))
}

// ---- gcbench ----

type node struct {
	left, right *node
	i, j        int64
}

func growDown(depth int, n *node) {
	if depth <= 0 {
		return
	}
	n.left = new(node)
	n.right = new(node)
	growDown(depth-1, n.left)
	growDown(depth-1, n.right)
}

func growUp(depth int) *node {
	if depth <= 0 {
		return new(node)
	}
	left := growUp(depth - 1)
	right := growUp(depth - 1)
	return &node{left: left, right: right}
}

func sizeOfTree(depth int) int64 { return 2<<depth - 1 }

func gcbench() {
	const length, smallest = 500000, 4
	lastingDepth, largest := int(argument(1, 16)), int(argument(2, 16))
	growUp(largest + 2)
	lasting := new(node)
	growDown(lastingDepth, lasting)
	array := make([]float64, length)
	for i := 0; i < length/2; i++ {
		array[i] = 1.0 / float64(i+1)
	}
	for d := smallest; d <= largest; d += 2 {
		rounds := 2 * sizeOfTree(largest+2) / sizeOfTree(d)
		for i := int64(0); i < rounds; i++ {
			growDown(d, new(node))
		}
		for i := int64(0); i < rounds; i++ {
			growUp(d)
		}
	}
	if lasting.left == nil || array[1000] != 1.0/1001 {
		fmt.Println("failed")
	}
	fmt.Println("ok")
}

// ---- young ----

type small struct {
	next *small
	word uint64
}
type middle struct {
	next  *small
	words [3]uint64
}
type large struct {
	next  *small
	words [7]uint64
}

const ringSize = 1024

var ring [ringSize]interface{}

func young() {
	count, sum := argument(1, 100)*1000000, uint64(0)
	for i := uint64(0); i < count; i += 4 {
		slot := i / 2 % ringSize
		first := &small{word: i}
		m := new(middle)
		m.next = first
		m.words[0] = i
		second := &small{word: i}
		l := new(large)
		l.next = second
		l.words[0] = i
		ring[slot] = m
		ring[slot+1] = l
		sum += m.next.word
	}
	fmt.Printf("sum %d\n", sum)
}

// ---- lru ----

type value struct{ words [3]uint64 }
type entry struct {
	key                 uint64
	chain, newer, older *entry
	value               *value
}

var (
	buckets                   []*entry
	newest, oldest            *entry
	live, capacity, hits, sum uint64
)

func bucketOf(key uint64) uint64 { return key * 0x9E3779B97F4A7C15 >> 20 & uint64(len(buckets)-1) }

func unlink(e *entry) {
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		oldest = e.newer
	}
}

func makeNewest(e *entry) {
	e.newer = nil
	e.older = newest
	if newest != nil {
		newest.newer = e
	} else {
		oldest = e
	}
	newest = e
}

func evict() {
	e := oldest
	bucket := bucketOf(e.key)
	at := buckets[bucket]
	if at == e {
		buckets[bucket] = e.chain
	} else {
		for at.chain != e {
			at = at.chain
		}
		at.chain = e.chain
	}
	unlink(e)
	live--
}

func request(key uint64) {
	bucket := bucketOf(key)
	e := buckets[bucket]
	for e != nil && e.key != key {
		e = e.chain
	}
	if e != nil {
		hits++
		sum += e.value.words[0]
		unlink(e)
		makeNewest(e)
		if hits%4 == 0 {
			e.value = &value{[3]uint64{key, key, key}}
		}
		return
	}
	if live == capacity {
		evict()
	}
	e = &entry{key: key, value: &value{[3]uint64{key, key, key}}, chain: buckets[bucket]}
	buckets[bucket] = e
	makeNewest(e)
	live++
}

func lru() {
	const batch = 1000
	capacity = argument(1, 4000000)
	requests, length, worst := argument(2, 20000000), uint64(1), time.Duration(0)
	for length < capacity {
		length *= 2
	}
	buckets = make([]*entry, length)
	for key := uint64(0); key < capacity; key++ {
		request(key)
	}
	start := time.Now()
	for i := uint64(0); i < requests; i += batch {
		before := time.Now()
		for j := 0; j < batch; j++ {
			request(nextRandom() % (capacity * 2))
		}
		if took := time.Since(before); took > worst {
			worst = took
		}
	}
	fmt.Fprintf(os.Stderr, "loop %.3f s, worst %d requests %.2f ms\n", time.Since(start).Seconds(), batch,
		float64(worst)/1e6)
	fmt.Printf("hits %d sum %d live %d\n", hits, sum, live)
}

// ---- latency ----

type keyed struct {
	left, right *keyed
	words       [2]uint64
}

const depthOfTrees, garbage, looks, replaced = 9, 4, 4, 8

func makeKeyed(depth int, key uint64) *keyed {
	t := new(keyed)
	t.words[0] = key
	if depth > 0 {
		t.left = makeKeyed(depth-1, 2*key)
		t.right = makeKeyed(depth-1, 2*key+1)
	}
	return t
}

func addUp(t *keyed) uint64 {
	if t.left == nil {
		return t.words[0]
	}
	return t.words[0] + addUp(t.left) + addUp(t.right)
}

func report(times []int, total time.Duration) {
	sort.Ints(times)
	fmt.Fprintf(os.Stderr, "loop %.3f s, us:", total.Seconds())
	for _, part := range []float64{.5, .99, .999, .9999} {
		fmt.Fprintf(os.Stderr, " p%g %.0f", part*100, float64(times[int(float64(len(times))*part)])/1e3)
	}
	fmt.Fprintf(os.Stderr, " max %.0f\n", float64(times[len(times)-1])/1e3)
}

func latency() {
	requests, trees, sum := argument(1, 50000), argument(2, 15625), uint64(0)
	store := make([]*keyed, trees)
	for i := range store {
		store[i] = makeKeyed(depthOfTrees, uint64(i))
	}
	times := make([]int, requests)
	start := time.Now()
	for i := uint64(0); i < requests; i++ {
		begin := time.Now()
		for j := 0; j < garbage; j++ {
			sum += addUp(makeKeyed(depthOfTrees, i))
		}
		if i%replaced == 0 {
			store[nextRandom()%trees] = makeKeyed(depthOfTrees, i)
		}
		for j := 0; j < looks; j++ {
			sum += addUp(store[nextRandom()%trees])
		}
		times[i] = int(time.Since(begin))
	}
	report(times, time.Since(start))
	fmt.Printf("sum %d\n", sum)
}

func main() {
	map[string]func(){"bt": bt, "gcbench": gcbench, "young": young, "lru": lru, "latency": latency}[os.Args[1]]()
}
