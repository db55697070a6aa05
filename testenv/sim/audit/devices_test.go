package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// gpuPod is a pod with a claim of its own for one GPU.
func gpuPod(uid, node string) world.ObjectWritten {
	return world.ObjectWritten{Kind: "Pod", Name: "default/" + uid, UID: uid,
		Pod:   &model.Pod{Namespace: "default", Name: uid, UID: uid, NodeName: node},
		Shape: &model.PodShape{DeviceClaims: []model.PodClaim{{Name: "gpu", Template: world.TemplateOne}}}}
}

// holding is the pod's claim, for which a device of a node is allocated.
func holding(pod, node, device string) world.ObjectWritten {
	return world.ObjectWritten{Kind: world.KindResourceClaim, Name: "default/" + pod + "-gpu", UID: "claim of " + pod,
		ResourceClaim: &model.ResourceClaim{UID: "claim of " + pod, PodUID: pod, Allocation: fmt.Sprintf(
			`{"devices":{"results":[{"request":"r0","driver":"gpu.nvidia.com","pool":%q,"device":%q}]}}`, node,
			device)}}
}

func gpuNode(name, instanceType string, created time.Time) world.ObjectWritten {
	return world.ObjectWritten{Kind: "Node", Name: name, UID: name, Node: &model.Node{Name: name,
		ProviderID: "aws:///z/" + name, Labels: map[string]string{model.LabelInstanceType: instanceType},
		CreatedUnix: created.Unix()}}
}

// launch records a claim for pods that may become any of the types.
func launch(pods []string, types ...string) world.LedgerWritten {
	var overrides []string
	for _, t := range types {
		overrides = append(overrides, fmt.Sprintf(`{"InstanceType":%q}`, t))
	}
	c := model.Claim{Name: "c", Intent: "1", State: model.Intended}
	for _, uid := range pods {
		c.Pods = append(c.Pods, model.PodRef{Namespace: "default", Name: uid, UID: uid})
	}
	return world.LedgerWritten{Op: "record", Claims: []world.ClaimChange{{After: &c}}, Intents: []model.Intent{{ID: "1",
		Request: []byte(`{"templates":[{"Overrides":[` + strings.Join(overrides, ",") + `]}]}`)}}}
}

// consolidation removes nodes, for nothing or for a claim that may become a type.
func consolidation(replacement string, nodes ...string) world.LedgerWritten {
	k := model.Command{ID: "k", Reason: model.ReasonUnderutilized}
	for _, n := range nodes {
		k.Targets = append(k.Targets, model.Target{Node: n})
	}
	if replacement != "" {
		k.Replacements = []model.PlannedClaim{{Name: "r", InstanceTypes: []string{replacement}}}
	}
	return world.LedgerWritten{Op: "commit", Commands: []world.CommandChange{{After: &k}}}
}

// Each rule about devices is broken by what breaks it, and by nothing else.
func TestDevicesHoldsEachRule(t *testing.T) {
	start, small, large := world.Start, "g4dn.xlarge", "g4dn.12xlarge"
	registered := func(state model.ClaimState) *model.Claim {
		return &model.Claim{Name: "c", NodeName: "a", State: state, Pods: []model.PodRef{{UID: "p"}}}
	}
	initialized := world.LedgerWritten{Op: "advance", Claims: []world.ClaimChange{
		{Before: registered(model.Registered), After: registered(model.Initialized)}}}
	published := world.ObjectWritten{Kind: world.KindResourceSlice, Name: "a",
		ResourceSlice: &model.ResourceSlice{Name: "a", Node: "a"}}
	// Two nodes of one GPU, each with a pod that holds it.
	full := []world.Fact{gpuNode("a", small, start), gpuNode("b", small, start), gpuPod("p", "a"), gpuPod("q", "b"),
		holding("p", "a", "gpu-0"), holding("q", "b", "gpu-0")}
	then := func(last world.Fact) []world.Fact { return append(slices.Clone(full), last) }
	two, long := []string{"p", "q"}, start.Add(-time.Hour)
	for name, c := range map[string]struct {
		want  string
		facts []world.Fact
	}{
		"a device for each":      {"", full},
		"one device for two":     {"E1", []world.Fact{holding("p", "a", "gpu-0"), holding("q", "a", "gpu-0")}},
		"a launch with enough":   {"", []world.Fact{gpuPod("p", ""), gpuPod("q", ""), launch(two, large)}},
		"a type with too few":    {"E2", []world.Fact{gpuPod("p", ""), gpuPod("q", ""), launch(two, large, small)}},
		"no device is free":      {"E3", then(consolidation("", "a"))},
		"a device comes":         {"", then(consolidation(small, "a"))},
		"one comes and two go":   {"E3", then(consolidation(small, "a", "b"))},
		"four come and two go":   {"", then(consolidation(large, "a", "b"))},
		"finished too soon":      {"E4", []world.Fact{gpuNode("a", small, start), gpuPod("p", ""), initialized}},
		"finished with devices":  {"", []world.Fact{full[0], gpuPod("p", ""), published, initialized}},
		"a driver that never is": {"", []world.Fact{gpuNode("a", small, long), gpuPod("p", ""), initialized}},
	} {
		t.Run(name, func(t *testing.T) {
			v, got := audit.NewDevices(), ""
			for i, fact := range c.facts {
				at := start.Add(time.Duration(i) * 2 * time.Minute / 8)
				if i == len(c.facts)-1 {
					at = at.Add(3 * time.Minute) // what was bound is long known
				}
				for _, found := range v.Check([]world.Entry{{Seq: int64(i), At: at, Fact: fact}}) {
					got += found.Rule
				}
			}
			if got != c.want {
				t.Errorf("broken: %q, want %q", got, c.want)
			}
		})
	}
}
