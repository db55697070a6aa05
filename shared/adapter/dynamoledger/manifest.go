package dynamoledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// NextEpoch counts the cluster's epoch up by one for a new leading watcher and returns it. Whoever led before cannot
// move the manifest once the new leader has.
func (l *Ledger) NextEpoch(ctx context.Context, cluster, owner string) (int64, error) {
	out, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: key(watchPK(cluster), "EPOCH"),
		UpdateExpression:          aws.String("SET #owner = :owner ADD #epoch :one"),
		ExpressionAttributeNames:  map[string]string{"#owner": "owner", "#epoch": "epoch"},
		ExpressionAttributeValues: item{":owner": text(owner), ":one": number(1)},
		ReturnValues:              types.ReturnValueUpdatedNew,
	})
	if err != nil {
		return 0, translate(err, "increment the epoch of cluster %s", cluster)
	}
	return numberOf(out.Attributes, "epoch"), nil
}

// AdvanceManifest moves the snapshot manifest. Conflict where it is of a later epoch, or of the same and further on. It reports whether the
// manifest there was had been flagged by Losses.Lost, and leaves no flag.
func (l *Ledger) AdvanceManifest(ctx context.Context, manifest model.Manifest) (lost bool, err error) {
	doc, err := encode("manifest of cluster "+manifest.Cluster, manifest)
	if err != nil {
		return false, err
	}
	entry := key(watchPK(manifest.Cluster), manifestSK)
	entry["doc"], entry["epoch"], entry["headSeq"], entry["heartbeat"] = doc, number(manifest.Epoch), number(manifest.HeadSeq), number(manifest.HeartbeatAt)
	out, err := l.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &l.table, Item: entry,
		ConditionExpression:       aws.String("attribute_not_exists(PK) OR #epoch < :epoch OR (#epoch = :epoch AND #head <= :head)"),
		ExpressionAttributeNames:  map[string]string{"#epoch": "epoch", "#head": "headSeq"},
		ExpressionAttributeValues: item{":epoch": number(manifest.Epoch), ":head": number(manifest.HeadSeq)},

		ReturnValues: types.ReturnValueAllOld,
	})
	if err != nil {
		return false, translate(err, "write the manifest of cluster %s at %d/%d", manifest.Cluster, manifest.Epoch, manifest.HeadSeq)
	}
	return flagged(out.Attributes), nil
}

// Heartbeat says that the watcher of the epoch lived at unix. Conflict where the manifest is of a later epoch; NotFound
// where there is no manifest yet. It reports whether the manifest is flagged by Losses.Lost, and leaves the flag.
func (l *Ledger) Heartbeat(ctx context.Context, cluster string, epoch, unix int64) (lost bool, err error) {
	out, err := l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: key(watchPK(cluster), manifestSK),
		UpdateExpression:          aws.String("SET #heartbeat = :at"),
		ConditionExpression:       aws.String("#epoch = :epoch"),
		ExpressionAttributeNames:  map[string]string{"#epoch": "epoch", "#heartbeat": "heartbeat"},
		ExpressionAttributeValues: item{":epoch": number(epoch), ":at": number(unix)},

		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var condition *types.ConditionalCheckFailedException
	if errors.As(err, &condition) && condition.Item == nil {
		return false, fault.New(fault.NotFound, "", "cluster %s has no snapshot yet", cluster)
	}
	if err != nil {
		return false, translate(err, "write a heartbeat for epoch %d of cluster %s", epoch, cluster)
	}
	return flagged(out.Attributes), nil
}

// flagged reports whether an item of a manifest says that an object is gone which the manifest names.
func flagged(entry item) bool {
	_, is := entry["lost"]
	return is
}

// Losses is the ledger as whoever reads snapshots sees it.
type Losses struct{ Ledger *Ledger }

// Lost flags the manifest as one that names an object which is gone. A manifest that has moved on, or is flagged, is left alone, which is no
// error. The flag goes with the next write of the manifest.
func (l Losses) Lost(ctx context.Context, manifest model.Manifest) error {
	_, err := l.Ledger.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.Ledger.table, Key: key(watchPK(manifest.Cluster), manifestSK),
		UpdateExpression:          aws.String("SET #lost = :head"),
		ConditionExpression:       aws.String("#epoch = :epoch AND #head = :head AND attribute_not_exists(#lost)"),
		ExpressionAttributeNames:  map[string]string{"#epoch": "epoch", "#head": "headSeq", "#lost": "lost"},
		ExpressionAttributeValues: item{":epoch": number(manifest.Epoch), ":head": number(manifest.HeadSeq)},
	})
	var condition *types.ConditionalCheckFailedException
	if errors.As(err, &condition) {
		return nil
	}
	return translate(err, "record that an object of manifest %d/%d of cluster %s is missing", manifest.Epoch, manifest.HeadSeq, manifest.Cluster)
}

// setManifest puts what the cluster's watcher wrote as its manifest into the ledger. Where it is not to be believed the ledger says why.
func setManifest(ledger *model.Ledger, cluster string, entry item) {
	var manifest model.Manifest
	if err := decode(entry, &manifest); err != nil {
		ledger.ManifestFault = err.Error()
		return
	}
	if manifest.Cluster != cluster {
		ledger.ManifestFault = fmt.Sprintf("the manifest of cluster %s names the cluster %.100q", cluster, manifest.Cluster)
		return
	}
	manifest.HeartbeatAt, manifest.Lost = numberOf(entry, "heartbeat"), flagged(entry)
	ledger.Manifest = &manifest
}

// readManifest reads the item of the cluster's manifest, and no other that its watcher may have written.
func (l *Ledger) readManifest(ctx context.Context, cluster string) ([]item, time.Time, error) {
	pk := watchPK(cluster)
	return l.queryPages(ctx, pk, &dynamodb.QueryInput{
		TableName: &l.table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("PK = :pk AND SK = :sk"),
		ExpressionAttributeValues: item{":pk": text(pk), ":sk": text(manifestSK)},
	})
}

// Manifest reads the cluster's snapshot manifest; nil where its watcher never published. It asks for no more than a watcher may read.
func (l *Ledger) Manifest(ctx context.Context, cluster string) (*model.Manifest, error) {
	items, _, err := l.batchGet(ctx, []item{key(watchPK(cluster), manifestSK)})
	if err != nil {
		return nil, err
	}
	var seen model.Ledger
	for _, entry := range items {
		setManifest(&seen, cluster, entry)
	}
	if seen.ManifestFault != "" {
		return nil, fault.New(fault.Invalid, "Malformed", "%s", seen.ManifestFault)
	}
	return seen.Manifest, nil
}
