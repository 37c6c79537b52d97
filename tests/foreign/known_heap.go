// A program that knows its heap and writes Go's own profile of it: known_heap FILE
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

//go:noinline
func smallObject(bytes int) []byte { return make([]byte, bytes) }

//go:noinline
func mediumObject(bytes int) []byte { return make([]byte, bytes) }

func main() {
	runtime.MemProfileRate = 65536
	// Room first, so that growing is not measured.
	kept = make([][]byte, 0, 200000)
	small, medium := [2]int{}, [2]int{}
	count := [2]int{}
	// Sizes of Go's classes, which are what it counts.
	for i := 0; i < 400000; i++ {
		bytes := []int{32, 64, 112, 208}[i%4]
		object := smallObject(bytes)
		small[0] += bytes
		if i%5 == 0 {
			kept = append(kept, object)
			small[1] += bytes
			count[0]++
		}
	}
	for i := 0; i < 20000; i++ {
		bytes := []int{3072, 4864}[i%2]
		object := mediumObject(bytes)
		medium[0] += bytes
		if i%8 < 2 {
			kept = append(kept, object)
			medium[1] += bytes
			count[1]++
		}
	}
	// What a profile shows is as of the last collection but one.
	runtime.GC()
	runtime.GC()
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if err := pprof.Lookup("heap").WriteTo(file, 0); err != nil {
		panic(err)
	}
	fmt.Printf("{\"main.smallObject\": {\"allocated\": %d, \"live\": %d, \"count\": %d}, ",
		small[0], small[1], count[0])
	fmt.Printf("\"main.mediumObject\": {\"allocated\": %d, \"live\": %d, \"count\": %d}}\n",
		medium[0], medium[1], count[1])
	runtime.KeepAlive(kept)
}
