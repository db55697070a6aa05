package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/catalog"
)

func TestF151PassOverClassesIsMeasured(t *testing.T) {
	var got []string
	for _, s := range measured(catalog.Outcome{Cluster: "prod", NotReady: []string{"a", "b"}, Drifted: map[string]int{"AMIDrift": 3}}) {
		got = append(got, fmt.Sprintf("%s%v %g", s.Series.Name, s.Values, s.Value))
	}
	if want := []string{"NodeClassesNotReady[prod] 2", "NodeClaimsDrifted[prod AMIDrift] 3"}; !slices.Equal(got, want) {
		t.Errorf("measured %q, want %q", got, want)
	}
}
