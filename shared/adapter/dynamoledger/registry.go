package dynamoledger

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const registryPK = "CLUSTERS"

// Register writes a cluster's registration, replacing an older one.
func (l *Ledger) Register(ctx context.Context, reg model.Registration) error {
	doc, err := encode("registration of cluster "+reg.Cluster, reg)
	if err != nil {
		return err
	}
	entry := key(registryPK, reg.Cluster)
	entry["doc"] = doc
	_, err = l.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &l.table, Item: entry})
	return translate(err, "register cluster %s", reg.Cluster)
}

// Clusters returns every registration that can be read, by name. Where some cannot the others are returned beside an error, Invalid with the
// code model.CodeUnreadCluster, that names them: one spoilt item stops no other cluster.
func (l *Ledger) Clusters(ctx context.Context) ([]model.Registration, error) {
	items, err := l.query(ctx, registryPK, "", false)
	if err != nil {
		return nil, err
	}
	registrations := make([]model.Registration, 0, len(items))
	var unread []string
	for i := range items {
		var reg model.Registration
		if err := decode(items[i], &reg); err != nil {
			unread = append(unread, err.Error())
			continue
		}
		registrations = append(registrations, reg)
	}
	if len(unread) > 0 {
		err = fault.New(fault.Invalid, model.CodeUnreadCluster, "%d of %d registrations in table %s cannot be read, and nothing is done for their clusters (joiner attach CLUSTER --take-over writes one again): %s",
			len(unread), len(items), l.table, strings.Join(unread, "; "))
	}
	return registrations, err
}

// Cluster returns one registration; NotFound where the cluster was never attached, Invalid with the code model.CodeUnreadCluster where it
// cannot be read.
func (l *Ledger) Cluster(ctx context.Context, name string) (model.Registration, error) {
	var reg model.Registration
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: key(registryPK, name), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return reg, translate(err, "read registration of cluster %s", name)
	}
	if out.Item == nil {
		return reg, fault.New(fault.NotFound, "", "cluster %s is not attached", name)
	}
	if err := decode(out.Item, &reg); err != nil {
		return model.Registration{}, fault.Wrap(fault.Invalid, model.CodeUnreadCluster, err, "read registration of cluster %s (joiner attach %s --take-over writes it again)", name, name)
	}
	return reg, nil
}
