package dynamoledger

import (
	"fmt"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// resourcePrefix begins the attributes of a usage item that hold amounts.
const resourcePrefix = "r:"

func usageOf(pool string, entry item) (model.Usage, error) {
	usage := model.Usage{Pool: pool, Reserved: model.Resources{}}
	var err error
	if usage.Version, err = amountOf(entry, "v"); err != nil {
		return usage, err
	}
	for name := range entry {
		if resource, ok := strings.CutPrefix(name, resourcePrefix); ok {
			if usage.Reserved[resource], err = amountOf(entry, name); err != nil {
				return usage, err
			}
		}
	}
	return usage, nil
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

// use changes a pool's usage by delta. With limits, it only commits while used + delta ≤ limit for every limited resource
// that delta takes more of.
func (l *Ledger) use(cluster, pool string, delta, limits model.Resources) types.TransactWriteItem {
	names := make([]string, 0, len(delta))
	for name := range delta {
		names = append(names, name)
	}
	sort.Strings(names)
	update := &types.Update{
		TableName: &l.table, Key: key(clusterPK(cluster), "USE#"+pool),
		ExpressionAttributeNames:  map[string]string{"#v": "v"},
		ExpressionAttributeValues: item{":one": number(1)},
	}
	adds, conditions := []string{"#v :one"}, []string{}
	for i, name := range names {
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
