// Command mutants asks whether the simulator would notice: it puts one defect at a time into the flows, builds the
// simulator with it (no file of the tree is touched), plays seeds for a while, and says which defects went unnoticed.
//
//	go run ./testenv/sim/mutants               # all of them; make sim-mutants
//	go run ./testenv/sim/mutants -only refund  # those whose names match it
//	go run ./testenv/sim/mutants -only '^X' -hours 40 -drawn  # what drawn runs notice by themselves
//	go run ./testenv/sim/mutants -named  # what named tests notice by themselves, of the defects that have one
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

func main() {
	only := flag.String("only", "", "defects whose names match this regular expression")
	seconds := flag.Int("seconds", 15, "of processor time to play seeds with one defect")
	hours := flag.Float64("hours", 0, "play so many simulated hours instead")
	drawn := flag.Bool("drawn", false, "play drawn runs only, and no test")
	named := flag.Bool("named", false, "no simulation: the tests that are named for a defect alone, where there are some")
	first := flag.Uint64("first", 1, "seed of the first run")
	tests := flag.String("scenarios", telling, "scenarios to play where drawn runs show nothing: their names match this regular expression; empty = none")
	sound := flag.Bool("sound", true, "see first that nothing is noticed without a defect")
	miss := flag.Int("miss", 1, "defects that may go unnoticed")
	flag.Parse()
	if err := run(tool{*seconds, *hours, *first, *tests, *drawn, *named}, *only, *sound && !*named, *miss); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// outcome is what became of one defect.
type outcome struct {
	caught bool
	how    string // the rule that was broken, or what went wrong
	took   time.Duration
}

// tool is how each defect is looked for.
type tool struct {
	seconds   int     // of processor time
	hours     float64 // simulated ones, instead; 0 = none
	first     uint64
	scenarios string
	drawn     bool // no test is run
	named     bool // tests of its own alone
}

func run(how tool, only string, sound bool, miss int) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	var chosen []defect
	for _, d := range all() {
		if pattern.MatchString(d.name) && !(how.named && d.unit().names == "") {
			chosen = append(chosen, d)
		}
	}
	began := time.Now()
	if sound {
		none := how.play(root, work, defect{name: "none"})
		fmt.Printf("%-52s %-9s %5.0fs  %s\n", "none", word(none), none.took.Seconds(), none.how)
		if none.caught {
			return errors.New("the simulator finds something wrong without any defect; mend that first")
		}
	}
	results := make([]outcome, len(chosen))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i, d := range chosen {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			results[i] = how.play(root, work, d)
			fmt.Printf("%-52s %-9s %5.0fs  %s\n", d.name, word(results[i]), results[i].took.Seconds(), results[i].how)
		})
	}
	group.Wait()
	caught := 0
	for i := range chosen {
		if results[i].caught {
			caught++
		}
	}
	fmt.Printf("%d of %d defects were noticed in %s\n", caught, len(chosen), time.Since(began).Round(time.Second))
	if len(chosen)-caught > miss {
		return fmt.Errorf("%d went unnoticed; at most %d may", len(chosen)-caught, miss)
	}
	return nil
}

func word(o outcome) string {
	if o.caught {
		return "noticed"
	}
	return "unnoticed"
}

var violation = regexp.MustCompile(`(?m)^.*\b(?:[A-ERS][0-9]{1,2}|panic) at .*$`)

// play builds the simulator with a defect and plays seeds.
func (how tool) play(root, work string, d defect) outcome {
	began := time.Now()
	fail := func(err error, text []byte) outcome {
		return outcome{how: fmt.Sprintf("%v: %.300s", err, text), took: time.Since(began)}
	}
	dir := filepath.Join(work, strings.ReplaceAll(d.name, " ", "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(err, nil)
	}
	overlay, err := d.overlay(root, dir)
	if err != nil {
		return fail(err, nil)
	}
	if d.outside() || how.named {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		return byTests(ctx, root, overlay, d.unit(), outcome{how: "its tests pass"}, began)
	}
	binary := filepath.Join(dir, "sim")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", binary, "./testenv/sim/cmd")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		return fail(err, text)
	}
	defer os.Remove(binary)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(how.seconds)*20*time.Second+5*time.Minute)
	defer cancel()
	args := []string{"-first", fmt.Sprint(how.first), "-cpu", fmt.Sprint(how.seconds), "-cores", "1", "-shrink", "0"}
	if how.hours > 0 {
		args[2], args[3] = "-hours", fmt.Sprint(how.hours)
	}
	if d.chosen() {
		args = append(args, "-choices")
	}
	if d.claimed() {
		args = append(args, "-devices")
	}
	sim := exec.CommandContext(ctx, binary, args...)
	sim.Dir = root
	text, err := sim.CombinedOutput()
	took := time.Since(began)
	switch found := violation.Find(text); {
	case err == nil:
		unnoticed := outcome{how: lastLine(text), took: took}
		if how.drawn {
			return unnoticed
		}
		if out := byTests(ctx, root, overlay, unit{"testenv/sim/", how.scenarios}, unnoticed, began); out.caught {
			return out
		}
		return byTests(ctx, root, overlay, d.unit(), unnoticed, began)
	case found != nil:
		return outcome{caught: true, how: fmt.Sprintf("%.150s", strings.TrimSpace(string(found))), took: took}
	case ctx.Err() != nil:
		return outcome{caught: true, how: "a run did not end", took: took}
	default:
		return fail(err, text)
	}
}

// byTests runs tests with a defect that drawn runs did not show.
func byTests(ctx context.Context, root, overlay string, tests unit, unnoticed outcome, began time.Time) outcome {
	if tests.names == "" {
		return unnoticed
	}
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "-failfast", "-timeout", "10m", "-overlay", overlay, "-run", tests.names, "./"+strings.TrimSuffix(tests.folder, "/"))
	test.Dir = root
	text, err := test.CombinedOutput()
	failed := scenario.FindSubmatch(text)
	switch {
	case err == nil:
		unnoticed.took = time.Since(began)
		return unnoticed
	case failed != nil:
		return outcome{caught: true, how: string(failed[1]), took: time.Since(began)}
	}
	return outcome{how: fmt.Sprintf("the tests %s of %s could not be played: %v: %.300s", tests.names, tests.folder, err, text), took: time.Since(began)}
}

// telling are the scenarios that show what drawn runs may not, and are quick: all of them together take seconds.
const telling = "TestScenarioWatcher|TestScenarioThrottling|TestScenarioUnavailableOffering|TestScenarioInstances|TestScenarioUselessInstances|TestScenario07|TestScenario08|TestScenario09|TestScenario14|TestScenario16|TestTotalStockOut|TestB3|TestB4|TestB9|TestChoices|TestR38|TestScenarioTaint|TestScenarioChecks|TestScenarioChains|TestScenarioNodes"

var scenario = regexp.MustCompile(`--- FAIL: (\w+)`)

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// overlay writes the changed file and the description that makes the compiler take it for the other.
func (d defect) overlay(root, dir string) (string, error) {
	replace := map[string]string{}
	if d.file != "" {
		path := filepath.Join(root, d.file)
		text, err := d.changed(root)
		if err != nil {
			return "", err
		}
		changed := filepath.Join(dir, filepath.Base(d.file))
		if err := os.WriteFile(changed, text, 0o600); err != nil {
			return "", err
		}
		replace[path] = changed
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// changed returns the file with the defect in it.
func (d defect) changed(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, d.file))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), d.old); n != 1 {
		return nil, fmt.Errorf("%s: %s has the place of this defect %d times, not once; bring the list up to date", d.name, d.file, n)
	}
	return []byte(strings.Replace(string(text), d.old, d.new, 1)), nil
}

func moduleRoot() (string, error) {
	text, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(string(text))), nil
}
