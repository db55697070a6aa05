package ebscsi

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// ZoneLabel is the driver's own label of a node's zone. Classes name it in allowedTopologies.
const ZoneLabel = "topology." + Name + "/zone"

// topologyKeys are the labels by which the driver says where a node is.
var topologyKeys = []string{corev1.LabelOSStable, ZoneLabel, corev1.LabelTopologyZone}

// zoneOf returns the zone that the volume of a claim is to be in: that of the node kube-scheduler has selected, or, where none is selected, one of
// those that nodes are in. The class may allow some zones only. The state says whether kube-scheduler is to select another node.
func (d *Driver) zoneOf(o controller.ProvisionOptions) (string, controller.ProvisioningState, error) {
	allowed := flatten(o.StorageClass.AllowedTopologies)
	if o.SelectedNodeName == "" {
		zone, err := d.anyZone(o.PVC.Name, allowed)
		return zone, controller.ProvisioningNoChange, err
	}
	node, err := d.selected(o.SelectedNodeName)
	switch {
	case apierrors.IsNotFound(err):
		return "", controller.ProvisioningReschedule, err
	case err != nil:
		return "", controller.ProvisioningNoChange, err
	case len(allowed) > 0 && !slices.ContainsFunc(allowed, func(term map[string]string) bool { return isPart(term, node) }):
		return "", controller.ProvisioningNoChange, fmt.Errorf("topology %v of node %s is not in the allowed topologies %v", node, o.SelectedNodeName, allowed)
	}
	return node[corev1.LabelTopologyZone], controller.ProvisioningNoChange, nil
}

// selected returns the topology of a node. The error is NotFound where there is no such node, or it has no CSINode.
func (d *Driver) selected(name string) (map[string]string, error) {
	csiNode, err := d.csiNodes.Get(name)
	if err != nil {
		return nil, err
	}
	node, err := d.nodes.Get(name)
	if err != nil {
		return nil, err
	}
	if driverOf(csiNode) == nil {
		return nil, fmt.Errorf("no topology key found on CSINode %s", name)
	}
	return topologyOf(node)
}

func topologyOf(node *corev1.Node) (map[string]string, error) {
	topology := map[string]string{}
	for _, key := range topologyKeys {
		value, ok := node.Labels[key]
		if !ok {
			return nil, fmt.Errorf("node %s does not have the topology key %s", node.Name, key)
		}
		topology[key] = value
	}
	return topology, nil
}

// anyZone returns the zone of a claim that no node is selected for. Claims are spread over the zones by their names.
func (d *Driver) anyZone(claim string, allowed []map[string]string) (string, error) {
	zones := map[string]bool{}
	for _, term := range allowed {
		for _, key := range []string{corev1.LabelTopologyZone, ZoneLabel} {
			if zone, ok := term[key]; ok {
				zones[zone] = true
				break
			}
		}
	}
	if len(allowed) == 0 {
		nodes, err := d.nodes.List(labels.Everything())
		if err != nil {
			return "", err
		}
		for _, node := range nodes {
			if topology, err := topologyOf(node); err == nil {
				zones[topology[corev1.LabelTopologyZone]] = true
			}
		}
	}
	if len(zones) == 0 {
		return "", errors.New("no available topology found")
	}
	hash := fnv.New32()
	hash.Write([]byte(claim))
	sorted := slices.Sorted(maps.Keys(zones))
	return sorted[hash.Sum32()%uint32(len(sorted))], nil
}

// flatten returns every combination of labels that terms allow.
func flatten(terms []corev1.TopologySelectorTerm) []map[string]string {
	var out []map[string]string
	for _, term := range terms {
		combinations := []map[string]string{{}}
		for _, expression := range term.MatchLabelExpressions {
			var next []map[string]string
			for _, combination := range combinations {
				for _, value := range expression.Values {
					one := maps.Clone(combination)
					one[expression.Key] = value
					next = append(next, one)
				}
			}
			combinations = next
		}
		out = append(out, combinations...)
	}
	return out
}

// isPart reports whether a topology has everything of a term.
func isPart(term, topology map[string]string) bool {
	for key, value := range term {
		if topology[key] != value {
			return false
		}
	}
	return true
}

// driverOf returns what a CSINode says of the driver; nil where it does not name it.
func driverOf(node *storagev1.CSINode) *storagev1.CSINodeDriver {
	i := slices.IndexFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == Name })
	if i < 0 {
		return nil
	}
	return &node.Spec.Drivers[i]
}
