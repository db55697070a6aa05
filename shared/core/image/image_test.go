package image

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

func class(terms ...model.SelectorTerm) model.Class {
	return model.Class{Name: "default", Family: "AL2023", Images: terms}
}

func aliased(text string) model.Class { return class(model.SelectorTerm{Alias: text}) }

func kind(requirements []model.Requirement) string {
	names := map[string]string{fmt.Sprint(standard): "standard", fmt.Sprint(nvidia): "nvidia", fmt.Sprint(neuron): "neuron"}
	if name := names[fmt.Sprint(requirements)]; name != "" {
		return name
	}
	var values []string
	for _, r := range requirements {
		values = append(values, r.Values...)
	}
	return strings.Join(values, " ")
}

// AM-01: the parameters that are published for each family, for a moving and a pinned alias, and no others.
func TestAM01ParametersOfEveryFamily(t *testing.T) {
	const eks, bottle, win = "/aws/service/eks/optimized-ami/1.32/", "/aws/service/bottlerocket/aws-k8s-1.32", "/aws/service/ami-windows-latest/Windows_Server-"
	cases := map[string][]string{
		"al2@latest": {
			eks + "amazon-linux-2/recommended/image_id standard", eks + "amazon-linux-2-arm64/recommended/image_id standard",
			eks + "amazon-linux-2-gpu/recommended/image_id nvidia", eks + "amazon-linux-2-gpu/recommended/image_id neuron",
		},
		"al2@v20250519": {
			eks + "amazon-linux-2/amazon-eks-node-1.32-v20250519/image_id standard", eks + "amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20250519/image_id standard",
			eks + "amazon-linux-2-gpu/amazon-eks-gpu-node-1.32-v20250519/image_id nvidia", eks + "amazon-linux-2-gpu/amazon-eks-gpu-node-1.32-v20250519/image_id neuron",
		},
		"al2023@latest": {
			eks + "amazon-linux-2023/x86_64/standard/recommended/image_id standard", eks + "amazon-linux-2023/arm64/standard/recommended/image_id standard",
			eks + "amazon-linux-2023/x86_64/nvidia/recommended/image_id nvidia", eks + "amazon-linux-2023/arm64/nvidia/recommended/image_id nvidia",
			eks + "amazon-linux-2023/x86_64/neuron/recommended/image_id neuron",
		},
		"al2023@v20250519": {
			eks + "amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.32-v20250519/image_id standard",
			eks + "amazon-linux-2023/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.32-v20250519/image_id standard",
			eks + "amazon-linux-2023/x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.32-v20250519/image_id nvidia",
			eks + "amazon-linux-2023/arm64/nvidia/amazon-eks-node-al2023-arm64-nvidia-1.32-v20250519/image_id nvidia",
			eks + "amazon-linux-2023/x86_64/neuron/amazon-eks-node-al2023-x86_64-neuron-1.32-v20250519/image_id neuron",
		},
		"bottlerocket@latest": {
			bottle + "/x86_64/latest/image_id standard", bottle + "/x86_64/latest/image_id neuron", bottle + "/arm64/latest/image_id standard",
			bottle + "-nvidia/x86_64/latest/image_id nvidia", bottle + "-nvidia/arm64/latest/image_id nvidia",
		},
		"bottlerocket@v1.46.0": {
			bottle + "/x86_64/1.46.0/image_id standard", bottle + "/x86_64/1.46.0/image_id neuron", bottle + "/arm64/1.46.0/image_id standard",
			bottle + "-nvidia/x86_64/1.46.0/image_id nvidia", bottle + "-nvidia/arm64/1.46.0/image_id nvidia",
		},
		"windows2019@latest": {win + "2019-English-Core-EKS_Optimized-1.32/image_id windows 10.0.17763"},
		"windows2022@latest": {win + "2022-English-Core-EKS_Optimized-1.32/image_id windows 10.0.20348"},
	}
	cases["bottlerocket@1.46.0"] = cases["bottlerocket@v1.46.0"]
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			var got []string
			for _, q := range queries(t, aliased(text), "1.32") {
				got = append(got, q.Parameter+" "+kind(q.Requirements))
				if _, published := catalog.LookupParameter(q.Parameter); !published {
					t.Errorf("%s is not published", q.Parameter)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
	if q := queries(t, aliased("windows2025@latest"), "1.35"); len(q) != 1 || kind(q[0].Requirements) != "windows 10.0.26100" || !strings.HasPrefix(q[0].Parameter, win+"2025-") {
		t.Errorf("got %+v", q)
	}
}

func queries(t *testing.T, c model.Class, version string) []model.ImageQuery {
	t.Helper()
	out, err := Queries(c, version)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// AM-03: a pinned alias follows the cluster's minor version.
func TestAM03ParametersFollowTheClusterVersion(t *testing.T) {
	for _, text := range []string{"al2023@v20250519", "bottlerocket@v1.46.0", "windows2022@latest"} {
		before, after := queries(t, aliased(text), "1.35"), queries(t, aliased(text), "1.36")
		if len(before) != len(after) {
			t.Fatalf("%s: %d and %d", text, len(before), len(after))
		}
		for i := range before {
			if before[i].Parameter == after[i].Parameter || strings.ReplaceAll(before[i].Parameter, "1.35", "1.36") != after[i].Parameter {
				t.Errorf("%s: %s became %s", text, before[i].Parameter, after[i].Parameter)
			}
		}
	}
	for _, version := range []string{"v1.36", "1.36+", "1.36.4", "v1.36.4-eks-1234567"} {
		if got := queries(t, aliased("al2023@latest"), version); !reflect.DeepEqual(got, queries(t, aliased("al2023@latest"), "1.36")) {
			t.Errorf("%s: got %+v", version, got)
		}
	}
}

// AM-05: families that are not published for the cluster's version.
func TestAM05FamiliesEndAndBegin(t *testing.T) {
	cases := []struct {
		alias, version string
		refused        bool
	}{
		{"al2@latest", "1.26", false}, {"al2@latest", "1.32", false}, {"al2@latest", "1.33", true}, {"al2@v20250519", "1.36", true}, {"al2@latest", "1.100", true},
		{"windows2025@latest", "1.34", true}, {"windows2025@latest", "1.35", false}, {"windows2025@latest", "1.36", false}, {"windows2025@latest", "1.4", true},
		{"windows2019@latest", "1.26", false}, {"al2023@latest", "1.33", false}, {"bottlerocket@latest", "1.33", false},
	}
	for _, c := range cases {
		_, err := Queries(aliased(c.alias), c.version)
		if !c.refused {
			if err != nil {
				t.Errorf("%s at %s: %v", c.alias, c.version, err)
			}
			continue
		}
		if !fault.Is(err, fault.Invalid) || fault.CodeOf(err) != "UnsupportedAlias" || !strings.Contains(err.Error(), c.version) || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%s at %s: got %v", c.alias, c.version, err)
		}
	}
}

// An unknown version says nothing about the class: the error is no verdict.
func TestUnknownVersionIsNoVerdict(t *testing.T) {
	for _, version := range []string{"", "1", "2.0", "1.x", "banana", "1.99999"} {
		_, err := Queries(aliased("al2@latest"), version)
		if err == nil || fault.Is(err, fault.Invalid) || fault.CodeOf(err) != "KubernetesVersionUnknown" {
			t.Errorf("%q: got %v", version, err)
		}
	}
	if _, err := Queries(class(model.SelectorTerm{ID: "ami-1"}), ""); err != nil {
		t.Errorf("an id needs no version: %v", err)
	}
}

// NC-06: aliases that stand for nothing, or not for one thing, whatever the schema let through.
func TestNC06AliasesThatAreRefused(t *testing.T) {
	long := "al2023@v" + strings.Repeat("2", 23)
	cases := map[string][]model.SelectorTerm{
		"no version":         {{Alias: "al2023"}},
		"empty version":      {{Alias: "al2023@"}},
		"unknown family":     {{Alias: "gentoo@latest"}},
		"family in capitals": {{Alias: "AL2023@latest"}},
		"too long":           {{Alias: long}},
		"second term":        {{Alias: "al2023@latest"}, {ID: "ami-1"}},
		"second alias":       {{Alias: "al2023@latest"}, {Alias: "bottlerocket@latest"}},
		"id beside":          {{Alias: "al2023@latest", ID: "ami-1"}},
		"name beside":        {{Alias: "al2023@latest", Name: "a"}},
		"owner beside":       {{Alias: "al2023@latest", Owner: "self"}},
		"tags beside":        {{Alias: "al2023@latest", Tags: map[string]string{"a": "b"}}},
		"parameter beside":   {{Alias: "al2023@latest", SSMParameter: "/a"}},
		"pinned Windows":     {{Alias: "windows2022@v20250212"}},
		"short date":         {{Alias: "al2023@v2025"}},
		"date of AL2":        {{Alias: "al2@20250212"}},
		"two numbers":        {{Alias: "bottlerocket@v1.46"}},
		"path":               {{Alias: "bottlerocket@1.2.3/x"}},
		"two versions":       {{Alias: "al2023@latest@latest"}},
	}
	for name, terms := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Queries(class(terms...), "1.32")
			if !fault.Is(err, fault.Invalid) || fault.CodeOf(err) != "UnsupportedAlias" || !strings.Contains(err.Error(), "spec.amiSelectorTerms[0]") || !strings.Contains(err.Error(), terms[0].Alias) {
				t.Errorf("got %v, want Invalid naming the term and its alias", err)
			}
		})
	}
}

func TestQueriesKeepTheOrderOfTerms(t *testing.T) {
	got := queries(t, class(model.SelectorTerm{ID: "ami-1"}, model.SelectorTerm{SSMParameter: "/my/ami"}, model.SelectorTerm{Name: "web-*"}), "1.36")
	if len(got) != 3 || got[0].Term.ID != "ami-1" || got[1].Parameter != "/my/ami" || got[2].Term.Name != "web-*" {
		t.Errorf("got %+v", got)
	}
}

// AM-02: deprecated loses to older; only what stands for the same machines competes; what is deprecated is used where
// there is nothing better, and says so.
func TestAM02DeprecatedLosesAndIsStillUsable(t *testing.T) {
	arm := []model.Requirement{{Key: model.LabelArch, Operator: model.In, Values: []string{"arm64"}}}
	found := []model.Image{
		{ID: "ami-old", CreatedUnix: 10}, {ID: "ami-new-deprecated", CreatedUnix: 30, Deprecated: true}, {ID: "ami-mid", CreatedUnix: 20},
		{ID: "ami-arm-old", CreatedUnix: 4, Deprecated: true, Requirements: arm}, {ID: "ami-arm", CreatedUnix: 5, Deprecated: true, Requirements: arm},
	}
	for range 2 {
		var got []string
		for _, chosen := range Choose(found) {
			got = append(got, fmt.Sprint(chosen.ID, " ", chosen.Deprecated))
		}
		if want := []string{"ami-mid false", "ami-arm true"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		slices.Reverse(found)
	}
	if Choose(nil) != nil {
		t.Error("nothing found is nothing chosen")
	}
}

// AM-02: of the same time, the lexically greater name wins, whatever the order they were found in.
func TestAM02TiesAreBrokenByName(t *testing.T) {
	found := []model.Image{{ID: "ami-1", Name: "b", CreatedUnix: 10}, {ID: "ami-2", Name: "c", CreatedUnix: 10}, {ID: "ami-3", Name: "a", CreatedUnix: 10}}
	for range 2 {
		if chosen := Choose(found); len(chosen) != 1 || chosen[0].ID != "ami-2" {
			t.Errorf("got %+v", chosen)
		}
		slices.Reverse(found)
	}
}

// Whatever an alias says, what is asked for stays below the parameters AWS publishes.
func FuzzAliases(f *testing.F) {
	f.Add("al2@v20250212", "1.32")
	f.Add("bottlerocket@v1.46.0", "1.36+")
	f.Add("windows2025@latest", "v1.35.1-eks/../x")
	f.Fuzz(func(t *testing.T, text, version string) {
		found, err := Queries(aliased(text), version)
		if err != nil {
			return
		}
		for _, q := range found {
			if q.Parameter != "" && (!strings.HasPrefix(q.Parameter, "/aws/service/") || strings.Contains(q.Parameter, "..") || !strings.HasSuffix(q.Parameter, "/image_id")) {
				t.Errorf("%q at %q asks for %q", text, version, q.Parameter)
			}
		}
	})
}
