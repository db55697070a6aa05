package ekscluster

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Claims are NodeClaim objects.
type Claims struct{ *api }

// PutClaim creates the claim's NodeClaim object or brings its status up to date, and returns the object's UID. NotFound
// where claim.ObjectUID is set and the object is gone or another; Conflict where an object of that name shows another
// instance.
func (c Claims) PutClaim(ctx context.Context, claim model.Claim) (string, error) {
	object, err := c.findOrCreate(ctx, &claim)
	if err != nil {
		return "", err
	}
	id := string(object.UID)
	if claim.ObjectUID != "" {
		if object, err = c.updateMeta(ctx, object, &claim); err != nil {
			return "", err
		}
	}
	return id, claimStatus(claim.Name, id, object, func(o *apiv1.NodeClaim) error {
		showState(o, &claim)
		return nil
	}).write(ctx, c.api)
}

func (c Claims) findOrCreate(ctx context.Context, claim *model.Claim) (*apiv1.NodeClaim, error) {
	if claim.ObjectUID != "" {
		return c.claim(ctx, claim)
	}
	untyped, err := toUntyped(claimObject(claim, c.region))
	if err != nil {
		return nil, err
	}
	delete(untyped.Object, "status")
	created, err := c.custom.Resource(apiv1.NodeClaimResource).Create(ctx, untyped, metav1.CreateOptions{})
	err = translateError(err, "create NodeClaim %s", claim.Name)
	if fault.Is(err, fault.Conflict) { // an earlier attempt came as far as this
		object, err := c.claim(ctx, claim)
		if err == nil && claim.Vanished && object.DeletionTimestamp != nil {
			return nil, fault.New(fault.Conflict, "",
				"NodeClaim %s of UID %s, which is deleted with its CustomResourceDefinition, still exists",
				claim.Name, object.UID)
		}
		return object, err
	}
	if err != nil {
		return nil, err
	}
	return toTyped[apiv1.NodeClaim](created)
}

// claim reads the object of a claim and makes sure that it is the claim's.
func (c Claims) claim(ctx context.Context, claim *model.Claim) (*apiv1.NodeClaim, error) {
	untyped, err := c.custom.Resource(apiv1.NodeClaimResource).Get(ctx, claim.Name, metav1.GetOptions{})
	if err != nil {
		return nil, translateError(err, "read NodeClaim %s", claim.Name)
	}
	object, err := toTyped[apiv1.NodeClaim](untyped)
	if err != nil {
		return nil, err
	}
	if claim.ObjectUID != "" {
		if err := isAnother(apiv1.KindNodeClaim, claim.Name, claim.ObjectUID, object.UID); err != nil {
			return nil, err
		}
	}
	if shown := object.Status.ProviderID; shown != "" && claim.ProviderID != "" && shown != claim.ProviderID {
		return nil, fault.New(fault.Conflict, "", "NodeClaim %s has instance %s, and its claim in the ledger has %s",
			claim.Name, shown, claim.ProviderID)
	}
	return object, nil
}

// PoolUID returns the UID of a NodePool as it is now. NotFound where there is none of that name, or it is being
// deleted.
func (c Claims) PoolUID(ctx context.Context, name string) (string, error) {
	pool, err := c.custom.Resource(apiv1.NodePoolResource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", translateError(err, "read NodePool %s", name)
	}
	if pool.GetDeletionTimestamp() != nil {
		return "", fault.New(fault.NotFound, "", "NodePool %s is being deleted", name)
	}
	return string(pool.GetUID()), nil
}

// updateMeta brings labels and annotations of an object up to the claim's where they may change after the launch: the
// drift hashes, which are written anew when their rules change, the price, annotations and a partition that became
// known later, and what a reservation that ended leaves behind. One that was made before there was a finalizer or the
// label of its class gets these.
func (c Claims) updateMeta(ctx context.Context, object *apiv1.NodeClaim, claim *model.Claim) (*apiv1.NodeClaim, error) {
	meta := map[string]any{}
	annotations := map[string]any{}
	wanted := claimAnnotations(claim)
	for key, value := range wanted { // what became known since; what is there is people's to change
		if _, shown := object.Annotations[key]; !shown {
			annotations[key] = value
		}
	}
	for _, key := range rehashed {
		if value := wanted[key]; value != "" && object.Annotations[key] != value {
			annotations[key] = value
		}
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	labels := map[string]any{}
	// People made it, and could not know what it becomes.
	if claim.Pool == "" && claim.ProviderID != "" && object.Status.ProviderID == "" {
		for key, value := range claimLabels(claim, c.region) {
			if _, said := object.Labels[key]; !said {
				labels[key] = value
			}
		}
	}
	if partition := claim.Labels[model.LabelPartition]; partition != "" && object.Labels[model.LabelPartition] == "" {
		labels[model.LabelPartition] = partition // EC2 chose it
	}
	became := claim.CapacityType
	if object.Labels[model.LabelCapacityType] == model.Reserved && became != model.Reserved && became != "" {
		labels[model.LabelCapacityType] = became
		for _, key := range []string{model.LabelReservationID, model.LabelReservationType, model.LabelInterruptible} {
			if _, there := object.Labels[key]; there {
				labels[key] = nil
			}
		}
	}
	if object.Labels[model.LabelNodeClass] == "" && claim.Class != "" {
		labels[model.LabelNodeClass] = claim.Class
	}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	// The API server refuses a new finalizer on an object that is being deleted; one whose end is near was released.
	if object.DeletionTimestamp == nil && !ending(claim.State) && !slices.Contains(object.Finalizers, model.Finalizer) {
		meta["finalizers"] = append(slices.Clone(object.Finalizers), model.Finalizer)
	}
	if len(meta) == 0 {
		return object, nil
	}
	written, err := c.patchMeta(ctx, apiv1.NodeClaimResource, object, meta,
		"write labels and annotations of NodeClaim %s", claim.Name)
	if err != nil {
		return nil, err
	}
	return toTyped[apiv1.NodeClaim](written)
}

// rehashed are the annotations of a claim that may change after its launch.
var rehashed = []string{
	model.AnnotationPoolHash, model.AnnotationPoolHashVersion, model.AnnotationClassHash,
	model.AnnotationClassHashVersion, model.AnnotationPrice,
}
