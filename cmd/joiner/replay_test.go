package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	replaycmd "github.com/joiner-sh/joiner/cmd/joiner/internal/replay"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

const replayedID = "01JB2S6CZ8E4W9D2N0K7Q5T3VA"

// bucketOf writes a decision of a world that lists its cluster to a folder, as the bucket has it.
func bucketOf(t *testing.T) string {
	t.Helper()
	w := world.New(world.Options{})
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.AddPool(world.Pool("default", "default"))
	w.Cluster.AddPods("web", 5, model.PodShape{Namespace: "shop", Requests: model.Resources{model.CPU: 1500, model.Memory: 1 << 30}})
	w.Tick(time.Second)
	out, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch)
	if err != nil {
		t.Fatal(err)
	}
	d, known := w.Store.Decision(out.Decision)
	if !known {
		t.Fatalf("no decision was kept: %+v", out)
	}
	d.ID, d.AtUnix = replayedID, time.Date(2024, 10, 26, 0, 0, 0, 0, time.UTC).Unix()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, day := range []int64{-1, 0, 1} { // the id's own day is one of them
		path := filepath.Join(dir, "decisions", "prod", s3snapshot.Day(d.AtUnix+day*24*3600), replayedID+".json.gz")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// D6: the same build says identical; another pool is a readable difference, by instances, pods and price.
func TestD6Replay(t *testing.T) {
	dir := bucketOf(t)
	var out, errs bytes.Buffer
	if status := run([]string{"replay", replayedID, "--dir", dir}, strings.NewReader(""), &out, &errs); status != 0 || !strings.Contains(out.String(), "identical") {
		t.Fatalf("status %d\n%s%s", status, out.String(), errs.String())
	}
	pool := filepath.Join(dir, "pool.yaml")
	if err := os.WriteFile(pool, []byte(`apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	status := run([]string{"replay", replayedID, "--dir", dir, "--with", pool, "-o", "json"}, strings.NewReader(""), &out, &errs)
	var answer replaycmd.Answer
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatalf("status %d: %v\n%s%s", status, err, out.String(), errs.String())
	}
	if status != 1 || answer.Identical || len(answer.With) != 1 || answer.Rounds[0].PriceIs <= answer.Rounds[0].PriceWas || len(answer.Rounds[0].Claims) == 0 {
		t.Fatalf("status %d: %s", status, out.String())
	}
	if c := answer.Rounds[0].Claims[0]; c.Is == nil || c.Is.Offering.CapacityType != model.OnDemand {
		t.Errorf("%+v", c)
	}
	out.Reset()
	if status := run([]string{"replay", replayedID, "--dir", dir, "--with", pool}, strings.NewReader(""), &out, &errs); status != 1 || !strings.Contains(out.String(), "it differs") {
		t.Errorf("status %d\n%s", status, out.String())
	}
	if status := run([]string{"replay", "01JB2S6CZ8E4W9D2N0K7Q5T3VB", "--dir", dir}, strings.NewReader(""), &out, &errs); status != 2 {
		t.Errorf("of a decision nobody took: status %d", status)
	}
}
