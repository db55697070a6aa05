package dynamoledger

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// MaxClaims is how many claims one intent may have: a transaction has 100 items, and Settle writes up to three for each and those beside them.
const MaxClaims = 25

// How long what is over is kept for people to look at.
const (
	keepGone   = 24 * time.Hour
	keepIntent = 24 * time.Hour
)

// Record writes intent, claims and what they hold in one transaction under the fence. Where the answer of an earlier try
// was lost and the very same intent is stored already, there is nothing left to do and no error.
func (l *Ledger) Record(ctx context.Context, fence model.Fence, intent model.Intent, claims []model.Claim, limits model.Resources) error {
	if len(claims) == 0 || len(claims) > MaxClaims {
		return fault.New(fault.Invalid, "", "intent %s has %d claims; 1 to %d are allowed", intent.ID, len(claims), MaxClaims)
	}
	put, err := l.putIntent(intent, "attribute_not_exists(PK)", nil)
	if err != nil {
		return err
	}
	put.Put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	const leaseAt, usageAt, intentAt, doneAt, claimsAt = 0, 1, 2, 3, 4
	writes := []types.TransactWriteItem{
		l.fenceHolds(fence), l.use(fence.Cluster, intent.Pool, reservedBy(claims), limits), put, l.unused(clusterPK(intent.Cluster), doneSK+intent.ID),
	}
	for _, claim := range claims {
		put, err := l.recordClaim(fence.Cluster, claim)
		if err != nil {
			return err
		}
		writes = append(writes, put, l.unused(claimPK(fence.Cluster, claim.Name), goneSK+claim.Name))
	}
	err = l.transact(ctx, writes)
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return lostLease(fence)
	case refused(reasons, intentAt) && sameDoc(reasons[intentAt].Item, writes[intentAt].Put.Item):
		return nil
	case refused(reasons, intentAt), refused(reasons, doneAt):
		return fault.New(fault.Conflict, "IntentExists", "intent %s is recorded already, and differs", intent.ID)
	case refused(reasons, usageAt):
		return fault.New(fault.Exhausted, "LimitReached", "spec.limits of NodePool %s leaves too little for %d more claims", intent.Pool, len(claims))
	}
	for i := range claims {
		if refused(reasons, claimsAt+2*i) || refused(reasons, claimsAt+2*i+1) {
			return fault.New(fault.Conflict, "ClaimExists", "claim %s is recorded already", claims[i].Name)
		}
	}
	return translate(err, "record intent %s", intent.ID)
}

// recordClaim is the write of a new claim. One above version 1 takes the place of a gone one of its name, as that was read.
func (l *Ledger) recordClaim(cluster string, claim model.Claim) (types.TransactWriteItem, error) {
	if claim.Version <= 1 {
		return l.putClaim(cluster, claim, "attribute_not_exists(PK)", nil)
	}
	return l.putClaim(cluster, claim, "attribute_not_exists(PK) OR #ver = :ver AND #state = :gone", item{":ver": number(claim.Version - 1), ":gone": text(string(model.Gone))})
}

// Calling notes another attempt of an open intent under the fence.
func (l *Ledger) Calling(ctx context.Context, fence model.Fence, intent model.Intent) error {
	intent.State = model.IntentCalling
	put, err := l.putIntent(intent, "attribute_exists(PK) AND #state <> :done", item{":done": text(string(model.IntentDone))})
	if err != nil {
		return err
	}
	err = l.transact(ctx, []types.TransactWriteItem{l.fenceHolds(fence), put})
	if refused(canceled(err), 0) {
		return lostLease(fence)
	}
	return translate(err, "record attempt %d of intent %s", intent.Attempt, intent.ID)
}

// Settle writes an outcome under the fence: claims launched or gone, what they hold brought down to what they took, the
// intent done. An intent that is done already stays as it is.
func (l *Ledger) Settle(ctx context.Context, fence model.Fence, outcome model.Settlement) error {
	intent := outcome.Intent
	intent.State = model.IntentDone
	done, err := l.putIntent(intent, "attribute_exists(PK) AND #state <> :done", item{":done": text(string(model.IntentDone))})
	if err != nil {
		return err
	}
	open := &types.Delete{
		TableName: &l.table, Key: key(clusterPK(intent.Cluster), intentSK+intent.ID), ConditionExpression: done.Put.ConditionExpression,
		ExpressionAttributeNames: done.Put.ExpressionAttributeNames, ExpressionAttributeValues: done.Put.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	done.Put.Item["SK"], done.Put.Item["ttl"] = text(doneSK+intent.ID), number(outcome.AtUnix+int64(keepIntent.Seconds()))

	const leaseAt, intentAt = 0, 1
	writes := []types.TransactWriteItem{l.fenceHolds(fence), {Delete: open}, {Put: &types.Put{TableName: &l.table, Item: done.Put.Item}}}
	delta := model.Resources{}
	for _, claim := range outcome.Launched {
		took := claim.Consumed()
		for name, amount := range claim.Reserved {
			if took[name] != amount {
				delta[name] += took[name] - amount
			}
		}
		claim.Reserved = took
		if writes, err = l.settleClaim(writes, fence.Cluster, claim); err != nil {
			return err
		}
	}
	for _, claim := range outcome.Failed {
		for name, amount := range claim.Reserved {
			delta[name] -= amount
		}
		claim.Reserved = nil
		was := claim.Version
		claim.Version++
		ends, err := l.end(fence.Cluster, claim, "#ver = :ver", item{":ver": number(was)}, outcome.AtUnix+int64(keepGone.Seconds()))
		if err != nil {
			return err
		}
		writes = append(writes, ends...)
	}
	writes = append(writes, l.use(fence.Cluster, intent.Pool, delta, nil))
	err = l.transact(ctx, writes)
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return lostLease(fence)
	case refused(reasons, intentAt) && l.over(ctx, reasons[intentAt].Item, string(model.IntentDone), clusterPK(intent.Cluster), doneSK+intent.ID):
		return nil
	}
	return translate(err, "settle intent %s", intent.ID)
}

func (l *Ledger) settleClaim(writes []types.TransactWriteItem, cluster string, claim model.Claim) ([]types.TransactWriteItem, error) {
	was := claim.Version
	claim.Version++
	put, err := l.putClaim(cluster, claim, "#ver = :ver", item{":ver": number(was)})
	if err != nil {
		return nil, err
	}
	return append(writes, put), nil
}

// Advance writes a live claim on condition of its version.
func (l *Ledger) Advance(ctx context.Context, cluster string, claim model.Claim) (model.Claim, error) {
	was := claim.Version
	claim.Version++
	put, err := l.putClaim(cluster, claim, "#ver = :ver AND #state <> :gone", item{":ver": number(was), ":gone": text(string(model.Gone))})
	if err != nil {
		return claim, err
	}
	_, err = l.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: put.Put.TableName, Item: put.Put.Item, ConditionExpression: put.Put.ConditionExpression,
		ExpressionAttributeNames: put.Put.ExpressionAttributeNames, ExpressionAttributeValues: put.Put.ExpressionAttributeValues,
	})
	if err != nil {
		claim.Version = was
	}
	return claim, translate(err, "write claim %s at version %d", claim.Name, was)
}

// standalone is the attribute of claims of no pool.
const standalone = "standalone"

// putIntent is the write of an intent's item on a condition that may name #state.
func (l *Ledger) putIntent(intent model.Intent, condition string, values item) (types.TransactWriteItem, error) {
	entry := key(clusterPK(intent.Cluster), intentSK+intent.ID)
	entry["state"] = text(string(intent.State))
	if err := encodePacked(entry, "intent "+intent.ID, intent); err != nil {
		return types.TransactWriteItem{}, err
	}
	put := &types.Put{TableName: &l.table, Item: entry, ConditionExpression: aws.String(condition), ExpressionAttributeValues: values}
	if values != nil {
		put.ExpressionAttributeNames = map[string]string{"#state": "state"}
	}
	return types.TransactWriteItem{Put: put}, nil
}

// putClaim is the write of a claim's item on a condition that may name #ver and #state.
func (l *Ledger) putClaim(cluster string, claim model.Claim, condition string, values item) (types.TransactWriteItem, error) {
	entry := key(claimPK(cluster, claim.Name), claimSK+claim.Name)
	entry["state"], entry["ver"], entry["intent"] = text(string(claim.State)), number(claim.Version), text(claim.Intent)
	if err := encodePacked(entry, "claim "+claim.Name, claim); err != nil {
		return types.TransactWriteItem{}, err
	}
	if claim.Pool == "" {
		entry[standalone] = number(1)
	}
	if claim.InstanceID != "" {
		entry["instanceId"] = text(claim.InstanceID)
	}
	put := &types.Put{TableName: &l.table, Item: entry, ConditionExpression: aws.String(condition), ExpressionAttributeValues: values}
	if values != nil {
		put.ExpressionAttributeNames = map[string]string{"#ver": "ver"}
		if _, speaks := values[":gone"]; speaks {
			put.ExpressionAttributeNames["#state"] = "state"
		}
	}
	return types.TransactWriteItem{Put: put}, nil
}
