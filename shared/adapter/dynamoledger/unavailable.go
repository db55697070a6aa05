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

// MarkUnavailable notes offerings, capacity types or subnets that are to be left alone, for every cluster of the account and region. A
// unavailable offering of more failures stays, or one of as many that lasts longer, unless it is forgotten by now.
func (l *Ledger) MarkUnavailable(ctx context.Context, reg model.Registration, unavailableOfferings []model.UnavailableOffering) error {
	for _, unavailable := range unavailableOfferings {
		put, err := l.putUnavailable(reg, unavailable)
		if err != nil {
			return err
		}
		put.ConditionExpression = aws.String("attribute_not_exists(PK) OR #ttl <= :at OR #failures < :failures OR (#failures = :failures AND #until < :until)")
		put.ExpressionAttributeNames = map[string]string{"#until": "until", "#failures": "failures", "#ttl": "ttl"}
		put.ExpressionAttributeValues = item{":until": number(unavailable.UntilUnix), ":failures": number(int64(unavailable.Failures)), ":at": number(unavailable.AtUnix)}
		_, err = l.client.PutItem(ctx, put)
		var stays *types.ConditionalCheckFailedException
		if err != nil && !errors.As(err, &stays) {
			return translate(err, "record the unavailable offering %s", unavailableName(unavailable))
		}
	}
	return nil
}

// TakeProbe moves the time of an unavailable offering that is still as given.
func (l *Ledger) TakeProbe(ctx context.Context, reg model.Registration, unavailable model.UnavailableOffering, untilUnix int64) (model.UnavailableOffering, error) {
	next := unavailable
	next.UntilUnix, next.ForgetUnix = untilUnix, max(unavailable.ForgetUnix, untilUnix)
	put, err := l.putUnavailable(reg, next)
	if err != nil {
		return unavailable, err
	}
	put.ConditionExpression, put.ExpressionAttributeNames, put.ExpressionAttributeValues = ifUnchanged(unavailable)
	_, err = l.client.PutItem(ctx, put)
	var changed *types.ConditionalCheckFailedException
	if errors.As(err, &changed) {
		return unavailable, fault.New(fault.Conflict, "ProbeTaken", "the unavailable offering %s has changed", unavailableName(unavailable))
	}
	if err != nil {
		return unavailable, translate(err, "reserve the probe of the unavailable offering %s", unavailableName(unavailable))
	}
	return next, nil
}

// Clear removes an unavailable offering that is still as given.
func (l *Ledger) Clear(ctx context.Context, reg model.Registration, unavailable model.UnavailableOffering) error {
	input := &dynamodb.DeleteItemInput{TableName: &l.table, Key: unavailableKey(reg, unavailable)}
	input.ConditionExpression, input.ExpressionAttributeNames, input.ExpressionAttributeValues = ifUnchanged(unavailable)
	_, err := l.client.DeleteItem(ctx, input)
	var changed *types.ConditionalCheckFailedException
	if errors.As(err, &changed) {
		return nil
	}
	return translate(err, "delete the unavailable offering %s", unavailableName(unavailable))
}

// ifUnchanged is the condition that an unavailable offering is stored with the time and the failures given.
func ifUnchanged(unavailable model.UnavailableOffering) (condition *string, names map[string]string, values item) {
	return aws.String("#until = :was AND #failures = :failures"), map[string]string{"#until": "until", "#failures": "failures"},
		item{":was": number(unavailable.UntilUnix), ":failures": number(int64(unavailable.Failures))}
}

func (l *Ledger) putUnavailable(reg model.Registration, unavailable model.UnavailableOffering) (*dynamodb.PutItemInput, error) {
	doc, err := encode("mark", unavailable)
	if err != nil {
		return nil, err
	}
	entry := unavailableKey(reg, unavailable)
	entry["doc"], entry["until"], entry["failures"] = doc, number(unavailable.UntilUnix), number(int64(unavailable.Failures))
	entry["ttl"] = number(max(unavailable.UntilUnix, unavailable.ForgetUnix))
	return &dynamodb.PutItemInput{TableName: &l.table, Item: entry}, nil
}

func unavailableKey(reg model.Registration, unavailable model.UnavailableOffering) item {
	return key(regionPK(reg.Account, reg.Region), "MARK#"+unavailableName(unavailable))
}

func unavailableName(unavailable model.UnavailableOffering) string {
	switch {
	case unavailable.SubnetID != "":
		return "subnet#" + unavailable.SubnetID
	case unavailable.Reservation != "":
		return "reservation#" + unavailable.Reservation
	case unavailable.PlacementGroup != "":
		within := unavailable
		within.PlacementGroup = ""
		return "placement#" + unavailable.PlacementGroup + "#" + unavailableName(within)
	case unavailable.Group != "":
		return unavailable.CapacityType + "#group#" + unavailable.Group + "#" + unavailable.InstanceType + "#" + unavailable.Zone
	}
	return unavailable.CapacityType + "#" + unavailable.InstanceType + "#" + unavailable.Zone
}
