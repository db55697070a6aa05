package proof_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
	"github.com/joiner-sh/joiner/cmd/joiner/proof/probes"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/test/proof/account"
)

func cancellable(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// whole is the record of a run of all probes, with a cluster, and its report.
var whole = sync.OnceValues(func() ([]byte, *proof.Report) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a := account.New(reading.Default())
	a.AddCluster(ctx, cluster)
	var record bytes.Buffer
	o := options(a, "r1")
	o.Cluster, o.Record = cluster, &record
	r, err := proof.Run(ctx, o, probes.All())
	if err != nil {
		panic(err)
	}
	return record.Bytes(), r
})

func recorded(t *testing.T) *proof.Recording {
	t.Helper()
	text, _ := whole()
	r, err := proof.ReadRecording(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A record says nothing of who made it, and where.
func TestRecordsAreScrubbed(t *testing.T) {
	text, _ := whole()
	for _, secret := range []string{
		cloud.DefaultAccount, cloud.DefaultAccessKeyID, cloud.DefaultSecretAccessKey, "AKIAIOSF", "127.0.0.1", "Signature=", "X-Amz-Security-Token=", "Bearer ", "BEGIN CERTIFICATE", "LS0t",
		"jane", "AKIA" + "I", "/" + cluster,
	} {
		if i := bytes.Index(text, []byte(secret)); i >= 0 {
			t.Errorf("the record has %q: …%s…", secret, text[max(0, i-100):min(len(text), i+100)])
		}
	}
	for i, line := range strings.Split(string(text), "\n") {
		if leaks := proof.Leaks(line); len(leaks) > 0 {
			t.Errorf("line %d has %v: %.300s", i+1, leaks, line)
		}
	}
	if len(text) > 8<<20 {
		t.Errorf("the record has %d bytes: too much to send", len(text))
	}
}

// A record of testenv says that it is no evidence of what AWS does.
func TestRecordsOfTestenvAreNoEvidence(t *testing.T) {
	r := recorded(t)
	if r.Head.Source != "testenv" || r.Head.Evidence || !r.Head.Yes || !r.Head.Cluster || r.Head.Run != "r1" {
		t.Errorf("head %+v", r.Head)
	}
	a := account.New(reading.Default())
	var record bytes.Buffer
	o := options(a, "r2")
	o.Source, o.Record = "aws", &record
	run(t, o, named(t, "sqs-error-codes"))
	if r, err := proof.ReadRecording(&record); err != nil || !r.Head.Evidence {
		t.Errorf("%v, head %+v", err, r.Head)
	}
}

// What probes saw of a record is what they see when it is replayed.
func TestReplaySeesWhatWasSeen(t *testing.T) {
	_, report := whole()
	r := recorded(t)
	again, err := proof.Replay(t.Context(), r, probes.All())
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Results) != len(report.Results) || len(r.Results) != len(report.Results) {
		t.Fatalf("%d results of %d, %d in the record", len(again.Results), len(report.Results), len(r.Results))
	}
	for i, x := range again.Results {
		if before := report.Results[i]; x.Verdict != before.Verdict || x.Reading != before.Reading {
			t.Errorf("%s was %s with %v, and is %s with %v %s", x.ID, before.Verdict, before.Seen, x.Verdict, x.Seen, x.Why)
		}
	}
}

// A probe that makes other calls than were recorded says so.
func TestReplayNamesWhatWasNotRecorded(t *testing.T) {
	r := recorded(t)
	r.Exchanges = nil
	again, err := proof.Replay(t.Context(), r, named(t, "sqs-error-codes"))
	if err != nil {
		t.Fatal(err)
	}
	if x := again.Results[0]; x.Verdict != proof.Unknown || !strings.Contains(x.Why, "no further answer to sqs:GetQueueUrl of sqs-error-codes") {
		t.Errorf("%s: %s", x.Verdict, x.Why)
	}
}

func TestRecordsThatCannotBeReadAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "format is 0",
		"{}\n":                                   "line 1 is no head",
		`{"head":{"format":9}}`:                  "format is 9",
		`{"head":{"format":1}}` + "\nnonsense\n": "line 2",
	} {
		if _, err := proof.ReadRecording(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// How long something took is replayed, too: it is what answers took, and not only how long was slept between them.
func TestReplayTakesAsLongAsItTook(t *testing.T) {
	a := account.New(reading.Default())
	var record bytes.Buffer
	o := options(a, "r1")
	o.Record = &record
	a.Slow(3 * time.Second)
	was := run(t, o, named(t, "ec2-describe-lag")).Results[0]
	r, err := proof.ReadRecording(&record)
	if err != nil {
		t.Fatal(err)
	}
	again, err := proof.Replay(t.Context(), r, probes.All())
	if err != nil {
		t.Fatal(err)
	}
	if x := again.Results[0]; was.Seen["seconds"] == "0" || x.Seen["seconds"] != was.Seen["seconds"] || x.Verdict != was.Verdict {
		t.Errorf("it took %s s, and replayed %s s: %s, %s", was.Seen["seconds"], x.Seen["seconds"], was.Verdict, x.Verdict)
	}
}
