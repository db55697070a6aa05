package performance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// reportSuffix is of the files that the suite leaves, one for each phase.
const reportSuffix = "_performance_report.json"

// report is what the suite says of a phase. Source: sigs.k8s.io/karpenter/test/suites/performance, PerformanceReport.
type report struct {
	name string

	Kind    string        `json:"test_type"`
	Pods    int           `json:"total_pods"`
	Time    time.Duration `json:"total_time"`
	Written time.Time     `json:"timestamp"` // the end, within moments
	Memory  float64       `json:"karpenter_p95_memory_mb"`
	CPU     float64       `json:"karpenter_avg_cpu_cores"`
}

func (r report) begin() time.Time { return r.Written.Add(-r.Time) }

// reports reads what a spec has left in a folder, in the order of time.
func reports(dir string) ([]report, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+reportSuffix))
	if err != nil {
		return nil, err
	}
	var out []report
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r := report{name: strings.TrimSuffix(filepath.Base(path), reportSuffix)}
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b report) int { return cmp.Compare(a.Written.UnixNano(), b.Written.UnixNano()) })
	return out, nil
}

// Measure says of each phase that a spec has reported in dir what a timeline, the disruptions and the samples of memory say. prices are USD an
// hour, by instance type.
func Measure(dir string, t *Timeline, all []Disruption, memory *samples, prices map[string]float64) ([]Phase, error) {
	reports, err := reports(dir)
	if err != nil {
		return nil, err
	}
	var out []Phase
	for i, r := range reports {
		begin, end := r.begin(), r.Written
		next := end
		if i+1 < len(reports) {
			next = reports[i+1].begin()
		}
		c := t.Changes(begin, end)
		p := Phase{
			Name: r.name, Kind: r.Kind, Suite: r.Time.Seconds(), Pods: t.RunningAt(end), Disrupted: within(all, begin, next),
			Launched: c.Launched, Ended: c.Ended, Kept: c.Kept, Nodes: len(c.Types), Memory: r.Memory, Watcher: memory.most(begin, end), CPU: r.CPU,
		}
		for _, name := range c.Types {
			price, ok := prices[typeName(name)]
			if !ok {
				return nil, fmt.Errorf("instance type %q has no price", name)
			}
			p.Price += price
		}
		done := time.Time{}
		switch r.Kind {
		case "scale-out":
			at, ok := t.Ran(r.Pods, begin, end)
			if !ok {
				return nil, fmt.Errorf("%s: the suite saw %d pods run, and the watch did not", r.name, r.Pods)
			}
			done = at
		case "consolidation":
			done = c.LastGone
		case "drift":
			done = c.LastOldGone
		default:
			return nil, fmt.Errorf("%s: a phase of the kind %q is not known", r.name, r.Kind)
		}
		if !done.IsZero() {
			p.Seconds = done.Sub(begin).Seconds()
		}
		out = append(out, p)
	}
	return out, nil
}

// typeName is how the kwok provider calls an instance type: see testenv/bench/kwok.
func typeName(name string) string { return strings.ReplaceAll(name, ".", "-") }

// readPrices reads what instance types cost on demand from the file that the kwok provider reads. Zones cost the same.
func readPrices(path string) (map[string]float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var types []struct {
		Name      string
		Offerings []struct {
			Price        float64
			Requirements []struct {
				Key    string
				Values []string
			}
		}
	}
	if err := json.Unmarshal(text, &types); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	prices := map[string]float64{}
	for _, t := range types {
		for _, o := range t.Offerings {
			for _, r := range o.Requirements {
				if r.Key == "karpenter.sh/capacity-type" && slices.Equal(r.Values, []string{"on-demand"}) {
					prices[t.Name] = o.Price
				}
			}
		}
	}
	return prices, nil
}
