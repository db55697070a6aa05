// Command list prints the ids of doubts about AWS, a line each; with -v both readings of each.
package main

import (
	"flag"
	"fmt"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

func main() {
	both := flag.Bool("v", false, "print both readings")
	flag.Parse()
	for _, d := range reading.All() {
		fmt.Println(d.ID)
		if *both {
			fmt.Printf("  default: %s\n  other:   %s\n", d.Default, d.Other)
		}
	}
}
