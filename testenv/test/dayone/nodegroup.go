package dayone

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// NodeGroup runs machines of a managed node group, which Joiner has nothing to do with, and waits until they are nodes.
func (w *World) NodeGroup(ctx context.Context, instances int) error {
	client := ec2.NewFromConfig(w.Stack.Cloud.Config())
	filter := func(name, value string) ec2types.Filter {
		return ec2types.Filter{Name: aws.String(name), Values: []string{value}}
	}
	images, err := client.DescribeImages(ctx, &ec2.DescribeImagesInput{
		Owners: []string{"amazon"}, Filters: []ec2types.Filter{filter("architecture", "x86_64"), filter("name", "amazon-eks-node-al2023-*")},
	})
	if err != nil {
		return fmt.Errorf("run a node group: %w", err)
	}
	if len(images.Images) == 0 {
		return errors.New("run a node group: there is no image of AL2023")
	}
	kube := w.Cluster.Kube
	document := fmt.Sprintf("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: %s\n    apiServerEndpoint: %s\n    certificateAuthority: %s\n    cidr: %s\n",
		w.Cluster.Name, kube.Endpoint(), base64.StdEncoding.EncodeToString(kube.CertificateAuthority()), kube.ServiceCIDR())
	if _, err := client.RunInstances(ctx, &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, InstanceType: ec2types.InstanceTypeM5Large, SubnetId: aws.String(w.Stack.EC2.Subnets()[0].ID),
		MinCount: aws.Int32(int32(instances)), MaxCount: aws.Int32(int32(instances)), UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(document))),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: []ec2types.Tag{
			{Key: aws.String("kubernetes.io/cluster/" + w.Cluster.Name), Value: aws.String("owned")}, {Key: aws.String("eks:nodegroup-name"), Value: aws.String("first")},
		}}},
	}); err != nil {
		return fmt.Errorf("run a node group: %w", err)
	}
	nodes, err := kubernetes.NewForConfig(kube.Config())
	if err != nil {
		return err
	}
	return until(ctx, func(ctx context.Context) error {
		list, err := nodes.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) < instances {
			err = fmt.Errorf("%d of %d machines of the node group are nodes", len(list.Items), instances)
		}
		return err
	})
}
