package world

import (
	"testing"
	"time"
)

// resolve makes a pass over the classes and fails where it met a problem.
func resolve(t *testing.T, w *World) (drifted map[string]int) {
	t.Helper()
	out, err := w.Process(Fault{}).Resolve(t.Context())
	if err != nil || len(out.Problems) > 0 || out.Skipped != "" {
		t.Fatalf("%+v %v", out, err)
	}
	return out.Drifted
}

// What provisioning launches is what the catalog's judgment would launch: nothing drifts by itself, and provisioning
// uses what the catalog found out.
func TestCatalogAndProvisioningAgree(t *testing.T) {
	w := New(Options{})
	class := Class("default")
	class.Hash = "one"
	w.Cluster.AddClass(class)
	w.Cluster.AddPool(Pool("default", "default"))
	resolve(t, w)
	record, err := w.Ledger.Load(t.Context(), Registration())
	if err != nil || len(record.Classes) != 1 || len(record.Classes[0].Status.Problems) != 0 || record.Classes[0].Status.InstanceProfile == "" {
		t.Fatalf("%+v %v", record.Classes, err)
	}
	w.Cluster.AddPods("web", 5, Shape(1000, 1<<30))
	w.Tick(time.Second)
	if _, err := w.Process(Fault{}).Run(t.Context(), "batch"); err != nil {
		t.Fatal(err)
	}
	w.Tick(5 * time.Minute)
	if len(w.Fleet.Instances()) == 0 {
		t.Fatal("nothing was launched")
	}
	for _, m := range w.Fleet.Instances() {
		if m.Profile != record.Classes[0].Status.InstanceProfile {
			t.Errorf("machine %s has profile %s, the class %s", m.ID, m.Profile, record.Classes[0].Status.InstanceProfile)
		}
	}
	if drifted := resolve(t, w); len(drifted) != 0 {
		t.Errorf("drifted: %v", drifted)
	}
	// Another class for the same machines is drift of each of them.
	class.Tags, class.Hash = map[string]string{"team": "b"}, "another"
	w.Cluster.AddClass(class)
	w.Tick(time.Minute)
	if drifted := resolve(t, w); drifted["NodeClassDrift"] != len(w.Fleet.Instances()) {
		t.Errorf("drifted: %v, want %d", drifted, len(w.Fleet.Instances()))
	}
	ledger, _ := w.Ledger.Load(t.Context(), Registration())
	for _, claim := range ledger.Claims {
		if claim.Drift != "NodeClassDrift" || claim.DriftMessage == "" {
			t.Errorf("%+v", claim)
		}
	}
}

func TestCT04DeletedClassGoesOnceNothingUsesIt(t *testing.T) {
	w := New(Options{})
	w.Cluster.AddClass(Class("default"))
	resolve(t, w)
	if len(w.Profiles.List("/")) != 1 || len(w.Fleet.Templates()) != 1 {
		t.Fatalf("%v %v", w.Profiles.List("/"), w.Fleet.Templates())
	}
	w.Cluster.DeleteClass("default")
	w.Tick(time.Minute)
	resolve(t, w)
	config, err := w.Cluster.Configuration(t.Context())
	if err != nil || len(config.Classes) != 0 || len(w.Profiles.List("/")) != 0 || len(w.Fleet.Templates()) != 0 {
		t.Errorf("%+v %v %v %v", config, w.Profiles.List("/"), w.Fleet.Templates(), err)
	}
	if ledger, _ := w.Ledger.Load(t.Context(), Registration()); len(ledger.Classes) != 0 {
		t.Errorf("%+v", ledger.Classes)
	}
}
