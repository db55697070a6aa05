package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// usualGrace is the grace of a pod that names none. Source: Kubernetes API, terminationGracePeriodSeconds.
const usualGrace = 30

// graceOf returns how many seconds a pod has to end.
func (c *Cluster) graceOf(pod *model.Pod) int64 {
	if grace := c.shapes[pod.Shape].GraceSeconds; grace > 0 {
		return grace
	}
	return usualGrace
}

// Occupied returns a node with the pods bound to it and the volumes attached to it.
func (c *Cluster) Occupied(_ context.Context, object model.Object) (model.Occupied, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("get"); err != nil {
		return model.Occupied{}, err
	}
	return c.occupied(object)
}

// OccupiedAll returns nodes so that are there, by UID.
func (c *Cluster) OccupiedAll(_ context.Context, objects []model.Object) (map[string]model.Occupied, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list"); err != nil {
		return nil, err
	}
	out := map[string]model.Occupied{}
	for _, object := range objects {
		if occupied, err := c.occupied(object); err == nil {
			out[object.UID] = occupied
		}
	}
	return out, nil
}

// occupied is Occupied with the lock held.
func (c *Cluster) occupied(object model.Object) (model.Occupied, error) {
	node := c.nodes.get(object.Name)
	if node == nil || object.UID != "" && node.UID != object.UID {
		return model.Occupied{}, fault.New(fault.NotFound, "", "node %s of UID %s is gone", object.Name, object.UID)
	}
	out := model.Occupied{Node: *node, ReadUnix: c.now().Unix()}
	for _, key := range c.pods.keys {
		if pod := c.pods.get(key); pod.NodeName == node.Name {
			out.Pods = append(out.Pods, c.occupant(pod))
		}
	}
	for _, key := range c.attached.keys {
		if a := c.attached.get(key); a.Node == node.Name {
			out.Volumes = append(out.Volumes, a.Attachment)
		}
	}
	return out, nil
}

func (c *Cluster) occupant(pod *model.Pod) model.Occupant {
	shape := &c.shapes[pod.Shape]
	return model.Occupant{
		PodRef: model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Phase: pod.Phase, Ready: pod.Ready, Labels: shape.Labels, OwnerKind: shape.OwnerKind,
		Static: shape.OwnerKind == KindNode, Priority: shape.Priority, PriorityClass: shape.PriorityClass, Tolerations: shape.Tolerations,
		DoNotDisrupt: shape.DoNotDisrupt, Window: shape.Window, System: shape.System, GraceSeconds: c.graceOf(pod),
		StartedUnix: pod.StartedUnix, DeletedUnix: pod.DeletedUnix, Volumes: c.volumesOf(pod),
	}
}

// Leaving is the API server as far as pods are made to leave.
type Leaving struct{ *Cluster }

// Evict asks the Eviction API for a pod to leave, with its own grace.
func (l Leaving) Evict(ctx context.Context, pod model.PodRef) error {
	asked := l.asking(pod)
	err := l.Cluster.Evict(ctx, pod, nil)
	if fault.Is(err, fault.Internal) && fault.CodeOf(err) == severalBudgets {
		err = fault.Wrap(fault.Invalid, severalBudgets, err, "evict pod %s", pod.Key())
	}
	l.answered(asked, err)
	return err
}

// Delete deletes a pod with a grace of so many seconds, at least one.
func (l Leaving) Delete(ctx context.Context, pod model.PodRef, graceSeconds int64) error {
	asked := l.asking(pod)
	asked.Forced, asked.GraceSeconds = true, graceSeconds
	err := error(fault.New(fault.Invalid, "", "pod %s is not deleted with a grace of %d seconds", pod.Key(), graceSeconds))
	if graceSeconds >= 1 {
		err = l.RemovePod(ctx, pod, &graceSeconds)
	}
	l.answered(asked, err)
	return err
}

// asking is the pod of that name as it is when it is asked to leave.
func (l Leaving) asking(pod model.PodRef) EvictionRequested {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := EvictionRequested{Pod: pod}
	if stored := l.pods.get(pod.Key()); stored != nil {
		asked.Node, asked.UID = stored.NodeName, stored.UID
	}
	return asked
}

func (l Leaving) answered(asked EvictionRequested, err error) {
	if err != nil {
		asked.Refused = fault.KindOf(err).String() + " " + fault.CodeOf(err)
	}
	l.log.Note(asked)
}
