package dynamoledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/shared/model"
)

// How long what is over is kept for people to look at.
const (
	keepGone   = 24 * time.Hour
	keepIntent = 24 * time.Hour
)

// Conditions of the writes of claims.
const (
	claimIsLive    = "#ver = :ver AND #state <> :gone"
	claimIsAt      = "#ver = :ver"
	claimOrGone    = "attribute_not_exists(PK) OR #ver = :ver AND #state = :gone"
	nothingIsThere = "attribute_not_exists(PK)"
)

// putClaim is the write of a claim's item on a condition, in which :ver is the version given and :gone the state Gone.
func (t *table) putClaim(cluster string, claim model.Claim, condition string, version int64) (*types.Put, error) {
	entry := key(claimPK(cluster, claim.Name), claimSK+claim.Name)
	entry["state"], entry["ver"], entry["intent"] = text(string(claim.State)), number(claim.Version), text(claim.Intent)
	if err := encodePacked(entry, "claim "+claim.Name, claim); err != nil {
		return nil, err
	}
	if claim.Pool == "" {
		entry[standalone] = number(1)
	}
	if claim.InstanceID != "" {
		entry["instanceId"] = text(claim.InstanceID)
	}
	var values item
	if condition != nothingIsThere {
		values = item{":ver": number(version)}
	}
	if strings.Contains(condition, ":gone") {
		values[":gone"] = text(string(model.Gone))
	}
	return t.put(entry, condition, values), nil
}

// putNextClaim is the write of a claim's next version on a condition about the one given.
func (t *table) putNextClaim(cluster string, claim model.Claim, condition string) (*types.Put, error) {
	claim.Version++
	return t.putClaim(cluster, claim, condition, claim.Version-1)
}

// end is the part of a transaction that moves a claim, as it is to be when it is gone, to its next version and to where
// claims are that are over, on a condition about the version given. The first of the writes is the one with the
// condition.
func (t *table) end(cluster string, claim model.Claim, condition string, atUnix int64) ([]types.TransactWriteItem,
	error) {
	put, err := t.putNextClaim(cluster, claim, condition)
	if err != nil {
		return nil, err
	}
	entry, pk := put.Item, claimPK(cluster, claim.Name)
	entry["ttl"] = number(atUnix + int64(keepGone/time.Second))
	if claim.Pool == "" {
		put.ReturnValuesOnConditionCheckFailure = returnOld
		return []types.TransactWriteItem{{Put: put}}, nil
	}
	writes := []types.TransactWriteItem{deletion(key(pk, claimSK+claim.Name), put), {Put: t.put(entry, "", nil)}}
	if claim.InstanceID == "" {
		entry["SK"] = text(goneSK + claim.Name)
		return writes, nil
	}
	entry["SK"] = text(endedTime(claim.GoneUnix) + "#" + claim.Name)
	name := key(pk, goneSK+claim.Name)
	name["state"], name["ver"], name["ttl"], name[endedAt] = entry["state"], entry["ver"], entry["ttl"], entry["SK"]
	return append(writes, types.TransactWriteItem{Put: t.put(name, "", nil)}), nil
}

// over reports whether what a transaction wanted to end, and did not find as it should be, is over already: found is
// what it met there.
func (t *table) over(ctx context.Context, found item, state, pk, sk string) bool {
	if len(found) > 0 {
		return textOf(found, "state") == state
	}
	entry, err := t.get(ctx, pk, sk)
	return err == nil && entry != nil
}

// gone reads the claims of these names that are over and left their places, in the order of the names. Others are left
// out.
func (t *table) gone(ctx context.Context, cluster string, names []string) ([]item, error) {
	const parallel = 8
	found := make([]item, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, name := range names {
		group.Go(func() (err error) {
			pk := claimPK(cluster, name)
			if found[i], err = t.get(ctx, pk, goneSK+name); err != nil || found[i] == nil {
				return err
			}
			if at := textOf(found[i], endedAt); at != "" {
				found[i], err = t.get(ctx, pk, at)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(entry item) bool { return entry == nil }), nil
}

// reservedBy sums what claims hold.
func reservedBy(claims []model.Claim) model.Resources {
	sum := model.Resources{}
	for _, claim := range claims {
		for name, amount := range claim.Reserved {
			sum[name] += amount
		}
	}
	return sum
}

// use changes a pool's usage by delta. With limits, it only commits while used + delta ≤ limit for every limited
// resource that delta takes more of.
func (t *table) use(cluster, pool string, delta, limits model.Resources) types.TransactWriteItem {
	update := &types.Update{
		TableName: &t.name, Key: key(clusterPK(cluster), usageSK+pool),
		ExpressionAttributeNames:  map[string]string{"#v": "v"},
		ExpressionAttributeValues: item{":one": number(1)},
	}
	adds, conditions := []string{"#v :one"}, []string{}
	for i, name := range slices.Sorted(maps.Keys(delta)) {
		attribute, value, room := fmt.Sprintf("#r%d", i), fmt.Sprintf(":d%d", i), fmt.Sprintf(":m%d", i)
		update.ExpressionAttributeNames[attribute] = resourcePrefix + name
		update.ExpressionAttributeValues[value] = number(delta[name])
		adds = append(adds, attribute+" "+value)
		if limit, limited := limits[name]; limited && delta[name] > 0 {
			update.ExpressionAttributeValues[room] = number(limit - delta[name])
			condition := attribute + " <= " + room
			if limit-delta[name] >= 0 {
				condition = "(attribute_not_exists(" + attribute + ") OR " + condition + ")"
			}
			conditions = append(conditions, condition)
		}
	}
	update.UpdateExpression = aws.String("ADD " + strings.Join(adds, ", "))
	if len(conditions) > 0 {
		update.ConditionExpression = aws.String(strings.Join(conditions, " AND "))
	}
	return types.TransactWriteItem{Update: update}
}
