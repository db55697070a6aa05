package lambdaruntime

import (
	"encoding/json"
	"strings"
	"time"
)

// Metric is one metric of a log line in the CloudWatch embedded metric format, under one set of dimensions.
type Metric struct {
	Function   string
	RequestID  string
	Namespace  string
	Name       string
	Unit       string            // as written; "None" when absent
	Dimensions map[string]string // never nil
	Values     []float64         // at least one
	Time       time.Time
}

// The limits of the format: a directive over them is dropped whole, as CloudWatch does.
const (
	maxEMFMetrics    = 100
	maxEMFDimensions = 30
	maxEMFValues     = 100
)

type emfMetadata struct {
	Timestamp         int64 // milliseconds since 1970
	CloudWatchMetrics []emfDirective
}

type emfDirective struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []struct {
		Name string
		Unit string
	}
}

// parseEMF returns the metrics of a log line; empty for a line that is no JSON object with an "_aws" member.
func parseEMF(line LogLine) []Metric {
	if !strings.HasPrefix(line.Text, "{") || !strings.Contains(line.Text, `"_aws"`) {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line.Text), &members); err != nil {
		return nil
	}
	var metadata emfMetadata
	if err := json.Unmarshal(members["_aws"], &metadata); err != nil {
		return nil
	}
	var metrics []Metric
	for _, directive := range metadata.CloudWatchMetrics {
		metrics = append(metrics, directive.metrics(line, metadata.Timestamp, members)...)
	}
	return metrics
}

func (d emfDirective) metrics(line LogLine, timestampMillis int64, members map[string]json.RawMessage) []Metric {
	if d.Namespace == "" || len(d.Metrics) > maxEMFMetrics {
		return nil
	}
	dimensionSets := d.Dimensions
	if len(dimensionSets) == 0 {
		dimensionSets = [][]string{{}}
	}
	var metrics []Metric
	for _, names := range dimensionSets {
		dimensions, ok := emfDimensions(names, members)
		if !ok {
			return nil
		}
		for _, definition := range d.Metrics {
			values := emfValues(members[definition.Name])
			if len(values) == 0 {
				continue // a metric without its member is ignored, its siblings are not
			}
			metric := Metric{
				Function: line.Function, RequestID: line.RequestID, Namespace: d.Namespace, Name: definition.Name,
				Unit: definition.Unit, Dimensions: dimensions, Values: values, Time: time.UnixMilli(timestampMillis).UTC(),
			}
			if metric.Unit == "" {
				metric.Unit = "None"
			}
			metrics = append(metrics, metric)
		}
	}
	return metrics
}

func emfDimensions(names []string, members map[string]json.RawMessage) (map[string]string, bool) {
	if len(names) > maxEMFDimensions {
		return nil, false
	}
	dimensions := map[string]string{}
	for _, name := range names {
		var value string
		if err := json.Unmarshal(members[name], &value); err != nil {
			return nil, false
		}
		dimensions[name] = value
	}
	return dimensions, true
}

// emfValues reads a number or an array of numbers; empty for anything else.
func emfValues(member json.RawMessage) []float64 {
	var one float64
	if err := json.Unmarshal(member, &one); err == nil && string(member) != "null" {
		return []float64{one}
	}
	var many []float64
	if err := json.Unmarshal(member, &many); err != nil || len(many) > maxEMFValues {
		return nil
	}
	return many
}
