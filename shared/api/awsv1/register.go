package awsv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/api/wellknown"
)

// GroupVersion is the API group and version of this package.
var GroupVersion = schema.GroupVersion{Group: wellknown.AWSGroup, Version: "v1"}

// KindEC2NodeClass is the kind of this package.
const KindEC2NodeClass = "EC2NodeClass"

// EC2NodeClassResource is the resource of this package, as it appears in a URL.
var EC2NodeClassResource = GroupVersion.WithResource("ec2nodeclasses")

// AddToScheme makes the types of this package known to scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &EC2NodeClass{}, &EC2NodeClassList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
