package image

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Labels that tell instances with an accelerator from those without.
const (
	labelGPUCount         = "karpenter.k8s.aws/instance-gpu-count"
	labelAcceleratorCount = "karpenter.k8s.aws/instance-accelerator-count"
)

// The instances an image variant is for.
var (
	standard = []model.Requirement{{Key: labelAcceleratorCount, Operator: model.DoesNotExist}, {Key: labelGPUCount, Operator: model.DoesNotExist}}
	nvidia   = []model.Requirement{{Key: labelGPUCount, Operator: model.Exists}}
	neuron   = []model.Requirement{{Key: labelAcceleratorCount, Operator: model.Exists}}
)

const (
	latest         = "latest"
	maxAliasLength = 30
)

// alias is a family@version as people write it, and the cluster it is for.
type alias struct {
	source  string // field, for messages
	text    string
	release string // latest, or as the family writes releases
	cluster string // Kubernetes version, "1.36"
	minor   int    // 36
}

// variant is one published image: the parameter that holds its id, and the instances it is for.
type variant struct {
	path         string
	requirements []model.Requirement
}

// family is what is published for one family of aliases.
type family struct {
	release  *regexp.Regexp // what a release other than latest looks like; nil = there is none to name
	form     string         // the same, for people
	from, to int            // first and last minor version of Kubernetes it is published for; 0 = no bound
	variants func(alias) []variant
}

// families by what stands before the @. Sources: EKS user guide, "Retrieve recommended Amazon Linux AMI IDs" and the same
// for Bottlerocket and Windows; "Amazon Linux 2 end of support" (1.32 is the last minor version with images of AL2).
var families = map[string]family{
	"al2":          {release: dated, form: "latest or a date such as v20250212", to: 32, variants: al2},
	"al2023":       {release: dated, form: "latest or a date such as v20250212", variants: al2023},
	"bottlerocket": {release: numbered, form: "latest or a release such as v1.46.0", variants: bottlerocket},
	"windows2019":  {form: "latest", variants: windows("2019", "10.0.17763")},
	"windows2022":  {form: "latest", variants: windows("2022", "10.0.20348")},
	"windows2025":  {form: "latest", from: 35, variants: windows("2025", "10.0.26100")},
}

var (
	dated    = regexp.MustCompile(`^v[0-9]{8}$`)
	numbered = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)
)

// alone refuses an alias beside other terms or other fields: which images were meant is unknown.
func alone(class model.Class, at int, source string) error {
	term := class.Images[at]
	switch {
	case len(class.Images) > 1:
		return fault.New(fault.Invalid, "UnsupportedAlias", "%s.alias %q of EC2NodeClass %s is not the only term; remove the others, or select all images by id, name or tags",
			source, term.Alias, class.Name)
	case term.ID != "" || term.Name != "" || term.Owner != "" || term.SSMParameter != "" || len(term.Tags) > 0:
		return fault.New(fault.Invalid, "UnsupportedAlias", "%s.alias %q of EC2NodeClass %s is set beside other fields of the term; remove them", source, term.Alias, class.Name)
	}
	return nil
}

// aliasQueries expands an alias into the public SSM parameters that hold its images.
func aliasQueries(text, version, source string) ([]model.ImageQuery, error) {
	a := alias{source: source, text: text, cluster: version}
	f, err := a.read()
	if err != nil {
		return nil, err
	}
	if err := a.gate(f); err != nil {
		return nil, err
	}
	var queries []model.ImageQuery
	for _, v := range f.variants(a) {
		queries = append(queries, model.ImageQuery{Parameter: v.path, Requirements: v.requirements, Source: source})
	}
	return queries, nil
}

// read takes the alias apart and returns its family.
func (a *alias) read() (family, error) {
	name, release, ok := strings.Cut(a.text, "@")
	f, known := families[name]
	switch {
	case len(a.text) > maxAliasLength:
		return family{}, a.refuse("is longer than %d characters; write it as family@version, such as al2023@latest", maxAliasLength)
	case !ok || release == "":
		return family{}, a.refuse("has no version; write it as family@version, such as al2023@latest")
	case !known:
		return family{}, a.refuse("names the family %q, which is not known; use al2, al2023, bottlerocket, windows2019, windows2022 or windows2025, or select images by id, name or tags", name)
	case release != latest && (f.release == nil || !f.release.MatchString(release)):
		return family{}, a.refuse("has the version %q; of %s it must be %s", release, name, f.form)
	}
	a.release = release
	return f, nil
}

// gate refuses a family that is not published for the cluster's version. Where the version is not known nothing is said:
// absence is no evidence.
func (a *alias) gate(f family) error {
	minor, ok := minorOf(a.cluster)
	if !ok {
		return fault.New(fault.Internal, "KubernetesVersionUnknown", "%s.alias %q: the cluster's Kubernetes version is %q, not one such as 1.36; attach the cluster again",
			a.source, a.text, a.cluster)
	}
	a.minor, a.cluster = minor, fmt.Sprintf("1.%d", minor)
	switch {
	case f.to != 0 && minor > f.to:
		return a.refuse("has no images for Kubernetes %s, the last is 1.%d; use al2023 or bottlerocket, or select images by id, name or tags", a.cluster, f.to)
	case minor < f.from:
		return a.refuse("has no images for Kubernetes %s, the first is 1.%d; use an earlier release of Windows, or upgrade the cluster", a.cluster, f.from)
	}
	return nil
}

func (a *alias) refuse(format string, args ...any) error {
	return fault.New(fault.Invalid, "UnsupportedAlias", "%s.alias %q %s", a.source, a.text, fmt.Sprintf(format, args...))
}

// minorOf reads 36 out of 1.36, v1.36.2 and 1.36+.
func minorOf(version string) (int, bool) {
	found := kubernetes.FindStringSubmatch(version)
	if found == nil {
		return 0, false
	}
	minor, err := strconv.Atoi(found[1])
	return minor, err == nil
}

var kubernetes = regexp.MustCompile(`^v?1\.([0-9]{1,4})(?:[.+-].*)?$`)

func al2(a alias) []variant {
	path := func(directory, name string) string {
		at := "recommended"
		if a.release != latest {
			at = fmt.Sprintf("%s-%s-%s", name, a.cluster, a.release)
		}
		return fmt.Sprintf("/aws/service/eks/optimized-ami/%s/%s/%s/image_id", a.cluster, directory, at)
	}
	gpu := path("amazon-linux-2-gpu", "amazon-eks-gpu-node")
	return []variant{
		{path("amazon-linux-2", "amazon-eks-node"), standard},
		{path("amazon-linux-2-arm64", "amazon-eks-arm64-node"), standard},
		{gpu, nvidia}, {gpu, neuron},
	}
}

func al2023(a alias) []variant {
	path := func(arch, kind string) string {
		at := "recommended"
		if a.release != latest {
			at = fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", arch, kind, a.cluster, a.release)
		}
		return fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/%s/image_id", a.cluster, arch, kind, at)
	}
	return []variant{
		{path("x86_64", "standard"), standard}, {path("arm64", "standard"), standard},
		{path("x86_64", "nvidia"), nvidia}, {path("arm64", "nvidia"), nvidia},
		{path("x86_64", "neuron"), neuron},
	}
}

func bottlerocket(a alias) []variant {
	path := func(kind, arch string) string {
		return fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/%s/image_id", a.cluster, kind, arch, strings.TrimPrefix(a.release, "v"))
	}
	return []variant{
		{path("", "x86_64"), standard}, {path("", "x86_64"), neuron}, {path("", "arm64"), standard},
		{path("-nvidia", "x86_64"), nvidia}, {path("-nvidia", "arm64"), nvidia},
	}
}

// windows returns the one image of a year, for instances that will run that build.
func windows(year, build string) func(alias) []variant {
	requirements := []model.Requirement{
		{Key: model.LabelOS, Operator: model.In, Values: []string{"windows"}},
		{Key: model.LabelWindowsBuild, Operator: model.In, Values: []string{build}},
	}
	return func(a alias) []variant {
		return []variant{{
			fmt.Sprintf("/aws/service/ami-windows-latest/Windows_Server-%s-English-Core-EKS_Optimized-%s/image_id", year, a.cluster), requirements,
		}}
	}
}
