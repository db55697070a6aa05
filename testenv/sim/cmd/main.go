// Command cmd plays the simulator: one seed in full, or as many as there is time for.
//
//	go run ./testenv/sim/cmd -seed 42            # one run; -trace shows everything that happens, -shrink a smaller run
//	go run ./testenv/sim/cmd -seconds 90         # seeds from -first on, on all cores, for so long
//	go run ./testenv/sim/cmd -hours 500          # the same for so many simulated hours
//	go run ./testenv/sim/cmd -room -seconds 90   # the same with CapacityBuffers
//	go run ./testenv/sim/cmd -devices -seconds 90  # the same with pods that claim devices
//	go run ./testenv/sim/cmd -campaign           # 20,000 hours of seeds of this commit's own, whatever breaks; can be resumed
//	go run ./testenv/sim/cmd -deployments 25 -seed 1    # an hour of 25 deployments of 20 pods
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim"
)

func main() {
	seed := flag.Int64("seed", -1, "run this seed only")
	trace := flag.Bool("trace", false, "show everything that happens in it")
	shrink := flag.Int("shrink", 400, "runs to spend on making a failure smaller")
	first := flag.Uint64("first", 1, "seed of the first run")
	seconds := flag.Float64("seconds", 0, "begin no run after so many seconds")
	processor := flag.Float64("cpu", 0, "begin no run after so many seconds of processor time: the same however busy the machine is")
	choices := flag.Bool("choices", false, "only worlds in which nodes are given back by choice")
	kind := flag.String("kind", "", "only worlds in which this kind of thing goes wrong, such as \"definitions\"")
	faults := flag.Int("faults", 0, "only worlds in which at least so many things go wrong")
	hours := flag.Float64("hours", 0, "begin no run after so many simulated hours")
	runs := flag.Uint64("runs", 0, "make no more runs than this")
	stop := flag.Int("stop", 1, "begin no run after so many failed ones")
	testCluster := flag.Int("deployments", 0, "deployments of twenty pods each, without faults, instead of a drawn world")
	constant := flag.Float64("constant", 0, "so many hours of worlds in which nothing changes any more, instead of drawn ones")
	room := flag.Bool("room", false, "keep room by CapacityBuffers besides")
	devices := flag.Bool("devices", false, "pods claim devices that drivers on nodes publish")
	readings := flag.Bool("readings", false, "AWS is read the other way, of half of what is read in two ways and reaches the flows")
	long := flag.Bool("campaign", false, "play -hours (20,000) of seeds of this commit's own, in every mode in turn, whatever breaks; what is over is kept in .cache/sim-campaign")
	cores := flag.Int("cores", runtime.GOMAXPROCS(0), "runs at once")
	profile := flag.String("profile", "", "write a CPU profile here")
	flag.Parse()
	debug.SetGCPercent(400)
	if *profile != "" {
		file, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	if *long {
		os.Exit(campaign(*hours, *cores))
	}
	draw := sim.Draw
	if *room {
		draw = sim.DrawRoom
	}
	if *readings {
		draw = sim.DrawReadings
	}
	if *devices {
		draw = sim.DrawDevices
	}
	if *testCluster > 0 {
		draw = func(seed uint64) sim.Config { return sim.TestCluster(seed, *testCluster, time.Hour) }
	}
	if *constant > 0 {
		draw = func(seed uint64) sim.Config {
			return sim.Constant(seed, time.Duration(*constant*float64(time.Hour)))
		}
	}
	started, used := time.Now(), cpu()
	if *seed >= 0 {
		c := draw(uint64(*seed))
		if *trace {
			c.Report = func(line string) { fmt.Println(line) }
		}
		result := sim.Run(c)
		result.Report(os.Stdout)
		fmt.Println(result.Stats.String())
		fmt.Println(result.Stats.Speed(time.Since(started), cpu()-used, 1))
		fail(result, *shrink)
		return
	}
	campaign := sim.Campaign{First: *first, Draw: draw, Cores: *cores, Hours: *hours, Runs: *runs, Stop: *stop, Now: time.Now}
	if *choices || *faults > 0 || *kind != "" {
		campaign.Only = func(c sim.Config) bool {
			return (!*choices || c.Scenario.Choices) && len(c.Plan) >= *faults &&
				(*kind == "" || slices.ContainsFunc(c.Plan, func(s sim.Source) bool { return s.Kind == *kind }))
		}
	}
	switch {
	case *processor > 0:
		campaign.Now = func() time.Time { return started.Add(cpu() - used) }
		campaign.Until = started.Add(time.Duration(*processor * float64(time.Second)))
	case *seconds > 0:
		campaign.Until = started.Add(time.Duration(*seconds * float64(time.Second)))
	}
	stats, failed := campaign.Run()
	fmt.Println(stats.String())
	fmt.Println(stats.Speed(time.Since(started), cpu()-used, *cores))
	for _, result := range failed {
		result.Report(os.Stdout)
	}
	for _, result := range failed {
		fail(result, *shrink)
	}
}

// campaign plays a commit's long campaign, and returns the program's exit status: 0 = it is clean, 1 = runs broke a rule,
// 2 = it could not be played.
func campaign(hours float64, cores int) int {
	commit, err := committed()
	var first uint64
	if err == nil {
		first, err = sim.FirstSeed(commit)
	}
	if hours == 0 {
		hours = 20000
	}
	var progress sim.Progress
	if err == nil {
		file := filepath.Join(".cache", "sim-campaign", commit+".json")
		progress, err = sim.LongCampaign{Commit: commit, First: first, Hours: hours, Cores: cores, File: file, Now: time.Now, Report: os.Stdout}.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	progress.Summary(os.Stdout)
	if len(progress.Failed) > 0 {
		return 1
	}
	return 0
}

// committed returns the hash of the commit that is played. What differs from it would be another program at each call.
func committed() (string, error) {
	differs, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	if err != nil {
		return "", fmt.Errorf("ask git which commit this is: %w", err)
	}
	if len(differs) > 0 {
		return "", fmt.Errorf("a campaign is of a commit, and these files differ from it; commit them first:\n%s", differs)
	}
	hash, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("ask git which commit this is: %w", err)
	}
	return strings.TrimSpace(string(hash)), nil
}

// cpu returns the processor time this program has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// fail shows a smaller run where one broke a rule, and ends the program with an error.
func fail(result sim.Result, budget int) {
	if len(result.Violations) == 0 {
		return
	}
	smaller := sim.Shrink(result, budget)
	fmt.Println("smaller:")
	smaller.Report(os.Stdout)
	pprof.StopCPUProfile()
	os.Exit(1)
}
