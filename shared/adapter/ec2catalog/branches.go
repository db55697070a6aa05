package ec2catalog

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed branches.txt
var branchesText string

// BranchInterfaces returns how many branch interfaces a type takes, 0 where it takes none: EC2 does not say it.
func BranchInterfaces(instanceType string) int64 { return branchInterfaces()[instanceType] }

// branchInterfaces returns how many branch interfaces a type takes, by name; none for one that is not a key.
var branchInterfaces = sync.OnceValue(func() map[string]int64 {
	counts := map[string]int64{}
	for line := range strings.Lines(branchesText) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		for _, group := range words[1:] {
			count, sizes, _ := strings.Cut(group, ":")
			n, err := strconv.ParseInt(count, 10, 64)
			if err != nil {
				// our own file, read by every test
				panic(fmt.Sprintf("branches.txt: %q in %q is not a count", count, line))
			}
			for _, family := range strings.Split(words[0], ",") {
				for _, size := range strings.Split(sizes, ",") {
					counts[family+"."+size] = n
				}
			}
		}
	}
	return counts
})
