package read

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/core/requirement"
)

// kind names a kind of object.
type kind struct{ apiVersion, name string }

func (k kind) String() string { return k.name + " (" + k.apiVersion + ")" }

// ofItems returns the kind of the items of a list that says it: PodList has pods, List has anything.
func (k kind) ofItems() kind {
	if name := strings.TrimSuffix(k.name, "List"); name != "" && name != k.name {
		return kind{k.apiVersion, name}
	}
	return kind{}
}

func (k kind) isList() bool { return strings.HasSuffix(k.name, "List") }

// known is what is done with objects of a kind.
type known struct {
	empty      func() metav1.Object // a new one to read into
	namespaced bool                 // in "default" where it does not say
	written    bool                 // only manifests are looked at, and none of a cluster
}

func of[T any, P interface {
	*T
	metav1.Object
}](namespaced bool) known {
	return known{empty: func() metav1.Object { return P(new(T)) }, namespaced: namespaced}
}

func ofManifests[T any, P interface {
	*T
	metav1.Object
}]() known {
	out := of[T, P](true)
	out.written = true
	return out
}

// kinds are those that planning may look at.
var kinds = map[kind]known{
	{"v1", "Pod"}:                                    of[corev1.Pod](true),
	{"v1", "Node"}:                                   of[corev1.Node](false),
	{"v1", "Namespace"}:                              of[corev1.Namespace](false),
	{"v1", "Service"}:                                of[corev1.Service](true),
	{"v1", "ReplicationController"}:                  of[corev1.ReplicationController](true),
	{"v1", "PersistentVolumeClaim"}:                  of[corev1.PersistentVolumeClaim](true),
	{"v1", "PersistentVolume"}:                       of[corev1.PersistentVolume](false),
	{"v1", "PodTemplate"}:                            of[corev1.PodTemplate](true),
	{"apps/v1", "Deployment"}:                        of[appsv1.Deployment](true),
	{"apps/v1", "DaemonSet"}:                         of[appsv1.DaemonSet](true),
	{"apps/v1", "ReplicaSet"}:                        of[appsv1.ReplicaSet](true),
	{"apps/v1", "StatefulSet"}:                       of[appsv1.StatefulSet](true),
	{"batch/v1", "Job"}:                              of[batchv1.Job](true),
	{"batch/v1", "CronJob"}:                          ofManifests[batchv1.CronJob](),
	{"storage.k8s.io/v1", "StorageClass"}:            of[storagev1.StorageClass](false),
	{"storage.k8s.io/v1", "CSINode"}:                 of[storagev1.CSINode](false),
	{"storage.k8s.io/v1", "VolumeAttachment"}:        of[storagev1.VolumeAttachment](false),
	{"policy/v1", "PodDisruptionBudget"}:             of[policyv1.PodDisruptionBudget](true),
	{"scheduling.k8s.io/v1", "PriorityClass"}:        of[schedulingv1.PriorityClass](false),
	{"node.k8s.io/v1", "RuntimeClass"}:               of[nodev1.RuntimeClass](false),
	{"karpenter.sh/v1", apiv1.KindNodePool}:          of[apiv1.NodePool](false),
	{"karpenter.sh/v1", apiv1.KindNodeClaim}:         of[apiv1.NodeClaim](false),
	{"karpenter.k8s.aws/v1", awsv1.KindEC2NodeClass}: of[awsv1.EC2NodeClass](false),

	{"karpenter.sh/v1alpha1", v1alpha1.KindNodeOverlay}: of[v1alpha1.NodeOverlay](false),

	{"resource.k8s.io/v1", translate.KindResourceClaim}:         of[resourcev1.ResourceClaim](true),
	{"resource.k8s.io/v1", translate.KindResourceClaimTemplate}: of[resourcev1.ResourceClaimTemplate](true),
	{"resource.k8s.io/v1", translate.KindDeviceClass}:           of[resourcev1.DeviceClass](false),
	{"resource.k8s.io/v1", translate.KindResourceSlice}:         of[resourcev1.ResourceSlice](false),

	{"autoscaling.x-k8s.io/v1beta1", autoscalingv1beta1.KindCapacityBuffer}: of[autoscalingv1beta1.CapacityBuffer](true),
}

// otherVersion returns the version of a kind that is read, where the kind is known in another version only.
func otherVersion(k kind) (string, bool) {
	group := func(apiVersion string) string {
		if before, _, ok := strings.Cut(apiVersion, "/"); ok {
			return before
		}
		return ""
	}
	for other := range kinds { // at most one has the name and the group
		if other.name == k.name && group(other.apiVersion) == group(k.apiVersion) {
			return other.apiVersion, true
		}
	}
	return "", false
}

// strictGroups are the API groups whose objects people write for us: a field that their kinds do not have is a mistake,
// as it is for kubectl. So it is in manifests of workloads. Other objects of Kubernetes itself may come from a cluster
// that is newer than what they are read with.
var strictGroups = []string{"karpenter.sh/", "karpenter.k8s.aws/", "autoscaling.x-k8s.io/"}

func (k kind) strict() bool {
	for _, group := range strictGroups {
		if strings.HasPrefix(k.apiVersion, group) {
			return true
		}
	}
	return false
}

// fieldMistake is a field that an object's kind does not have, or that is there twice.
type fieldMistake struct{ field, what string }

// unknownFields returns the mistakes of an object that are about names of fields. Metadata and status are others' to
// write.
func unknownFields(raw []byte, is kind, of known, written bool) []fieldMistake {
	if !is.strict() && !written {
		return nil
	}
	into := of.empty()
	mistakes, err := kjson.UnmarshalStrict(raw, into)
	if err != nil {
		return nil // whoever reads it for what it means says so
	}
	var out []fieldMistake
	for _, mistake := range mistakes {
		placed, ok := mistake.(interface{ FieldPath() string })
		if !ok {
			continue
		}
		field := placed.FieldPath()
		if top, _, _ := strings.Cut(field, "."); top == "metadata" || top == "status" {
			continue
		}
		if strings.HasSuffix(field, ".template.spec."+workloadRef) {
			continue // see beyondTypes
		}
		what := "is there twice; leave one"
		if strings.HasPrefix(mistake.Error(), "unknown") {
			what = "no such field; " + correction(field, into)
		}
		out = append(out, fieldMistake{field, what})
	}
	return out
}

// correction says what to write instead of a field that an object's type does not have.
func correction(field string, into any) string {
	name := field[strings.LastIndexByte(field, '.')+1:]
	name, _, _ = strings.Cut(name, "[")
	if hint := requirement.Nearest(name, fieldNames(reflect.TypeOf(into), map[reflect.Type]bool{})); hint != "" {
		return fmt.Sprintf("write %s if that is meant", hint)
	}
	return "remove it"
}

// fieldNames returns the names of all fields of a type, those of the types it is made of included.
func fieldNames(t reflect.Type, seen map[reflect.Type]bool) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	var out []string
	for i := range t.NumField() {
		field := t.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			out = append(out, name)
		}
		out = append(out, fieldNames(field.Type, seen)...)
	}
	return out
}

// workloadRef is a field of pods in Kubernetes 1.35.
const workloadRef = "workloadRef"

// beyondTypes returns what a pod asks for that the types of Kubernetes have no field for any more, "" where there is
// nothing. Kubernetes 1.35 had spec.workloadRef; later versions have spec.schedulingGroup.
func beyondTypes(raw []byte) string {
	if !bytes.Contains(raw, []byte(workloadRef)) {
		return ""
	}
	var pod struct {
		Spec struct {
			WorkloadRef jsontext.Value `json:"workloadRef"`
		} `json:"spec"`
	}
	err := json.Unmarshal(raw, &pod, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if ref := string(pod.Spec.WorkloadRef); err != nil || ref == "" || ref == "null" {
		return ""
	}
	return "spec.workloadRef: scheduling pods as a group is not supported; each is planned for by itself"
}
