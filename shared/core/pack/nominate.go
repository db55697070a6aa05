package pack

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// verdict says whether a class may go onto a site, resources aside.
type verdict uint8

const (
	unknown verdict = iota
	refused
	reluctant // only a PreferNoSchedule taint speaks against it
	welcome
)

// nominate places pods on what exists or is on its way: first those a claim was made for, then each class, in order, on
// the first sites that hold it, those with a PreferNoSchedule taint it does not tolerate last. It takes the pods it
// places off their classes.
func nominate(snapshot *model.Snapshot, classes []*class, sites []*site) {
	keys := labelKeys(classes)
	for _, s := range sites {
		s.sign(keys)
	}
	keepPromises(snapshot, classes, sites)
	for _, c := range classes {
		judged := make(map[string]verdict)
		c.settleOn(sites, welcome, judged)
		c.settleOn(sites, reluctant, judged)
	}
}

// settleOn places as many of the class's pods as fit on each site of the wanted verdict. Verdicts are kept by signature.
func (c *class) settleOn(sites []*site, want verdict, judged map[string]verdict) {
	for _, s := range sites {
		if len(c.pods) == 0 {
			return
		}
		if s.blind {
			continue
		}
		n := c.request.copies(s.free, len(c.pods))
		if n == 0 {
			continue
		}
		if judged[s.signature] == unknown {
			judged[s.signature] = judge(c, s)
		}
		if judged[s.signature] == want {
			s.free.take(c.request, n)
			s.pods = append(s.pods, c.pods[:n]...)
			c.pods = c.pods[n:]
		}
	}
}

// keepPromises gives pods the place they were planned for, where it still holds them.
func keepPromises(snapshot *model.Snapshot, classes []*class, sites []*site) {
	owed := make(map[string]*site)
	for _, s := range sites {
		for uid := range s.promised { // each pod on its own: the order does not matter
			if other := owed[uid]; other == nil || s.name < other.name {
				owed[uid] = s
			}
		}
	}
	for _, c := range classes {
		var others []int
		for _, i := range c.pods {
			if uid := snapshot.Pods[i].UID; uid == "" || owed[uid] == nil || !owed[uid].keeps(c, i) {
				others = append(others, i)
			}
		}
		c.pods = others
	}
}

// keeps places pod i of the class on the site it was promised; false where that does not hold it any more. Of a site
// nothing is known of, the promise is all there is.
func (s *site) keeps(c *class, i int) bool {
	if !s.blind {
		if !c.request.fits(s.free) || judge(c, s) == refused {
			return false
		}
		s.free.take(c.request, 1)
	}
	s.pods = append(s.pods, i)
	return true
}

func judge(c *class, s *site) verdict {
	hard, soft := untolerated(c.tolerations, s.taints)
	switch {
	case hard != nil || !s.meets(c):
		return refused
	case soft:
		return reluctant
	default:
		return welcome
	}
}

// labelKeys returns the keys of labels that any class asks about, sorted.
func labelKeys(classes []*class) []string {
	seen := make(requirement.Requirements)
	for _, c := range classes {
		for _, term := range c.terms {
			for key := range term {
				seen[key] = requirement.Any()
			}
		}
	}
	return seen.Keys()
}

// nominations returns what the sites took, by node name.
func nominations(snapshot *model.Snapshot, sites []*site) []model.Nomination {
	out := []model.Nomination{}
	for _, s := range sites {
		if len(s.pods) > 0 {
			out = append(out, model.Nomination{Node: s.name, Pods: refs(snapshot, s.pods)})
		}
	}
	slices.SortStableFunc(out, func(a, b model.Nomination) int { return strings.Compare(a.Node, b.Node) })
	return out
}

// refs names pods, by key.
func refs(snapshot *model.Snapshot, pods []int) []model.PodRef {
	out := make([]model.PodRef, 0, len(pods))
	for _, i := range sortedPods(snapshot, pods) {
		pod := &snapshot.Pods[i]
		out = append(out, model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID})
	}
	return out
}
