package speccases

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// file is where testenv/bench/upstream/unit keeps the cases.
var file = filepath.Join("..", "upstream", "unit", "testdata", "cases.json.gz")

func TestCasesAreThoseOfKarpentersSpecs(t *testing.T) {
	cases, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	provision, disrupt := 0, 0
	for i := range cases.Cases {
		c := &cases.Cases[i]
		if c.Provision() {
			provision++
		} else {
			disrupt++
		}
		if c.Option("--now") == "" || c.Option("--no-such-flag") != "" || len(cases.Catalogs[c.Catalog]) == 0 {
			t.Errorf("%s: at %q, of catalog %s with %d bytes", c.Spec, c.Option("--now"), c.Catalog, len(cases.Catalogs[c.Catalog]))
		}
	}
	if provision < 300 || disrupt < 50 {
		t.Errorf("%d questions of what to ask for, %d of what to give back", provision, disrupt)
	}
}

// write has the seeds written anew.
var write = flag.Bool("write", false, "write seeds.json.gz anew")

func TestSeedsAreOfTheCases(t *testing.T) {
	cases, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := cases.Seeds()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := want.Packed()
	if err != nil {
		t.Fatal(err)
	}
	if *write {
		if err := os.WriteFile("seeds.json.gz", packed, 0o644); err != nil {
			t.Fatal(err)
		}
	} else {
		got, err := Kept()
		if err != nil {
			t.Fatal(err)
		}
		missing := 0
		kept := said(got)
		for field := range said(want) { // which are told first does not matter
			if !kept[field] {
				if missing++; missing <= 5 {
					t.Errorf("no seed has %s", field)
				}
			}
		}
		if missing > 0 {
			t.Errorf("seeds.json.gz lacks %d fields and words of the cases; go test ./testenv/bench/speccases -run Seeds -write writes it anew", missing)
		}
	}
	t.Logf("%d pods, %d NodePools, %d clusters, %d catalogs in %d bytes", len(want.Pods), len(want.NodePools), len(want.Clusters), len(want.Catalogs), len(packed))
	if min(len(want.Pods), len(want.NodePools), len(want.Clusters)) < 20 || len(want.Catalogs) < 5 {
		t.Error("that is few")
	}
}

// said is all that seeds have, whatever the names in them are: specs make up others in each run.
func said(s *Seeds) map[string]bool {
	out := map[string]bool{}
	note := func(what string, text json.RawMessage) {
		var value any
		if json.Unmarshal(text, &value) == nil {
			say(out, what, value)
		}
	}
	for _, pod := range s.Pods {
		note("pod ", pod)
	}
	for _, pool := range s.NodePools {
		note("pool ", pool)
	}
	for i := range s.Clusters {
		note("cluster ", s.Clusters[i].Objects)
		note("catalog ", s.Catalogs[s.Clusters[i].Catalog])
	}
	return out
}

func TestDistinctKeepsWhatSaysSomethingNew(t *testing.T) {
	var got []string
	for _, text := range Distinct([]json.RawMessage{
		json.RawMessage(`{"a":[{"operator":"NotIn"}]}`), json.RawMessage(`{"a":[{"operator":"In"}]}`), json.RawMessage(`{"a":[{"operator":"In"},{}]}`), json.RawMessage(`{"a":[{"operator":"small"}]}`),
		json.RawMessage(`{"b":1}`), json.RawMessage(`no JSON`), json.RawMessage(`{"b":"Word"}`), json.RawMessage(`{"b":2}`),
	}) {
		got = append(got, string(text))
	}
	want := []string{`{"b":1}`, `{"b":"Word"}`, `{"a":[{"operator":"In"}]}`, `{"a":[{"operator":"NotIn"}]}`, `{"a":[{"operator":"small"}]}`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestReadTellsWhatIsNoCases(t *testing.T) {
	if _, err := Read("cases.go"); err == nil {
		t.Error("Go is no gzip")
	}
	if _, err := Read("nowhere"); err == nil {
		t.Error("nothing is there")
	}
}
