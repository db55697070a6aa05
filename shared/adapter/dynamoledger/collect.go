package dynamoledger

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Collector is what ends claims and clusters: what there is of a cluster, what of it is to end, and its last steps.
type Collector struct{ *table }

// Records reads the cluster's claims and intents, the collector's state, the planner's notes, the classes' records and
// the commands, consistently; of the claims that are gone those of a day that had an instance, of which something may
// be left. Its time is DynamoDB's own, out of the answer's Date header, read before everything else: what it says is a
// moment when none of the rest was read yet.
func (c Collector) Records(ctx context.Context, reg model.Registration) (model.ClusterRecords, error) {
	records, err := c.state(ctx, reg.Cluster)
	if err != nil {
		return model.ClusterRecords{}, err
	}
	pk := clusterPK(reg.Cluster)
	parts := []part{{pk, sortKeyBegins, intentSK}, {pk, sortKeyBegins, classSK}, {pk, sortKeyBegins, commandSK}}
	for shard := range shards {
		parts = append(parts, part{shardPK(reg.Cluster, shard), sortKeyBelow, afterAll})
	}
	var pages [][]item
	var notes []model.Unread
	err = sideBySide(
		func() (err error) { pages, _, err = c.queryParts(ctx, parts); return err },
		func() (err error) { _, notes, err = c.notes(ctx, reg.Cluster, &records.Notes); return err },
	)
	if err != nil {
		return model.ClusterRecords{}, err
	}
	for _, entry := range slices.Concat(pages...) {
		if err := placeSurveyed(&records, entry); err != nil {
			records.Unread = append(records.Unread, unread(entry, err))
		}
	}
	ended := slices.DeleteFunc(slices.Clone(records.Claims), func(c model.Claim) bool { return c.Live() })
	records.Claims = withoutEnded(records.Claims, ended)
	records.Unread = append(records.Unread, notes...)
	sortUnread(records.Unread)
	sort.Slice(records.Claims, func(i, j int) bool { return records.Claims[i].Name < records.Claims[j].Name })
	return records, nil
}

// state reads the collector's state and the time.
func (c Collector) state(ctx context.Context, cluster string) (records model.ClusterRecords, err error) {
	out, err := c.getItem(ctx, key(clusterPK(cluster), collectorSK))
	if err != nil {
		return records, translate(err, "read the collector state of cluster %s", cluster)
	}
	at, err := serverTime(out.ResultMetadata)
	if err != nil {
		return records, err
	}
	records.NowUnix = at.Unix()
	if out.Item == nil {
		return records, nil
	}
	if err := decodeWhole(out.Item, &records.Collector); err != nil { // it begins anew
		records.Unread = append(records.Unread, unread(out.Item, err))
	}
	records.Collector.Version = numberOf(out.Item, "ver")
	return records, nil
}

// notes reads what the planner remembers of a cluster. It returns when that was, by DynamoDB's clock, and the item
// where it cannot be read.
func (c Collector) notes(ctx context.Context, cluster string, into *model.Notes) (time.Time, []model.Unread, error) {
	out, err := c.getItem(ctx, key(clusterPK(cluster), notesSK))
	if err != nil {
		return time.Time{}, nil, translate(err, "read the planner's notes of cluster %s", cluster)
	}
	at, err := serverTime(out.ResultMetadata)
	if err != nil || out.Item == nil {
		return at, nil, err
	}
	if err := decodeWhole(out.Item, into); err != nil {
		return at, []model.Unread{unread(out.Item, err)}, nil
	}
	return at, nil, nil
}

// Ending reads the claims that are Draining or Terminating, which DynamoDB picks out, the commands and the planner's
// notes, consistently. Its time is that of the notes, which are read before the rest.
func (c Collector) Ending(ctx context.Context, reg model.Registration) (model.DrainInput, error) {
	var input model.DrainInput
	at, notes, err := c.notes(ctx, reg.Cluster, &input.Notes)
	if err != nil {
		return model.DrainInput{}, err
	}
	input.NowUnix, input.Unread = at.Unix(), notes
	claims, commands := make([][]item, shards), []item(nil)
	todo := make([]func() error, shards+1)
	for shard := range claims {
		todo[shard] = func() (err error) { claims[shard], err = c.ending(ctx, shardPK(reg.Cluster, shard)); return err }
	}
	todo[shards] = func() (err error) {
		commands, err = c.query(ctx, clusterPK(reg.Cluster), commandSK, true)
		return err
	}
	if err := sideBySide(todo...); err != nil {
		return model.DrainInput{}, err
	}
	for _, entry := range slices.Concat(claims...) {
		claim, err := claimOf(entry)
		if err != nil {
			input.Unread = append(input.Unread, unread(entry, err))
			continue
		}
		input.Claims = append(input.Claims, claim)
	}
	for _, entry := range commands {
		if expired(entry, input.NowUnix) {
			continue
		}
		if err := placeCommand(&input.Commands, entry); err != nil {
			input.Unread = append(input.Unread, unread(entry, err))
		}
	}
	sortUnread(input.Unread)
	sort.Slice(input.Claims, func(i, j int) bool { return input.Claims[i].Name < input.Claims[j].Name })
	return input, nil
}

// ending returns a shard's claims that are to end.
func (c Collector) ending(ctx context.Context, pk string) ([]item, error) {
	filter := "#state IN (:draining, :terminating)"
	items, _, err := c.queryPages(ctx, "partition "+pk, &dynamodb.QueryInput{
		TableName: &c.name, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String(sortKeyBegins), FilterExpression: &filter,
		ExpressionAttributeNames: attributes(filter),
		ExpressionAttributeValues: item{
			":pk": text(pk), ":sk": text(claimSK),
			":draining": text(string(model.Draining)), ":terminating": text(string(model.Terminating)),
		},
	})
	return items, err
}

// PutCollectorState replaces the collector's state under the fence, on condition of its version.
func (c Collector) PutCollectorState(ctx context.Context, fence model.Fence,
	state model.CollectorState) (model.CollectorState, error) {
	next := state
	next.Version++
	entry, err := withDoc(key(clusterPK(fence.Cluster), collectorSK), "the collector state", next)
	if err != nil {
		return state, err
	}
	put := c.putNext(entry, "ver", state.Version, "attribute_not_exists(#ver)")
	if err := c.writeFenced(ctx, fence, put, "write the collector state at version %d", state.Version); err != nil {
		return state, err
	}
	return next, nil
}

// CloseClaim moves a claim to Gone under the fence, on condition of its version, and releases what it holds. A claim
// that is Gone already stays as it is.
func (c Collector) CloseClaim(ctx context.Context, fence model.Fence, claim model.Claim, atUnix int64) error {
	delta := model.Resources{}
	for name, amount := range claim.Reserved {
		delta[name] = -amount
	}
	claim.State, claim.GoneUnix, claim.Reserved = model.Gone, atUnix, nil
	ends, err := c.end(fence.Cluster, claim, claimIsLive, atUnix)
	if err != nil {
		return err
	}
	const leaseAt, claimAt = 0, 1
	writes := append([]types.TransactWriteItem{c.fenceHolds(fence)}, ends...)
	err = c.transact(ctx, append(writes, c.use(fence.Cluster, claim.Pool, delta, nil)))
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return lostLease(fence)
	case refused(reasons, claimAt) &&
		c.over(ctx, reasons[claimAt].Item, string(model.Gone), claimPK(fence.Cluster, claim.Name), goneSK+claim.Name):
		return nil
	}
	return translate(err, "close claim %s at version %d", claim.Name, claim.Version)
}

// Adopt writes a claim nobody recorded, and what it holds, under the fence. Where the very claim is there already
// nothing is left to do.
func (c Collector) Adopt(ctx context.Context, fence model.Fence, claim model.Claim) error {
	claim.Version = 1
	put, err := c.putClaim(fence.Cluster, claim, nothingIsThere, 0)
	if err != nil {
		return err
	}
	put.ReturnValuesOnConditionCheckFailure = returnOld
	const leaseAt, claimAt, goneAt = 0, 1, 2
	err = c.transact(ctx, []types.TransactWriteItem{
		c.fenceHolds(fence), {Put: put}, c.unused(claimPK(fence.Cluster, claim.Name), goneSK+claim.Name),
		c.use(fence.Cluster, claim.Pool, claim.Reserved, nil),
	})
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return lostLease(fence)
	case refused(reasons, claimAt):
		there := reasons[claimAt].Item
		if textOf(there, "instanceId") == claim.InstanceID && textOf(there, "state") != string(model.Gone) {
			return nil
		}
		return fault.New(fault.Conflict, claimExists, "claim %s is recorded already, and differs", claim.Name)
	case refused(reasons, goneAt):
		return fault.New(fault.Conflict, claimExists, "claim %s is recorded already, and is closed", claim.Name)
	}
	return translate(err, "adopt instance %s as claim %s", claim.InstanceID, claim.Name)
}
