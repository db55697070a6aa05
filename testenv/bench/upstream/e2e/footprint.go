package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// programs are the names of what Joiner is run by, its watcher, and functions as Lambda names them; and of Karpenter's controller.
var programs = []string{"bootstrap", "watcher", "karpenter"}

// Footprint is what Joiner itself takes of the machine: watcher and functions, and nothing of what they run on. Of a stack that Karpenter runs
// it is that one's controller.
type Footprint struct {
	stack int // process id of the stack's program

	mu    sync.Mutex
	alive map[string]float64 // CPU seconds of each, when it was last seen
	ended float64            // CPU seconds of those that are no more
	most  map[string]int64   // of memory, by program
}

// NewFootprint measures the stack whose program has a process id.
func NewFootprint(stack int) *Footprint {
	return &Footprint{stack: stack, alive: map[string]float64{}, most: map[string]int64{}}
}

// Read returns the memory in bytes of those that run, of which what several share counts once, and the CPU seconds of all that were ever seen.
func (f *Footprint) Read() (memory int64, cpu float64, err error) {
	processes, err := allProcesses()
	if err != nil {
		return 0, 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now, by := map[string]float64{}, map[string]int64{}
	for _, p := range processes {
		if !slices.Contains(programs, p.program) || !descends(processes, p.id, f.stack) {
			continue
		}
		of, err := memoryOf(p.id)
		if err != nil {
			return 0, 0, err
		}
		memory += of
		by[p.program] += of
		now[fmt.Sprintf("%d since %d", p.id, p.since)] = p.cpu
	}
	for name, seconds := range f.alive {
		if _, still := now[name]; !still {
			f.ended += seconds
		}
	}
	for program, of := range by {
		f.most[program] = max(f.most[program], of)
	}
	f.alive = now
	cpu = f.ended
	for _, seconds := range now {
		cpu += seconds
	}
	return memory, cpu, nil
}

// Most returns the most memory in bytes that a program (bootstrap, watcher, karpenter) has had since it was last asked for: as Read saw it.
func (f *Footprint) Most(program string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	most := f.most[program]
	delete(f.most, program)
	return most
}

// process is one of the machine's.
type process struct {
	id, parent int
	program    string // base name of its executable
	since      int64  // in ticks since the machine began
	cpu        float64
}

// ticks are in a second, for what /proc tells of time. Source: proc_pid_stat(5); Linux has it at 100 wherever Go runs.
const ticks = 100

func allProcesses() (map[int]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("read the processes of the machine: %w", err)
	}
	out := map[int]process{}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		p, err := parseProcess(string(text))
		if err != nil {
			return nil, err
		}
		if path, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe")); err == nil {
			p.program = filepath.Base(strings.TrimSuffix(path, " (deleted)"))
		}
		out[id] = p
	}
	return out, nil
}

// parseProcess reads a line of /proc/ID/stat. The name, in brackets, may hold anything.
func parseProcess(text string) (process, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return process{}, fmt.Errorf("%q is no line of /proc/ID/stat", text)
	}
	fields := strings.Fields(text[end+1:]) // from the third on
	if len(fields) < 22 {
		return process{}, fmt.Errorf("%q is no line of /proc/ID/stat", text)
	}
	id, err := strconv.Atoi(strings.TrimSpace(text[:open]))
	if err != nil {
		return process{}, fmt.Errorf("%q is no line of /proc/ID/stat", text)
	}
	number := func(field int) int64 { // as proc_pid_stat(5) counts them
		n, _ := strconv.ParseInt(fields[field-3], 10, 64)
		return n
	}
	return process{
		id: id, parent: int(number(4)), since: number(22), cpu: float64(number(14)+number(15)) / ticks,
	}, nil
}

// memoryOf returns what a process has of memory in bytes, its share of what others have, too; 0 when it has ended. Source:
// proc_pid_smaps_rollup(5), Pss.
func memoryOf(id int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", id))
	if err != nil {
		return 0, nil
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "Pss:" && fields[2] == "kB" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	if len(text) == 0 {
		return 0, nil
	}
	return 0, fmt.Errorf("/proc/%d/smaps_rollup has no line Pss", id)
}

// descends reports whether a process was started by another one, or by one that was.
func descends(all map[int]process, id, from int) bool {
	for range len(all) {
		p, ok := all[id]
		if !ok {
			return false
		}
		if id = p.parent; id == from {
			return true
		}
	}
	return false
}
