package wire_test

import (
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type filter struct {
	Name   string
	Values []string `query:"Value"`
}

type launch struct {
	Filters  []filter `query:"Filter"`
	MaxCount *int32
	DryRun   bool
	Price    float64
	Since    time.Time
	UserData []byte
	Target   struct {
		Total int `query:"TotalTargetCapacity"`
	}
	Names []string
	Tags  map[string]string
}

func TestDecodeReadsBothListDialects(t *testing.T) {
	count := int32(7)
	tests := map[string]struct {
		query string
		want  launch
	}{
		"flattened lists of structures": {
			"Filter.1.Name=tag:a&Filter.1.Value.1=x&Filter.1.Value.2=y&Filter.2.Name=vpc-id",
			launch{Filters: []filter{{"tag:a", []string{"x", "y"}}, {Name: "vpc-id"}}},
		},
		"lists order by number, also past nine and over gaps": {
			"Names.10=j&Names.2=b&Names.4=d", launch{Names: []string{"b", "d", "j"}},
		},
		"wrapped lists":  {"Names.member.1=a&Names.member.2=b", launch{Names: []string{"a", "b"}}},
		"empty list":     {"Names=", launch{Names: []string{}}},
		"wrapped maps":   {"Tags.entry.1.key=k&Tags.entry.1.value=v", launch{Tags: map[string]string{"k": "v"}}},
		"flattened maps": {"Tags.1.Name=k&Tags.1.Value=v", launch{Tags: map[string]string{"k": "v"}}},
		"pointers":       {"MaxCount=7", launch{MaxCount: &count}},
		"scalars":        {"DryRun=true&Price=0.25", launch{DryRun: true, Price: 0.25}},
		"timestamps":     {"Since=2026-01-02T03:04:05.5Z", launch{Since: time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.UTC)}},
		"blobs":          {"UserData=aGk%3D", launch{UserData: []byte("hi")}},
		"nested structure": {"Target.TotalTargetCapacity=3", launch{Target: struct {
			Total int `query:"TotalTargetCapacity"`
		}{3}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got launch
			if err := parse(t, tt.query).Decode(&got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decode %q (-want +got):\n%s", tt.query, diff)
			}
		})
	}
}

func TestDecodeRefusesWhatHasNoField(t *testing.T) {
	for query, want := range map[string]string{
		"Colour=red":                  "UnknownParameter",
		"Filter.1.Colour=red":         "UnknownParameter",
		"MaxCount.1=4":                "UnknownParameter",
		"Names.member.x=1":            "UnknownParameter",
		"MaxCount=many":               "InvalidParameterValue",
		"DryRun=perhaps":              "InvalidParameterValue",
		"Target=3":                    "InvalidParameterValue",
		"Names=a":                     "InvalidParameterValue",
		"Since=yesterday":             "InvalidParameterValue",
		"UserData=%21":                "InvalidParameterValue",
		"Tags.entry.1.key=incomplete": "InvalidParameterValue",
	} {
		err := parse(t, query).Decode(new(launch))
		var e *wire.Error
		if !errors.As(err, &e) || e.Code != want {
			t.Errorf("decode %q: %v, want %s", query, err, want)
		}
	}
}

func parse(t *testing.T, query string) *wire.Form {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return wire.ParseForm(values)
}
