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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
)

// InstallKarpenter puts into account and cluster what an installation of Karpenter leaves there and the suites of its AWS provider look for:
// the role of its nodes with the access entry of that, and the Deployment that has its settings. dir is for the manifest.
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
	if err == nil {
		_, err = eks.NewFromConfig(c).CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: &p.Cluster, PrincipalArn: role.Role.Arn, Type: aws.String("EC2_LINUX")})
		var used *ekstypes.ResourceInUseException
		if err != nil && !errors.As(err, &used) {
			return fmt.Errorf("let nodes of role %s join: %w", name, err)
		}
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
