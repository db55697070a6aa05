package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// InstallKarpenter puts into account and cluster what an installation of Karpenter leaves there and the suites of its AWS provider look for:
// the role of its nodes with the access entry of that, the role that FIS takes on to have EC2 take spot instances back, subnets that are called private, as eksctl calls them, and the Deployment that has
// its settings. dir is for the manifest.
func (p Place) InstallKarpenter(ctx context.Context, dir string, settings map[string]string) error {
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(p.Region), config.WithBaseEndpoint(p.Endpoint),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(p.AccessKey, p.SecretKey, "")))
	if err != nil {
		return err
	}
	name := "KarpenterNodeRole-" + p.Cluster
	role, err := iam.NewFromConfig(c).CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(
		`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`)})
	var there *iamtypes.EntityAlreadyExistsException
	if err != nil && !errors.As(err, &there) {
		return fmt.Errorf("create role %s: %w", name, err)
	}
	_, failed := iam.NewFromConfig(c).CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("FISInterruptionRole"), AssumeRolePolicyDocument: aws.String(
		`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "fis.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`)})
	if failed != nil && !errors.As(failed, &there) {
		return fmt.Errorf("create role FISInterruptionRole: %w", failed)
	}
	if err == nil {
		_, err = eks.NewFromConfig(c).CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: &p.Cluster, PrincipalArn: role.Role.Arn, Type: aws.String("EC2_LINUX")})
		var used *ekstypes.ResourceInUseException
		if err != nil && !errors.As(err, &used) {
			return fmt.Errorf("let nodes of role %s join: %w", name, err)
		}
	}
	if err := nameSubnets(ctx, ec2.NewFromConfig(c), p.Cluster); err != nil {
		return err
	}
	if err := tagGroup(ctx, ec2.NewFromConfig(c), p.Cluster); err != nil {
		return err
	}
	environment := []map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		environment = append(environment, map[string]string{"name": key, "value": settings[key]})
	}
	list, err := json.Marshal(environment)
	if err != nil {
		return err
	}
	file, err := WriteManifest(dir, "karpenter", p.Cluster)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("$ENVIRONMENT"), list), 0o644); err != nil {
		return err
	}
	return p.Apply(ctx, file)
}

// tagGroup gives the security group that EKS makes the discovery tag, as eksctl does with the tags of a cluster:
// specs want two groups.
func tagGroup(ctx context.Context, client *ec2.Client, cluster string) error {
	name := "eks-cluster-sg-" + cluster + "*"
	out, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{{Name: aws.String("group-name"), Values: []string{name}}},
	})
	if err != nil {
		return fmt.Errorf("security groups of cluster %s: %w", cluster, err)
	}
	if len(out.SecurityGroups) != 1 {
		return fmt.Errorf("%d security groups are called %s, want 1", len(out.SecurityGroups), name)
	}
	_, err = client.CreateTags(ctx, &ec2.CreateTagsInput{
		Resources: []string{*out.SecurityGroups[0].GroupId},
		Tags:      []ec2types.Tag{{Key: aws.String("karpenter.sh/discovery"), Value: &cluster}},
	})
	return err
}

// nameSubnets calls the subnets of a cluster what specs select some of them by: "*Private*".
func nameSubnets(ctx context.Context, client *ec2.Client, cluster string) error {
	out, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{cluster}}}})
	if err != nil {
		return fmt.Errorf("find the subnets of %s: %w", cluster, err)
	}
	for _, s := range out.Subnets {
		name := "eksctl-" + cluster + "-cluster/SubnetPrivate" + strings.ToUpper(strings.ReplaceAll(*s.AvailabilityZone, "-", ""))
		if _, err := client.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{*s.SubnetId}, Tags: []ec2types.Tag{{Key: aws.String("Name"), Value: &name}}}); err != nil {
			return fmt.Errorf("name subnet %s: %w", *s.SubnetId, err)
		}
	}
	return nil
}
