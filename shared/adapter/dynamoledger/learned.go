package dynamoledger

import (
	"context"
	"errors"
	"sort"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// learnedPK is a partition of its own: planners load the region's, and what was learned comes to them with the catalog.
func learnedPK(reg model.Registration) string { return regionPK(reg.Account, reg.Region) + "LEARNED" }

// Learn notes how much memory a node of a type had. Of two about the same type and images the smaller stays, the later of
// two equals, and one that was forgotten by the new one's time does not count.
func (l *Ledger) Learn(ctx context.Context, reg model.Registration, learned model.LearnedOf) error {
	doc, err := encode("the learned memory of "+learned.InstanceType, learned)
	if err != nil {
		return err
	}
	entry := key(learnedPK(reg), learned.InstanceType+"#"+learned.Images)
	entry["doc"], entry["mib"], entry["seen"] = doc, number(learned.MiB), number(learned.SeenUnix)
	entry["ttl"] = number(learned.SeenUnix + model.LearnedForSeconds)
	_, err = l.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &l.table, Item: entry,
		ConditionExpression:       aws.String("attribute_not_exists(PK) OR #mib > :mib OR (#mib = :mib AND #seen < :seen) OR #ttl <= :seen"),
		ExpressionAttributeNames:  map[string]string{"#mib": "mib", "#seen": "seen", "#ttl": "ttl"},
		ExpressionAttributeValues: item{":mib": number(learned.MiB), ":seen": number(learned.SeenUnix)},
	})
	var stays *types.ConditionalCheckFailedException
	if errors.As(err, &stays) {
		return nil
	}
	return translate(err, "record the memory of %s in %s", learned.InstanceType, reg.Region)
}

// Learned returns what was learned of types in the registration's account and region and is not forgotten at nowUnix, by
// type, then images.
func (l *Ledger) Learned(ctx context.Context, reg model.Registration, nowUnix int64) ([]model.LearnedOf, error) {
	entries, err := l.query(ctx, learnedPK(reg), "", false)
	if err != nil {
		return nil, err
	}
	var all []model.LearnedOf
	for _, entry := range entries {
		var learned model.LearnedOf
		if err := decode(entry, &learned); err != nil {
			return nil, err
		}
		if !learned.Forgotten(nowUnix) {
			all = append(all, learned)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].InstanceType != all[j].InstanceType {
			return all[i].InstanceType < all[j].InstanceType
		}
		return all[i].Images < all[j].Images
	})
	return all, nil
}
