package machine

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// defaultHugePageBytes is the size of the pages that vm.nr_hugepages counts.
const defaultHugePageBytes = 2 << 20

// hugePages returns how many huge pages of the default size the scripts in user
// data have the kernel set aside: the last vm.nr_hugepages=N that any of them
// passes to sysctl. Nothing else of the scripts is run.
func hugePages(userData []byte) int64 {
	scripts, err := shellParts(userData)
	if err != nil {
		return 0 // there is no script, which others say where it matters
	}
	var pages int64
	for _, script := range scripts {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
		if err != nil {
			continue
		}
		syntax.Walk(file, func(node syntax.Node) bool {
			call, ok := node.(*syntax.CallExpr)
			if !ok {
				return true
			}
			sysctl := false
			for _, arg := range call.Args {
				word := arg.Lit()
				sysctl = sysctl || word == "sysctl"
				if count, is := strings.CutPrefix(word, "vm.nr_hugepages="); is && sysctl {
					if n, err := strconv.ParseInt(count, 10, 32); err == nil {
						pages = n
					}
				}
			}
			return true
		})
	}
	return pages
}
