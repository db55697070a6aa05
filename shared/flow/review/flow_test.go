package review

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/admit"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

type instances func(ctx context.Context) (model.InstanceCatalog, error)

func (m instances) RegionCatalog(ctx context.Context, _ model.Registration) (model.InstanceCatalog, error) {
	return m(ctx)
}

func one(context.Context) (model.InstanceCatalog, error) {
	return model.InstanceCatalog{Types: []model.InstanceTypeInfo{{Name: "m5.large", Arch: "amd64", VCPUs: 2, MemoryMiB: 8192, Interfaces: 3, IPv4PerInterface: 10, Offerings: []model.Offering{
		{Zone: "a", CapacityType: model.OnDemand, Price: 96_000, Available: true}}}}}, nil
}

func pool(change func(*model.Pool)) *model.Pool {
	p := &model.Pool{Name: "web", Template: model.Template{ClassName: "default"}}
	if change != nil {
		change(p)
	}
	return p
}

func text(v model.Verdict) string {
	var lines []string
	for _, f := range append(v.Refusals, v.Warnings...) {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}

func at() time.Time { return time.Unix(1_780_000_000, 0) }

func TestNothingIsWaitedForLongerThanPatience(t *testing.T) {
	for name, read := range map[string]instances{
		"it hangs": func(ctx context.Context) (model.InstanceCatalog, error) {
			<-ctx.Done()
			return model.InstanceCatalog{}, ctx.Err()
		},
		"it fails": func(context.Context) (model.InstanceCatalog, error) {
			return model.InstanceCatalog{}, errors.New("denied")
		},
	} {
		flow := &Flow{Catalogs: read, Patience: 20 * time.Millisecond, Now: at}
		v, err := flow.Admit(t.Context(), model.Registration{Region: "eu-west-1"}, model.Admission{Operation: model.OperationCreate, Pool: pool(func(p *model.Pool) { p.Invalid = []string{"spec.x: wrong. Remedy: Mend it."} })})
		if err == nil || v.Allowed() {
			t.Errorf("%s: %+v %v", name, v, err)
		}
		v, err = flow.Admit(t.Context(), model.Registration{Region: "eu-west-1"}, model.Admission{Operation: model.OperationCreate, Pool: pool(nil)})
		if err == nil || !v.Allowed() || strings.Contains(text(v), "instance types") || !strings.Contains(text(v), "spec.limits") {
			t.Errorf("%s: %+v %v", name, v, err)
		}
	}
}

func TestTheClusterIsLookedAtOnceEverythingWasTold(t *testing.T) {
	ready := false
	cache := NewCache(func() bool { return ready })
	for _, c := range []wire.Change{
		{Class: &model.Class{Name: "default", Status: model.ClassStatus{Subnets: []model.Subnet{{ID: "s", Zone: "a"}}}}},
		{Class: &model.Class{Name: "gone"}}, {Class: &model.Class{Name: "gone"}, Deleted: true},
		{Pool: &model.Pool{Name: "web"}}, {Pool: &model.Pool{Name: "api"}},
		{Node: &model.Node{Name: "n1", Labels: map[string]string{model.LabelNodePool: "web"}}}, {Node: &model.Node{Name: "n2", Labels: map[string]string{model.LabelNodePool: "web"}}},
		{Node: &model.Node{Name: "n2"}, Deleted: true}, {Node: &model.Node{Name: "other"}},
		{Budget: &model.PDB{Namespace: "shop", Name: "db", MaxUnavailable: "0"}}, {Pod: &model.Pod{Name: "p"}},
	} {
		cache.Observe(c)
	}
	flow := &Flow{Catalogs: instances(one), Objects: cache, Now: at}
	evaluate := func(p *model.Pool) string {
		v, err := flow.Admit(t.Context(), model.Registration{Region: "eu-west-1"}, model.Admission{Operation: model.OperationCreate, Pool: p})
		if err != nil {
			t.Fatal(err)
		}
		return text(v)
	}
	missing := pool(func(p *model.Pool) { p.Template.ClassName = "gone" })
	if said := evaluate(missing); strings.Contains(said, "there is no EC2NodeClass") || !strings.Contains(said, "1 of the 1 instance types that eu-west-1 has") {
		t.Errorf("before it is known: %s", said)
	}
	ready = true
	if said := evaluate(missing); !strings.Contains(said, "there is no EC2NodeClass") || !strings.Contains(said, "shop/db") {
		t.Errorf("%s", said)
	}
	var known admit.Facts
	if !cache.CopyTo(&known) || len(known.Pools) != 2 || known.Pools[0].Name != "api" || len(known.Classes) != 1 || !reflect.DeepEqual(known.Nodes, map[string]int{"web": 1}) {
		t.Errorf("%+v", known)
	}
}

func TestDeletionsNeedNoCatalog(t *testing.T) {
	flow := &Flow{Catalogs: instances(func(context.Context) (model.InstanceCatalog, error) {
		t.Error("it was asked for")
		return model.InstanceCatalog{}, nil
	}), Now: at}
	if v, err := flow.Admit(t.Context(), model.Registration{}, model.Admission{Operation: model.OperationDelete, Pool: pool(nil)}); err != nil || !v.Allowed() {
		t.Errorf("%+v %v", v, err)
	}
}
