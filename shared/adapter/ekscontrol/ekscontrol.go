// Package ekscontrol asks EKS about clusters: how their API server is reached, and who is let in. The API server itself
// is adapter/ekscluster's.
//
//	planes := ekscontrol.New(eks.NewFromConfig(config))
//	plane, err := planes.Describe(ctx, registration)
package ekscontrol

import (
	"context"
	"encoding/base64"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// EKS is the control planes of an account and region.
type EKS struct{ client *eks.Client }

// New returns EKS as the client sees it.
func New(client *eks.Client) *EKS { return &EKS{client: client} }

// Describe returns a cluster. NotFound where there is none of its name, Denied where it may not be described.
func (e *EKS) Describe(ctx context.Context, reg model.Registration) (model.ControlPlane, error) {
	out, err := e.client.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &reg.Cluster})
	if err != nil {
		return model.ControlPlane{}, translate(err, "describe cluster %s", reg.Cluster)
	}
	return planeOf(out.Cluster)
}

func planeOf(c *types.Cluster) (model.ControlPlane, error) {
	plane := model.ControlPlane{
		Name: aws.ToString(c.Name), ARN: aws.ToString(c.Arn), Status: string(c.Status),
		Version:  aws.ToString(c.Version),
		Endpoint: aws.ToString(c.Endpoint), Tags: c.Tags,
	}
	if c.CertificateAuthority != nil {
		ca, err := base64.StdEncoding.DecodeString(aws.ToString(c.CertificateAuthority.Data))
		if err != nil {
			return plane, fault.Wrap(fault.Internal, "", err, "decode the certificate authority of cluster %s",
				plane.Name)
		}
		plane.CA = ca
	}
	if network := c.KubernetesNetworkConfig; network != nil {
		plane.ServiceCIDR = aws.ToString(network.ServiceIpv4Cidr)
		if network.IpFamily == types.IpFamilyIpv6 {
			plane.ServiceCIDR = aws.ToString(network.ServiceIpv6Cidr)
		}
	}
	if c.AccessConfig != nil {
		plane.AuthMode = string(c.AccessConfig.AuthenticationMode)
	}
	if vpc := c.ResourcesVpcConfig; vpc != nil {
		plane.PublicAccess, plane.PrivateAccess = vpc.EndpointPublicAccess, vpc.EndpointPrivateAccess
		plane.PublicCIDRs, plane.VPC = vpc.PublicAccessCidrs, aws.ToString(vpc.VpcId)
	}
	return plane, nil
}

// translate turns an SDK error into a kind. Nil stays nil.
func translate(err error, format string, args ...any) error {
	return sdkerr.Wrap(err, kindOf, format, args...)
}

func kindOf(code string) fault.Kind {
	switch code {
	case "ResourceNotFoundException":
		return fault.NotFound
	case "ThrottlingException", "TooManyRequestsException":
		return fault.Throttled
	case "AccessDeniedException", "AccessDenied", "UnrecognizedClientException", "NotAuthorized",
		"InvalidSignatureException", "ExpiredTokenException":
		return fault.Denied
	case "InvalidParameterException", "InvalidRequestException", "ValidationException":
		return fault.Invalid
	}
	return fault.Internal
}

// AccessEntryGroups returns the Kubernetes groups that a principal's access entry gives it. NotFound where it has none.
func (e *EKS) AccessEntryGroups(ctx context.Context, cluster, principal string) (groups []string, err error) {
	out, err := e.client.DescribeAccessEntry(ctx,
		&eks.DescribeAccessEntryInput{ClusterName: &cluster, PrincipalArn: &principal})
	if err != nil {
		return nil, translate(err, "describe the access entry of %s in cluster %s", principal, cluster)
	}
	return out.AccessEntry.KubernetesGroups, nil
}

// PodIdentityAssociations returns how many roles the pods of a service account may have: 0, or 1 where an association
// gives it one.
func (e *EKS) PodIdentityAssociations(ctx context.Context, cluster, namespace, serviceAccount string) (int, error) {
	out, err := e.client.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{
		ClusterName: &cluster, Namespace: &namespace, ServiceAccount: &serviceAccount,
	})
	if err != nil {
		return 0, translate(err, "list the pod identity associations of %s/%s in cluster %s", namespace, serviceAccount,
			cluster)
	}
	return len(out.Associations), nil
}
