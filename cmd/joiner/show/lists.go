package show

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
)

// StopEntry is a stop, with what it is of.
type StopEntry struct {
	Scope   model.StopScope `json:"scope"`
	Account string          `json:"account,omitempty"` // of a region's
	Region  string          `json:"region,omitempty"`
	Cluster string          `json:"cluster,omitempty"`
	Pool    string          `json:"nodePool,omitempty"`
	Why     string          `json:"why,omitempty"`
	By      string          `json:"by,omitempty"`
	Since   string          `json:"since,omitempty"` // RFC 3339
}

// StopEntryOf reports a stop that holds for a cluster.
func StopEntryOf(reg model.Registration, stop model.Stop) StopEntry {
	out := StopEntry{Scope: stop.Scope, Pool: stop.Pool, Why: stop.Why, By: stop.By}
	if stop.Scope == model.StopRegion {
		out.Account, out.Region = reg.Account, reg.Region
	} else {
		out.Cluster = reg.Cluster
	}
	if stop.SinceUnix > 0 {
		out.Since = clock(stop.SinceUnix)
	}
	return out
}

// StopDetails says since when, by whom and why something is stopped.
func StopDetails(stop model.Stop) string {
	out := ""
	if stop.SinceUnix > 0 {
		out += ", since " + clock(stop.SinceUnix)
	}
	if stop.By != "" {
		out += ", by " + stop.By
	}
	if stop.Why != "" {
		out += ": " + stop.Why
	}
	return out
}

// Which names what is stopped: a cluster, a NodePool of it, or an account's region.
func (s StopEntry) Which() string {
	switch s.Scope {
	case model.StopPool:
		return s.Cluster + "/" + s.Pool
	case model.StopRegion:
		return s.Account + " " + s.Region
	}
	return s.Cluster
}

// Stops writes stops for people.
func Stops(out io.Writer, list []StopEntry, headers bool) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "There are no stops.")
		return err
	}
	rows := [][]string{{"STOPPED", "WHICH", "SINCE", "BY", "WHY"}}
	for _, s := range list {
		rows = append(rows, []string{string(s.Scope), short(s.Which(), 50), s.Since, short(s.By, 20), s.Why})
	}
	return Rows(out, rows, ".....", headers)
}

// Rows writes a list for people: rows below the first, which has their heads, right-justified where align has an r.
func Rows(out io.Writer, rows [][]string, align string, headers bool) error {
	t := newTable(out)
	if !headers {
		rows = rows[1:]
	}
	if len(rows) > 0 {
		t.grid(rows, align)
	}
	_, err := io.WriteString(out, t.text.String())
	return err
}

// StopsJSON writes stops for programs.
func StopsJSON(out io.Writer, list []StopEntry) error {
	if list == nil {
		list = []StopEntry{}
	}
	return Indented(out, struct {
		Stops []StopEntry `json:"stops"`
	}{list})
}

// mostDecisions is how many a table lists.
const mostDecisions = 50

// Decisions writes for people what was decided.
func Decisions(out io.Writer, decided []explain.Decided, headers bool) error {
	if len(decided) == 0 {
		_, err := fmt.Fprintln(out, "Nothing was decided in that time.")
		return err
	}
	rows := [][]string{{"DECIDED", "BY", "DECISION", "WHAT"}}
	listed := 0
	for listed < len(decided) && len(rows) <= mostDecisions {
		run := withoutEffect(decided[listed:])
		d := &decided[listed]
		said := what(d)
		if run > 1 {
			seconds := d.AtUnix - decided[listed+run-1].AtUnix
			said += fmt.Sprintf(" (%d runs in %s)", run, time.Duration(seconds)*time.Second)
		}
		rows = append(rows, []string{clock(d.AtUnix), d.By, d.ID, said})
		listed += max(run, 1)
	}
	if err := Rows(out, rows, "....", headers); err != nil {
		return err
	}
	if more := len(decided) - listed; more > 0 {
		_, err := fmt.Fprintf(out, "and %d older; -o json has all\n", more)
		return err
	}
	return nil
}

// withoutEffect returns how many decisions at the head of a list changed nothing, for as many pods and of the same
// kind: people read them as one. A run that stopped halfway is not among them, nor is one whose launches failed.
func withoutEffect(decided []explain.Decided) int {
	for n := range decided {
		d, first := &decided[n], &decided[0]
		same := d.By == first.By && d.Pending == first.Pending && d.Unschedulable == first.Unschedulable
		if !same || d.Open || d.Launched+d.Failed+d.Nodes > 0 {
			return n
		}
	}
	return len(decided)
}

// what says what was decided in a few words.
func what(d *explain.Decided) string {
	if d.By == explain.DecidedDisrupt {
		if d.Nodes == 0 {
			return "nothing to disrupt"
		}
		return fmt.Sprintf("%s disrupted (%s), %s moved, %s per hour saved", explain.Many(d.Nodes, "node"), strings.Join(d.Reasons, ", "), explain.Many(d.PodsMoved, "pod"), micro(d.Savings))
	}
	parts := []string{explain.Many(d.Launched, "instance") + " for " + explain.Many(d.Pending, "pod")}
	if d.Launched+d.Failed == 0 && !d.Open {
		parts[0] = "nothing launched for " + explain.Many(d.Pending, "pod")
	}
	if d.Failed > 0 {
		parts = append(parts, explain.Many(d.Failed, "claim")+" not launched")
	}
	if d.Unschedulable > 0 {
		parts = append(parts, "unschedulable: "+explain.Many(d.Unschedulable, "pod"))
	}
	if d.Open {
		parts = append(parts, "the run stopped before it recorded the result")
	}
	return strings.Join(parts, ", ")
}

// Findings writes what is wrong with objects, a paragraph each, and the sum of it; "" = none.
func Findings(out io.Writer, list [][2]string, sum string) error {
	t := newTable(out)
	for _, f := range list {
		t.wrapped("", "    ", f[0]+f[1])
	}
	if sum != "" {
		if len(list) > 0 {
			t.line("")
		}
		t.line("%s", sum)
	}
	_, err := io.WriteString(out, t.text.String())
	return err
}
