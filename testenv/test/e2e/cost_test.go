package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// cost is how much CPU time each program of the stack, this test's own process with its models among them, had used at moments.
// Where there is no /proc it stays empty.
type cost struct {
	at   []time.Time
	used []map[string]time.Duration // by program
	stop chan struct{}
	done chan struct{}
}

// watchCost looks every half second, until end is called.
func watchCost(t *testing.T) *cost {
	t.Helper()
	c := &cost{stop: make(chan struct{}), done: make(chan struct{})}
	dead := map[string]time.Duration{} // of processes that have ended
	last := map[int]process{}
	check := func() {
		now := family(os.Getpid())
		for pid, p := range last {
			if _, lives := now[pid]; !lives {
				dead[p.program] += p.used
			}
		}
		last = now
		sum := maps.Clone(dead)
		for _, p := range now {
			sum[p.program] += p.used
		}
		c.at, c.used = append(c.at, time.Now()), append(c.used, sum)
	}
	check()
	go func() {
		defer close(c.done)
		for {
			select {
			case <-c.stop:
				return
			case <-time.After(500 * time.Millisecond):
				check()
			}
		}
	}()
	return c
}

// end stops looking.
func (c *cost) end() {
	close(c.stop)
	<-c.done
}

// until says what was used from the first check until a moment, the most first.
func (c *cost) until(moment time.Time) string {
	i := 0
	for i+1 < len(c.at) && c.at[i].Before(moment) {
		i++
	}
	first, used := c.used[0], map[string]time.Duration{}
	var all time.Duration
	for program, d := range c.used[i] {
		used[program] = d - first[program]
		all += used[program]
	}
	text := fmt.Sprintf("%.1f s of CPU in %.1f s", all.Seconds(), c.at[i].Sub(c.at[0]).Seconds())
	for _, program := range slices.SortedFunc(maps.Keys(used), func(a, b string) int { return int(used[b] - used[a]) }) {
		text += fmt.Sprintf(", %s %.2f", program, used[program].Seconds())
	}
	return text
}

// process is a program that runs, and the CPU time it has used.
type process struct {
	program string
	used    time.Duration
}

// family returns a process and all that it started, by id.
func family(root int) map[int]process {
	const tick = 10 * time.Millisecond // USER_HZ
	all, parents := map[int]process{}, map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		line := string(text)
		fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:]) // from the third on, see proc(5)
		if len(fields) < 13 {
			continue
		}
		parents[pid], _ = strconv.Atoi(fields[1])
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		all[pid] = process{used: time.Duration(user+system) * tick}
	}
	for pid, p := range all {
		above := pid
		for above != root && above > 1 {
			above = parents[above]
		}
		if above != root {
			delete(all, pid)
			continue
		}
		p.program = programOf(pid)
		all[pid] = p
	}
	return all
}

// programOf names a process: a function by the directory of its binary.
func programOf(pid int) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return "gone"
	}
	if name := filepath.Base(path); name != "bootstrap" {
		return name
	}
	return filepath.Base(filepath.Dir(path))
}

// requests says how many requests there were by group, verb, resource and answer, the most first.
func requests(log kube.Audit, until time.Time) string {
	count, all := map[string]int{}, 0
	for _, e := range log {
		if e.Received.After(until) {
			continue
		}
		who := e.User
		for _, group := range e.Groups {
			if name, ours := strings.CutPrefix(group, "joiner:"); ours {
				who = name
			}
		}
		count[fmt.Sprintf("%s %s %s %d", who, e.Verb, e.Resource, e.Code)]++
		all++
	}
	var lines []string
	for _, key := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return count[b] - count[a] }) {
		lines = append(lines, fmt.Sprintf("%s: %d", key, count[key]))
	}
	return fmt.Sprintf("%d requests; %s", all, strings.Join(lines, "; "))
}
