package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/joiner-sh/joiner/shared/wire"
)

// Each invocation says what came of it in one line for each cluster it was about, with its id, and in one line where there was none.
func TestInvocationIsOneLineForEachCluster(t *testing.T) {
	web, shop := wire.Hint{Cluster: "web", Reason: wire.ReasonResync}, wire.Hint{Cluster: "shop", Reason: wire.ReasonResync}
	for name, test := range map[string]struct {
		event any
		want  []string // clusters, or what else the line is about
	}{
		"a tick":                       {map[string]string{"sweep": "2026-03-01T00:01:00Z"}, []string{"sweep"}},
		"two hints of one cluster":     {events.SQSEvent{Records: []events.SQSMessage{record(t, "1", web), record(t, "2", web)}}, []string{"web"}},
		"hints of two clusters":        {events.SQSEvent{Records: []events.SQSMessage{record(t, "1", web), record(t, "2", shop)}}, []string{"shop", "web"}},
		"a hint nobody can read":       {events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: "{"}}}, []string{"batch"}},
		"neither a batch nor a tick":   {map[string]string{}, []string{"event"}},
		"a cluster that is not ours":   {events.SQSEvent{Records: []events.SQSMessage{record(t, "1", wire.Hint{Cluster: "somebody-elses", Reason: wire.ReasonResync})}}, []string{"somebody-elses"}},
		"a cluster that is not loaded": {events.SQSEvent{Records: []events.SQSMessage{record(t, "1", wire.Hint{Cluster: "broken", Reason: wire.ReasonResync})}}, []string{"broken"}},
	} {
		var text bytes.Buffer
		h, _, _ := newHandler()
		h.logger = slog.New(slog.NewJSONHandler(&text, nil))
		raw, err := json.Marshal(test.event)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = h.handle(lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "invocation-1"}), raw)
		var got []string
		for line := range bytes.Lines(text.Bytes()) {
			var l struct {
				Msg, Invocation string
				Outcome         struct{ Cluster string }
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			if l.Invocation != "invocation-1" {
				t.Errorf("%s: a line does not name its invocation: %s", name, line)
			}
			switch {
			case l.Msg == "provision":
				got = append(got, l.Outcome.Cluster)
			case slices.Contains([]string{"sweep", "batch", "event"}, l.Msg):
				got = append(got, l.Msg)
			}
		}
		if slices.Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("%s: lines about %v, want %v", name, got, test.want)
		}
	}
}
