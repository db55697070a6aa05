package cost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Recorded is what a scenario was measured to use.
type Recorded struct {
	Scenario string
	Hours    float64 // that were measured
	Nodes    int     // of ours at the end
	Usage    Usage
}

// Month returns the use of a month.
func (r Recorded) Month() Usage { return r.Usage.Times(month.Hours() / r.Hours) }

// Measure runs a scenario for its lead and then for so long, and returns what the latter took.
func Measure(ctx context.Context, scenario Scenario, lead, span time.Duration) (Recorded, error) {
	account, err := NewAccount(ctx, scenario)
	if err != nil {
		return Recorded{}, err
	}
	defer account.Close()
	if err := account.Run(ctx, lead); err != nil {
		return Recorded{}, err
	}
	before := account.Usage()
	if err := account.Run(ctx, span); err != nil {
		return Recorded{}, err
	}
	used := account.Usage().Since(before)
	if used.Failed > 0 {
		return Recorded{}, fmt.Errorf("%g invocations failed; the first: %v", used.Failed, account.Errors())
	}
	return Recorded{Scenario: scenario.Name, Hours: span.Hours(), Nodes: account.Nodes(), Usage: used}, nil
}

// MeasureAll measures scenarios side by side; each has an installation of its own. Those whose name does not begin with prefix are as
// they were before.
func MeasureAll(ctx context.Context, scenarios []Scenario, prefix string, before []Recorded) ([]Recorded, error) {
	out, failures := make([]Recorded, len(scenarios)), make([]error, len(scenarios))
	var group sync.WaitGroup
	for i, s := range scenarios {
		was := slices.IndexFunc(before, func(r Recorded) bool { return r.Scenario == s.Name })
		if !strings.HasPrefix(s.Name, prefix) && was >= 0 {
			out[i] = before[was]
			continue
		}
		group.Go(func() {
			if out[i], failures[i] = Measure(ctx, s, s.Lead, s.Span); failures[i] != nil {
				failures[i] = fmt.Errorf("%s: %w", s.Name, failures[i])
			}
		})
	}
	group.Wait()
	return out, errors.Join(failures...)
}

// ReadRecords reads what was measured last.
func ReadRecords(file string) (out []Recorded, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(data, &out)
}

// WriteRecords keeps what was measured.
func WriteRecords(file string, records []Recorded) error {
	data, err := json.MarshalIndent(records, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
