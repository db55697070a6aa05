package image

import (
	"fmt"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Labels that tell machines with an accelerator from those without.
const (
	labelGPUCount         = "karpenter.k8s.aws/instance-gpu-count"
	labelAcceleratorCount = "karpenter.k8s.aws/instance-accelerator-count"
)

// The machines an image variant is for.
var (
	standard = []model.Requirement{{Key: labelAcceleratorCount, Operator: model.DoesNotExist}, {Key: labelGPUCount, Operator: model.DoesNotExist}}
	nvidia   = []model.Requirement{{Key: labelGPUCount, Operator: model.Exists}}
	neuron   = []model.Requirement{{Key: labelAcceleratorCount, Operator: model.Exists}}
)

// Queries returns how to find the class's images, in the order of its terms, for a cluster of the Kubernetes minor
// version ("1.36"). Invalid names the term that cannot be understood.
func Queries(class model.Class, version string) ([]model.ImageQuery, error) {
	var queries []model.ImageQuery
	for i, term := range class.Images {
		source := fmt.Sprintf("spec.amiSelectorTerms[%d]", i)
		switch {
		case term.Alias != "":
			found, err := aliasQueries(term.Alias, version, source)
			if err != nil {
				return nil, err
			}
			queries = append(queries, found...)
		case term.SSMParameter != "" && term.ID == "":
			queries = append(queries, model.ImageQuery{Parameter: term.SSMParameter, Source: source})
		default:
			queries = append(queries, model.ImageQuery{Term: term, Source: source})
		}
	}
	return queries, nil
}

// aliasQueries expands family@version into the public SSM parameters that hold its images. Source of the paths: EKS user
// guide, "Retrieve Amazon Linux AMI IDs" and its Bottlerocket and Windows counterparts.
func aliasQueries(alias, version, source string) ([]model.ImageQuery, error) {
	family, release, ok := strings.Cut(alias, "@")
	if !ok || release == "" {
		return nil, fault.New(fault.Invalid, "UnsupportedAlias", "%s.alias %q has no version; write it as family@version, such as al2023@latest", source, alias)
	}
	if version == "" {
		return nil, fault.New(fault.Invalid, "UnsupportedAlias", "%s.alias %q: the cluster's Kubernetes version is not known; attach the cluster again", source, alias)
	}
	q := func(requirements []model.Requirement, format string, args ...any) model.ImageQuery {
		return model.ImageQuery{Parameter: fmt.Sprintf(format, args...), Requirements: requirements, Source: source}
	}
	switch family {
	case "al2023":
		path := func(arch, variant string) string {
			name := "recommended"
			if release != "latest" {
				name = fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", arch, variant, version, release)
			}
			return fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/%s/image_id", version, arch, variant, name)
		}
		return []model.ImageQuery{
			q(standard, "%s", path("x86_64", "standard")), q(standard, "%s", path("arm64", "standard")),
			q(nvidia, "%s", path("x86_64", "nvidia")), q(nvidia, "%s", path("arm64", "nvidia")),
			q(neuron, "%s", path("x86_64", "neuron")),
		}, nil
	case "bottlerocket":
		path := func(variant, arch string) string {
			return fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/%s/image_id", version, variant, arch, strings.TrimPrefix(release, "v"))
		}
		return []model.ImageQuery{
			q(standard, "%s", path("", "x86_64")), q(neuron, "%s", path("", "x86_64")), q(standard, "%s", path("", "arm64")),
			q(nvidia, "%s", path("-nvidia", "x86_64")), q(nvidia, "%s", path("-nvidia", "arm64")),
		}, nil
	}
	return nil, fault.New(fault.Invalid, "UnsupportedAlias", "%s.alias %q: the family %q is not supported yet; use al2023@latest, or select images by id, name or tags", source, alias, family)
}
