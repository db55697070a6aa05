package dynamoledger

import (
	"context"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/model"
)

// instanceIndex finds claims by the id of their instance, whatever their cluster. It holds keys only, and those of
// claims that have an instance only.
const instanceIndex = "byInstance"

// How ids are looked up.
const (
	findParallel = 16 // ids at once
	findBatch    = 100
)

// ByInstance returns the claims that have one of the instances, by cluster and name. The index is read eventually
// consistently, as indexes are; what it names is then read consistently, also where a claim has left its place for
// being gone. The time is DynamoDB's own, of the first answer.
func (c Claims) ByInstance(ctx context.Context, ids []string) ([]model.FoundClaim, int64, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	keys, at, err := c.keysOf(ctx, ids)
	if err != nil {
		return nil, 0, err
	}
	var found []model.FoundClaim
	for batch := range slices.Chunk(keys, findBatch) {
		items, readAt, err := c.batchGet(ctx, batch)
		if err != nil {
			return nil, 0, err
		}
		if readAt.Before(at) {
			at = readAt
		}
		moved, err := c.moved(ctx, batch, items)
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
func (c Claims) moved(ctx context.Context, keys, found []item) ([]item, error) {
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
		entries, err := c.gone(ctx, cluster, missing[cluster])
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			// The index may have both keys for a moment.
			if !there[[2]string{textOf(entry, "PK"), textOf(entry, "SK")}] {
				out = append(out, entry)
			}
		}
	}
	return out, nil
}

// keysOf asks the index for the keys of the claims of each id, some at once, and returns them with the earliest time of
// an answer.
func (c Claims) keysOf(ctx context.Context, ids []string) ([]item, time.Time, error) {
	if len(ids) == 0 { // there is nothing to ask for but the time
		out, err := c.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &c.name, Key: key(registryPK, "-")})
		if err != nil {
			return nil, time.Time{}, translate(err, "read the ledger's time")
		}
		at, err := serverTime(out.ResultMetadata)
		return nil, at, err
	}
	found, times := make([][]item, len(ids)), make([]time.Time, len(ids))
	slots := make(chan struct{}, findParallel)
	todo := make([]func() error, len(ids))
	for i, id := range ids {
		todo[i] = func() (err error) {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i], times[i], err = c.keysOfInstance(ctx, id)
			return err
		}
	}
	if err := sideBySide(todo...); err != nil {
		return nil, time.Time{}, err
	}
	return slices.Concat(found...), slices.MinFunc(times, time.Time.Compare), nil
}

func (c Claims) keysOfInstance(ctx context.Context, id string) (keys []item, at time.Time, err error) {
	entries, at, err := c.queryPages(ctx, "the claim of instance "+id, &dynamodb.QueryInput{
		TableName: &c.name, IndexName: aws.String(instanceIndex),
		KeyConditionExpression: aws.String("instanceId = :id"), ExpressionAttributeValues: item{":id": text(id)},
	})
	for _, entry := range entries {
		keys = append(keys, item{"PK": entry["PK"], "SK": entry["SK"]})
	}
	return keys, at, err
}
