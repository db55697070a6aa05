// Package check runs checks that do not stop each other and writes what they found: for everything that was looked at
// how bad it is, what was seen, and what to do about it.
//
//	findings := check.Run(ctx, checks, check.Settings{})
//	err := check.Write(os.Stdout, findings)
//	os.Exit(check.ExitStatus(findings))
package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/fault"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // it works, and not as it should, or nobody could look
	Fail Level = "fail" // something does not work
)

// Finding is what a check found of one object.
type Finding struct {
	Level  Level  `json:"level"`
	Check  string `json:"check"`
	Object string `json:"object"`
	Seen   string `json:"seen"`
	Do     string `json:"do,omitempty"` // what to do; empty where nothing is to be
}

// One is a finding alone, of the object that its check looks at.
func One(level Level, seen, do string) []Finding {
	return []Finding{{Level: level, Seen: seen, Do: do}}
}

// Check looks at one thing. Its error is that it could not; what it found until then counts.
type Check struct {
	Name   string
	Object string // that it looks at, for where it cannot say itself
	Run    func(ctx context.Context) ([]Finding, error)
}

// Settings are the numbers. The zero value of a field means the default named with it.
type Settings struct {
	Patience time.Duration // for one check: 15 s
	AtOnce   int           // checks side by side: 8
}

// Run makes every check, whatever becomes of the others, and returns what they found in their order.
func Run(ctx context.Context, checks []Check, s Settings) []Finding {
	patience, slots := cmp.Or(s.Patience, 15*time.Second), make(chan struct{}, cmp.Or(s.AtOnce, 8))
	found := make([][]Finding, len(checks))
	var group sync.WaitGroup
	for i := range checks {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i] = runCheck(ctx, &checks[i], patience)
		})
	}
	group.Wait()
	return slices.Concat(found...)
}

// runCheck makes one check. One that does not come back in time is left behind.
func runCheck(ctx context.Context, c *Check, patience time.Duration) []Finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan []Finding, 1)
	go func() {
		var out []Finding
		defer func() {
			if problem := recover(); problem != nil {
				out = []Finding{{Fail, c.Name, c.Object, fmt.Sprintf("the check itself failed: %v", problem),
					"report this, with the version (joiner version)"}}
			}
			done <- out
		}()
		found, err := c.Run(ctx)
		out = named(c, found)
		if err != nil {
			out = append(out, unread(c, err))
		}
	}()
	select {
	case out := <-done:
		return out
	case <-ctx.Done():
	}
	select { // it may have ended for the same reason
	case out := <-done:
		return out
	case <-time.After(100 * time.Millisecond):
		return []Finding{{Warn, c.Name, c.Object, fmt.Sprintf("no answer within %s", patience),
			"check that it can be reached from here, and run it again"}}
	}
}

func named(c *Check, found []Finding) []Finding {
	for i := range found {
		found[i].Check, found[i].Object = cmp.Or(found[i].Check, c.Name), cmp.Or(found[i].Object, c.Object)
	}
	return found
}

// unread is the finding that something could not be looked at.
func unread(c *Check, err error) Finding {
	f := Finding{Warn, c.Name, c.Object, "it could not be checked: " + err.Error(),
		"run it again; if it fails again, check that it can be reached from here"}
	if denied(err) {
		f.Do = "it may be right: run this with permissions to read it, or grant yourself the permission that the " +
			"message names"
	}
	return f
}

func denied(err error) bool {
	if fault.Is(err, fault.Denied) {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "AccessDenied") || strings.Contains(text, "UnauthorizedOperation") ||
		strings.Contains(text, "not authorized")
}

// ExitStatus is the exit status for findings: 2 where something failed, 1 where something is not as it should be, else
// 0.
func ExitStatus(findings []Finding) int {
	status := 0
	for i := range findings {
		switch findings[i].Level {
		case Fail:
			return 2
		case Warn:
			status = 1
		}
	}
	return status
}

// Write writes findings for people: what is to be done first, then what is in order.
func Write(out io.Writer, findings []Finding) error {
	var text strings.Builder
	colored := show.Colored(out)
	counts := map[Level]int{}
	for _, level := range []Level{Fail, Warn, OK} {
		for i := range findings {
			f := &findings[i]
			if f.Level != level {
				continue
			}
			counts[level]++
			fmt.Fprintf(&text, "%s  %s: %s: %s\n", levelText(f.Level, colored), f.Check, f.Object, f.Seen)
			if f.Do != "" {
				fmt.Fprintf(&text, "      -> %s\n", f.Do)
			}
		}
	}
	fmt.Fprintf(&text, "\n%d passed, %d warnings, %d failed.\n", counts[OK], counts[Warn], counts[Fail])
	_, err := io.WriteString(out, text.String())
	return err
}

// colors are those of a terminal.
var colors = map[Level]string{Fail: "\x1b[31m", Warn: "\x1b[33m", OK: "\x1b[32m"}

// levelText is a level in four columns.
func levelText(level Level, colored bool) string {
	text := fmt.Sprintf("%-4s", level)
	if colored {
		return colors[level] + text + "\x1b[0m"
	}
	return text
}

// WriteJSON writes findings as {"findings": […], "status": 0}.
func WriteJSON(out io.Writer, findings []Finding) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Findings []Finding `json:"findings"`
		Status   int       `json:"status"`
	}{append([]Finding{}, findings...), ExitStatus(findings)})
}
