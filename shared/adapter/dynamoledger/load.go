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

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Load reads the cluster's partition, its claims, its watcher's manifest and what its account and region share side by side, consistently. Of
// what is over it reads the instances that ended within the hour, and what open commands' replacements became that are not among these.
func (l *Ledger) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	partitions := [][2]string{{clusterPK(reg.Cluster), afterAll}, {regionPK(reg.Account, reg.Region), afterAll}} // with what their sort keys are below
	lately := endedSince(l.now().Unix() - endedFor - clockSlack)
	for shard := range shards {
		partitions = append(partitions, [2]string{shardPK(reg.Cluster, shard), lately})
	}
	const manifest = 1 // beside the partitions
	pages := make([][]item, len(partitions)+manifest)
	times := make([]time.Time, len(pages))
	failures := make([]error, len(pages))
	var group sync.WaitGroup
	group.Go(func() {
		last := len(partitions)
		pages[last], times[last], failures[last] = l.readManifest(ctx, reg.Cluster)
	})
	for i, part := range partitions {
		group.Add(1)
		go func() {
			defer group.Done()
			pages[i], times[i], failures[i] = l.queryAt(ctx, part[0], sortKeyBelow, part[1])
		}()
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return model.Ledger{}, err
	}
	ledger := model.Ledger{NowUnix: slices.MinFunc(times, time.Time.Compare).Unix()}
	for _, entry := range pages[len(partitions)] {
		setManifest(&ledger, reg.Cluster, entry)
	}
	for i := range partitions {
		for _, entry := range pages[i] {
			if err := place(&ledger, entry, ledger.NowUnix); err != nil {
				ledger.Unread = append(ledger.Unread, unread(entry, err))
				salvage(&ledger, entry)
			}
		}
	}
	ledger.Claims = withoutEnded(ledger.Claims, ledger.Ended)
	if err := l.loadSpent(ctx, reg.Cluster, &ledger); err != nil {
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

// place puts one item where it belongs. Expired ones are dropped: DynamoDB deletes them only some days later. Only claims of no
// pool count until then, since their names may be asked for again and are in use.
func place(ledger *model.Ledger, entry item, nowUnix int64) error {
	if ttl := numberOf(entry, "ttl"); ttl != 0 && ttl <= nowUnix && numberOf(entry, standalone) == 0 {
		return nil
	}
	sk := textOf(entry, "SK")
	kind, rest, _ := strings.Cut(sk, "#")
	switch kind {
	case "CLAIM", "ENDED":
		claim, err := claimOf(entry)
		if err != nil {
			return err
		}
		if claim.Live() {
			ledger.Claims = append(ledger.Claims, claim)
			return nil
		}
		if claim.EndedLately(nowUnix) {
			ledger.Ended = append(ledger.Ended, claim)
		}
		ledger.Spent = append(ledger.Spent, claim) // as yet: which of them are depends on all the commands
		if claim.Pool == "" {
			ledger.FormerClaims = append(ledger.FormerClaims, claim)
		}
	case "INTENT":
		return placeIntent(&ledger.Intents, entry)
	case "USE":
		usage, err := usageOf(rest, entry)
		if err != nil {
			return err
		}
		ledger.Usage = append(ledger.Usage, usage)
	case "MARK":
		var unavailable model.UnavailableOffering
		if err := decode(entry, &unavailable); err != nil {
			return err
		}
		ledger.UnavailableOfferings = append(ledger.UnavailableOfferings, unavailable)
	case allowanceSK:
		return decodeWhole(entry, &ledger.Allowance)
	case "CLASS":
		var record model.ClassRecord
		if err := decode(entry, &record); err != nil {
			return err
		}
		ledger.Classes = append(ledger.Classes, record) // by name, as the sort key has it
	case "NOTES":
		return decodeWhole(entry, &ledger.Notes)
	case "COMMAND":
		return placeCommand(&ledger.Commands, entry) // by id, as the sort key has it
	case "TURN":
		version, err := amountOf(entry, "ver")
		if err != nil {
			return err
		}
		ledger.BudgetVersions = append(ledger.BudgetVersions, model.BudgetVersion{Pool: rest, Version: version}) // by pool
	case stopSK:
		var stop model.Stop
		if err := decode(entry, &stop); err != nil {
			return err
		}
		ledger.Stops = append(ledger.Stops, stop)
	case disruptNotesSK:
		return decodeWhole(entry, &ledger.Disrupt)
	}
	return nil
}

// placeIntent adds an intent that is open.
func placeIntent(intents *[]model.Intent, entry item) error {
	if model.IntentState(textOf(entry, "state")) == model.IntentDone {
		return nil
	}
	var intent model.Intent
	if err := decodePacked(entry, &intent); err != nil {
		return err
	}
	if err := named(entry, strings.TrimPrefix(textOf(entry, "SK"), intentSK), intent.ID); err != nil {
		return err
	}
	*intents = append(*intents, intent)
	return nil
}

// query returns the items of a partition whose sort key begins with prefix, in its order.
func (l *Ledger) query(ctx context.Context, pk, prefix string, consistent bool) ([]item, error) {
	input := &dynamodb.QueryInput{
		TableName: &l.table, ConsistentRead: aws.Bool(consistent),
		KeyConditionExpression:    aws.String("PK = :pk"),
		ExpressionAttributeValues: item{":pk": text(pk)},
	}
	if prefix != "" {
		input.KeyConditionExpression = aws.String("PK = :pk AND begins_with(SK, :sk)")
		input.ExpressionAttributeValues[":sk"] = text(prefix)
	}
	items, _, err := l.queryPages(ctx, pk, input)
	return items, err
}

// queryAt returns the items of a partition whose sort key meets a condition with the one given, in its order, read consistently, and when
// the first page was read, by DynamoDB's clock.
func (l *Ledger) queryAt(ctx context.Context, pk, condition, sk string) ([]item, time.Time, error) {
	return l.queryPages(ctx, pk, &dynamodb.QueryInput{
		TableName: &l.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: &condition,
		ExpressionAttributeValues: item{":pk": text(pk), ":sk": text(sk)},
	})
}

// queryPages returns all that a query of a partition finds, and when the first page was read, by DynamoDB's clock.
func (l *Ledger) queryPages(ctx context.Context, pk string, input *dynamodb.QueryInput) ([]item, time.Time, error) {
	var items []item
	var at time.Time
	pages := dynamodb.NewQueryPaginator(l.client, input)
	for read := 0; pages.HasMorePages(); read++ {
		if read == maxPages {
			return nil, at, fault.New(fault.Invalid, "TooLarge", "partition %s has more than %d pages of 1 MB, %d items so far; at most so many are read", pk, maxPages, len(items))
		}
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, at, translate(err, "read partition %s", pk)
		}
		if at.IsZero() {
			var reported bool
			if at, reported = awsmiddleware.GetServerTime(page.ResultMetadata); !reported {
				return nil, at, errNoServerTime
			}
		}
		items = append(items, page.Items...)
	}
	return items, at, nil
}

// maxPages is how much is read of a partition: a page is 1 MB, and a claim takes some KB. Source: Amazon DynamoDB developer guide, "Query",
// "Paginating the results".
const maxPages = 128

// errNoServerTime is an answer of DynamoDB that does not say when it was given.
var errNoServerTime = fault.New(fault.Internal, "NoServerTime", "DynamoDB's answer has no Date, so ages are unknown")

// errPutOff is a read that DynamoDB put off again and again.
var errPutOff = fault.New(fault.Throttled, "UnprocessedKeys", "DynamoDB did not process the read of items, several times")
