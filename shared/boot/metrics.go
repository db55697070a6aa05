package boot

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of CloudWatch's embedded metric format, and what stands for a dimension without a value. Source: "Specification: Embedded
// metric format" in the user guide of CloudWatch.
const (
	maxMetricsInDocument = 100
	maxValuesOfMetric    = 100
	maxDimensionLength   = 1024
	noDimension          = "-"
)

// Measures is the operator's word on metrics. Embed it in the settings of a program.
type Measures struct {
	Metrics MetricsSetting `env:"JOINER_METRICS"`
}

// MetricsSetting is MetricsOn or MetricsOff; "" means MetricsOff.
type MetricsSetting string

// With MetricsOff only the series are sent that alarms go by, and none of them while nothing happens: an idle installation pays for
// no metric.
const (
	MetricsOn  MetricsSetting = "on"
	MetricsOff MetricsSetting = "off"
)

// UnmarshalText reads one of the two.
func (m *MetricsSetting) UnmarshalText(text []byte) error {
	return oneOf(m, text, MetricsOff, MetricsOn)
}

// Metrics writes samples for CloudWatch into the log. nil writes nothing.
type Metrics struct {
	out io.Writer
	now func() time.Time
	all bool

	mutex sync.Mutex
}

// NewMetrics returns one that writes to stdout.
func NewMetrics(setting MetricsSetting) *Metrics {
	return MetricsTo(os.Stdout, time.Now, setting)
}

// MetricsTo returns one that writes to out, with times of now.
func MetricsTo(out io.Writer, now func() time.Time, setting MetricsSetting) *Metrics {
	return &Metrics{out: out, now: now, all: setting == MetricsOn}
}

// Send writes samples, as far as their series are sent at all. A sample of 0 is not: nothing has happened.
func (m *Metrics) Send(samples []Sample) {
	if m == nil {
		return
	}
	var due []Sample
	for _, s := range samples {
		if s.Value != 0 && (m.all || s.Series.Always) {
			due = append(due, s)
		}
	}
	for _, line := range documents(m.now(), due) {
		m.mutex.Lock()
		_, err := m.out.Write(append(line, '\n'))
		m.mutex.Unlock()
		if err != nil {
			fmt.Fprintln(os.Stderr, "write metrics:", err)
			return
		}
	}
}

// document is one line of the log: values of metrics that share their dimensions.
type document struct {
	dimensions []string
	values     []string
	metrics    map[string][]float64 // by name
	units      map[string]string
}

// documents encodes samples, those of the same dimensions and values in one document. The same samples make the same bytes.
func documents(at time.Time, samples []Sample) [][]byte {
	open := map[string]*document{}
	var done []*document
	var order []string
	for _, s := range samples {
		values := make([]string, len(s.Values))
		for i, v := range s.Values {
			values[i] = dimensionValue(v)
		}
		key := strings.Join(s.Series.Dimensions, "\x00") + "\x01" + strings.Join(values, "\x00")
		d := open[key]
		if d != nil && (len(d.metrics[s.Series.Name]) == maxValuesOfMetric || len(d.metrics) == maxMetricsInDocument && d.metrics[s.Series.Name] == nil) {
			done, d = append(done, d), nil
		}
		if d == nil {
			if d = (&document{s.Series.Dimensions, values, map[string][]float64{}, map[string]string{}}); open[key] == nil {
				order = append(order, key)
			}
			open[key] = d
		}
		d.metrics[s.Series.Name] = append(d.metrics[s.Series.Name], s.Value)
		d.units[s.Series.Name] = s.Series.Unit
	}
	for _, key := range order {
		done = append(done, open[key])
	}
	slices.SortStableFunc(done, func(a, b *document) int {
		return cmp.Or(slices.Compare(a.dimensions, b.dimensions), slices.Compare(a.values, b.values))
	})
	lines := make([][]byte, len(done))
	for i, d := range done {
		lines[i] = d.encode(at)
	}
	return lines
}

// dimensionValue is a value CloudWatch takes: not empty, of printable ASCII, and not too long.
func dimensionValue(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '_'
		}
		return r
	}, text)
	if text = strings.TrimSpace(text[:min(len(text), maxDimensionLength)]); text == "" {
		return noDimension
	}
	return text
}

func (d *document) encode(at time.Time) []byte {
	type definition struct{ Name, Unit string }
	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}
	root := map[string]any{}
	reported := directive{Namespace: Namespace, Dimensions: [][]string{append([]string{}, d.dimensions...)}}
	for _, name := range slices.Sorted(maps.Keys(d.metrics)) {
		reported.Metrics = append(reported.Metrics, definition{name, d.units[name]})
		if values := d.metrics[name]; len(values) == 1 {
			root[name] = values[0]
		} else {
			root[name] = values
		}
	}
	for i, name := range d.dimensions {
		root[name] = d.values[i]
	}
	root["_aws"] = map[string]any{"Timestamp": at.UnixMilli(), "CloudWatchMetrics": []directive{reported}}
	line, err := json.Marshal(root)
	if err != nil {
		panic(err) // numbers and texts; no value is infinite
	}
	return line
}
