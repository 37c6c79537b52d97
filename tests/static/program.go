// usage: program COUNT: prints the bytes and the allocations that its C functions asked for. Go's own
// heap is none of the C library's.
package main

/*
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void ask_once(size_t bytes) {
  free(memset(malloc(bytes), 1, bytes));
  free(memset(calloc(2, bytes), 1, 2 * bytes));
}

__attribute__((noinline)) static void ask_below(int depth, size_t bytes) {
  if (depth == 0) {
    ask_once(bytes);
  } else {
    ask_below(depth - 1, bytes);
  }
  __asm__ volatile("" ::: "memory");
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	asked := 0
	for i := 0; i < rounds; i++ {
		bytes := 20 + i%50
		C.ask_below(10, C.size_t(bytes))
		asked += 3 * bytes
	}
	fmt.Println("parent", asked, 2*rounds)
}
