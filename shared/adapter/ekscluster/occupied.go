package ekscluster

import (
	"context"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/model"
)

// Nodes are nodes with what is on them.
type Nodes struct {
	*api
	attachments *together[map[string][]model.Attachment] // by node
}

// ReadNode reads a node live, with every pod bound to it, ended ones too, and the volumes attached to it. NotFound
// where the node of that UID is gone; without a UID, where no node has the name.
//
// It costs a read of the node, a list of its pods and, of those who ask side by side together, one list of
// VolumeAttachments. Attachments are listed after the pods, so that a pod that has left by then is not missed with its
// volume. Which volume belongs to which pod is asked only while there are both.
func (c Nodes) ReadNode(ctx context.Context, node model.Object) (model.Occupied, error) {
	var out model.Occupied
	var pods []corev1.Pod
	var errNode, errPods error
	var reads sync.WaitGroup
	reads.Go(func() { out.Node, errNode = c.node(ctx, node) })
	reads.Go(func() {
		ctx, date := withDate(ctx)
		pods, errPods = c.podsOn(ctx, node.Name)
		out.ReadUnix = date.Load()
	})
	reads.Wait()
	if errNode != nil {
		return model.Occupied{}, errNode
	}
	if errPods != nil {
		return model.Occupied{}, errPods
	}
	attached, err := c.attachments.get(ctx, c.listAttachments)
	if err != nil {
		return model.Occupied{}, translateError(err, "list what is attached to node %s", node.Name)
	}
	out.Volumes = slices.Clone(attached[node.Name])
	out.Pods, err = c.occupants(ctx, pods, out.Volumes)
	if err != nil {
		return model.Occupied{}, err
	}
	return out, nil
}

// ReadNodes reads many nodes as Occupied does, by UID, those that are gone left out.
//
// It costs a list of all nodes, and one of all bound pods where at least one in oneOf nodes is asked for, else a list
// for each: whichever is cheaper for the API server and for whoever reads the answer.
func (c Nodes) ReadNodes(ctx context.Context, nodes []model.Object) (map[string]model.Occupied, error) {
	there, all, err := c.nodesOf(ctx, nodes)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(there))
	for name := range there {
		names = append(names, name)
	}
	slices.Sort(names)
	ctx, date := withDate(ctx)
	pods, err := c.podsOnAll(ctx, names, all)
	if err != nil {
		return nil, err
	}
	readUnix := date.Load()
	attached, err := c.attachments.get(ctx, c.listAttachments)
	if err != nil {
		return nil, translateError(err, "list what is attached to %d nodes", len(names))
	}
	out := make(map[string]model.Occupied, len(names))
	for _, name := range names {
		occupied := model.Occupied{Node: there[name], ReadUnix: readUnix, Volumes: slices.Clone(attached[name])}
		if occupied.Pods, err = c.occupants(ctx, pods[name], occupied.Volumes); err != nil {
			return nil, err
		}
		out[occupied.Node.UID] = occupied
	}
	return out, nil
}

// nodesOf returns those of the nodes that are there, by name, and how many nodes there are in all.
func (c Nodes) nodesOf(ctx context.Context, nodes []model.Object) (there map[string]model.Node, all int, err error) {
	wanted := make(map[string]string, len(nodes)) // UIDs by name
	for _, node := range nodes {
		wanted[node.Name] = node.UID
	}
	there = make(map[string]model.Node, len(nodes))
	err = listAll(ctx, c.nodes(), func(object any) {
		all++
		if node := object.(*corev1.Node); node.UID != "" && wanted[node.Name] == string(node.UID) {
			there[node.Name] = translate.Node(node)
		}
	})
	return there, all, err
}

// oneOf is the share of nodes from which on one list of all bound pods is cheaper than one for each node: a request
// costs the API server about as much as the pods of four nodes in a longer answer.
const oneOf = 4

// podsOnAll lists every pod that is bound to one of the nodes, by node.
func (c Nodes) podsOnAll(ctx context.Context, nodes []string, all int) (map[string][]corev1.Pod, error) {
	out := make(map[string][]corev1.Pod, len(nodes))
	for _, name := range nodes {
		out[name] = nil
	}
	if len(nodes)*oneOf < all {
		var mu sync.Mutex // guards out
		return out, each(nodes, func(name string) error {
			pods, err := c.podsOn(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			out[name] = pods
			return err
		})
	}
	err := listAll(ctx, c.pods("spec.nodeName!="), func(object any) {
		pod := object.(*corev1.Pod)
		if pods, wanted := out[pod.Spec.NodeName]; wanted {
			out[pod.Spec.NodeName] = append(pods, *pod)
		}
	})
	return out, err
}

// node reads a node of a UID.
func (c Nodes) node(ctx context.Context, node model.Object) (model.Node, error) {
	object, err := c.core.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return model.Node{}, translateError(err, "read node %s", node.Name)
	}
	if node.UID != "" {
		if err := isAnother("node", node.Name, node.UID, object.UID); err != nil {
			return model.Node{}, err
		}
	}
	return translate.Node(object), nil
}

// podsOn lists every pod that is bound to a node.
func (c Nodes) podsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	err := listAll(ctx, c.pods("spec.nodeName="+node), func(object any) {
		pods = append(pods, *object.(*corev1.Pod))
	})
	return pods, err
}

// listAttachments returns every volume's attachments by node, those of a node by name. The API server picks none out.
func (c Nodes) listAttachments(ctx context.Context) (map[string][]model.Attachment, error) {
	byNode := make(map[string][]model.Attachment)
	err := listAll(ctx, of(c.core.StorageV1().VolumeAttachments()), func(object any) {
		o := object.(*storagev1.VolumeAttachment)
		byNode[o.Spec.NodeName] = append(byNode[o.Spec.NodeName], translate.Attachment(o))
	})
	for _, list := range byNode {
		slices.SortFunc(list, func(a, b model.Attachment) int { return strings.Compare(a.Name, b.Name) })
	}
	return byNode, err
}

// occupants returns the pods by key, each with those of the attached volumes that its claims are bound to.
func (c Nodes) occupants(ctx context.Context, pods []corev1.Pod, attached []model.Attachment) ([]model.Occupant,
	error) {
	out := make([]model.Occupant, len(pods))
	users := make(map[string][]*model.Occupant) // by namespace/name of the claim
	for i := range pods {
		occupant, claims := translate.Occupant(&pods[i])
		out[i] = occupant
		for _, claim := range claims {
			key := occupant.Namespace + "/" + claim
			users[key] = append(users[key], &out[i])
		}
	}
	if len(users) > 0 {
		bound, err := c.bound(ctx, attached)
		if err != nil {
			return nil, err
		}
		for i, volume := range attached {
			for _, occupant := range users[bound[i]] {
				occupant.Volumes = append(occupant.Volumes, volume.Volume)
			}
		}
	}
	for i := range out {
		slices.Sort(out[i].Volumes)
		out[i].Volumes = slices.Compact(out[i].Volumes)
	}
	slices.SortFunc(out, func(a, b model.Occupant) int { return strings.Compare(a.Key(), b.Key()) })
	return out, nil
}

// bound returns for each attachment the namespace/name of the claim its volume is bound to; empty where there is none.
func (c Nodes) bound(ctx context.Context, attached []model.Attachment) ([]string, error) {
	claims, index := make([]string, len(attached)), make([]int, len(attached))
	for i := range index {
		index[i] = i
	}
	err := each(index, func(i int) error {
		if attached[i].Volume == "" {
			return nil
		}
		volume, err := c.core.CoreV1().PersistentVolumes().Get(ctx, attached[i].Volume, metav1.GetOptions{})
		if err != nil {
			return gone(translateError(err, "read PersistentVolume %s", attached[i].Volume))
		}
		if ref := volume.Spec.ClaimRef; ref != nil && volume.Status.Phase == corev1.VolumeBound {
			claims[i] = ref.Namespace + "/" + ref.Name
		}
		return nil
	})
	return claims, err
}
