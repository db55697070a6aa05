package dynamoledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// instanceIndex finds claims by the id of their instance, whatever their cluster. It holds keys only, and those of claims
// that have an instance only.
const instanceIndex = "byInstance"

// How ids are looked up.
const (
	findParallel = 16 // ids at once
	findBatch    = 100
)

// ByInstance returns the claims that have one of the instances, by cluster and name. The index is read eventually
// consistently, as indexes are; what it names is then read consistently, also where a claim has left its place for being gone. The time is DynamoDB's own, of the first answer.
func (l *Ledger) ByInstance(ctx context.Context, ids []string) ([]model.FoundClaim, int64, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	keys, at, err := l.keysOf(ctx, ids)
	if err != nil {
		return nil, 0, err
	}
	var found []model.FoundClaim
	for batch := range slices.Chunk(keys, findBatch) {
		items, readAt, err := l.batchGet(ctx, batch)
		if err != nil {
			return nil, 0, err
		}
		if readAt.Before(at) {
			at = readAt
		}
		moved, err := l.moved(ctx, batch, items)
		if err != nil {
			return nil, 0, err
		}
		items = append(items, moved...)
		for _, entry := range items {
			claim := model.FoundClaim{Cluster: clusterOf(textOf(entry, "PK"))}
			if claim.Claim, err = claimOf(entry); err != nil {
				continue // whoever reads its cluster says so
			}
			if _, asked := slices.BinarySearch(ids, claim.Claim.InstanceID); asked && claim.Cluster != "" {
				found = append(found, claim)
			}
		}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := &found[i], &found[j]
		if a.Cluster != b.Cluster {
			return a.Cluster < b.Cluster
		}
		return a.Claim.Name < b.Claim.Name
	})
	return found, at.Unix(), nil
}

// moved returns the claims that were not found under their keys because they are gone since the index was written.
func (l *Ledger) moved(ctx context.Context, keys, found []item) ([]item, error) {
	there := map[[2]string]bool{}
	for _, entry := range found {
		there[[2]string{textOf(entry, "PK"), textOf(entry, "SK")}] = true
	}
	missing := map[string][]string{} // names by cluster
	for _, key := range keys {
		if pk, sk := textOf(key, "PK"), textOf(key, "SK"); !there[[2]string{pk, sk}] && strings.HasPrefix(sk, claimSK) {
			missing[clusterOf(pk)] = append(missing[clusterOf(pk)], nameOfClaim(sk))
		}
	}
	var out []item
	for _, cluster := range slices.Sorted(maps.Keys(missing)) {
		entries, err := l.gone(ctx, cluster, missing[cluster])
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if !there[[2]string{textOf(entry, "PK"), textOf(entry, "SK")}] { // the index may have both keys for a moment
				out = append(out, entry)
			}
		}
	}
	return out, nil
}

// keysOf asks the index for the keys of the claims of each id, some at once, and returns them with the earliest time of an
// answer.
func (l *Ledger) keysOf(ctx context.Context, ids []string) ([]item, time.Time, error) {
	if len(ids) == 0 { // there is nothing to ask for but the time
		out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: key(registryPK, "-")})
		if err != nil {
			return nil, time.Time{}, translate(err, "read the ledger's time")
		}
		at, reported := awsmiddleware.GetServerTime(out.ResultMetadata)
		if !reported {
			return nil, at, errNoServerTime
		}
		return nil, at, nil
	}
	found := make([][]item, len(ids))
	times := make([]time.Time, len(ids))
	failures := make([]error, len(ids))
	slots := make(chan struct{}, findParallel)
	var group sync.WaitGroup
	for i, id := range ids {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			found[i], times[i], failures[i] = l.keysOfInstance(ctx, id)
		})
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, time.Time{}, err
	}
	return slices.Concat(found...), slices.MinFunc(times, time.Time.Compare), nil
}

func (l *Ledger) keysOfInstance(ctx context.Context, id string) (keys []item, at time.Time, err error) {
	pages := dynamodb.NewQueryPaginator(l.client, &dynamodb.QueryInput{
		TableName: &l.table, IndexName: aws.String(instanceIndex),
		KeyConditionExpression: aws.String("instanceId = :id"), ExpressionAttributeValues: item{":id": text(id)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, at, translate(err, "find the claim of instance %s", id)
		}
		if at.IsZero() {
			var reported bool
			if at, reported = awsmiddleware.GetServerTime(page.ResultMetadata); !reported {
				return nil, at, errNoServerTime
			}
		}
		for _, entry := range page.Items {
			keys = append(keys, item{"PK": entry["PK"], "SK": entry["SK"]})
		}
	}
	return keys, at, nil
}

// batchGet reads items consistently, whatever of them DynamoDB leaves for another call included. Items that are gone are
// left out.
func (l *Ledger) batchGet(ctx context.Context, keys []item) (items []item, at time.Time, err error) {
	const tries = 8
	for try := 0; len(keys) > 0; try++ {
		out, err := l.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{l.table: {Keys: keys, ConsistentRead: aws.Bool(true)}},
		})
		if err != nil {
			return nil, at, translate(err, "read %d items", len(keys))
		}
		if at.IsZero() {
			var reported bool
			if at, reported = awsmiddleware.GetServerTime(out.ResultMetadata); !reported {
				return nil, at, errNoServerTime
			}
		}
		items = append(items, out.Responses[l.table]...)
		left := out.UnprocessedKeys[l.table].Keys
		if len(left) == len(keys) && try >= tries {
			return nil, at, errPutOff
		}
		if keys = left; len(keys) > 0 {
			if err := pause(ctx, try); err != nil {
				return nil, at, err
			}
		}
	}
	return items, at, nil
}

// clusterOf returns whose partition a key is in, "" where it is no cluster's.
func clusterOf(pk string) string {
	rest, ok := strings.CutPrefix(pk, "C#")
	if !ok {
		return ""
	}
	cluster, _, _ := strings.Cut(rest, "#")
	return cluster
}
