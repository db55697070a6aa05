package plan

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/input"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/speccases"
)

// FuzzPlanOfFiles: whatever cluster and catalog can be read, each pod that asks for capacity is in the plan once, each node that is given
// back is in one command, and the same files give the same plans.
func FuzzPlanOfFiles(f *testing.F) {
	kept, err := speccases.Kept()
	if err != nil {
		f.Fatal(err)
	}
	for i := range kept.Clusters {
		f.Add(kept.Clusters[i].List(), []byte(kept.Catalogs[kept.Clusters[i].Catalog]))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, objects, catalog []byte) {
		if len(objects) > 1<<16 || len(catalog) > 1<<15 {
			t.Skip("longer texts only take longer")
		}
		files := input.Flags{Files: []string{filepath.Join(folder, "cluster.yaml")}, Catalog: filepath.Join(folder, "catalog.json")}
		if err := os.WriteFile(files.Files[0], objects, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files.Catalog, catalog, 0o600); err != nil {
			t.Fatal(err)
		}
		first, ok := planBoth(t, files)
		if !ok {
			return
		}
		if second, again := planBoth(t, files); !again || !bytes.Equal(first, second) {
			t.Errorf("first\n%s\nthen\n%s", first, second)
		}
	})
}

// planBoth returns both plans of files in JSON; false where the files are refused.
func planBoth(t *testing.T, files input.Flags) ([]byte, bool) {
	now := time.Unix(1_790_000_000, 0)
	cluster, err := read.Files(files.Files, read.Options{NowUnix: now.Unix()})
	if err != nil {
		return nil, false
	}
	offered, err := input.ReadOffered(files.Catalog, cluster.Snapshot, offering.Settings{NowUnix: now.Unix()})
	if err != nil {
		return nil, false
	}
	var out bytes.Buffer
	result := provision(&files, cluster, &offered, now)
	result.PlanSeconds = 0
	if err := show.PlanJSON(&out, result); err != nil {
		t.Fatal(err)
	}
	eachPodOnce(t, cluster.Snapshot, &result.Plan)
	claims, _ := cluster.LedgerClaims()
	change := input.Apply(cluster.Snapshot, nil, nil, nil)
	disrupt, _ := (&disruptFlags{Flags: files}).plan(cluster.Snapshot, claims, change, &offered, now)
	disrupt.PlanSeconds = 0
	if err := show.DisruptJSON(&out, disrupt); err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	for _, command := range disrupt.Plan.Commands {
		for _, node := range command.Nodes {
			if given[node] {
				t.Errorf("node %s is given back twice", node)
			}
			given[node] = true
		}
	}
	return out.Bytes(), true
}

func eachPodOnce(t *testing.T, snapshot *model.Snapshot, plan *model.Plan) {
	seen := map[string]int{}
	count := func(pods []model.PodRef) {
		for i := range pods {
			seen[pods[i].Key()]++
		}
	}
	for i := range plan.Nominations {
		count(plan.Nominations[i].Pods)
	}
	for i := range plan.Claims {
		count(plan.Claims[i].Pods)
	}
	for i := range plan.Unschedulable {
		seen[plan.Unschedulable[i].Pod.Key()]++
	}
	for _, i := range pack.Pending(snapshot) {
		key := snapshot.Pods[i].Key()
		if seen[key] != 1 {
			t.Errorf("pod %s is in the plan %d times", key, seen[key])
		}
		delete(seen, key)
	}
	for key := range seen { // each on its own
		t.Errorf("pod %s asks for nothing and is in the plan", key)
	}
}
