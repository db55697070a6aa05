package image

import (
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func class(terms ...model.SelectorTerm) model.Class {
	return model.Class{Name: "default", Family: "AL2023", Images: terms}
}

// AM-01: the parameters EKS publishes, for a moving and a pinned alias.
func TestQueriesNameTheParametersOfAnAlias(t *testing.T) {
	cases := map[string]string{
		"al2023@latest":        "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended/image_id",
		"al2023@v20260810":     "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.36-v20260810/image_id",
		"bottlerocket@latest":  "/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id",
		"bottlerocket@v1.46.0": "/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/1.46.0/image_id",
	}
	for alias, want := range cases {
		queries, err := Queries(class(model.SelectorTerm{Alias: alias}), "1.36")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, q := range queries {
			all = append(all, q.Parameter)
		}
		if !strings.Contains(strings.Join(all, " ")+" ", want+" ") {
			t.Errorf("%s: %s is not among\n%s", alias, want, strings.Join(all, "\n"))
		}
	}
}

func TestQueriesRefuseAnAliasNobodyKnows(t *testing.T) {
	for _, alias := range []string{"al2023", "al2023@", "gentoo@latest"} {
		_, err := Queries(class(model.SelectorTerm{Alias: alias}), "1.36")
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "spec.amiSelectorTerms[0]") {
			t.Errorf("%s: got %v, want Invalid naming the term", alias, err)
		}
	}
}

func TestQueriesKeepTheOrderOfTerms(t *testing.T) {
	queries, err := Queries(class(model.SelectorTerm{ID: "ami-1"}, model.SelectorTerm{SSMParameter: "/my/ami"}, model.SelectorTerm{Name: "web-*"}), "1.36")
	if err != nil || len(queries) != 3 {
		t.Fatal(queries, err)
	}
	if queries[0].Term.ID != "ami-1" || queries[1].Parameter != "/my/ami" || queries[2].Term.Name != "web-*" {
		t.Errorf("got %+v", queries)
	}
}

// AM-02: deprecated loses to older; only what stands for the same machines competes.
func TestChoosePrefersWhatIsNotDeprecatedThenNewer(t *testing.T) {
	arm := []model.Requirement{{Key: model.LabelArch, Operator: model.In, Values: []string{"arm64"}}}
	found := []model.Image{
		{ID: "ami-old", CreatedUnix: 10}, {ID: "ami-new-deprecated", CreatedUnix: 30, Deprecated: true}, {ID: "ami-mid", CreatedUnix: 20},
		{ID: "ami-arm", CreatedUnix: 5, Deprecated: true, Requirements: arm},
	}
	var ids []string
	for _, chosen := range Choose(found) {
		ids = append(ids, chosen.ID)
	}
	if want := []string{"ami-mid", "ami-arm"}; !reflect.DeepEqual(ids, want) {
		t.Errorf("got %v, want %v", ids, want)
	}
	if Choose(nil) != nil {
		t.Error("nothing found is nothing chosen")
	}
}
