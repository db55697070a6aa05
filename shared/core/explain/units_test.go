package explain

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// U5: in JSON every amount of money has its unit in its name, beside the name without one.
func TestU5AmountsInJSONHaveTheirUnit(t *testing.T) {
	tried := map[string]bool{}
	for _, v := range []any{
		&Fit{}, &Cost{}, &PoolCost{}, &NamespaceCost{}, &WorkloadCost{}, &NodeCost{}, &Decided{}, &InstanceLifetime{}, &Launch{}, &Alternative{}, &Saving{}, &CommandSaving{},
	} {
		of := reflect.ValueOf(v).Elem()
		tried[of.Type().Name()] = true
		amounts := 0
		for i := range of.NumField() {
			if !of.Type().Field(i).IsExported() {
				continue
			}
			if amount, ok := of.Field(i).Addr().Interface().(*model.MicroUSD); ok {
				*amount = model.MicroUSD(1000 + i)
				amounts++
			}
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		plain, named := map[float64]bool{}, map[float64]bool{}
		for name, value := range members {
			amount, ok := value.(float64)
			if !ok || amount < 1000 {
				continue
			}
			if strings.HasSuffix(name, "MicroUSD") || strings.HasSuffix(name, "MicroUSDPerHour") {
				named[amount] = true
			} else {
				plain[amount] = true
			}
		}
		if amounts == 0 || len(named) != amounts || !reflect.DeepEqual(named, plain) {
			t.Errorf("%T has %d amounts: %s", v, amounts, text)
		}
	}
	for _, name := range typesWithAmounts(t) {
		if !tried[name] {
			t.Errorf("%s has an amount and is not tried here", name)
		}
	}
}

// typesWithAmounts are the types of this package with an amount that JSON writes.
func typesWithAmounts(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	declares, amount := regexp.MustCompile(`^type (\w+) struct \{`), regexp.MustCompile("model\\.MicroUSD +`json:")
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") || entry.Name() == "units.go" {
			continue
		}
		text, err := os.ReadFile(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		in := ""
		for line := range strings.SplitSeq(string(text), "\n") {
			if m := declares.FindStringSubmatch(line); m != nil {
				in = m[1]
			}
			if amount.MatchString(line) {
				names = append(names, in)
			}
		}
	}
	if len(names) < 15 {
		t.Errorf("only %v were found", names)
	}
	return names
}
