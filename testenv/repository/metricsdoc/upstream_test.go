package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/watcher/metrics"
	"github.com/joiner-sh/joiner/shared/boot"
)

// How many series Karpenter 1.14 has, those of controllers' libraries counted as one for each library.
const (
	seriesOfCore     = 94
	seriesOfProvider = 27
)

func ofSource(t *testing.T, source string) []series {
	t.Helper()
	list, err := readUpstream()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list, func(s series) bool { return s.source != source })
}

// M4, M30: TestF151EverySeriesIsThereOrHasAReason holds the watcher to the series of Karpenter's core, and not to what
// it has: a series that it lacks, or has with fewer labels, has a reason in the reference.
func TestF151EverySeriesIsThereOrHasAReason(t *testing.T) {
	list := ofSource(t, "core")
	if len(list) != seriesOfCore {
		t.Errorf("the list has %d series, and %d are known", len(list), seriesOfCore)
	}
	if err := problems(list, metrics.Families()); err != nil {
		t.Error(err)
	}
	held := 0
	for _, s := range list {
		if s.reason == "" {
			held++
		}
	}
	if held < 33 {
		t.Errorf("only %d series are held with all of their labels", held)
	}
}

// M4, M21: TestOB01EverySeriesOfTheProviderIsThereOrHasAReason is the same of Karpenter's AWS provider.
func TestOB01EverySeriesOfTheProviderIsThereOrHasAReason(t *testing.T) {
	list := ofSource(t, "provider")
	if len(list) != seriesOfProvider {
		t.Errorf("the list has %d series, and %d are known", len(list), seriesOfProvider)
	}
	if err := problems(list, metrics.Families()); err != nil {
		t.Error(err)
	}
}

// TestM43SeriesWithoutAReasonAreFound tries what the list refuses.
func TestM43SeriesWithoutAReasonAreFound(t *testing.T) {
	there := []metrics.Family{{Name: "a_total", Type: "counter", Labels: []string{"x", "y"}}}
	for name, c := range map[string]struct {
		list []series
		says string // "" = nothing is wrong
	}{
		"there":            {[]series{{"core", "a_total", "counter", []string{"x"}, ""}}, ""},
		"there, a reason":  {[]series{{"core", "a_total", "counter", []string{"x"}, "why"}}, "delete the reason"},
		"missing":          {[]series{{"core", "b_total", "counter", nil, ""}}, "does not have it"},
		"missing, why":     {[]series{{"core", "b_total", "counter", nil, "why"}}, ""},
		"another type":     {[]series{{"core", "a_total", "gauge", nil, ""}}, "it is a gauge"},
		"a label less":     {[]series{{"core", "a_total", "counter", []string{"z"}, ""}}, "the label z is missing"},
		"a label less why": {[]series{{"core", "a_total", "counter", []string{"z"}, "why"}}, ""},
		"twice":            {slices.Repeat([]series{{"core", "b_total", "counter", nil, "why"}}, 2), "there twice"},
	} {
		err := problems(c.list, there)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestM43CloudWatchNamesSeriesOfKarpenter: what a series of CloudWatch is said to be like is a series of Karpenter's.
func TestM43CloudWatchNamesSeriesOfKarpenter(t *testing.T) {
	list, err := readUpstream()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range boot.AllSeries() {
		known := slices.ContainsFunc(list, func(u series) bool { return u.name == s.Upstream })
		if s.Upstream != "" && !known {
			t.Errorf("%s is said to be like %s, and Karpenter has no such series", s.Name, s.Upstream)
		}
	}
}

// TestM43OwnSeriesAreFew: a series under Karpenter's prefix that Karpenter does not have is one of those that older
// dashboards ask for, and no other.
func TestM43OwnSeriesAreFew(t *testing.T) {
	list, err := readUpstream()
	if err != nil {
		t.Fatal(err)
	}
	old := []string{"karpenter_nodepool_usage", "karpenter_nodepool_limit"}
	for _, f := range metrics.Families() {
		known := slices.ContainsFunc(list, func(s series) bool { return s.name == f.Name })
		if !known && !slices.Contains(old, f.Name) {
			t.Errorf("%s has Karpenter's prefix, and Karpenter has no such series", f.Name)
		}
	}
}
