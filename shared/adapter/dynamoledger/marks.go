package dynamoledger

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Mark notes offers, capacity types or subnets that are to be left alone, for every cluster of the account and region. A
// mark of more failures stays, or one of as many that lasts longer, unless it is forgotten by now.
func (l *Ledger) Mark(ctx context.Context, reg model.Registration, marks []model.Mark) error {
	for _, mark := range marks {
		put, err := l.putMark(reg, mark)
		if err != nil {
			return err
		}
		put.ConditionExpression = aws.String("attribute_not_exists(PK) OR #ttl <= :at OR #failures < :failures OR (#failures = :failures AND #until < :until)")
		put.ExpressionAttributeNames = map[string]string{"#until": "until", "#failures": "failures", "#ttl": "ttl"}
		put.ExpressionAttributeValues = item{":until": number(mark.UntilUnix), ":failures": number(int64(mark.Failures)), ":at": number(mark.AtUnix)}
		_, err = l.client.PutItem(ctx, put)
		var stays *types.ConditionalCheckFailedException
		if err != nil && !errors.As(err, &stays) {
			return translate(err, "mark %s", markName(mark))
		}
	}
	return nil
}

// Probe moves the time of a mark that is still as given.
func (l *Ledger) Probe(ctx context.Context, reg model.Registration, mark model.Mark, untilUnix int64) (model.Mark, error) {
	next := mark
	next.UntilUnix, next.ForgetUnix = untilUnix, max(mark.ForgetUnix, untilUnix)
	put, err := l.putMark(reg, next)
	if err != nil {
		return mark, err
	}
	put.ConditionExpression, put.ExpressionAttributeNames, put.ExpressionAttributeValues = asGiven(mark)
	_, err = l.client.PutItem(ctx, put)
	var changed *types.ConditionalCheckFailedException
	if errors.As(err, &changed) {
		return mark, fault.New(fault.Conflict, "ProbeTaken", "the mark %s has changed", markName(mark))
	}
	if err != nil {
		return mark, translate(err, "take the probe of mark %s", markName(mark))
	}
	return next, nil
}

// Clear removes a mark that is still as given.
func (l *Ledger) Clear(ctx context.Context, reg model.Registration, mark model.Mark) error {
	input := &dynamodb.DeleteItemInput{TableName: &l.table, Key: markKey(reg, mark)}
	input.ConditionExpression, input.ExpressionAttributeNames, input.ExpressionAttributeValues = asGiven(mark)
	_, err := l.client.DeleteItem(ctx, input)
	var changed *types.ConditionalCheckFailedException
	if errors.As(err, &changed) {
		return nil
	}
	return translate(err, "clear mark %s", markName(mark))
}

// asGiven is the condition that a mark is stored with the time and the failures given.
func asGiven(mark model.Mark) (condition *string, names map[string]string, values item) {
	return aws.String("#until = :was AND #failures = :failures"), map[string]string{"#until": "until", "#failures": "failures"},
		item{":was": number(mark.UntilUnix), ":failures": number(int64(mark.Failures))}
}

func (l *Ledger) putMark(reg model.Registration, mark model.Mark) (*dynamodb.PutItemInput, error) {
	doc, err := encode("mark", mark)
	if err != nil {
		return nil, err
	}
	entry := markKey(reg, mark)
	entry["doc"], entry["until"], entry["failures"] = doc, number(mark.UntilUnix), number(int64(mark.Failures))
	entry["ttl"] = number(max(mark.UntilUnix, mark.ForgetUnix))
	return &dynamodb.PutItemInput{TableName: &l.table, Item: entry}, nil
}

func markKey(reg model.Registration, mark model.Mark) item {
	return key(regionPK(reg.Account, reg.Region), "MARK#"+markName(mark))
}

func markName(mark model.Mark) string {
	switch {
	case mark.SubnetID != "":
		return "subnet#" + mark.SubnetID
	case mark.Reservation != "":
		return "reservation#" + mark.Reservation
	case mark.PlacementGroup != "":
		within := mark
		within.PlacementGroup = ""
		return "placement#" + mark.PlacementGroup + "#" + markName(within)
	case mark.Group != "":
		return mark.CapacityType + "#group#" + mark.Group + "#" + mark.InstanceType + "#" + mark.Zone
	}
	return mark.CapacityType + "#" + mark.InstanceType + "#" + mark.Zone
}
