package admit

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestClasses(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*model.Class)
		refused bool
		begins  string
		parts   []string
	}{
		"a kubelet configuration that is none": {func(c *model.Class) {
			c.Invalid = []model.ClassProblem{{Condition: "ValidationSucceeded", Reason: "InvalidKubeletConfiguration", Message: `spec.kubelet.clusterDNS: "x": is not an IP address. Remedy: Write one.`}}
		}, true, `spec.kubelet.clusterDNS: "x": is not an IP address. Remedy: Write one.`, nil},
		"an expression that is none": {func(c *model.Class) { c.Kubelet.MaxPodsExpr = "1 +" }, true, `spec.kubelet.maxPods: "1 +"`, []string{"Remedy: "}},
		"an expression, not enabled": {func(c *model.Class) { c.Kubelet.MaxPodsExpr = "10" }, false, `spec.kubelet.maxPods: "10": expressions are not enabled`, []string{"JOINER_NODE_CLASS_CEL"}},
		"a field the family has no use for": {func(c *model.Class) {
			c.Invalid = []model.ClassProblem{{Condition: "ValidationSucceeded", Reason: "UnsupportedKubeletConfiguration", Message: `spec.kubelet.x: "y": not for Bottlerocket. Remedy: Remove it.`}}
		}, false, `spec.kubelet.x: "y": not for Bottlerocket`, nil},
		"what is not honoured": {func(c *model.Class) {
			c.Unsupported = []string{`spec.instanceStorePolicy: "RAID0": nothing sets up the disks. Remedy: Remove it.`}
		}, false, `spec.instanceStorePolicy: "RAID0"`, nil},
		"images that move":    {func(c *model.Class) { c.Images = []model.SelectorTerm{{ID: "ami-1"}, {Alias: "al2023@latest"}} }, false, `spec.amiSelectorTerms[1].alias: "al2023@latest"`, []string{"every node drifts"}},
		"nobody joins":        {func(c *model.Class) { c.Family = "Custom" }, false, "spec.userData: amiFamily Custom", nil},
		"credentials for all": {func(c *model.Class) { c.Metadata.HTTPTokens = "optional" }, false, `spec.metadataOptions.httpTokens: "optional"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			class := readyClass("default")
			c.change(&class)
			v := Evaluate(model.Admission{Operation: model.OperationCreate, Class: &class}, known())
			if v.Allowed() == c.refused {
				t.Errorf("%+v", v)
			}
			said(t, append(v.Refusals, v.Warnings...), c.begins, c.parts...)
		})
	}
	class := readyClass("default")
	class.Images = []model.SelectorTerm{{Alias: "al2023@v20260101"}}
	if v := Evaluate(model.Admission{Operation: model.OperationCreate, Class: &class}, known()); !v.Allowed() || len(v.Warnings) != 0 {
		t.Errorf("of a plain class is said: %+v", v)
	}
}

func TestAClassThatMakesNodesDriftSaysHowMany(t *testing.T) {
	k := known()
	k.Pools, k.Nodes = []model.Pool{*plain(nil), *plain(func(p *model.Pool) { p.Name = "batch" })}, map[string]int{"web": 2, "batch": 3, "else": 4}
	old, now := readyClass("default"), readyClass("default")
	old.Hash, now.Hash, now.UserData = "1", "2", "echo"
	said(t, Evaluate(model.Admission{Operation: model.OperationUpdate, Class: &now, OldClass: &old}, k).Warnings, "5 nodes of NodePool batch, web drift by this change")
	now = old
	now.Status.Subnets, now.Annotations = nil, map[string]string{"a": "b"}
	if v := Evaluate(model.Admission{Operation: model.OperationUpdate, Class: &now, OldClass: &old}, k); len(v.Warnings) != 0 {
		t.Errorf("nothing of its spec changed: %v", v.Warnings)
	}
}

func TestF107StandaloneClaimsAreRefusedWithFieldValueAndRemedy(t *testing.T) {
	standalone := func(change func(*model.StandaloneClaim)) model.Verdict {
		w := model.StandaloneClaim{Name: "one", Template: model.Template{ClassName: "default", Requirements: []model.Requirement{in(model.LabelArch, "amd64")}}}
		if change != nil {
			change(&w)
		}
		return Evaluate(model.Admission{Operation: model.OperationCreate, StandaloneClaim: &w}, known())
	}
	if v := standalone(nil); !v.Allowed() {
		t.Errorf("%v", v.Refusals)
	}
	said(t, standalone(nil).Warnings, "spec.requirements: 4 of the 5 instance types")
	said(t, standalone(func(w *model.StandaloneClaim) {
		w.Invalid = []string{`metadata.labels[karpenter.sh/nodepool]: "karpenter.sh/nodepool": label karpenter.sh/nodepool is restricted. Remedy: Remove it: a standalone NodeClaim belongs to no NodePool.`}
	}).Refusals, `metadata.labels[karpenter.sh/nodepool]: "karpenter.sh/nodepool"`, "Remedy: Remove it: a standalone NodeClaim")
	said(t, standalone(func(w *model.StandaloneClaim) {
		w.Template.Requirements = []model.Requirement{in("team", "a"), in("team", "b")}
	}).Refusals, "spec.requirements[1]", "spec.requirements[0], team In [a]")
	said(t, standalone(func(w *model.StandaloneClaim) { w.Requests = model.Resources{model.CPU: 1_000_000} }).Warnings, "spec.resources.requests: none of the 4 instance types")
	said(t, standalone(func(w *model.StandaloneClaim) {
		w.Template.Requirements = []model.Requirement{in(model.LabelZone, "us-west-2q")}
	}).Warnings, "spec.requirements[0]: nothing matches")
}
