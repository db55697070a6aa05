package translate

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// M60: a limit that is more than nothing and less than what is counted is refused, and one of nothing is not.
func TestM60LimitsThatRoundToNothingAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		resource corev1.ResourceName
		amount   string
		least    string // "" = nothing is wrong
	}{
		"a tenth of a millionth of a dollar": {model.Dollars, "0.0000001", "0.000001"},
		"a millionth of a dollar":            {model.Dollars, "0.000001", ""},
		"no dollar":                          {model.Dollars, "0", ""},
		"a tenth of a thousandth of a core":  {corev1.ResourceCPU, "100u", "1m"},
		"a thousandth of a core":             {corev1.ResourceCPU, "1m", ""},
		"a thousandth of a byte":             {corev1.ResourceMemory, "1m", "1"},
		"half a node":                        {model.Nodes, "500m", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := &apiv1.NodePool{}
			pool.Spec.Limits = corev1.ResourceList{c.resource: resource.MustParse(c.amount)}
			var found []string
			for _, problem := range Pool(pool).Invalid {
				if strings.HasPrefix(problem, "spec.limits") {
					found = append(found, problem)
				}
			}
			if c.least == "" && len(found) > 0 {
				t.Errorf("refused: %q", found)
			}
			begins, ends := "spec.limits."+string(c.resource)+": ", "Remedy: Write "+c.least+" or more, or 0"
			one := len(found) == 1 && strings.HasPrefix(found[0], begins) && strings.Contains(found[0], ends)
			if c.least != "" && !one {
				t.Errorf("%q, want one that names %s", found, c.least)
			}
		})
	}
}

// M61: an annotation of NodeClaims and Nodes that is ours to write is refused in a template, and every such annotation
// of the model is among them.
func TestM61ReservedAnnotationsAreRefused(t *testing.T) {
	invalid := func(key string) []string {
		pool := &apiv1.NodePool{}
		pool.Spec.Template.Metadata.Annotations = map[string]string{key: "x"}
		others := func(problem string) bool { return !strings.Contains(problem, "annotations[") }
		return slices.DeleteFunc(Pool(pool).Invalid, others)
	}
	text, err := os.ReadFile("../../../model/labels.go")
	if err != nil {
		t.Fatal(err)
	}
	n, named := 0, regexp.MustCompile(`\bAnnotation\w+\s*=\s*"([^"]*karpenter[^"]+|joiner.sh/usd-[^"]+)"`)
	for _, found := range named.FindAllStringSubmatch(string(text), -1) {
		if found[1] == model.AnnotationNotDisrupt {
			continue
		}
		n++
		if got := invalid(found[1]); len(got) != 1 || !strings.Contains(got[0], "only Joiner writes this annotation") {
			t.Errorf("%s: %q", found[1], got)
		}
	}
	if n != len(apiv1.ReservedAnnotations) {
		t.Errorf("the model has %d annotations, and %d are refused", n, len(apiv1.ReservedAnnotations))
	}
	for _, key := range []string{model.AnnotationNotDisrupt, "example.com/any"} {
		if got := invalid(key); len(got) != 0 {
			t.Errorf("%s: %q", key, got)
		}
	}
}

// M65: a pod that is scheduled with others as a group is never planned for by itself.
func TestM65PodsOfAGroupAreRefused(t *testing.T) {
	name := "workers"
	_, shape := Pod(&corev1.Pod{Spec: corev1.PodSpec{SchedulingGroup: &corev1.PodSchedulingGroup{PodGroupName: &name}}})
	if len(shape.Unsupported) != 1 || !strings.HasPrefix(shape.Unsupported[0], "spec.schedulingGroup") {
		t.Errorf("%q", shape.Unsupported)
	}
}

// M66: a pod for Windows that may be bound to a Linux node is refused with what to add. One that is kept to Windows is
// not, however it is.
func TestM66PodsForWindowsNeedASelector(t *testing.T) {
	affinity := func(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
	term := func(key string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key,
			Operator: corev1.NodeSelectorOpIn, Values: []string{"windows"}}}}
	}
	windows, class := &corev1.PodOS{Name: corev1.Windows}, "windows"
	kept := func(key, value string) corev1.PodSpec {
		return corev1.PodSpec{OS: windows, NodeSelector: map[string]string{key: value}}
	}
	either := affinity(term("kubernetes.io/os"), term("team"))
	for name, c := range map[string]struct {
		spec    corev1.PodSpec
		refused bool
	}{
		"for Windows":              {corev1.PodSpec{OS: windows}, true},
		"for Linux":                {corev1.PodSpec{OS: &corev1.PodOS{Name: corev1.Linux}}, false},
		"for any":                  {corev1.PodSpec{}, false},
		"kept to Windows":          {kept("kubernetes.io/os", "windows"), false},
		"kept to Linux":            {kept("kubernetes.io/os", "linux"), true},
		"kept by the old label":    {kept("beta.kubernetes.io/os", "windows"), false},
		"kept by affinity":         {corev1.PodSpec{OS: windows, Affinity: affinity(term("kubernetes.io/os"))}, false},
		"kept by one of two terms": {corev1.PodSpec{OS: windows, Affinity: either}, true},
		"with a RuntimeClass":      {corev1.PodSpec{OS: windows, RuntimeClassName: &class}, false},
	} {
		_, shape := Pod(&corev1.Pod{Spec: c.spec})
		if refused := len(shape.Unsupported) > 0; refused != c.refused {
			t.Errorf("%s: %q", name, shape.Unsupported)
		}
		if c.refused && !strings.Contains(shape.Unsupported[0], "spec.nodeSelector[kubernetes.io/os]: windows") {
			t.Errorf("%s: no remedy in %q", name, shape.Unsupported[0])
		}
	}
}

// M43: conditions are read as an object shows them, whatever else stands there.
func TestM43ConditionsAreReadAsTheyAreShown(t *testing.T) {
	const at = "2026-01-02T15:04:05Z"
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "reason": "No", "lastTransitionTime": at},
		map[string]any{"type": "Odd", "status": int64(3), "lastTransitionTime": "yesterday"},
		"no condition",
	}}}}
	want := []model.ConditionShown{{Type: "Ready", Status: "False", Reason: "No", SinceUnix: 1767366245}, {Type: "Odd"}}
	if got := Conditions(u); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Conditions(&unstructured.Unstructured{Object: map[string]any{}}); got != nil {
		t.Errorf("of an object without conditions: %+v", got)
	}
}

// F155: what the watcher counts NodeClaims by is read from their labels and status.
func TestF155WhatANodeClaimShowsIsRead(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"labels": map[string]any{model.LabelNodePool: "general",
			model.LabelZone: "us-west-2a", model.LabelCapacityType: "spot"}},
		"status": map[string]any{"nodeName": "ip-10-0-0-7", "imageID": "ami-1", "conditions": []any{
			map[string]any{"type": "DisruptionReason", "status": "True", "reason": "Drifted", "message": "m"}}},
	}}
	want := model.ClaimShown{Pool: "general", Zone: "us-west-2a", CapacityType: "spot", ImageID: "ami-1",
		NodeName: "ip-10-0-0-7", DisruptionReason: "Drifted", DisruptionMessage: "m"}
	if got := ClaimShown(object); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
