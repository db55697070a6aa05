package insights_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/insights"
)

var lines = strings.Split(`START RequestId: 1
{"msg":"provision","outcome":{"cluster":"a","claims":2,"problems":["x"]}}
{"msg":"provision","outcome":{"cluster":"b","claims":0,"pending":"many"},"error":""}
{"msg":"sweep","error":"no way"}`, "\n")

func TestAnswersSayWhatPassesAndWhatNobodyWrites(t *testing.T) {
	for query, want := range map[string]insights.Answer{
		`SOURCE '/aws/lambda/f' | filter msg = "provision" and outcome.claims > 0 | stats sum(outcome.claims) by bin(5m), outcome.cluster`: {Lines: 1},
		`filter msg in ["provision", "drain"] | stats max(outcome.pending), max(outcome.claims) by bin(5m)`:                                {Lines: 2, Absent: []string{"outcome.pending"}},
		`filter ispresent(outcome.problems.0) | fields @timestamp, outcome.problems.0 | sort @timestamp desc | limit 20`:                   {Lines: 1},
		`filter ispresent(error) and error != "" | fields msg, error`:                                                                      {Lines: 1},
		`filter msg = "provision" | stats sum(outcome.launched) by bin(5m)`:                                                                {Lines: 2, Absent: []string{"outcome.launched"}},
		`filter msg = "disrupt" | stats latest(outcome.cluster) by outcome.zone`:                                                           {Absent: []string{"outcome.cluster", "outcome.zone"}},
		`filter ispresent(outcome.problems.1) | fields msg`:                                                                                {Absent: []string{"msg"}},
	} {
		q, err := insights.Parse(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if got := q.Over(lines); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", query, got, want)
		}
	}
	if q, err := insights.Parse(`SOURCE '/aws/lambda/f' | fields msg`); err != nil || q.Source != "/aws/lambda/f" {
		t.Errorf("%+v %v", q, err)
	}
}

func TestWhatIsNotKnownIsAnError(t *testing.T) {
	for _, query := range []string{`parse @message "x"`, `filter msg like /x/`, `filter a = 1 or b = 2`, `stats pct(a, 99) by bin(5m)`, `fields a as b`, ``} {
		if _, err := insights.Parse(query); err == nil {
			t.Errorf("%q is no error", query)
		}
	}
}
