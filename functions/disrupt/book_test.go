package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
)

type emptyBook struct{ disrupt.Book }

func (emptyBook) Load(context.Context, model.Registration) (model.Ledger, error) {
	return model.Ledger{Stops: []model.Stop{{Scope: model.StopPool, Pool: "gpu", Why: "training"}}}, nil
}

// The parameter is one more stop of the region beside what the ledger has.
func TestStopSwitchIsAStopOfTheRegion(t *testing.T) {
	for says, want := range map[string]int{"go": 1, "disruption": 2, "everything": 2} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter" {
				t.Errorf("asked for %s", r.Header.Get("X-Amz-Target"))
			}
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			io.WriteString(w, `{"Parameter": {"Name": "/joiner/stop", "Type": "String", "Value": "`+says+`"}}`)
		}))
		defer server.Close()
		config := aws.Config{Region: "us-west-2", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}
		book := stoppable{emptyBook{}, boot.StopSwitch(config, "/joiner/stop", slog.New(slog.NewTextHandler(io.Discard, nil)))}
		ledger, err := book.Load(t.Context(), model.Registration{Cluster: "shop"})
		if err != nil || len(ledger.Stops) != want {
			t.Fatalf("%s: stops %+v: %v", says, ledger.Stops, err)
		}
		if last := ledger.Stops[want-1]; want == 2 && (last.Scope != model.StopRegion || last.By != "/joiner/stop") {
			t.Errorf("%s: the last stop is %+v", says, last)
		}
	}
}
