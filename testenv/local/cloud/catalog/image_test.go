package catalog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

func TestEveryImageParameterNamesAnImage(t *testing.T) {
	found := 0
	for _, p := range catalog.Parameters() {
		if !strings.HasSuffix(p.Name, "/image_id") {
			continue
		}
		found++
		image, ok := catalog.LookupImage(p.Value)
		if !ok {
			t.Errorf("%s names unknown image %s", p.Name, p.Value)
			continue
		}
		if arm := strings.Contains(p.Name, "arm64"); arm != (image.Architecture == catalog.ARM64) {
			t.Errorf("%s names an image for %s", p.Name, image.Architecture)
		}
	}
	if found < 50 {
		t.Errorf("%d image parameters, want at least 50", found)
	}
}

func TestImagesArePublishedPerFamilyAndVersion(t *testing.T) {
	names := map[string]bool{}
	for _, p := range catalog.Parameters() {
		if names[p.Name] {
			t.Errorf("%s is published twice", p.Name)
		}
		names[p.Name] = true
	}
	const eks = "/aws/service/eks/optimized-ami/"
	for name, want := range map[string]bool{
		eks + "1.36/amazon-linux-2023/x86_64/standard/recommended/image_id":                                           true,
		eks + "1.36/amazon-linux-2023/arm64/nvidia/recommended/image_id":                                              true,
		eks + "1.36/amazon-linux-2023/arm64/neuron/recommended/image_id":                                              false,
		eks + "1.36/amazon-linux-2023/x86_64/neuron/amazon-eks-node-al2023-x86_64-neuron-1.36-v20251120/image_id":     true,
		eks + "1.36/amazon-linux-2023/x86_64/neuron/amazon-eks-node-al2023-x86_64-neuron-1.36-v19990101/image_id":     false,
		eks + "1.36/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.36-v20260520/image_id": true,
		eks + "1.32/amazon-linux-2/amazon-eks-node-1.32-v20260520/image_id":                                           false,
		eks + "1.29/amazon-linux-2023/x86_64/nvidia/recommended/image_id":                                             true,
		eks + "1.28/amazon-linux-2023/x86_64/standard/recommended/image_id":                                           false,
		eks + "1.29/amazon-linux-2-gpu/amazon-eks-gpu-node-1.29-v20250917/image_id":                                   true,
		eks + "1.33/amazon-linux-2/recommended/image_id":                                                              false,
		"/aws/service/bottlerocket/aws-k8s-1.29/arm64/1.20.5/image_id":                                                true,
		"/aws/service/ami-windows-latest/Windows_Server-2019-English-Core-EKS_Optimized-1.29/image_id":                true,
		eks + "1.32/amazon-linux-2/recommended/image_id":                                                              true,
		eks + "1.32/amazon-linux-2-arm64/amazon-eks-arm64-node-1.32-v20251120/image_id":                               true,
		eks + "1.36/amazon-linux-2/recommended/image_id":                                                              false,
		"/aws/service/bottlerocket/aws-k8s-1.36/x86_64/latest/image_id":                                               true,
		"/aws/service/bottlerocket/aws-k8s-1.36-nvidia/arm64/1.46.0/image_id":                                         true,
		"/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.36/image_id":                true,
		"/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized-1.36/image_id":                true,
		"/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized-1.34/image_id":                false,
	} {
		if names[name] != want {
			t.Errorf("%s published: %v, want %v", name, names[name], want)
		}
	}
}

func TestImageIdsAreUniqueAndSomeImagesAreDeprecated(t *testing.T) {
	images := catalog.Images()
	ids, deprecated := map[string]bool{}, 0
	for _, image := range images {
		if ids[image.ID] || len(image.ID) != len("ami-0123456789abcdef0") {
			t.Errorf("%s has id %s", image.Name, image.ID)
		}
		ids[image.ID] = true
		if image.DeprecatedAt.Before(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
			deprecated++
		}
		if !slices.ContainsFunc(image.Volumes, func(v catalog.Volume) bool { return v.Device == image.RootDevice }) {
			t.Errorf("%s has no volume for its root device %s", image.Name, image.RootDevice)
		}
	}
	if deprecated == 0 || deprecated == len(images) {
		t.Errorf("%d of %d images deprecated at the start of 2026", deprecated, len(images))
	}
}

// The image that is recommended is newer than every other of its kind: what selects the newest of several images gets it.
func TestTheRecommendedImageIsTheNewest(t *testing.T) {
	for _, p := range catalog.Parameters() {
		kind, found := strings.CutSuffix(p.Name, "/recommended/image_id")
		if !found {
			continue
		}
		newest, _ := catalog.LookupImage(p.Value)
		others := 0
		for _, other := range catalog.Parameters() {
			image, ok := catalog.LookupImage(other.Value)
			if !ok || !strings.HasPrefix(other.Name, kind+"/") || image.ID == newest.ID {
				continue
			}
			others++
			if !image.CreationTime.Before(newest.CreationTime) {
				t.Errorf("%s was made on %s, and the recommended image of %s on %s", image.Name, image.CreationTime, kind, newest.CreationTime)
			}
		}
		if others < 2 {
			t.Errorf("%s has %d images that are not recommended", kind, others)
		}
	}
}
