package oracle

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/scheduler"
)

// Group is a kind of rule that both sides have words for: codes of ours, plugins of theirs. They are compared group by
// group, where one side tells more apart than the other.
type Group struct {
	Name    string
	Plugins []string
	Codes   []string
}

// Groups cover every filter plugin and every code that fit can give.
var Groups = []Group{
	{"taints", []string{names.TaintToleration, names.NodeUnschedulable}, []string{pack.TaintNotTolerated}},
	{"node labels", []string{names.NodeAffinity, names.NodeName}, []string{pack.RequirementConflict}},
	{"host ports", []string{names.NodePorts}, []string{pack.HostPortTaken}},
	{"resources", []string{names.NodeResourcesFit}, []string{pack.ResourcesTooLarge}},
	{"volume limits", []string{names.NodeVolumeLimits}, []string{pack.VolumeLimit}},
	{"volumes", []string{names.VolumeBinding, names.VolumeZone, names.VolumeRestrictions}, []string{pack.VolumeConflict}},
	{"spread", []string{names.PodTopologySpread}, []string{pack.TopologySpread}},
	{"pod affinity", []string{names.InterPodAffinity}, []string{pack.PodAffinity, pack.PodAntiAffinity}},
	{"devices", []string{names.DynamicResources}, []string{pack.DevicesUnavailable}},
	{"beyond", []string{names.NodeDeclaredFeatures}, nil},
}

// TopologyGroup counts, for one group, what both sides said of the pairs.
type TopologyGroup struct {
	Accept, Refuse int // both
	OnlyWe         int // refuse
	OnlyThey       int
	Listed         int // of the last two, explained by DIFFERENCES.md
}

// FitVerdict is what came of the pairs of one problem.
type FitVerdict struct {
	Pairs          int
	Hopeless       int             // of the pairs, of pods that no node can take, which both sides refuse
	TopologyGroups []TopologyGroup // as Groups
	Listed         map[string]int
	Findings       []Finding
}

// EvaluateFit compares every waiting pod with every node of the problem.
func EvaluateFit(p *problem.Problem) (FitVerdict, error) {
	in := p.Input()
	index := make(map[string]int)
	for i := range in.Snapshot.Pods {
		index[in.Snapshot.Pods[i].Key()] = i
	}
	fit := pack.NewFitChecker(in)
	return evaluateFit(p, ours{
		check:    func(pod *corev1.Pod, node string) []string { return fit.Check(index[pod.Namespace+"/"+pod.Name], node) },
		hopeless: func(pod *corev1.Pod) bool { return fit.Refusal(index[pod.Namespace+"/"+pod.Name]) != nil },
	})
}

// ours is what we say of pods.
type ours struct {
	check    func(pod *corev1.Pod, node string) []string // the codes that keep the pod off the node
	hopeless func(pod *corev1.Pod) bool                  // for a reason of its own, which is the only one given
}

func evaluateFit(p *problem.Problem, we ours) (FitVerdict, error) {
	v := FitVerdict{TopologyGroups: make([]TopologyGroup, len(Groups)), Listed: make(map[string]int)}
	c, err := scheduler.New(p.Cluster()...)
	if err != nil {
		return v, err
	}
	defer c.Close()
	for _, pod := range p.Pending() {
		evaluated, err := c.Evaluate(pod)
		if err != nil {
			return v, fmt.Errorf("seed %d: %w", p.Seed, err)
		}
		for _, node := range p.Nodes {
			theirs, err := evaluated.On(node.Name)
			if err != nil {
				return v, fmt.Errorf("seed %d: %w", p.Seed, err)
			}
			at := pair{p, pod, node}
			if we.hopeless(pod) {
				v.compareHopeless(at, theirs)
			} else {
				v.compare(at, we.check(pod, node.Name), theirs)
			}
		}
	}
	return v, nil
}

// pair is a pod and a node.
type pair struct {
	problem *problem.Problem
	pod     *corev1.Pod
	node    *corev1.Node
}

// compareHopeless notes whether they refuse a pod, too, that we refuse whatever the node.
func (v *FitVerdict) compareHopeless(at pair, theirs []scheduler.Refusal) {
	v.Pairs++
	if len(theirs) > 0 {
		v.Hopeless++
		return
	}
	for _, d := range Differences {
		if d.Explains(at, whatever, true) {
			v.Listed[d.ID]++
			return
		}
	}
	v.find(at, "only we: "+whatever, "no plugin refuses it")
}

// compare notes, group by group, what each side says of the pair.
func (v *FitVerdict) compare(at pair, ours []string, theirs []scheduler.Refusal) {
	v.Pairs++
	known := 0
	for g := range Groups {
		we, they := 0, ""
		for _, code := range Groups[g].Codes {
			we += count(ours, code)
		}
		for _, r := range theirs {
			if count(Groups[g].Plugins, r.Plugin) > 0 {
				they += r.String() + "; "
			}
		}
		known += we
		v.topologyGroup(at, g, we > 0, strings.TrimSuffix(they, "; "))
	}
	if known != len(ours) {
		v.find(at, "codes", fmt.Sprintf("a code that fit does not have, in %v", ours))
	}
}

func (v *FitVerdict) topologyGroup(at pair, g int, we bool, they string) {
	t := &v.TopologyGroups[g]
	switch {
	case we && they != "":
		t.Refuse++
		return
	case !we && they == "":
		t.Accept++
		return
	case we:
		t.OnlyWe++
	default:
		t.OnlyThey++
	}
	for _, d := range Differences {
		if d.Explains(at, Groups[g].Name, we) {
			t.Listed++
			v.Listed[d.ID]++
			return
		}
	}
	if we {
		v.find(at, "only we: "+Groups[g].Name, "no plugin refuses it")
	} else {
		v.find(at, "only they: "+Groups[g].Name, they)
	}
}

func (v *FitVerdict) find(at pair, kind, message string) {
	v.Findings = append(v.Findings, Finding{
		Check: Fit, Seed: at.problem.Seed, Kind: kind, Pod: at.pod.Namespace + "/" + at.pod.Name, Node: at.node.Name, Message: message,
	})
}

func count(list []string, what string) int {
	n := 0
	for _, s := range list {
		if s == what {
			n++
		}
	}
	return n
}
