package offering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// NC-10, M13, M38: each key that only Joiner sets is refused, and Name is not.
func TestNC10RestrictedTagsAreRefused(t *testing.T) {
	for _, key := range []string{
		"", "eks:eks-cluster-name", "kubernetes.io/cluster/web", "kubernetes.io/cluster", "karpenter.sh/nodepool",
		"karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass", "joiner.sh/intent",
	} {
		found := TagProblems(map[string]string{key: "x", "Name": "n", "team": "a"})
		if len(found) != 1 || found[0].Field != "spec.tags["+key+"]" || found[0].Remedy == "" {
			t.Errorf("%q: %v", key, found)
		}
	}
}

// M63: what EC2 refuses of tags is refused before a launch: keys of AWS, long texts, and more than an instance can
// have.
func TestM63TagsThatEC2RefusesAreRefused(t *testing.T) {
	many := func(n int, more ...string) map[string]string {
		tags := map[string]string{}
		for i := range n {
			tags[fmt.Sprintf("team-%d", i)] = "a"
		}
		for _, key := range more {
			tags[key] = "a"
		}
		return tags
	}
	for name, c := range map[string]struct {
		tags map[string]string
		says string // "" = nothing is wrong
	}{
		"of AWS":                     {map[string]string{"aws:cloudformation:stack-name": "x"}, "begin with aws:"},
		"of AWS in capitals":         {map[string]string{"AWS:x": "x"}, "begin with aws:"},
		"like one of AWS":            {map[string]string{"aws/x": "x", "awsome:x": "x"}, ""},
		"a long key":                 {map[string]string{strings.Repeat("k", 129): "x"}, "128 letters"},
		"the longest key":            {map[string]string{strings.Repeat("ä", 128): "x"}, ""},
		"a long value":               {map[string]string{"k": strings.Repeat("v", 257)}, "256 letters"},
		"the longest value":          {map[string]string{"k": strings.Repeat("ü", 256)}, ""},
		"as many as there can be":    {many(43), ""},
		"one more":                   {many(44), "Joiner sets 7 of them"},
		"a name is one of the seven": {many(43, "Name"), ""},
	} {
		found := TagProblems(c.tags)
		if c.says == "" {
			if len(found) > 0 {
				t.Errorf("%s: %v", name, found)
			}
			continue
		}
		if len(found) != 1 || !strings.Contains(found[0].String(), c.says) || found[0].Remedy == "" {
			t.Errorf("%s: %v, want %q", name, found, c.says)
		}
	}
	if model.LabelNodeClass != "karpenter.k8s.aws/ec2nodeclass" {
		t.Error("the tag of the class has another key than EC2NodeClasses refuse")
	}
}
