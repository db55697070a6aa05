package account

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// Left returns everything there is that the account did not begin with, tagged or not, machines that have not ended included. It asks the
// models themselves where they can be asked: they do not lag.
func (a *Account) Left(ctx context.Context) ([]string, error) {
	var out []string
	add := func(kind string, names ...string) {
		for _, name := range names {
			out = append(out, kind+" "+name)
		}
	}
	for _, i := range a.EC2.Instances() {
		if i.State != ec2model.Terminated && i.State != ec2model.ShuttingDown {
			add("instance", i.ID)
		}
	}
	for _, p := range a.EC2.InstanceProfiles() {
		if p.Name != "nodes" {
			add("instance profile", p.Name)
		}
	}
	a.roles.mu.Lock()
	for name := range a.roles.made {
		add("role", name)
	}
	a.roles.mu.Unlock()
	a.rules.mu.Lock()
	for name := range a.rules.made {
		add("rule", name)
	}
	a.rules.mu.Unlock()
	// Asked past KillAfter, which is about somebody else's process.
	c := a.Config()
	c.HTTPClient = doer(a.send)
	templates, err := ec2.NewFromConfig(c).DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		return nil, err
	}
	for _, t := range templates.LaunchTemplates {
		add("launch template", aws.ToString(t.LaunchTemplateName))
	}
	reservations, err := ec2.NewFromConfig(c).DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{})
	if err != nil {
		return nil, err
	}
	for _, r := range reservations.CapacityReservations {
		if r.State == types.CapacityReservationStateActive {
			add("capacity reservation", aws.ToString(r.CapacityReservationId))
		}
	}
	queues, err := sqs.NewFromConfig(c).ListQueues(ctx, &sqs.ListQueuesInput{})
	if err != nil {
		return nil, err
	}
	add("queue", queues.QueueUrls...)
	tables := dynamodb.NewFromConfig(c)
	names, err := tables.ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		return nil, err
	}
	for _, name := range names.TableNames {
		if t, err := tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}); err != nil || t.Table.TableStatus != "DELETING" {
			add("table", name)
		}
	}
	buckets, err := s3.NewFromConfig(c).ListBuckets(ctx, &s3.ListBucketsInput{})
	if err != nil {
		return nil, err
	}
	for _, b := range buckets.Buckets {
		add("bucket", aws.ToString(b.Name))
	}
	parameters, err := ssm.NewFromConfig(c).GetParametersByPath(ctx, &ssm.GetParametersByPathInput{Path: aws.String("/joiner-proof"), Recursive: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	for _, p := range parameters.Parameters {
		add("parameter", aws.ToString(p.Name))
	}
	clusters := eks.NewFromConfig(c)
	all, err := clusters.ListClusters(ctx, &eks.ListClustersInput{})
	if err != nil {
		return nil, err
	}
	for _, cluster := range all.Clusters {
		entries, err := clusters.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: &cluster})
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", cluster, err)
		}
		add("access entry", entries.AccessEntries...)
	}
	return out, nil
}
