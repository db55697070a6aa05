package oracle

import (
	"strings"
	"testing"
)

// Every plan by which a cluster of the benchmarks is given back holds in kube-scheduler. `make oracle` evaluates larger ones.
func TestPlansOfTheBenchmarksClustersHold(t *testing.T) {
	var out strings.Builder
	if !Convergences(&out, []string{"underused", "guarded"}, []int{30}, 1, Depth{Orders: 1}) || strings.Contains(out.String(), " 0 nodes given back") {
		t.Error("it does not hold, or nothing is given back")
	}
	t.Log(out.String())
}
