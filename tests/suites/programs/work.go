// Goroutines, garbage, a recovered panic, a child process.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"
	"sync"
)

func chew(seed int) int {
	words := map[string][]string{}
	for i := 0; i < 20000; i++ {
		key := fmt.Sprint((i*7919 + seed) % 1009)
		words[key] = append(words[key], strings.Repeat("x", i%50))
	}
	keys := make([]string, 0, len(words))
	for key := range words {
		keys = append(keys, key+strings.Join(words[key], ","))
	}
	sort.Strings(keys)
	return len(strings.Join(keys, ";"))
}

func main() {
	results := make([]int, 32)
	var group sync.WaitGroup
	for i := range results {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			results[i] = chew(i)
		}(i)
	}
	group.Wait()
	fmt.Println(results)
	func() {
		defer func() { fmt.Println("recovered:", recover()) }()
		var list []int
		fmt.Println(list[len(results)])
	}()
	out, err := exec.Command("sh", "-c", "echo child; exit 3").Output()
	fmt.Printf("%s%v\n", out, err)
	os.Exit(6)
}
