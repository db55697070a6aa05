package dynamoledger

import (
	"context"

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

// Clusters returns every registration, by name.
func (l *Ledger) Clusters(ctx context.Context) ([]model.Registration, error) {
	items, err := l.query(ctx, registryPK, "", false)
	if err != nil {
		return nil, err
	}
	registrations := make([]model.Registration, len(items))
	for i := range items {
		if err := decode(items[i], &registrations[i]); err != nil {
			return nil, err
		}
	}
	return registrations, nil
}

// Cluster returns one registration; NotFound where the cluster was never attached.
func (l *Ledger) Cluster(ctx context.Context, name string) (model.Registration, error) {
	var reg model.Registration
	out, err := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &l.table, Key: key(registryPK, name), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return reg, translate(err, "read registration of cluster %s", name)
	}
	if out.Item == nil {
		return reg, fault.New(fault.NotFound, "", "cluster %s is not attached", name)
	}
	return reg, decode(out.Item, &reg)
}
