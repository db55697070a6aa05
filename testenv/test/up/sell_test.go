package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

func TestATypeIsSoldByAnotherName(t *testing.T) {
	types, err := sell(nil, "c-4x-amd64-linux=c5.xlarge")
	if err != nil {
		t.Fatal(err)
	}
	if types, err = sell(types, "m-8x-amd64-linux=m5.2xlarge"); err != nil {
		t.Fatal(err)
	}
	if len(types) != len(catalog.Types())+2 {
		t.Errorf("%d types are sold, and the catalog has %d", len(types), len(catalog.Types()))
	}
	sorted := slices.IsSortedFunc(types, func(a, b catalog.Type) int { return strings.Compare(a.Name, b.Name) })
	at := slices.IndexFunc(types, func(t catalog.Type) bool { return t.Name == "c-4x-amd64-linux" })
	of, _ := catalog.Lookup("c5.xlarge")
	if !sorted || at < 0 || types[at].VCPUs != of.VCPUs || types[at].OnDemandMicroUSDPerHour == 0 {
		t.Errorf("sorted: %v, the type is at %d", sorted, at)
	}
	for text, want := range map[string]string{
		"c-4x":                        "NAME=TYPE",
		"=c5.xlarge":                  "NAME=TYPE",
		"x=c5.gigantic":               `no instance type "c5.gigantic"`,
		"m5.large=c5.xlarge":          `"m5.large" already`,
		"m-8x-amd64-linux=m5.2xlarge": `"m-8x-amd64-linux" already`,
	} {
		if _, err := sell(types, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-sell %s: error is %v, want one about %s", text, err, want)
		}
	}
}
