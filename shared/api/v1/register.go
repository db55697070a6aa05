package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/api/wellknown"
)

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: wellknown.Group, Version: "v1"}

// Kinds of this package.
const (
	KindNodePool  = "NodePool"
	KindNodeClaim = "NodeClaim"
)

// Resources of this package, as they appear in a URL.
var (
	NodePoolResource  = GroupVersion.WithResource("nodepools")
	NodeClaimResource = GroupVersion.WithResource("nodeclaims")
)

// AddToScheme makes the types of this package known to scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &NodePool{}, &NodePoolList{}, &NodeClaim{}, &NodeClaimList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
