package model_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

var storeAgain = flag.Bool("store-again", false, "write testdata/stored anew; only where a field was added")

// stored are the values that are kept as JSON in DynamoDB or S3, by the name of their file in testdata/stored.
var stored = map[string]any{
	"claim":             &model.Claim{},
	"class-record":      &model.ClassRecord{},
	"collector":         &model.CollectorState{},
	"command":           &model.Command{},
	"decision":          &model.Decision{},
	"decision-disrupt":  &model.Disrupted{},
	"decision-removal":  &model.Removal{},
	"disrupt-input":     &model.DisruptionInput{},
	"disrupt-notes":     &model.DisruptNotes{},
	"input":             &model.PlannerInput{},
	"instance-types":    &model.InstanceCatalog{},
	"intent":            &model.Intent{},
	"ledger":            &model.Ledger{},
	"manifest":          &model.Manifest{},
	"notes":             &model.Notes{},
	"plan":              &model.Plan{},
	"plan-disrupt":      &model.DisruptPlan{},
	"registration":      &model.Registration{},
	"shadowed":          &model.Shadowed{},
	"snapshot":          &model.Snapshot{},
	"stop":              &model.Stop{},
	"unavailable":       &model.UnavailableOffering{},
	"zonal-shifts":      &model.ZonalShifts{},
	"usage":             &model.Usage{},
	"budget-version":    &model.BudgetVersion{},
	"launch-allowances": &model.Allowance{},
}

// TestStoredRecordsOfEarlierVersionsAreRead decodes a record of each kind, in which every field has a value of its own, as the version
// before the fields' Go names changed wrote it. Encoded again it has each member that it had, with its value.
//
//	go test ./shared/model -run TestStoredRecords -store-again
//
// writes them anew.
func TestStoredRecordsOfEarlierVersionsAreRead(t *testing.T) {
	for name, into := range stored {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "stored", name+".json")
			if *storeAgain {
				n := 0
				fill(reflect.ValueOf(into).Elem(), &n, 0)
				text, err := json.MarshalIndent(into, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fresh := reflect.New(reflect.TypeOf(into).Elem()).Interface()
			if err := json.Unmarshal(text, fresh); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(fresh)
			if err != nil {
				t.Fatal(err)
			}
			var was, is any
			if err := json.Unmarshal(text, &was); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(again, &is); err != nil {
				t.Fatal(err)
			}
			if members := missing(name, was, is); len(members) > 0 {
				t.Errorf("not read, or not as they were: %v", members)
			}
		})
	}
}

// fill gives every exported field a value of its own. Of types that have themselves as parts, it stops after some levels.
func fill(v reflect.Value, n *int, depth int) {
	if depth > 14 {
		return
	}
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n, depth+1)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(fmt.Sprintf(`{"n":%d}`, *n)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n, depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n, depth+1)
		fill(value, n, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n % 100))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n % 100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(*n) / 4)
	}
}

// missing returns the paths of what is in was and not the same in is. What is has beside it is new.
func missing(path string, was, is any) (out []string) {
	switch was := was.(type) {
	case map[string]any:
		now, _ := is.(map[string]any)
		for name, value := range was {
			out = append(out, missing(path+"."+name, value, now[name])...)
		}
	case []any:
		now, _ := is.([]any)
		if len(now) != len(was) {
			return []string{path}
		}
		for i := range was {
			out = append(out, missing(fmt.Sprint(path, "[", i, "]"), was[i], now[i])...)
		}
	default:
		if !reflect.DeepEqual(was, is) {
			return []string{path}
		}
	}
	return out
}
