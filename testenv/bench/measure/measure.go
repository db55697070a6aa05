// Package measure plans a problem once and says what that took: time, allocations and peak memory, the process's own. For a
// peak that nothing else has raised, run it in a process of its own, as [Serve] and [Start] make one out of any program.
//
//	func main() { measure.Serve(); … stats, err := measure.Start(spec) … }
package measure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// Plan plans the input and measures it. Peak memory includes the input, and is 0 where the system does not tell it.
func Plan(in pack.Input) (plan model.Plan, stats check.Stats) {
	stats = measured(func() { plan = pack.Plan(in) })
	stats.Pods = waiting(in.Snapshot)
	return plan, stats
}

// Disrupt has decided what to give back, and measures it as Plan does. Pods are not counted.
func Disrupt(in disruption.Input, decide func(disruption.Input) model.DisruptPlan) (plan model.DisruptPlan, stats check.Stats) {
	stats = measured(func() { plan = decide(in) })
	return plan, stats
}

func measured(do func()) check.Stats {
	var before, after runtime.MemStats
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // forget the peak so far, where that can be done
	runtime.ReadMemStats(&before)
	start, used := time.Now(), cpuSeconds()
	do()
	seconds := time.Since(start).Seconds()
	used = cpuSeconds() - used
	runtime.ReadMemStats(&after)
	return check.Stats{
		PlanSeconds: seconds,
		CPUSeconds:  used,
		AllocBytes:  after.TotalAlloc - before.TotalAlloc,
		AllocCount:  after.Mallocs - before.Mallocs,
		PeakBytes:   peakBytes(),
	}
}

// cpuSeconds returns the processor time the process has used so far.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return float64(used.Utime.Sec+used.Stime.Sec) + float64(used.Utime.Usec+used.Stime.Usec)/1e6
}

// waiting counts the pods that are on no node.
func waiting(snapshot *model.Snapshot) int {
	n := 0
	for i := range snapshot.Pods {
		if snapshot.Pods[i].NodeName == "" {
			n++
		}
	}
	return n
}

// peakBytes returns the most memory the process had resident since the peak was last forgotten.
func peakBytes() uint64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "VmHWM:"); found {
			kib, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// asked is the variable that makes a program plan a problem in place of what it is for.
const asked = "JOINER_BENCH_PROBLEM"

// Serve does nothing in a program started by hand. In one that Start started it plans the problem it was given, prints the
// answer and exits.
func Serve() {
	text, ok := os.LookupEnv(asked)
	if !ok {
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, "plan in a process of its own:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(text string) error {
	var spec problem.Spec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	in := spec.Input()
	var err error
	if in.Snapshot, err = stored(in.Snapshot); err != nil {
		return fmt.Errorf("%s: %w", spec, err)
	}
	if slices.Contains(problem.Backlogs, spec.Family) {
		plan, plans, stats := Portions(in, fairshare.DefaultPlanBound())
		answer := check.FromPlan(plan)
		answer.Stats, answer.Stats.Pods = stats, plans
		return json.NewEncoder(os.Stdout).Encode(answer)
	}
	plan, stats := Plan(in)
	answer := check.FromPlan(plan)
	answer.Stats = stats
	return json.NewEncoder(os.Stdout).Encode(answer)
}

// Portions plans the input as invocations do of which each takes what one plan takes: what an earlier plan launched for is on its way,
// and launched as the offering that costs least. It returns all of it as one plan, with the number of plans; stats are those of the plan that
// took most.
func Portions(in pack.Input, most model.PlanBound) (all model.Plan, plans int, stats check.Stats) {
	seen, after := in.Snapshot, ""
	launched := map[string]int{} // claims by name
	for waits := pack.Pending(seen); len(waits) > 0; {
		taken := fairshare.Select(in.Snapshot, waits, &most, nil, after)
		in.Pending, in.Later, in.Homed, in.Salt, after = taken.Pods, taken.Later, plans > 0, strconv.Itoa(plans), taken.Next
		plan, took := Plan(in)
		plans++
		stats.PlanSeconds, stats.CPUSeconds = max(stats.PlanSeconds, took.PlanSeconds), max(stats.CPUSeconds, took.CPUSeconds)
		stats.PeakBytes, stats.AllocBytes = max(stats.PeakBytes, took.PeakBytes), max(stats.AllocBytes, took.AllocBytes)
		all.Price += plan.Price
		for _, c := range plan.Claims {
			launched[c.Name] = len(all.Claims)
			all.Claims = append(all.Claims, c)
			in.Claims = append(in.Claims, model.Claim{Name: c.Name, Pool: c.Pool, Class: c.Class, State: model.Launched, Requirements: c.Requirements, Requests: c.Requests,
				InstanceTypes: c.InstanceTypes, InstanceType: c.Offering.InstanceType, Zone: c.Offering.Zone, CapacityType: c.Offering.CapacityType,
				Labels: c.Labels, Taints: c.Taints, Pods: c.Pods})
		}
		if len(taken.Later) == 0 { // the last plan says what fits beside what was asked for
			for _, n := range plan.Nominations {
				if i, made := launched[n.Node]; made { // what was launched is one machine, and no longer any of several
					c := &all.Claims[i]
					c.Pods = slices.Concat(c.Pods, n.Pods)
					c.InstanceTypes, c.Zones, c.CapacityTypes = []string{c.Offering.InstanceType}, []string{c.Offering.Zone}, []string{c.Offering.CapacityType}
				} else {
					all.Nominations = append(all.Nominations, n)
				}
			}
			all.Unschedulable = plan.Unschedulable
			break
		}
		in.Snapshot, waits = replay.BindToClaims(seen, pack.Pending(seen), in.Claims)
	}
	return all, plans, stats
}

// stored returns the snapshot as the functions that plan get it: read from what was written to the store. One with more pods
// or kinds of pods than the store takes is returned as it is.
func stored(snapshot *model.Snapshot) (*model.Snapshot, error) {
	if len(snapshot.Shapes) > wire.MaxShapes || len(snapshot.Pods) > wire.MaxPods {
		return snapshot, nil
	}
	data, err := wire.EncodeSnapshot(snapshot)
	if err != nil {
		return nil, err
	}
	return wire.DecodeSnapshot(data)
}

// Start plans the problem in a new process of this program, whose main calls Serve first.
func Start(spec problem.Spec) (check.Answer, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return check.Answer{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return check.Answer{}, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asked+"="+string(text))
	return Output(cmd)
}

// Output runs a program that prints an answer.
func Output(cmd *exec.Cmd) (check.Answer, error) {
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failed
	if err := cmd.Run(); err != nil {
		return check.Answer{}, fmt.Errorf("run %s: %w: %s", cmd.Path, err, strings.TrimSpace(failed.String()))
	}
	var answer check.Answer
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return check.Answer{}, fmt.Errorf("read the answer of %s: %w", cmd.Path, err)
	}
	return answer, nil
}
