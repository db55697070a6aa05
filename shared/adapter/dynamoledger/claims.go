package dynamoledger

import (
	"context"
	"slices"
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Claims are what everybody reads of a cluster, and the steps of live claims.
type Claims struct{ *table }

const (
	endedFor = 3600 // seconds for which Load has the instances that ended

	// clockSlack is how many seconds a clock may be wrong by. AWS refuses requests signed by one that is further off:
	// Signature Version 4, "Elements of an AWS API request signature".
	clockSlack = 900
)

// Load reads the cluster's partition, its claims, its watcher's manifest and what its account and region share side by
// side, consistently. Of what is over it reads the instances that ended within the hour, and what open commands'
// replacements became that are not among these.
func (c Claims) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	lately := endedSince(c.now().Unix() - endedFor - clockSlack)
	parts := []part{
		{clusterPK(reg.Cluster), sortKeyBelow, afterAll},
		{regionPK(reg.Account, reg.Region), sortKeyBelow, afterAll},
	}
	for shard := range shards {
		parts = append(parts, part{shardPK(reg.Cluster, shard), sortKeyBelow, lately})
	}
	// Of the watcher's partition one item, whatever else its watcher may have written there.
	parts = append(parts, part{watchPK(reg.Cluster), sortKeyIs, manifestSK})
	pages, times, err := c.queryParts(ctx, parts)
	if err != nil {
		return model.Ledger{}, err
	}
	last := len(parts) - 1
	ledger := model.Ledger{NowUnix: slices.MinFunc(times, time.Time.Compare).Unix()}
	for _, entry := range pages[last] {
		setManifest(&ledger, reg.Cluster, entry)
	}
	for _, entry := range slices.Concat(pages[:last]...) {
		if err := place(&ledger, entry, ledger.NowUnix); err != nil {
			ledger.Unread = append(ledger.Unread, unread(entry, err))
			salvage(&ledger, entry)
		}
	}
	ledger.Claims = withoutEnded(ledger.Claims, ledger.Ended)
	if err := c.loadSpent(ctx, reg.Cluster, &ledger); err != nil {
		return model.Ledger{}, err
	}
	sortUnread(ledger.Unread)
	model.SortStops(ledger.Stops)
	ledger.Spent = model.SpentOf(ledger.Spent, ledger.Commands)
	for _, claims := range [][]model.Claim{ledger.Claims, ledger.Ended, ledger.FormerClaims, ledger.Spent} {
		sort.Slice(claims, func(i, j int) bool { return claims[i].Name < claims[j].Name })
	}
	return ledger, nil
}

// loadSpent adds the claims that are gone, of the names of open commands' replacements that nothing is known of so far.
func (c Claims) loadSpent(ctx context.Context, cluster string, ledger *model.Ledger) error {
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
	entries, err := c.gone(ctx, cluster, names)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if expired(entry, ledger.NowUnix) {
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

// Peek reads the watcher's manifest and the disruption function's notes in one consistent read of two items. The time
// is DynamoDB's own.
func (c Claims) Peek(ctx context.Context, cluster string) (*model.Manifest, model.DisruptNotes, int64, error) {
	items, at, err := c.batchGet(ctx,
		[]item{key(watchPK(cluster), manifestSK), key(clusterPK(cluster), disruptNotesSK)})
	if err != nil {
		return nil, model.DisruptNotes{}, 0, err
	}
	var seen model.Ledger
	for _, entry := range items {
		if textOf(entry, "SK") == manifestSK {
			setManifest(&seen, cluster, entry)
			continue
		}
		if err := place(&seen, entry, at.Unix()); err != nil { // Load says so
			salvage(&seen, entry)
		}
	}
	return seen.Manifest, seen.Disrupt, at.Unix(), nil
}

// Advance writes a live claim on condition of its version.
func (c Claims) Advance(ctx context.Context, cluster string, claim model.Claim) (model.Claim, error) {
	put, err := c.putNextClaim(cluster, claim, claimIsLive)
	if err != nil {
		return claim, err
	}
	if err := c.write(ctx, put); err != nil {
		return claim, translate(err, "write claim %s at version %d", claim.Name, claim.Version)
	}
	claim.Version++
	return claim, nil
}
