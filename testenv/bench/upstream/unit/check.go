package unit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Check compares what came of a run with reasons.yaml and DIFFERENCES.md. With write, DIFFERENCES.md and the cases are written anew.
func Check(o Options, ran *Ran, write bool) error {
	folder := filepath.Join(o.Home, "unit")
	compatibility, err := os.ReadFile(filepath.Join(o.Home, "..", "..", "..", "docs", "compatibility.md"))
	if err != nil {
		return err
	}
	reasons, err := readReasons(filepath.Join(folder, "reasons.yaml"), string(compatibility))
	if err != nil {
		return err
	}
	var all []Outcome
	questions := map[string][]input{}
	for i := range ran.Suites {
		of, asked, err := outcomes(&ran.Suites[i])
		if err != nil {
			return err
		}
		all, questions[ran.Suites[i].Name] = append(all, of...), asked
	}
	j := evaluate(sorted(all), reasons)
	j.count(o.Out)
	table := j.table(ran)
	path := filepath.Join(folder, "DIFFERENCES.md")
	if write {
		cases, err := collect(ran.Version, all, questions)
		if err != nil {
			return err
		}
		if err := errors.Join(os.WriteFile(path, table, 0o644), writeCases(filepath.Join(folder, "testdata", "cases.json.gz"), cases), writeSeeds(filepath.Join(o.Home, "..", "speccases", "seeds.json.gz"), cases)); err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "%d cases written\n", len(cases.Cases))
	} else if there, err := os.ReadFile(path); err != nil {
		return err
	} else if !bytes.Equal(there, table) {
		j.problems = append(j.problems, "DIFFERENCES.md is not what came out; `make upstream-unit WRITE=1` writes it, git diff shows what is new")
	}
	if len(j.problems) > 0 {
		return errors.New(strings.Join(j.problems, "\n"))
	}
	return nil
}

func (j *evaluated) count(out io.Writer) {
	n := map[Status]int{}
	for _, o := range j.of {
		n[o.Status]++
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d not runnable\n%s\n", n[Passed], n[Failed], n[NotRunnable], j.failures())
}
