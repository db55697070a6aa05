package structure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Summary has the figures of some packages together.
type Summary struct {
	Packages, Files, Lines  int
	LargestType             Type // its name with the folder before it
	Circle, CircleOf        int  // files of the circle that is the largest part of its package, and the package's files
	CircleIn                string
	FanOut                  int
	FanOutOf                string
	Functions, Long         int
	Cyclomatic, Cognitive   float64 // on average
	WorstCyclomatic         Function
	WorstCognitive          Function
	Cognitive15             int // functions above 15
	Interfaces              int
	LongLines               int
	Duplicates, DuplicateOf int // blocks that stand again, and their lines
}

// Sum returns the figures of packages together.
func (t *Tree) Sum(packages []*Package) Summary {
	s := Summary{Packages: len(packages)}
	cyclomatic, cognitive := 0, 0
	for _, p := range packages {
		s.Files += len(p.Files)
		s.Lines += p.Lines()
		s.Interfaces += len(p.Ports())
		s.LongLines += len(p.LongLines)
		if of := p.Types(); len(of) > 0 && of[0].Methods > s.LargestType.Methods {
			s.LargestType = Type{p.Folder + "." + of[0].Name, of[0].Methods}
		}
		circle := len(p.Circle)
		if len(p.Files) >= SmallestCircled && circle*s.CircleOf >= s.Circle*len(p.Files) && circle > 0 {
			s.Circle, s.CircleOf, s.CircleIn = circle, len(p.Files), p.Folder
		}
		if len(p.Imports) > s.FanOut {
			s.FanOut, s.FanOutOf = len(p.Imports), p.Folder
		}
		for _, f := range t.Functions(p) {
			s.Functions++
			cyclomatic += f.Cyclomatic
			cognitive += f.Cognitive
			if f.Lines > MaxFunctionLines {
				s.Long++
			}
			if f.Cognitive > 15 {
				s.Cognitive15++
			}
			if f.Cyclomatic > s.WorstCyclomatic.Cyclomatic {
				s.WorstCyclomatic = f
			}
			if f.Cognitive > s.WorstCognitive.Cognitive {
				s.WorstCognitive = f
			}
		}
	}
	if s.Functions > 0 {
		s.Cyclomatic = float64(cyclomatic) / float64(s.Functions)
		s.Cognitive = float64(cognitive) / float64(s.Functions)
	}
	s.Duplicates, s.DuplicateOf = Duplicates(packages)
	return s
}

// rows are the lines of the first table, with what each says of a summary.
var rows = []struct {
	name string
	cell func(Summary) string
}{
	{"Packages / files / lines", func(s Summary) string {
		return fmt.Sprintf("%d / %d / %d", s.Packages, s.Files, s.Lines)
	}},
	{"Methods of the largest type", func(s Summary) string {
		return fmt.Sprintf("%d (%s)", s.LargestType.Methods, s.LargestType.Name)
	}},
	{"Largest circle of files", func(s Summary) string {
		return fmt.Sprintf("%d of %d (%d %%, %s)", s.Circle, s.CircleOf, percent(s.Circle, s.CircleOf), s.CircleIn)
	}},
	{"Most packages of the repository imported", func(s Summary) string {
		return fmt.Sprintf("%d (%s)", s.FanOut, s.FanOutOf)
	}},
	{"Functions / over 60 lines", func(s Summary) string { return fmt.Sprintf("%d / %d", s.Functions, s.Long) }},
	{"Cyclomatic complexity: average / worst", func(s Summary) string {
		return fmt.Sprintf("%.2f / %d (%s)", s.Cyclomatic, s.WorstCyclomatic.Cyclomatic, s.WorstCyclomatic.Name)
	}},
	{"Cognitive complexity: average / worst / over 15", func(s Summary) string {
		worst := s.WorstCognitive
		return fmt.Sprintf("%.2f / %d (%s) / %d", s.Cognitive, worst.Cognitive, worst.Name, s.Cognitive15)
	}},
	{"Interfaces", func(s Summary) string { return fmt.Sprint(s.Interfaces) }},
	{"Lines over 120 columns", func(s Summary) string { return fmt.Sprint(s.LongLines) }},
	{"Blocks that stand again / their lines", func(s Summary) string {
		return fmt.Sprintf("%d / %d", s.Duplicates, s.DuplicateOf)
	}},
}

func percent(n, of int) int {
	if of == 0 {
		return 0
	}
	return (100*n + of/2) / of
}

// parts are the groups of folders that a report has a table for.
var parts = []struct {
	name    string
	folders []string
}{
	{"shared, functions and cmd", Shipped},
	{"shared/core", []string{"shared/core"}},
	{"shared/flow", []string{"shared/flow"}},
	{"shared/adapter", []string{"shared/adapter"}},
	{"functions", []string{"functions"}},
	{"cmd", []string{"cmd"}},
	{"testenv and tools", []string{"testenv", "tools"}},
}

// Report returns the figures of a tree as Markdown, beside those of an earlier one where before is not nil.
func Report(now, before *Tree) string {
	var out strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&out, "## %s\n\n", part.name)
		after := now.Sum(now.Under(part.folders...))
		if before == nil {
			out.WriteString("| Measure | |\n|---|---|\n")
			for _, row := range rows {
				fmt.Fprintf(&out, "| %s | %s |\n", row.name, row.cell(after))
			}
		} else {
			was := before.Sum(before.Under(part.folders...))
			out.WriteString("| Measure | Before | After |\n|---|---|---|\n")
			for _, row := range rows {
				fmt.Fprintf(&out, "| %s | %s | %s |\n", row.name, row.cell(was), row.cell(after))
			}
		}
		out.WriteString("\n")
	}
	out.WriteString(byPackage(now, before))
	return out.String()
}

// byPackage is the table with a line for each package that ships.
func byPackage(now, before *Tree) string {
	cells := map[string][2]string{}
	for i, tree := range []*Tree{before, now} {
		if tree == nil {
			continue
		}
		for _, p := range tree.Under(Shipped...) {
			one := cells[p.Folder]
			one[i] = tree.line(p)
			cells[p.Folder] = one
		}
	}
	var out strings.Builder
	out.WriteString("## Packages that ship\n\n" +
		"Files / lines / largest circle of files / methods of the largest type / " +
		"packages of the repository imported / cyclomatic complexity on average and at worst.\n\n")
	if before == nil {
		out.WriteString("| Package | |\n|---|---|\n")
	} else {
		out.WriteString("| Package | Before | After |\n|---|---|---|\n")
	}
	for _, folder := range slices.Sorted(maps.Keys(cells)) {
		fmt.Fprintf(&out, "| %s |", folder)
		if before != nil {
			fmt.Fprintf(&out, " %s |", cells[folder][0])
		}
		fmt.Fprintf(&out, " %s |\n", cells[folder][1])
	}
	return out.String()
}

func (t *Tree) line(p *Package) string {
	s := t.Sum([]*Package{p})
	circle := len(p.Circle)
	return fmt.Sprintf("%d / %d / %d (%d %%) / %d / %d / %.1f, %d", len(p.Files), s.Lines,
		circle, percent(circle, len(p.Files)), s.LargestType.Methods, len(p.Imports),
		s.Cyclomatic, s.WorstCyclomatic.Cyclomatic)
}
