package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Launches are intents with their claims and what they take of pools' limits, and the notes of the planner that makes
// them.
type Launches struct{ Claims }

// maxClaims is how many claims one intent may have: a transaction has 100 items, and Settle writes up to three for each
// and those beside them.
const maxClaims = 25

// Record writes intent, claims and what they hold in one transaction under the fence. Where the answer of an earlier
// try was lost and the very same intent is stored already, there is nothing left to do and no error.
func (l Launches) Record(ctx context.Context, fence model.Fence, intent model.Intent, claims []model.Claim,
	limits model.Resources) error {
	if len(claims) == 0 || len(claims) > maxClaims {
		return fault.New(fault.Invalid, "", "intent %s has %d claims; 1 to %d are allowed", intent.ID, len(claims),
			maxClaims)
	}
	put, err := l.putIntent(intent, nothingIsThere, nil)
	if err != nil {
		return err
	}
	put.ReturnValuesOnConditionCheckFailure = returnOld
	const leaseAt, usageAt, intentAt, doneAt, claimsAt = 0, 1, 2, 3, 4
	writes := []types.TransactWriteItem{
		l.fenceHolds(fence), l.use(fence.Cluster, intent.Pool, reservedBy(claims), limits), {Put: put},
		l.unused(clusterPK(intent.Cluster), doneSK+intent.ID),
	}
	for _, claim := range claims {
		condition := nothingIsThere
		if claim.Version > 1 { // it takes the place of a gone one of its name, as that was read
			condition = claimOrGone
		}
		put, err := l.putClaim(fence.Cluster, claim, condition, claim.Version-1)
		if err != nil {
			return err
		}
		gone := l.unused(claimPK(fence.Cluster, claim.Name), goneSK+claim.Name)
		writes = append(writes, types.TransactWriteItem{Put: put}, gone)
	}
	err = l.transact(ctx, writes)
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return lostLease(fence)
	case refused(reasons, intentAt) && sameDoc(reasons[intentAt].Item, put.Item):
		return nil
	case refused(reasons, intentAt), refused(reasons, doneAt):
		return fault.New(fault.Conflict, "IntentExists", "intent %s is recorded already, and differs", intent.ID)
	case refused(reasons, usageAt):
		return fault.New(fault.Exhausted, "LimitReached",
			"spec.limits of NodePool %s leaves too little for %d more claims",
			intent.Pool, len(claims))
	}
	for i := range claims {
		if refused(reasons, claimsAt+2*i) || refused(reasons, claimsAt+2*i+1) {
			return fault.New(fault.Conflict, claimExists, "claim %s is recorded already", claims[i].Name)
		}
	}
	return translate(err, "record intent %s", intent.ID)
}

// claimExists is the code of an error about a claim whose name is taken.
const claimExists = "ClaimExists"

// Calling notes another attempt of an open intent under the fence.
func (l Launches) Calling(ctx context.Context, fence model.Fence, intent model.Intent) error {
	intent.State = model.IntentCalling
	put, err := l.putOpenIntent(intent)
	if err != nil {
		return err
	}
	return l.writeFenced(ctx, fence, put, "record attempt %d of intent %s", intent.Attempt, intent.ID)
}

// Settle writes an outcome under the fence: claims launched or gone, what they hold brought down to what they took, the
// intent done. An intent that is done already stays as it is.
func (l Launches) Settle(ctx context.Context, fence model.Fence, outcome model.Settlement) error {
	intent := outcome.Intent
	intent.State = model.IntentDone
	done, err := l.putOpenIntent(intent)
	if err != nil {
		return err
	}
	open := deletion(key(clusterPK(intent.Cluster), intentSK+intent.ID), done)
	done = l.put(done.Item, "", nil)
	done.Item["SK"], done.Item["ttl"] = text(doneSK+intent.ID), number(outcome.AtUnix+int64(keepIntent.Seconds()))

	const leaseAt, intentAt = 0, 1
	writes := []types.TransactWriteItem{l.fenceHolds(fence), open, {Put: done}}
	delta := model.Resources{}
	for _, claim := range outcome.Launched {
		took := claim.Consumed()
		for name, amount := range claim.Reserved {
			if took[name] != amount {
				delta[name] += took[name] - amount
			}
		}
		claim.Reserved = took
		put, err := l.putNextClaim(fence.Cluster, claim, claimIsAt)
		if err != nil {
			return err
		}
		writes = append(writes, types.TransactWriteItem{Put: put})
	}
	for _, claim := range outcome.Failed {
		for name, amount := range claim.Reserved {
			delta[name] -= amount
		}
		claim.Reserved = nil
		ends, err := l.end(fence.Cluster, claim, claimIsAt, outcome.AtUnix)
		if err != nil {
			return err
		}
		writes = append(writes, ends...)
	}
	err = l.transact(ctx, append(writes, l.use(fence.Cluster, intent.Pool, delta, nil)))
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return lostLease(fence)
	case refused(reasons, intentAt) &&
		l.over(ctx, reasons[intentAt].Item, string(model.IntentDone), clusterPK(intent.Cluster), doneSK+intent.ID):
		return nil
	}
	return translate(err, "settle intent %s", intent.ID)
}

// putOpenIntent is the write of an intent that is open so far.
func (l Launches) putOpenIntent(intent model.Intent) (*types.Put, error) {
	return l.putIntent(intent, "attribute_exists(PK) AND #state <> :done",
		item{":done": text(string(model.IntentDone))})
}

// putIntent is the write of an intent's item on a condition.
func (l Launches) putIntent(intent model.Intent, condition string, values item) (*types.Put, error) {
	entry := key(clusterPK(intent.Cluster), intentSK+intent.ID)
	entry["state"] = text(string(intent.State))
	if err := encodePacked(entry, "intent "+intent.ID, intent); err != nil {
		return nil, err
	}
	return l.put(entry, condition, values), nil
}

// Recount writes a pool's usage anew under the fence, on condition of its version. A row that cannot be read has none,
// and stays as it is.
func (l Launches) Recount(ctx context.Context, fence model.Fence, usage model.Usage) error {
	entry := key(clusterPK(fence.Cluster), usageSK+usage.Pool)
	for name, amount := range usage.Reserved {
		entry[resourcePrefix+name] = number(amount)
	}
	put := l.putNext(entry, "v", usage.Version, nothingIsThere)
	err := l.writeFenced(ctx, fence, put, "recount the usage of NodePool %s", usage.Pool)
	if refused(canceled(err), 1) {
		return fault.New(fault.Conflict, "UsageChanged", "the usage of NodePool %s is not at version %d any more",
			usage.Pool, usage.Version)
	}
	return err
}

// Remember replaces the planner's notes under the fence.
func (l Launches) Remember(ctx context.Context, fence model.Fence, notes model.Notes) error {
	entry, err := withDoc(key(clusterPK(fence.Cluster), notesSK), "notes of cluster "+fence.Cluster, notes)
	if err != nil {
		return err
	}
	return l.writeFenced(ctx, fence, l.put(entry, "", nil), "store notes of cluster %s", fence.Cluster)
}
