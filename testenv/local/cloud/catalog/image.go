package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Owners of the published images.
const (
	amazonEKS        = "602401143452" // EKS AMIs in us-west-2
	amazonWindows    = "957547624766"
	amazonBottle     = "651937483462"
	linuxPlatform    = "Linux/UNIX"
	windowsPlatform  = "Windows"
	imageOwnerAmazon = "amazon"
)

// Image is a published instance image (AMI).
type Image struct {
	ID             string // "ami-" and 17 hexadecimal digits
	Name           string
	Description    string
	Architecture   string // X86_64 or ARM64
	OwnerID        string // twelve digits
	OwnerAlias     string // "amazon"
	Platform       string // as PlatformDetails: "Linux/UNIX" or "Windows"
	RootDevice     string // "/dev/xvda" or "/dev/sda1"
	Volumes        []Volume
	CreationTime   time.Time
	DeprecatedAt   time.Time // zero when never
	RequiresIMDSv2 bool      // IMDSv2 is required by default
}

// Volume is a disk an image declares.
type Volume struct {
	Device  string
	SizeGiB int
}

// Parameter is a public SSM parameter that names or describes an image.
type Parameter struct {
	Name     string // starts with "/aws/service/"
	Value    string
	Modified time.Time
}

// release is one published build of an image family.
type release struct {
	version    string // as in image names, e.g. "v20261105" or "v1.52.0"
	created    time.Time
	deprecated time.Time
}

func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 18, 0, 0, 0, time.UTC) }

// releases of a family, oldest first. The first of each is deprecated. Images of Amazon Linux 2 end with November 2025. Source: EKS user
// guide, "Guide to EKS AL2 & AL2-Accelerated AMIs transition features".
var (
	al2Releases = []release{
		{"v20250519", day(2025, 5, 19), day(2025, 12, 1)},
		{"v20250917", day(2025, 9, 17), day(2027, 9, 17)},
		{"v20251120", day(2025, 11, 20), day(2027, 11, 20)},
	}
	al2023Releases = append(slices.Clone(al2Releases),
		release{"v20260520", day(2026, 5, 20), day(2028, 5, 20)}, // Karpenter's suites name it
		release{"v20261105", day(2026, 11, 5), day(2028, 11, 5)},
	)
	bottleReleases = []release{
		{"v1.20.5", day(2024, 9, 11), day(2025, 6, 1)},
		{"v1.46.0", day(2025, 8, 20), day(2027, 8, 20)},
		{"v1.50.0", day(2025, 11, 11), day(2027, 11, 11)},
	}
	windowsReleases = []release{
		{"2025.10.18", day(2025, 10, 18), day(2027, 10, 18)},
		{"2025.11.14", day(2025, 11, 14), day(2027, 11, 14)},
	}
)

// KubernetesVersions returns the minors images are published for, oldest first.
// Amazon Linux 2 ends with 1.32, Windows Server 2025 starts with 1.35.
func KubernetesVersions() []string {
	return []string{"1.29", "1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"}
}

type published struct {
	images     []Image
	byID       map[string]int
	parameters []Parameter
}

var publish = sync.OnceValue(func() published {
	p := published{byID: map[string]int{}}
	for _, minor := range KubernetesVersions() {
		if minor <= "1.32" {
			p.amazonLinux2(minor)
		}
		p.amazonLinux2023(minor)
		p.bottlerocket(minor)
		p.windows(minor)
	}
	slices.SortFunc(p.images, func(a, b Image) int { return strings.Compare(a.ID, b.ID) })
	for i, image := range p.images {
		p.byID[image.ID] = i
	}
	slices.SortFunc(p.parameters, func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
	return p
})

// Images returns every published image, sorted by id. Its elements are shared
// and must not be changed.
func Images() []Image { return slices.Clone(publish().images) }

// LookupImage returns the image with an id, and false when there is none.
func LookupImage(id string) (Image, bool) {
	p := publish()
	i, ok := p.byID[id]
	if !ok {
		return Image{}, false
	}
	return p.images[i], true
}

// Parameters returns every public SSM parameter, sorted by name.
func Parameters() []Parameter { return slices.Clone(publish().parameters) }

// LookupParameter returns the parameter of that name, and false when there is none.
func LookupParameter(name string) (Parameter, bool) {
	parameters := publish().parameters
	i := slices.IndexFunc(parameters, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}, false
	}
	return parameters[i], true
}

func (p *published) amazonLinux2(minor string) {
	for _, v := range []struct{ dir, prefix, arch string }{
		{"amazon-linux-2", "amazon-eks-node-", X86_64},
		{"amazon-linux-2-arm64", "amazon-eks-arm64-node-", ARM64},
		{"amazon-linux-2-gpu", "amazon-eks-gpu-node-", X86_64},
	} {
		p.eksFamily("/aws/service/eks/optimized-ami/"+minor+"/"+v.dir, v.prefix+minor+"-", v.arch, minor, "Amazon Linux 2", al2Releases)
	}
}

func (p *published) amazonLinux2023(minor string) {
	for _, v := range []struct{ arch, variant string }{
		{X86_64, "standard"}, {X86_64, "nvidia"}, {X86_64, "neuron"}, {ARM64, "standard"}, {ARM64, "nvidia"},
	} {
		dir := "/aws/service/eks/optimized-ami/" + minor + "/amazon-linux-2023/" + v.arch + "/" + v.variant
		prefix := "amazon-eks-node-al2023-" + v.arch + "-" + v.variant + "-" + minor + "-"
		p.eksFamily(dir, prefix, v.arch, minor, "Amazon Linux 2023 "+v.variant, al2023Releases)
	}
}

func (p *published) eksFamily(dir, prefix, arch, minor, what string, releases []release) {
	for i, r := range releases {
		image := newImage(prefix+r.version, arch, amazonEKS, linuxPlatform, r)
		image.Description = fmt.Sprintf("EKS node image, %s, Kubernetes %s", what, minor)
		image.Volumes = []Volume{{"/dev/xvda", 20}}
		p.images = append(p.images, image)
		dirs := []string{dir + "/" + image.Name}
		if i == len(releases)-1 {
			dirs = append(dirs, dir+"/recommended")
		}
		for _, d := range dirs {
			p.describe(d, image, map[string]string{
				"image_id": image.ID, "image_name": image.Name,
				"release_version": minor + ".0-" + strings.TrimPrefix(r.version, "v"), "schema_version": "2",
			})
		}
	}
}

func (p *published) bottlerocket(minor string) {
	for _, variant := range []string{"", "-nvidia"} {
		for _, arch := range []string{X86_64, ARM64} {
			name := "aws-k8s-" + minor + variant
			dir := "/aws/service/bottlerocket/" + name + "/" + arch
			for i, r := range bottleReleases {
				build := digest(name + arch + r.version)[:8]
				image := newImage("bottlerocket-"+name+"-"+arch+"-"+r.version+"-"+build, arch, amazonBottle, linuxPlatform, r)
				image.Description = "Bottlerocket for Kubernetes " + minor
				image.Volumes = []Volume{{"/dev/xvda", 4}, {"/dev/xvdb", 20}}
				p.images = append(p.images, image)
				version := strings.TrimPrefix(r.version, "v")
				dirs := []string{dir + "/" + version}
				if i == len(bottleReleases)-1 {
					dirs = append(dirs, dir+"/latest")
				}
				for _, d := range dirs {
					p.parameter(d+"/image_id", image.ID, r)
					p.parameter(d+"/image_version", version+"-"+build, r)
				}
			}
		}
	}
}

func (p *published) windows(minor string) {
	for _, year := range []string{"2019", "2022", "2025"} {
		if year == "2025" && minor < "1.35" {
			continue
		}
		family := "Windows_Server-" + year + "-English-Core-EKS_Optimized-" + minor
		for i, r := range windowsReleases {
			image := newImage(family+"-"+r.version, X86_64, amazonWindows, windowsPlatform, r)
			image.Description = "Windows Server " + year + " Core for EKS " + minor
			image.RootDevice = "/dev/sda1"
			image.Volumes = []Volume{{"/dev/sda1", 50}}
			p.images = append(p.images, image)
			if i == len(windowsReleases)-1 {
				p.describe("/aws/service/ami-windows-latest/"+family, image, map[string]string{
					"image_id": image.ID, "image_name": image.Name, "release_version": r.version, "schema_version": "1",
				})
			}
		}
	}
}

// describe publishes facts as one JSON document under dir and each by itself below.
func (p *published) describe(dir string, image Image, facts map[string]string) {
	doc, err := json.Marshal(facts)
	if err != nil {
		panic(err) // strings always marshal
	}
	r := release{created: image.CreationTime}
	p.parameter(dir, string(doc), r)
	for name, value := range facts {
		p.parameter(dir+"/"+name, value, r)
	}
}

func (p *published) parameter(name, value string, r release) {
	p.parameters = append(p.parameters, Parameter{Name: name, Value: value, Modified: r.created})
}

func newImage(name, arch, owner, platform string, r release) Image {
	return Image{
		ID: "ami-0" + digest(name)[:16], Name: name, Architecture: arch,
		OwnerID: owner, OwnerAlias: imageOwnerAmazon, Platform: platform, RootDevice: "/dev/xvda",
		CreationTime: r.created, DeprecatedAt: r.deprecated, RequiresIMDSv2: platform == linuxPlatform,
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
