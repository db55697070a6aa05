package dynamoledger

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// Mark notes offers, capacity types or subnets that are to be left alone, for every cluster of the account and region. A
// mark that lasts longer stays.
func (l *Ledger) Mark(ctx context.Context, reg model.Registration, marks []model.Mark) error {
	for _, mark := range marks {
		doc, err := encode("mark", mark)
		if err != nil {
			return err
		}
		entry := key(marksPK(reg.Account, reg.Region), "MARK#"+markName(mark))
		entry["doc"], entry["until"], entry["ttl"] = doc, number(mark.UntilUnix), number(mark.UntilUnix)
		_, err = l.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &l.table, Item: entry,
			ConditionExpression:       aws.String("attribute_not_exists(PK) OR #until < :until"),
			ExpressionAttributeNames:  map[string]string{"#until": "until"},
			ExpressionAttributeValues: item{":until": number(mark.UntilUnix)},
		})
		var longer *types.ConditionalCheckFailedException
		if err != nil && !errors.As(err, &longer) {
			return translate(err, "mark %s", markName(mark))
		}
	}
	return nil
}

func markName(mark model.Mark) string {
	if mark.SubnetID != "" {
		return "subnet#" + mark.SubnetID
	}
	return mark.CapacityType + "#" + mark.InstanceType + "#" + mark.Zone
}
