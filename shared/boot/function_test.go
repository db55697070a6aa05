package boot

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

func message(t *testing.T, id, cluster string) events.SQSMessage {
	t.Helper()
	body, err := wire.EncodeHint(wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: id})
	if err != nil {
		t.Fatal(err)
	}
	return events.SQSMessage{MessageId: id, Body: string(body)}
}

func TestAFunctionHandlesTicksAndBatches(t *testing.T) {
	var did []string
	f := Function{
		Queue:  "plan",
		FanOut: func(_ context.Context, tick string) (int, error) { did = append(did, "fan out "+tick); return 2, nil },
		Ticked: func(context.Context, *slog.Logger) { did = append(did, "ticked") },
		Batch: func(_ context.Context, _ *slog.Logger, records []events.SQSMessage) (failed Failures) {
			failed.Add(records[1].MessageId)
			return failed
		},
	}
	quiet := slog.New(slog.DiscardHandler)
	if out, err := f.Handle(t.Context(), quiet, json.RawMessage(`{"sweep":"12:00"}`)); out != nil || err != nil || !slices.Equal(did, []string{"fan out 12:00", "ticked"}) {
		t.Errorf("a tick: %v, %v, did %q", out, err, did)
	}
	f.FanOut = func(context.Context, string) (int, error) { return 0, errors.New("down") }
	if _, err := f.Handle(t.Context(), quiet, json.RawMessage(`{"sweep":"12:00"}`)); err == nil || len(did) != 3 {
		t.Errorf("a tick that fails: %v, did %q", err, did)
	}
	batch, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{message(t, "1", "web"), message(t, "2", "shop")}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.Handle(t.Context(), quiet, batch)
	if text, _ := json.Marshal(out); err != nil || string(text) != `{"batchItemFailures":[{"itemIdentifier":"2"}]}` {
		t.Errorf("a batch: %s, %v", text, err)
	}
	if _, err := f.Handle(t.Context(), quiet, json.RawMessage(`{}`)); err == nil {
		t.Error("an event that is neither is handled")
	}
}

func TestRequestsAreOneForEachClusterAndFailWithTheirRecords(t *testing.T) {
	var requests Requests[[]string]
	EachHint(slog.New(slog.DiscardHandler), []events.SQSMessage{
		message(t, "1", "web"), {MessageId: "2", Body: "{"}, message(t, "3", "shop"), message(t, "4", "web"), message(t, "5", "lab"),
	}, func(record events.SQSMessage, hint wire.Hint) {
		request := requests.Add(hint.Cluster, record.MessageId, func() []string { return []string{hint.Cluster} })
		*request = append(*request, record.MessageId)
	})
	if requests.Len() != 3 {
		t.Errorf("%d clusters", requests.Len())
	}
	var mutex sync.Mutex
	var ran [][]string
	failed := requests.Run(func(request []string) error {
		mutex.Lock()
		ran = append(ran, request)
		mutex.Unlock()
		switch request[0] {
		case "web":
			return errors.New("down")
		case "lab":
			panic("lab")
		}
		return nil
	})
	slices.SortFunc(ran, slices.Compare)
	if want := [][]string{{"lab", "5"}, {"shop", "3"}, {"web", "1", "4"}}; !reflect.DeepEqual(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	var ids []string
	for _, f := range failed {
		ids = append(ids, f.ItemIdentifier)
	}
	if want := []string{"1", "4", "5"}; !slices.Equal(ids, want) {
		t.Errorf("failed %q, want %q", ids, want)
	}
}

func TestAConnectorOpensWithTheClustersRoleAndAnewForAnotherSpread(t *testing.T) {
	opened := 0
	c := NewConnector(aws.Config{Region: "eu-west-1"}, "joiner-test", func(roles model.Roles) string { return roles.Catalog },
		func(config aws.Config, reg model.Registration) (string, error) {
			opened++
			if reg.Cluster == "down" {
				return "", errors.New("down")
			}
			return config.Region, nil
		})
	reg := model.Registration{Cluster: "web", Region: "us-west-2"}
	for _, spread := range []string{"", "", "[]"} {
		reg.DefaultSpread = spread
		if region, err := c.Connect(t.Context(), reg); err != nil || region != "us-west-2" {
			t.Errorf("%q, %v", region, err)
		}
	}
	if _, err := c.Connect(t.Context(), model.Registration{Cluster: "down"}); err == nil || opened != 3 {
		t.Errorf("%v; opened %d times, want 3", err, opened)
	}
}
