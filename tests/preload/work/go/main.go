// SPDX-License-Identifier: MIT

// Work for go with cgo: goroutines on many threads allocate by C's malloc, pass blocks on, and free them.
package main

/*
#include <stdlib.h>
#include <string.h>
#include <stdint.h>

struct chain { struct chain *next; size_t length; unsigned char bytes[]; };

static struct chain *grow(struct chain *next, size_t length, int fill) {
	struct chain *link = malloc(sizeof *link + length);
	if (link == NULL) abort();
	link->next = next;
	link->length = length;
	memset(link->bytes, fill, length);
	return link;
}

static uint64_t release(struct chain *link) {
	uint64_t sum = 0;
	while (link != NULL) {
		struct chain *next = link->next;
		for (size_t i = 0; i < link->length; i++) sum = sum * 31 + link->bytes[i];
		free(link);
		link = next;
	}
	return sum;
}

static char *twice(const char *text) {
	size_t length = strlen(text);
	char *copy = calloc(1, 2 * length + 1);
	copy = realloc(memcpy(copy, text, length), 4 * length + 1);
	memcpy(copy + length, text, length + 1);
	return copy;
}
*/
import "C"

import (
	"os"
	"strconv"
	"sync"
	"unsafe"
)

func main() {
	const makers, rounds = 6, 150
	chains := make(chan *C.struct_chain, 16)
	sums := make(chan uint64)
	var making sync.WaitGroup
	for maker := 0; maker < makers; maker++ {
		making.Add(1)
		go func(maker int) {
			defer making.Done()
			for round := 0; round < rounds; round++ {
				var chain *C.struct_chain
				for link := 0; link < 40; link++ {
					chain = C.grow(chain, C.size_t((maker*31+round*7+link*13)%4000), C.int(link))
				}
				chains <- chain
			}
		}(maker)
	}
	for taker := 0; taker < 4; taker++ {
		go func() {
			var sum uint64
			for chain := range chains {
				sum += uint64(C.release(chain))
			}
			sums <- sum
		}()
	}
	making.Wait()
	close(chains)
	var total uint64
	for taker := 0; taker < 4; taker++ {
		total += <-sums
	}
	os.Stdout.WriteString("chains " + strconv.FormatUint(total, 10) + "\n")

	words := map[string]int{}
	for i := 0; i < 20000; i++ {
		text := C.CString("word" + strconv.Itoa(i%777))
		longer := C.twice(text)
		words[C.GoString(longer)] += i
		C.free(unsafe.Pointer(text))
		C.free(unsafe.Pointer(longer))
	}
	sum := 0
	for word, count := range words {
		sum += len(word)*count + int(word[len(word)-1])
	}
	os.Stdout.WriteString("words " + strconv.Itoa(len(words)) + " " + strconv.Itoa(sum) + "\n")
}
