package dynamoledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/shared/model"
)

// What is over is kept for a day and read by nobody but who asks for it by name, so it is moved, in the transaction that ends it, behind
// what every run reads of its partition. Reads end before it, and cost nothing for it.
//
// A claim's partition is in this order: CLAIM#, the claims that are live; ENDED#, those that had an instance and are gone, the latest first; ~CLAIM#,
// the name of every one that is gone. Queries read in the order of keys: a claim that is closed meanwhile is met live, or gone, or both, and
// never missed. Claims of no pool stay where they are, since their names are asked for again on condition of the version they had.
const (
	claimSK      = "CLAIM#"
	endedSK      = "ENDED#"
	goneSK       = "~CLAIM#"
	intentSK     = "INTENT#"
	doneSK       = "~INTENT#"
	afterAll     = "~" // keys that begin with it are read by nobody who reads a partition
	endedAt      = "at"
	lastUnix     = 9_999_999_999
	endedFor     = 3600 // seconds for which Load has the instances that ended
	clockSlack   = 900  // seconds that a clock may be wrong by. AWS refuses requests signed by one that is further off: Signature Version 4, "Elements of an AWS API request signature".
	goneParallel = 8
	sortKeyBelow = "PK = :pk AND SK < :sk"
)

// endedKey is the sort key under which a claim is kept that had an instance and ended at a time.
func endedKey(name string, goneUnix int64) string { return endedTime(goneUnix) + "#" + name }

// endedTime begins the sort keys of what ended at a time; later times sort first.
func endedTime(unix int64) string {
	return fmt.Sprintf("%s%010d", endedSK, lastUnix-min(max(unix, 0), lastUnix))
}

// endedSince ends the range of sort keys of live claims and those that ended at a time or later.
func endedSince(unix int64) string { return endedTime(unix) + "$" }

// nameOfClaim returns whose item a sort key is: CLAIM#<name>, ~CLAIM#<name> or ENDED#<time>#<name>.
func nameOfClaim(sk string) string {
	kind, name, _ := strings.Cut(sk, "#")
	if kind+"#" == endedSK {
		_, name, _ = strings.Cut(name, "#")
	}
	return name
}

// end is the part of a transaction that moves a claim, as it is to be when it is gone, to where claims are that are over. condition holds for what
// is stored of it now, with the values and the names it needs. The first of the writes is the one with the condition.
func (l *Ledger) end(cluster string, claim model.Claim, condition string, values item, ttlUnix int64) ([]types.TransactWriteItem, error) {
	put, err := l.putClaim(cluster, claim, condition, values)
	if err != nil {
		return nil, err
	}
	put.Put.Item["ttl"] = number(ttlUnix)
	put.Put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	if claim.Pool == "" {
		return []types.TransactWriteItem{put}, nil
	}
	entry, pk := put.Put.Item, claimPK(cluster, claim.Name)
	writes := []types.TransactWriteItem{{Delete: &types.Delete{
		TableName: &l.table, Key: key(pk, claimSK+claim.Name), ConditionExpression: put.Put.ConditionExpression,
		ExpressionAttributeNames: put.Put.ExpressionAttributeNames, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}, {Put: &types.Put{TableName: &l.table, Item: entry}}}
	if claim.InstanceID == "" {
		entry["SK"] = text(goneSK + claim.Name)
		return writes, nil
	}
	entry["SK"] = text(endedKey(claim.Name, claim.GoneUnix))
	name := key(pk, goneSK+claim.Name)
	name["state"], name["ver"], name["ttl"], name[endedAt] = entry["state"], entry["ver"], entry["ttl"], entry["SK"]
	return append(writes, types.TransactWriteItem{Put: &types.Put{TableName: &l.table, Item: name}}), nil
}

// unused is the part of a transaction that lets it commit only where nothing over has the key.
func (l *Ledger) unused(pk, sk string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &l.table, Key: key(pk, sk), ConditionExpression: aws.String("attribute_not_exists(PK)"),
	}}
}

// over reports whether what a transaction wanted to end, and did not find as it should be, is over already: found is what it met there.
func (l *Ledger) over(ctx context.Context, found item, state, pk, sk string) bool {
	if len(found) > 0 {
		return textOf(found, "state") == state
	}
	entry, err := l.get(ctx, pk, sk)
	return err == nil && entry != nil
}

// get reads an item consistently; nil where there is none.
func (l *Ledger) get(ctx context.Context, pk, sk string) (item, error) {
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: key(pk, sk), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, translate(err, "read item %s %s", pk, sk)
	}
	return out.Item, nil
}

// gone reads the claims of these names that are over and left their places, in the order of the names. Others are left out.
func (l *Ledger) gone(ctx context.Context, cluster string, names []string) ([]item, error) {
	found := make([]item, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(goneParallel)
	for i, name := range names {
		group.Go(func() (err error) {
			pk := claimPK(cluster, name)
			if found[i], err = l.get(ctx, pk, goneSK+name); err != nil || found[i] == nil {
				return err
			}
			if at := textOf(found[i], endedAt); at != "" {
				found[i], err = l.get(ctx, pk, at)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(entry item) bool { return entry == nil }), nil
}

// loadSpent adds the claims that are gone, of the names of open commands' replacements that nothing is known of so far.
func (l *Ledger) loadSpent(ctx context.Context, cluster string, ledger *model.Ledger) error {
	known := map[string]bool{}
	for _, claims := range [][]model.Claim{ledger.Claims, ledger.Spent} {
		for i := range claims {
			known[claims[i].Name] = true
		}
	}
	var names []string
	for i := range ledger.Commands {
		for j := range ledger.Commands[i].Replacements {
			name := ledger.Commands[i].Replacements[j].Name
			if !ledger.Commands[i].State.Open() || known[name] || ledger.Unread.Has(model.UnreadClaim, name) {
				continue
			}
			known[name] = true
			names = append(names, name)
		}
	}
	entries, err := l.gone(ctx, cluster, names)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if ttl := numberOf(entry, "ttl"); ttl != 0 && ttl <= ledger.NowUnix {
			continue
		}
		claim, err := claimOf(entry)
		if err != nil {
			ledger.Unread = append(ledger.Unread, unread(entry, err))
			continue
		}
		ledger.Spent = append(ledger.Spent, claim)
	}
	return nil
}

// withoutEnded returns the live claims less those that ended while they were read.
func withoutEnded(live, ended []model.Claim) []model.Claim {
	if len(ended) == 0 {
		return live
	}
	last := make(map[string]*model.Claim, len(ended))
	for i := range ended {
		last[ended[i].Name] = &ended[i]
	}
	return slices.DeleteFunc(live, func(claim model.Claim) bool {
		gone := last[claim.Name]
		return gone != nil && claim.Live() && gone.Intent == claim.Intent && gone.Version > claim.Version
	})
}

// Clock has a ledger tell by now which instances ended lately enough to be read; the system's clock does without it.
func Clock(now func() time.Time) func(*Ledger) { return func(l *Ledger) { l.now = now } }
