package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Leases are clusters' leases.
type Leases struct{ *table }

// Acquire takes the cluster's planner lease.
func (l Leases) Acquire(ctx context.Context, cluster, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	return l.AcquireLease(ctx, cluster, model.LeasePlanner, owner, nowUnix, untilUnix)
}

// AcquireLease takes a lease of the cluster: where nobody holds it, where it has run out at nowUnix, or where owner
// holds it already. There is no heartbeat, because a write to the lease's item would collide with the transactions that
// check it; the lease simply outlives its holder. One that was taken after what is asked for now would end was taken by
// a clock that is ahead, and is no lease: its holder, once dead, would block everybody for as long as its clock was
// wrong. However long a lease lasts, a shorter ask does not end it. Two who hold it at once do no harm, that is the
// fence's doing.
func (l Leases) AcquireLease(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence,
	error) {
	fence := model.Fence{Cluster: cluster, Lease: lease, Owner: owner, UntilUnix: untilUnix, SinceUnix: nowUnix}
	input := l.update(leaseKey(fence), "SET #owner = :owner, #exp = :until, #since = :now REMOVE #ttl ADD #tok :one",
		"attribute_not_exists(#exp) OR #exp < :now OR #since > :until OR #owner = :owner",
		item{":owner": text(owner), ":until": number(untilUnix), ":now": number(nowUnix), ":one": number(1)})
	input.ReturnValues, input.ReturnValuesOnConditionCheckFailure = types.ReturnValueUpdatedNew, returnOld
	out, err := l.client.UpdateItem(ctx, input)
	if there, taken := unmet(err); taken {
		held := fenceOf(cluster, lease, there)
		return held, fault.New(fault.Conflict, "LeaseHeld",
			"the %s lease of cluster %s is held by %s for %d more seconds",
			lease, cluster, held.Owner, held.UntilUnix-nowUnix)
	}
	if err != nil {
		return model.Fence{}, translate(err, "acquire the %s lease of cluster %s", lease, cluster)
	}
	fence.Token = numberOf(out.Attributes, "tok")
	return fence, nil
}

// fenceOf reads a lease as it was last taken.
func fenceOf(cluster, lease string, entry item) model.Fence {
	return model.Fence{
		Cluster: cluster, Lease: lease, Owner: textOf(entry, "owner"), Token: numberOf(entry, "tok"),
		UntilUnix: numberOf(entry, "exp"), SinceUnix: numberOf(entry, "since"),
	}
}

// Release lets the lease run out now, unless somebody else has taken it since.
func (l Leases) Release(ctx context.Context, fence model.Fence) error {
	_, err := l.client.UpdateItem(ctx, l.update(leaseKey(fence), "SET #exp = :never", holds,
		item{":owner": text(fence.Owner), ":tok": number(fence.Token), ":never": number(0)}))
	if _, lost := unmet(err); lost {
		return nil
	}
	return translate(err, "release the %s lease of cluster %s", fence.Lease, fence.Cluster)
}

// ListLeases returns the cluster's leases as they were last taken, by name, whether or not they have run out.
func (l Leases) ListLeases(ctx context.Context, cluster string) ([]model.Fence, error) {
	items, err := l.query(ctx, clusterPK(cluster), leaseSK, true)
	if err != nil {
		return nil, err
	}
	fences := make([]model.Fence, len(items))
	for i, entry := range items {
		fences[i] = fenceOf(cluster, textOf(entry, "SK")[len(leaseSK):], entry)
	}
	return fences, nil
}
