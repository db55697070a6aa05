package ekscluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/fault"
)

// Helm keeps each revision of a release in a Secret of this type, with these labels. Revisions that others followed are
// superseded.
const (
	helmSecrets  = "type=helm.sh/release.v1"
	helmSelector = "owner=helm,status notin (superseded,uninstalled)"
	helmPage     = 20       // Secrets in one answer; one may hold a megabyte
	helmMost     = 64 << 20 // bytes of one release, unpacked
	helmKeep     = "keep"   // value of the annotation by which uninstalling leaves an object alone
	helmPolicy   = "helm.sh/resource-policy"
	releaseData  = "release"
	releaseKind  = "CustomResourceDefinition"
	releaseBreak = "\n---"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// HelmRelease is a release of Helm's and what uninstalling it deletes.
type HelmRelease struct {
	Namespace, Name string
	Definitions     []string // CustomResourceDefinitions that go with it, sorted
}

// DefinitionReleases returns the releases of Helm's whose manifests list definitions of the given names and do not say
// that they stay, sorted by namespace and name. Helm uninstalls by that manifest, whoever owns the definitions now. It
// takes the permission to list Secrets in every namespace, since Helm keeps releases in them. A release that cannot be
// read is an error, and the others come with it. Source: Helm's documentation, "Storage backends" and "Chart
// development tips: tell Helm not to uninstall a resource".
func DefinitionReleases(ctx context.Context, c *Client, names []string) ([]HelmRelease, error) {
	var out []HelmRelease
	var unread error
	lister := lister{
		kind: "secrets",
		page: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector, o.LabelSelector, o.Limit = helmSecrets, helmSelector, helmPage
			return c.custom.Resource(secrets).List(ctx, o)
		},
	}
	err := listAll(ctx, lister, func(object any) {
		secret := object.(*unstructured.Unstructured)
		release, err := releaseOf(secret, names)
		if err != nil {
			unread = fault.Wrap(fault.Invalid, "UnreadRelease", err, "read Secret %s/%s", secret.GetNamespace(),
				secret.GetName())
			return
		}
		same := func(r HelmRelease) bool { return r.Namespace == release.Namespace && r.Name == release.Name }
		if len(release.Definitions) > 0 && !slices.ContainsFunc(out, same) {
			out = append(out, release)
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out,
		func(a, b HelmRelease) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return out, unread
}

// releaseOf reads the Secret of a release: base64 of gzip of JSON, with the manifest as text.
func releaseOf(secret *unstructured.Unstructured, names []string) (HelmRelease, error) {
	out := HelmRelease{Namespace: secret.GetNamespace(), Name: secret.GetLabels()["name"]}
	data, _, _ := unstructured.NestedString(secret.Object, "data", releaseData)
	packed, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return out, fmt.Errorf("data.%s: %w", releaseData, err)
	}
	if packed, err = base64.StdEncoding.DecodeString(string(packed)); err != nil {
		return out, fmt.Errorf("data.%s: %w", releaseData, err)
	}
	if bytes.HasPrefix(packed, []byte{0x1f, 0x8b}) {
		unpack, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return out, fmt.Errorf("data.%s: %w", releaseData, err)
		}
		if packed, err = io.ReadAll(io.LimitReader(unpack, helmMost)); err != nil {
			return out, fmt.Errorf("data.%s: %w", releaseData, err)
		}
	}
	var release struct{ Manifest string }
	if err := json.Unmarshal(packed, &release); err != nil {
		return out, fmt.Errorf("data.%s: %w", releaseData, err)
	}
	for document := range strings.SplitSeq(release.Manifest, releaseBreak) {
		if !strings.Contains(document, releaseKind) {
			continue
		}
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(strings.TrimPrefix(document, "---")), &object); err != nil {
			return out, fmt.Errorf("its manifest: %w", err)
		}
		if object.Kind == releaseKind && slices.Contains(names,
			object.Name) && object.Annotations[helmPolicy] != helmKeep {
			out.Definitions = append(out.Definitions, object.Name)
		}
	}
	slices.Sort(out.Definitions)
	return out, nil
}
