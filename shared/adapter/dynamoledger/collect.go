package dynamoledger

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// casesSK is the sort key of what the collector remembers of a cluster.
const casesSK = "CASES"

// Records reads the cluster's claims and intents, the collector's state, the planner's notes, the classes' records and the
// commands, consistently; of the claims that are gone those of a day that had an instance, of which something may be left. Its time is DynamoDB's own, out of the answer's Date header, read before everything else: what it says
// is a moment when none of the rest was read yet.
func (l *Ledger) Records(ctx context.Context, reg model.Registration) (model.ClusterRecords, error) {
	records, err := l.cases(ctx, reg.Cluster)
	if err != nil {
		return model.ClusterRecords{}, err
	}
	const begins = "PK = :pk AND begins_with(SK, :sk)"
	parts := [][3]string{{clusterPK(reg.Cluster), begins, intentSK}, {clusterPK(reg.Cluster), begins, "CLASS#"}, {clusterPK(reg.Cluster), begins, commandSK}}
	for shard := range shards {
		parts = append(parts, [3]string{shardPK(reg.Cluster, shard), sortKeyBelow, afterAll})
	}
	pages := make([][]item, len(parts))
	failures := make([]error, len(parts)+1)
	var group sync.WaitGroup
	var notes []model.Unread
	group.Go(func() { _, notes, failures[len(parts)] = l.notes(ctx, reg.Cluster, &records.Notes) })
	for i, part := range parts {
		group.Add(1)
		go func() {
			defer group.Done()
			pages[i], _, failures[i] = l.queryAt(ctx, part[0], part[1], part[2])
		}()
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return model.ClusterRecords{}, err
	}
	for i := range pages {
		for _, entry := range pages[i] {
			if err := placeSurveyed(&records, entry); err != nil {
				records.Unread = append(records.Unread, unread(entry, err))
			}
		}
	}
	records.Claims = withoutEnded(records.Claims, slices.DeleteFunc(slices.Clone(records.Claims), func(c model.Claim) bool { return c.Live() }))
	records.Unread = append(records.Unread, notes...)
	sortUnread(records.Unread)
	sort.Slice(records.Claims, func(i, j int) bool { return records.Claims[i].Name < records.Claims[j].Name })
	return records, nil
}

// cases reads the collector's state and the time.
func (l *Ledger) cases(ctx context.Context, cluster string) (records model.ClusterRecords, err error) {
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &l.table, Key: key(clusterPK(cluster), casesSK), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return records, translate(err, "read the collector state of cluster %s", cluster)
	}
	at, ok := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !ok {
		return records, errNoServerTime
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

// notes reads what the planner remembers of a cluster. It returns when that was, by DynamoDB's clock, and the item where it cannot be
// read.
func (l *Ledger) notes(ctx context.Context, cluster string, into *model.Notes) (time.Time, []model.Unread, error) {
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &l.table, Key: key(clusterPK(cluster), "NOTES"), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return time.Time{}, nil, translate(err, "read the planner's notes of cluster %s", cluster)
	}
	at, reported := awsmiddleware.GetServerTime(out.ResultMetadata)
	if !reported {
		return time.Time{}, nil, errNoServerTime
	}
	if out.Item == nil {
		return at, nil, nil
	}
	if err := decodeWhole(out.Item, into); err != nil {
		return at, []model.Unread{unread(out.Item, err)}, nil
	}
	return at, nil, nil
}

// Ending reads the claims that are Draining or Terminating, which DynamoDB picks out, the commands and the planner's notes,
// consistently. Its time is that of the notes, which are read before the rest.
func (l *Ledger) Ending(ctx context.Context, reg model.Registration) (model.Ending, error) {
	var ending model.Ending
	at, notes, err := l.notes(ctx, reg.Cluster, &ending.Notes)
	if err != nil {
		return model.Ending{}, err
	}
	ending.NowUnix, ending.Unread = at.Unix(), notes
	pages := make([][]item, shards)
	var commands []item
	failures := make([]error, shards+1)
	var group sync.WaitGroup
	group.Go(func() { commands, failures[shards] = l.query(ctx, clusterPK(reg.Cluster), commandSK, true) })
	for shard := range shards {
		group.Go(func() { pages[shard], failures[shard] = l.ending(ctx, shardPK(reg.Cluster, shard)) })
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return model.Ending{}, err
	}
	for _, entry := range slices.Concat(pages...) {
		claim, err := claimOf(entry)
		if err != nil {
			ending.Unread = append(ending.Unread, unread(entry, err))
			continue
		}
		ending.Claims = append(ending.Claims, claim)
	}
	for _, entry := range commands {
		if ttl := numberOf(entry, "ttl"); ttl != 0 && ttl <= ending.NowUnix {
			continue
		}
		if err := placeCommand(&ending.Commands, entry); err != nil {
			ending.Unread = append(ending.Unread, unread(entry, err))
		}
	}
	sortUnread(ending.Unread)
	sort.Slice(ending.Claims, func(i, j int) bool { return ending.Claims[i].Name < ending.Claims[j].Name })
	return ending, nil
}

// ending returns a shard's claims that are to end.
func (l *Ledger) ending(ctx context.Context, pk string) ([]item, error) {
	items, _, err := l.queryPages(ctx, pk, &dynamodb.QueryInput{
		TableName: &l.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("PK = :pk AND begins_with(SK, :sk)"), FilterExpression: aws.String("#state IN (:draining, :terminating)"),
		ExpressionAttributeNames: map[string]string{"#state": "state"},
		ExpressionAttributeValues: item{
			":pk": text(pk), ":sk": text(claimSK), ":draining": text(string(model.Draining)), ":terminating": text(string(model.Terminating)),
		},
	})
	return items, err
}

func placeSurveyed(records *model.ClusterRecords, entry item) error {
	if ttl := numberOf(entry, "ttl"); ttl != 0 && ttl <= records.NowUnix {
		return nil
	}
	switch kind, _, _ := strings.Cut(textOf(entry, "SK"), "#"); kind {
	case "CLAIM", "ENDED":
		claim, err := claimOf(entry)
		if err != nil {
			return err
		}
		records.Claims = append(records.Claims, claim)
	case "INTENT":
		return placeIntent(&records.Intents, entry)
	case "CLASS":
		var record model.ClassRecord
		if err := decode(entry, &record); err != nil {
			return err
		}
		records.Classes = append(records.Classes, record) // by name, as the sort key has it
	case "COMMAND":
		return placeCommand(&records.Commands, entry) // by id
	}
	return nil
}

// PutCollectorState replaces the collector's state under the fence, on condition of its version.
func (l *Ledger) PutCollectorState(ctx context.Context, fence model.Fence, collector model.CollectorState) (model.CollectorState, error) {
	was := collector.Version
	next := collector
	next.Version++
	doc, err := encode("the collector state", next)
	if err != nil {
		return collector, err
	}
	entry := key(clusterPK(fence.Cluster), casesSK)
	entry["doc"], entry["ver"] = doc, number(next.Version)
	put := &types.Put{
		TableName: &l.table, Item: entry, ConditionExpression: aws.String("#ver = :ver"),
		ExpressionAttributeNames: map[string]string{"#ver": "ver"}, ExpressionAttributeValues: item{":ver": number(was)},
	}
	if was == 0 {
		put.ConditionExpression = aws.String("attribute_not_exists(#ver)")
		put.ExpressionAttributeValues = nil
	}
	err = l.transact(ctx, []types.TransactWriteItem{l.fenceHolds(fence), {Put: put}})
	if refused(canceled(err), 0) {
		return collector, lostLease(fence)
	}
	if err != nil {
		return collector, translate(err, "write the collector state at version %d", was)
	}
	return next, nil
}

// CloseClaim moves a claim to Gone under the fence, on condition of its version, and releases what it holds. A claim that
// is Gone already stays as it is.
func (l *Ledger) CloseClaim(ctx context.Context, fence model.Fence, claim model.Claim, atUnix int64) error {
	delta := model.Resources{}
	for name, amount := range claim.Reserved {
		delta[name] = -amount
	}
	was := claim.Version
	claim.State, claim.GoneUnix, claim.Reserved = model.Gone, atUnix, nil
	claim.Version++
	ends, err := l.end(fence.Cluster, claim, "#ver = :ver AND #state <> :gone", item{":ver": number(was), ":gone": text(string(model.Gone))}, atUnix+int64(keepGone/time.Second))
	if err != nil {
		return err
	}
	const leaseAt, claimAt = 0, 1
	writes := append([]types.TransactWriteItem{l.fenceHolds(fence)}, ends...)
	err = l.transact(ctx, append(writes, l.use(fence.Cluster, claim.Pool, delta, nil)))
	reasons := canceled(err)
	switch {
	case refused(reasons, leaseAt):
		return lostLease(fence)
	case refused(reasons, claimAt) && l.over(ctx, reasons[claimAt].Item, string(model.Gone), claimPK(fence.Cluster, claim.Name), goneSK+claim.Name):
		return nil
	}
	return translate(err, "close claim %s at version %d", claim.Name, was)
}

// Adopt writes a claim nobody recorded, and what it holds, under the fence. Where the very claim is there already nothing
// is left to do.
func (l *Ledger) Adopt(ctx context.Context, fence model.Fence, claim model.Claim) error {
	claim.Version = 1
	put, err := l.putClaim(fence.Cluster, claim, "attribute_not_exists(PK)", nil)
	if err != nil {
		return err
	}
	put.Put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	const leaseAt, claimAt, goneAt = 0, 1, 2
	err = l.transact(ctx, []types.TransactWriteItem{
		l.fenceHolds(fence), put, l.unused(claimPK(fence.Cluster, claim.Name), goneSK+claim.Name), l.use(fence.Cluster, claim.Pool, claim.Reserved, nil),
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
		return fault.New(fault.Conflict, "ClaimExists", "claim %s is recorded already, and differs", claim.Name)
	case refused(reasons, goneAt):
		return fault.New(fault.Conflict, "ClaimExists", "claim %s is recorded already, and is closed", claim.Name)
	}
	return translate(err, "adopt instance %s as claim %s", claim.InstanceID, claim.Name)
}
