package proof_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
	"github.com/joiner-sh/joiner/cmd/joiner/proof/probes"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/test/proof/account"
)

// recordVariable, where it is set, has the record of testenv written anew: after a probe makes other calls than before.
const recordVariable = "JOINER_RECORD_PROOF"

const ofTestenv = "recorded/testenv.jsonl.gz"

// fixture reads a record, packed or not.
func fixture(t *testing.T, name string) ([]byte, *proof.Recording) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if text, err = io.ReadAll(unpacked); err != nil {
			t.Fatal(err)
		}
	}
	r, err := proof.ReadRecording(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return text, r
}

// What was recorded once is seen for ever: by the probes of today on the record, and by them on the model, under the readings that the record
// speaks for. What AWS did and the model does not is a mistake of the model.
func TestRecordedProofsAreReplayed(t *testing.T) {
	if os.Getenv(recordVariable) != "" {
		writeRecord(t)
	}
	names, err := filepath.Glob("recorded/*.jsonl*")
	if err != nil || len(names) == 0 {
		t.Fatalf("no records: %v", err)
	}
	evidence := 0
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, r := fixture(t, name)
			if r.Head.Evidence != (r.Head.Source == "aws") {
				t.Errorf("it comes from %s and says evidence: %v", r.Head.Source, r.Head.Evidence)
			}
			if leaks := proof.Leaks(string(text)); len(leaks) > 0 {
				t.Errorf("it is not scrubbed: %v", leaks)
			}
			said := map[string]proof.Result{}
			for _, x := range r.Results {
				said[x.ID] = x
			}
			again, err := proof.Replay(t.Context(), r, probes.All())
			if err != nil {
				t.Fatal(err)
			}
			others := []string{}
			for _, x := range again.Results {
				if before := said[x.ID]; x.Verdict != before.Verdict && before.Verdict != proof.Unknown {
					t.Errorf("%s: the record says %s with %v, and the probe now %s with %v %s", x.ID, before.Verdict, before.Seen, x.Verdict, x.Seen, x.Why)
				}
				if x.Verdict == proof.Differs && doubt(x.ID) {
					others = append(others, x.ID)
				}
			}
			compareWithModel(t, again, others)
			if r.Head.Evidence {
				evidence++
			}
		})
	}
	t.Logf("%d records, of which %d are evidence of what AWS does", len(names), evidence)
}

func doubt(id string) bool {
	for _, d := range reading.All() {
		if d.ID == id {
			return true
		}
	}
	return false
}

// compareWithModel holds what was seen of a record against what probes see of the model, with the other readings of some doubts.
func compareWithModel(t *testing.T, of *proof.Report, others []string) {
	t.Helper()
	a := account.New(reading.Default().With(others...))
	a.AddCluster(t.Context(), cluster)
	o := options(a, "r1")
	o.Cluster = cluster
	model := map[string]proof.Result{}
	for _, x := range run(t, o, probes.All()).Results {
		model[x.ID] = x
	}
	for _, x := range of.Results {
		if x.Verdict == proof.Skipped || x.Verdict == proof.Unknown {
			continue
		}
		if m := model[x.ID]; m.Verdict != x.Verdict || m.Reading != x.Reading {
			t.Errorf("%s: the record has %v (%s), the model %v (%s %s)", x.ID, x.Seen, x.Verdict, m.Seen, m.Verdict, m.Why)
		}
	}
}

// writeRecord writes the record of testenv anew.
func writeRecord(t *testing.T) {
	t.Helper()
	text, _ := whole()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ofTestenv, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The record of testenv is of all probes there are, so that who changes one is told.
func TestTheRecordOfTestenvIsWhole(t *testing.T) {
	_, r := fixture(t, ofTestenv)
	if r.Head.Evidence {
		t.Errorf("it says that it is evidence: %+v", r.Head)
	}
	recorded := map[string]bool{}
	for _, id := range r.Head.Probes {
		recorded[id] = true
	}
	for _, p := range probes.All() {
		if !recorded[p.ID] {
			t.Errorf("%s is not in it: %s=1 go test -run TestRecordedProofsAreReplayed ./testenv/test/proof", p.ID, recordVariable)
		}
	}
}

// A record that AWS answered otherwise than the model does is noticed: of a doubt by its other reading, of anything else as a failure.
func TestAnotherAnswerInARecordIsNoticed(t *testing.T) {
	a := account.New(reading.Default().With(reading.GroupOnStandard))
	var record bytes.Buffer
	o := options(a, "r1")
	o.Record = &record
	run(t, o, named(t, reading.GroupOnStandard, "sqs-error-codes"))
	changed := strings.ReplaceAll(record.String(), "NonExistentQueue", "QueueOnHoliday")
	r, err := proof.ReadRecording(strings.NewReader(changed))
	if err != nil {
		t.Fatal(err)
	}
	again, err := proof.Replay(t.Context(), r, probes.All())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]proof.Verdict{}
	for _, x := range again.Results {
		got[x.ID] = x.Verdict
	}
	if got[reading.GroupOnStandard] != proof.Differs || got["sqs-error-codes"] != proof.Fail || len(got) != 2 {
		t.Errorf("%v", got)
	}
}
