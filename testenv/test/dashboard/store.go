package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	common "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// store keeps the samples of some scrapes, in order of time.
type store struct {
	series map[uint64]*kept
	last   map[uint64]bool // those of the latest scrape
	times  []int64         // of scrapes, milliseconds
}

type kept struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// sample is one value at a time; it implements chunks.Sample.
type sample struct {
	atMillis int64
	value    float64
}

func (s sample) ST() int64                     { return 0 }
func (s sample) T() int64                      { return s.atMillis }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

// scrape adds what one answered, in Prometheus's text format. Series that are not there any more end, as Prometheus has them end.
func (s *store) scrape(atMillis int64, text io.Reader) error {
	parser := expfmt.NewTextParser(common.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return fmt.Errorf("read the scrape at %d: %w", atMillis, err)
	}
	if s.series == nil {
		s.series = map[uint64]*kept{}
	}
	now := map[uint64]bool{}
	for name, family := range families {
		for _, metric := range family.Metric {
			for suffix, value := range values(metric) {
				key := s.add(name+suffix, metric.Label, sample{atMillis, value})
				now[key] = true
			}
		}
	}
	for key := range s.last {
		if !now[key] {
			s.series[key].samples = append(s.series[key].samples, sample{atMillis, math.Float64frombits(value.StaleNaN)})
		}
	}
	s.last, s.times = now, append(s.times, atMillis)
	return nil
}

// values are what dashboards ask for of a metric: its value, or count and sum.
func values(metric *dto.Metric) map[string]float64 {
	switch {
	case metric.Counter != nil:
		return map[string]float64{"": metric.Counter.GetValue()}
	case metric.Gauge != nil:
		return map[string]float64{"": metric.Gauge.GetValue()}
	case metric.Summary != nil:
		return map[string]float64{"_count": float64(metric.Summary.GetSampleCount()), "_sum": metric.Summary.GetSampleSum()}
	case metric.Histogram != nil:
		return map[string]float64{"_count": float64(metric.Histogram.GetSampleCount()), "_sum": metric.Histogram.GetSampleSum()}
	}
	return map[string]float64{"": metric.Untyped.GetValue()}
}

func (s *store) add(name string, pairs []*dto.LabelPair, at sample) uint64 {
	builder := labels.NewBuilder(labels.EmptyLabels())
	builder.Set(common.MetricNameLabel, name).Set("job", "joiner-watcher").Set("instance", "watcher-0:8080")
	for _, pair := range pairs {
		builder.Set(pair.GetName(), pair.GetValue())
	}
	l := builder.Labels()
	key := l.Hash()
	if s.series[key] == nil {
		s.series[key] = &kept{labels: l}
	}
	s.series[key].samples = append(s.series[key].samples, at)
	return key
}

// Querier implements storage.Queryable.
func (s *store) Querier(_, _ int64) (storage.Querier, error) { return s, nil }

// Select implements storage.Querier.
func (s *store) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []*kept
	for _, k := range s.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(k.labels.Get(m.Name)) }) {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, func(a, b *kept) int { return labels.Compare(a.labels, b.labels) })
	var list []storage.Series
	for _, k := range found {
		list = append(list, storage.NewListSeries(k.labels, k.samples))
	}
	return &set{list: list, at: -1}
}

// LabelValues implements storage.LabelQuerier; engines do not ask for it.
func (s *store) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.LabelQuerier; engines do not ask for it.
func (s *store) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.LabelQuerier.
func (s *store) Close() error { return nil }

// labelValues are those a label of a metric has ever had, sorted; a series without the label has none.
func (s *store) labelValues(metric, label string) []string {
	var out []string
	for _, k := range s.series {
		if k.labels.Get(common.MetricNameLabel) == metric && k.labels.Has(label) && k.labels.Get(label) != "" {
			out = append(out, k.labels.Get(label))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// set is a list of series as engines take them.
type set struct {
	list []storage.Series
	at   int
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.list) }
func (s *set) At() storage.Series                { return s.list[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }
