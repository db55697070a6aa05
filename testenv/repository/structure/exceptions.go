package structure

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Excess is a value beyond a limit.
type Excess struct {
	Where   string // a folder, or a type of one: shared/core/pack.solver
	Measure string
	Value   int
	Places  []string // where each is, where the measure counts places
}

// The measures.
const (
	methodsOfAType  = "methods of a type"
	filesInACircle  = "files in a circle"
	importsOfOurs   = "packages of the repository imported"
	longFunctions   = "functions over 60 lines"
	longLines       = "lines over 120 columns"
	longTestLines   = "lines of tests over 120 columns"
	unusedNames     = "names that nothing which ships uses"
	misnamedComment = "doc comments that begin with another name"
)

// Excess returns what is beyond a limit, in the order of folders.
func (t *Tree) Excess() []Excess {
	var out []Excess
	unused := t.Unused()
	for _, p := range t.Packages {
		add := func(measure string, places []string, most int) {
			if len(places) > most {
				out = append(out, Excess{p.Folder, measure, len(places), places})
			}
		}
		for _, of := range p.Types() {
			if of.Methods > MaxMethods {
				out = append(out, Excess{p.Folder + "." + of.Name, methodsOfAType, of.Methods, nil})
			}
		}
		if len(p.Files) >= SmallestCircled {
			add(filesInACircle, p.Circle, len(p.Files)*MaxCirclePercent/100)
		}
		var long []string
		for _, f := range t.Functions(p) {
			if f.Lines > MaxFunctionLines {
				long = append(long, f.Place+": "+f.Name)
			}
		}
		add(importsOfOurs, p.Imports, MaxFanOut)
		add(longFunctions, long, 0)
		add(longLines, p.LongLines, 0)
		add(longTestLines, p.LongTestLines, 0)
		add(unusedNames, unused[p.Folder], 0)
		add(misnamedComment, t.Misnamed(p), 0)
	}
	return out
}

var columnsOfExceptions = []string{"where", "measure", "most"}

// ReadExceptions reads a file that WriteExceptions wrote.
func ReadExceptions(file string) ([]Excess, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read only
	reader := csv.NewReader(f)
	reader.Comment = '#'
	rows, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(rows) == 0 || !slices.Equal(rows[0], columnsOfExceptions) {
		return nil, fmt.Errorf("%s needs the columns %v", file, columnsOfExceptions)
	}
	var out []Excess
	for _, row := range rows[1:] {
		most, err := strconv.Atoi(row[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %v: %w", file, row, err)
		}
		out = append(out, Excess{Where: row[0], Measure: row[1], Value: most})
	}
	return out, nil
}

// WriteExceptions writes what is beyond a limit, for ReadExceptions.
func WriteExceptions(w io.Writer, excess []Excess) error {
	_, err := io.WriteString(w, "# What is beyond the limits of testenv/repository/structure/limits.go, with its value. "+
		"Values only fall: make structure writes lower ones down.\n")
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	rows := [][]string{columnsOfExceptions}
	for _, e := range excess {
		rows = append(rows, []string{e.Where, e.Measure, strconv.Itoa(e.Value)})
	}
	return out.WriteAll(rows)
}

// Compare returns a sentence for each value that is worse than the exceptions allow, and one for each that is better.
func Compare(allowed, found []Excess) (worse, better []string) {
	key := func(e Excess) string { return e.Where + ": " + e.Measure }
	most, now := map[string]int{}, map[string]int{}
	for _, e := range allowed {
		most[key(e)] = e.Value
	}
	for _, e := range found {
		now[key(e)] = e.Value
		if e.Value > most[key(e)] {
			worse = append(worse, fmt.Sprintf("%s: %d, and %s allowed%s", key(e), e.Value, are(most[key(e)]),
				list(e.Places)))
		}
	}
	for _, e := range allowed {
		if now[key(e)] < e.Value {
			better = append(better, fmt.Sprintf("%s: %s allowed, and fewer are needed", key(e), are(e.Value)))
		}
	}
	return worse, better
}

func are(n int) string {
	if n == 0 {
		return "none beyond the limit is"
	}
	return fmt.Sprintf("at most %d are", n)
}

// Lower returns the exceptions with the values found where these are lower.
func Lower(allowed, found []Excess) []Excess {
	var out []Excess
	for _, e := range found {
		at := slices.IndexFunc(allowed, func(a Excess) bool { return a.Where == e.Where && a.Measure == e.Measure })
		if at >= 0 {
			out = append(out, Excess{Where: e.Where, Measure: e.Measure, Value: min(e.Value, allowed[at].Value)})
		}
	}
	return out
}

// mostPlaces is how many places a sentence lists.
const mostPlaces = 60

func list(places []string) string {
	var out strings.Builder
	for i, place := range places {
		if i == mostPlaces {
			fmt.Fprintf(&out, "\n\tand %d more", len(places)-i)
			break
		}
		out.WriteString("\n\t" + place)
	}
	return out.String()
}
