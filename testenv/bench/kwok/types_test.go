package main

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/cmd/joiner/catalogfile"
)

func TestTheProviderSellsWhatJoinerDoes(t *testing.T) {
	region, err := catalogfile.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	types := typesOf(region)
	if len(types) < 200 {
		t.Errorf("only %d types", len(types))
	}
	find := func(name string) (instanceType, bool) {
		i := slices.IndexFunc(types, func(t instanceType) bool { return t.Name == name })
		if i < 0 {
			return instanceType{}, false
		}
		return types[i], true
	}
	for _, name := range []string{"t3-large", "g5-xlarge", "m4-large", "m5.large"} {
		if _, ok := find(name); ok {
			t.Errorf("%s is sold", name)
		}
	}
	m, ok := find("m5-large")
	if !ok {
		t.Fatal("m5-large is not sold")
	}
	// 8 GiB less 5.5 %; less 100 MiB for eviction and 255 MiB + 11 MiB for each of 29 pods; more what the provider takes off.
	const bytes = int64(8<<30-8<<30/1000*55)&^4095 - (100+255+11*29)<<20 + keptMemory
	if memory := resource.MustParse(m.Resources["memory"]); memory.Value() != bytes {
		t.Errorf("m5-large has %d bytes, want %d", memory.Value(), bytes)
	}
	if m.Resources["cpu"] != "2" || m.Resources["pods"] != "29" || m.Architecture != "amd64" {
		t.Errorf("m5-large is %+v", m)
	}
	for _, o := range m.Offerings {
		if o.Requirements[0].Values[0] == "on-demand" && o.Price != 0.096 {
			t.Errorf("m5-large costs %v on demand", o.Price)
		}
	}
	if len(m.Offerings) != 6 {
		t.Errorf("m5-large has the offers %+v, want two in each of three zones", m.Offerings)
	}
}
