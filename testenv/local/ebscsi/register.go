package ebscsi

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

const (
	nodeIDAnnotation = "csi.volume.kubernetes.io/nodeid"
	limitFlag        = "--volume-attach-limit="
	pluginContainer  = "ebs-plugin"
	// sharedAttachments is how many network interfaces and volumes together an instance has, of a type that the driver does not know.
	sharedAttachments = 27
)

// register registers the driver on every node where a pod of the DaemonSet runs, as the kubelet there does. What fails is tried again.
func (d *Driver) register(ctx context.Context) {
	selector := labels.SelectorFromSet(labels.Set{"app": "ebs-csi-node"})
	for {
		pods, err := d.pods.Pods(metav1.NamespaceSystem).List(selector)
		if err == nil {
			for _, pod := range pods {
				if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" {
					d.registerOn(ctx, pod)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (d *Driver) registerOn(ctx context.Context, pod *corev1.Pod) {
	node, err := d.nodes.Get(pod.Spec.NodeName)
	if err != nil {
		return
	}
	instance := node.Spec.ProviderID[strings.LastIndexByte(node.Spec.ProviderID, '/')+1:]
	facts, err := d.cloud.factsOf(ctx, instance)
	if err != nil {
		return
	}
	if !d.labeled(ctx, node, instance, facts.zone) {
		return
	}
	limit, set := limitOf(pod)
	if !set {
		limit = facts.limit()
	}
	want := storagev1.CSINodeDriver{Name: Name, NodeID: instance, TopologyKeys: topologyKeys, Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}
	current, err := d.csiNodes.Get(node.Name)
	if apierrors.IsNotFound(err) {
		_, _ = d.client.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{
				Name:            node.Name,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}},
			},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{want}},
		}, metav1.CreateOptions{})
		return
	}
	if err != nil || len(current.OwnerReferences) > 0 && current.OwnerReferences[0].UID != node.UID {
		return // of a node that had the name before, and is about to go
	}
	current = current.DeepCopy()
	switch is := driverOf(current); {
	case is == nil:
		current.Spec.Drivers = append(current.Spec.Drivers, want)
	case reflect.DeepEqual(*is, want):
		return
	default:
		*is = want
	}
	_, _ = d.client.StorageV1().CSINodes().Update(ctx, current, metav1.UpdateOptions{})
}

// labeled reports whether a node has the labels of the driver's topology, and the annotation with its id, and writes them where it has not.
func (d *Driver) labeled(ctx context.Context, node *corev1.Node, instance, zone string) bool {
	ids, err := json.Marshal(map[string]string{Name: instance})
	if err != nil {
		panic(err) // a map of strings
	}
	if node.Labels[ZoneLabel] == zone && node.Annotations[nodeIDAnnotation] == string(ids) {
		return true
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": node.UID, "labels": map[string]string{ZoneLabel: zone}, "annotations": map[string]string{nodeIDAnnotation: string(ids)},
	}})
	if err != nil {
		panic(err) // maps of strings
	}
	_, _ = d.client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return false
}

// limitOf returns the limit of volumes that the pod's arguments set.
func limitOf(pod *corev1.Pod) (limit int32, set bool) {
	for _, container := range pod.Spec.Containers {
		if container.Name != pluginContainer {
			continue
		}
		for _, arg := range container.Args {
			if text, ok := strings.CutPrefix(arg, limitFlag); ok {
				n, err := strconv.ParseInt(text, 10, 32)
				limit, set = int32(n), err == nil && n >= 0
			}
		}
	}
	return limit, set
}

// instanceFacts are those that the driver reads from an instance's metadata when it starts.
type instanceFacts struct {
	zone                string
	volumes, interfaces int // at its launch
}

// limit returns how many volumes of the driver an instance takes. It is at least one: Kubernetes reads 0 as without a limit.
func (f instanceFacts) limit() int32 {
	return int32(max(1, sharedAttachments-f.volumes-(cmp.Or(f.interfaces, 1)-1)))
}
