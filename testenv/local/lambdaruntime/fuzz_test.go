package lambdaruntime

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzParseEMF: any line of a log is metrics with names, or none.
func FuzzParseEMF(f *testing.F) {
	f.Add(`{"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"Joiner","Dimensions":[["Cluster"]],"Metrics":[{"Name":"Pending","Unit":"Count"}]}]},"Cluster":"a","Pending":[1,2]}`)
	f.Add(`{"_aws":{"CloudWatchMetrics":[{"Namespace":"n","Metrics":[{"Name":"_aws"},{"Name":"x"}]},{}]},"x":"1"}`)
	f.Add(`{"_aws":null}`)
	f.Fuzz(func(t *testing.T, line string) {
		bounds.Check(t, len(line), func() {
			for _, metric := range parseEMF(LogLine{Text: line}) {
				if metric.Namespace == "" {
					t.Errorf("a metric without a namespace: %+v", metric)
				}
			}
		})
	})
}

// FuzzFail: any payload of a failed invocation is an error of some type.
func FuzzFail(f *testing.F) {
	f.Add([]byte(`{"errorType":"a","errorMessage":"b","stackTrace":[]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		bounds.Check(t, len(payload), func() {
			var r Result
			r.fail(payload)
			if r.FunctionError != "Unhandled" {
				t.Errorf("got %+v", r)
			}
		})
	})
}
