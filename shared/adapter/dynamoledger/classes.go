package dynamoledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/model"
)

// classSK begins the sort keys of class records; the class's name follows.
const classSK = "CLASS#"

// PutClass writes a class record on condition of its version, and returns it with the next one. Conflict where the stored
// record is at another.
func (l *Ledger) PutClass(ctx context.Context, cluster string, record model.ClassRecord) (model.ClassRecord, error) {
	next := record
	next.Version++
	doc, err := encode("record of EC2NodeClass "+record.Name, next)
	if err != nil {
		return record, err
	}
	entry := key(clusterPK(cluster), classSK+record.Name)
	entry["doc"], entry["ver"] = doc, number(next.Version)
	put := &dynamodb.PutItemInput{TableName: &l.table, Item: entry, ConditionExpression: aws.String("attribute_not_exists(PK)")}
	if record.Version != 0 {
		put.ConditionExpression = aws.String("#ver = :ver")
		put.ExpressionAttributeNames, put.ExpressionAttributeValues = versionNamed, item{":ver": number(record.Version)}
	}
	if _, err := l.client.PutItem(ctx, put); err != nil {
		return record, translate(err, "write the record of EC2NodeClass %s at version %d", record.Name, record.Version)
	}
	return next, nil
}

// DeleteClass removes a class record on condition of its version. One that is not there is no error; Conflict where it is
// at another version.
func (l *Ledger) DeleteClass(ctx context.Context, cluster string, record model.ClassRecord) error {
	_, err := l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &l.table, Key: key(clusterPK(cluster), classSK+record.Name),
		ConditionExpression:      aws.String("attribute_not_exists(PK) OR #ver = :ver"),
		ExpressionAttributeNames: versionNamed, ExpressionAttributeValues: item{":ver": number(record.Version)},
	})
	return translate(err, "delete the record of EC2NodeClass %s at version %d", record.Name, record.Version)
}

var versionNamed = map[string]string{"#ver": "ver"}
