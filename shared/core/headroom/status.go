package headroom

import (
	"fmt"

	"github.com/joiner-sh/joiner/shared/model"
)

// Reasons of the conditions of a CapacityBuffer, beside those of buffers that cannot be made room for.
const (
	Resolved                = "Resolved"
	FitsExistingCapacity    = "FitsExistingCapacity"
	RequiresNewCapacity     = "RequiresNewCapacity"
	NotReadyForProvisioning = "NotReadyForProvisioning"
	BufferEmpty             = "BufferEmpty"
)

// Counts says where the places of a buffer are. What is neither there nor coming is to be launched, or cannot be.
type Counts struct {
	There  int // on nodes
	Coming int // on instances that are on their way
	Why    []model.Reason
}

// Count returns where the plan has the places of the snapshot's buffers, by namespace/name, where those of its claims that are in
// asked, by name, have been asked for. A buffer none of whose places it names is not in it. Why are the reasons of the first place
// that can be nowhere.
func Count(snapshot *model.Snapshot, plan *model.Plan, asked map[string]bool) map[string]*Counts {
	places := make(map[model.PodRef]string)
	for i := range snapshot.Pods {
		if pod := &snapshot.Pods[i]; pod.Buffer != "" {
			places[pod.Ref()] = pod.Buffer
		}
	}
	nodes := make(map[string]bool, len(snapshot.Nodes))
	for i := range snapshot.Nodes {
		nodes[snapshot.Nodes[i].Name] = true
	}
	counts := make(map[string]*Counts)
	of := func(ref model.PodRef) *Counts {
		buffer := places[ref]
		if counts[buffer] == nil {
			counts[buffer] = &Counts{}
		}
		return counts[buffer]
	}
	for _, nomination := range plan.Nominations {
		for _, ref := range nomination.Pods {
			if c := of(ref); nodes[nomination.Node] {
				c.There++
			} else {
				c.Coming++
			}
		}
	}
	for i := range plan.Claims {
		for _, ref := range plan.Claims[i].Pods {
			if c := of(ref); asked[plan.Claims[i].Name] {
				c.Coming++
			}
		}
	}
	for i := range plan.Unschedulable {
		if c := of(plan.Unschedulable[i].Pod); c.Why == nil {
			c.Why = plan.Unschedulable[i].Reasons
		}
	}
	delete(counts, "") // pods
	return counts
}

// Status returns what a buffer's object is to say. Where its places were not planned for in this look (at is nil) it goes on saying
// where they are. why says why places can be nowhere.
func Status(buffer *model.Buffer, at *Counts, why string) model.BufferStatus {
	condition := func(status, reason, message string) model.BufferCondition {
		return model.BufferCondition{Status: status, Reason: reason, Message: message, Generation: buffer.Generation}
	}
	out := model.BufferStatus{Strategy: buffer.Strategy, Provisioning: buffer.Status.Provisioning}
	if buffer.Problem != "" {
		out.Ready = condition("False", buffer.Reason, buffer.Problem)
		out.Provisioning = condition("False", NotReadyForProvisioning, "the headroom to keep is not known")
		return out
	}
	out.Template, out.TemplateGeneration = buffer.Template, buffer.TemplateGeneration
	out.Sized, out.Replicas = true, buffer.Replicas
	out.Ready = condition("True", Resolved, fmt.Sprintf("headroom for %d pods of %s", buffer.Replicas, buffer.Of))
	switch n := int(buffer.Replicas); {
	case n == 0:
		out.Provisioning = condition("False", BufferEmpty, "it requests no headroom")
	case at != nil && at.There >= n:
		out.Provisioning = condition("True", FitsExistingCapacity, "")
	case at != nil:
		message := fmt.Sprintf("%d of %d placeholder pods fit on nodes, %d on in-flight nodes", at.There, n, at.Coming)
		if why != "" {
			message += "; the others are unschedulable: " + why
		}
		out.Provisioning = condition("False", RequiresNewCapacity, message)
	case out.Provisioning.Reason == NotReadyForProvisioning || out.Provisioning.Reason == BufferEmpty || out.Provisioning.Reason == "":
		out.Provisioning = condition("False", RequiresNewCapacity, "its placeholder pods are not planned yet")
	}
	return out
}
