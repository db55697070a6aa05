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

// NextEpoch counts the cluster's epoch up by one for a new leading watcher and returns it. Whoever led before cannot
// move the pointer once the new leader has.
func (l *Ledger) NextEpoch(ctx context.Context, cluster, owner string) (int64, error) {
	out, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: key(clusterPK(cluster), "EPOCH"),
		UpdateExpression:          aws.String("SET #owner = :owner ADD #epoch :one"),
		ExpressionAttributeNames:  map[string]string{"#owner": "owner", "#epoch": "epoch"},
		ExpressionAttributeValues: item{":owner": text(owner), ":one": number(1)},
		ReturnValues:              types.ReturnValueUpdatedNew,
	})
	if err != nil {
		return 0, translate(err, "count the epoch of cluster %s up", cluster)
	}
	return numberOf(out.Attributes, "epoch"), nil
}

// AdvancePointer moves the snapshot pointer. Conflict where it is of a later epoch, or of the same and further on.
func (l *Ledger) AdvancePointer(ctx context.Context, pointer model.Pointer) error {
	doc, err := encode("pointer of cluster "+pointer.Cluster, pointer)
	if err != nil {
		return err
	}
	entry := key(clusterPK(pointer.Cluster), "SNAP")
	entry["doc"], entry["epoch"], entry["headSeq"], entry["heartbeat"] = doc, number(pointer.Epoch), number(pointer.HeadSeq), number(pointer.HeartbeatAt)
	_, err = l.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &l.table, Item: entry,
		ConditionExpression:       aws.String("attribute_not_exists(PK) OR #epoch < :epoch OR (#epoch = :epoch AND #head <= :head)"),
		ExpressionAttributeNames:  map[string]string{"#epoch": "epoch", "#head": "headSeq"},
		ExpressionAttributeValues: item{":epoch": number(pointer.Epoch), ":head": number(pointer.HeadSeq)},
	})
	return translate(err, "move the snapshot pointer of cluster %s to %d/%d", pointer.Cluster, pointer.Epoch, pointer.HeadSeq)
}

// Heartbeat says that the watcher of the epoch lived at unix. Conflict where the pointer is of a later epoch; NotFound
// where there is no pointer yet.
func (l *Ledger) Heartbeat(ctx context.Context, cluster string, epoch, unix int64) error {
	_, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: key(clusterPK(cluster), "SNAP"),
		UpdateExpression:          aws.String("SET #heartbeat = :at"),
		ConditionExpression:       aws.String("#epoch = :epoch"),
		ExpressionAttributeNames:  map[string]string{"#epoch": "epoch", "#heartbeat": "heartbeat"},
		ExpressionAttributeValues: item{":epoch": number(epoch), ":at": number(unix)},

		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var condition *types.ConditionalCheckFailedException
	if errors.As(err, &condition) && condition.Item == nil {
		return fault.New(fault.NotFound, "", "cluster %s has no snapshot yet", cluster)
	}
	return translate(err, "beat for epoch %d of cluster %s", epoch, cluster)
}
