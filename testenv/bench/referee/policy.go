package referee

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
)

//go:embed karpenter-policy.json
var published []byte

// notEvaluated are statements about services that neither of the two asks here.
var notEvaluated = []string{"AllowZonalShiftStatusReadOnly"}

// Published returns the policies that Karpenter's CloudFormation template gives its controller, for a site. They are transcribed in
// karpenter-policy.json, which says from where and of which version.
func Published(s *Site, nodeRole string) []policy.Attached {
	s.Helper()
	filled := strings.NewReplacer(
		"{partition}", "aws", "{region}", s.Region(), "{account}", s.Account(), "{cluster}", cluster,
		"{nodeRole}", "arn:aws:iam::"+s.Account()+":role/"+nodeRole, "{queue}", "arn:aws:sqs:"+s.Region()+":"+s.Account()+":"+cluster,
	).Replace(string(published))
	var file struct {
		Version, Source string
		Policies        map[string][]map[string]any
	}
	if err := json.Unmarshal([]byte(filled), &file); err != nil {
		s.Fatalf("karpenter-policy.json: %v", err)
	}
	var all []policy.Attached
	for _, name := range slices.Sorted(maps.Keys(file.Policies)) {
		statements := slices.DeleteFunc(file.Policies[name], func(s map[string]any) bool { return slices.Contains(notEvaluated, s["Sid"].(string)) })
		if len(statements) == 0 {
			continue
		}
		document, err := policy.ParseValue(map[string]any{"Version": "2012-10-17", "Statement": statements}, policy.Identity)
		if err != nil {
			s.Fatalf("karpenter-policy.json: %s: %v", name, err)
		}
		all = append(all, policy.Attached{Name: name, Document: document})
	}
	return all
}
