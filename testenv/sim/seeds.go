package sim

import (
	"bufio"
	_ "embed" // the list of seeds
	"fmt"
	"strconv"
	"strings"
)

//go:embed seeds.txt
var seedList string

// Seed is one that once broke a rule.
type Seed struct {
	Number uint64
	Mode   Mode // in which it broke the rule
	Cause  string
}

// Config returns the run.
func (s Seed) Config() Config { return s.Mode.Draw(s.Number) }

// Seeds returns the seeds of seeds.txt: a line for each, the number, the mode and a colon where it is not "drawn", and then the cause;
// lines that begin with # are left out.
func Seeds() ([]Seed, error) {
	var seeds []Seed
	lines := bufio.NewScanner(strings.NewReader(seedList))
	for lines.Scan() {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		first, cause, _ := strings.Cut(text, " ")
		mode := Modes()[0]
		for _, m := range Modes() {
			if rest, found := strings.CutPrefix(cause, m.Name+": "); found {
				mode, cause = m, rest
			}
		}
		number, err := strconv.ParseUint(first, 10, 64)
		if err != nil || cause == "" {
			return nil, fmt.Errorf("seeds.txt: %q is not a seed and its cause", text)
		}
		seeds = append(seeds, Seed{number, mode, cause})
	}
	return seeds, lines.Err()
}
