package stack

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/arcshift"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ecr"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/fis"
	"github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/kms"
	"github.com/joiner-sh/joiner/testenv/local/cloud/logs"
	"github.com/joiner-sh/joiner/testenv/local/cloud/pricing"
	"github.com/joiner-sh/joiner/testenv/local/cloud/servicequotas"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

// account is what exists in a modeled account before a cluster does.
type account struct {
	ec2        *ec2.Model
	eks        *eks.Model
	parameters *ssm.Model
	keys       *kms.Model // nil: as nobody has any
}

// sessionLife is the longest there is: the runtime gives a sandbox its keys once, and `make up` runs for hours.
const sessionLife = 12 * time.Hour

// startCloud starts every service on one port, with a network.
func (s *Stack) startCloud() error {
	// The services outlive the context of the start; Stop closes them.
	var err error
	s.Cloud, err = cloud.Start(context.Background(), cloud.Options{
		Address: s.Options.CloudAddress, Readings: s.Options.Readings,
		// No network answers at once. Without a moment between, a large answer overtakes the end of its request on loopback,
		// which the SDK takes for a lost connection and asks again a second later.
		Latency: func(string, string) time.Duration { return time.Millisecond },
	})
	if err != nil {
		return err
	}
	s.closeLater(func() { s.Cloud.Close() })
	network := ec2.DefaultNetwork(s.Options.Cluster)
	if s.Options.Bare {
		network = untagged(network)
	}
	s.EC2 = ec2.New(ec2.Options{Clock: s.Cloud.Clock(), Account: s.Cloud.Account(), Timing: &s.Options.EC2,
		Network: &network, Types: s.Options.Types, SpotRole: true, Readings: s.Options.Readings})
	s.account = &account{
		ec2:        s.EC2,
		eks:        eks.New(eks.Options{Clock: s.Cloud.Clock(), Account: s.Cloud.Account(), Region: s.Cloud.Region(), Readings: s.Options.Readings}),
		parameters: ssm.New(ssm.Options{Account: s.Cloud.Account()}),
		keys:       kms.New(s.Cloud.Region()),
	}
	s.Cloud.Register("ec2", ec2.NewHandler(s.EC2))
	s.Tables = dynamodb.NewModel(dynamodb.Options{Account: s.Cloud.Account(), Region: s.Cloud.Region()})
	s.Cloud.Register("dynamodb", dynamodb.NewHandler(s.Tables))
	s.ECR = ecr.New(ecr.Options{Account: s.Cloud.Account(), Region: s.Cloud.Region()})
	s.Cloud.Register("ecr", ecr.NewHandler(s.ECR))
	s.Cloud.Register("ssm", ssm.NewHandler(s.account.parameters))
	s.Cloud.Register("pricing", pricing.NewHandler(pricing.New(pricing.Options{Types: s.Options.Types})))
	s.Cloud.Register("eks", eks.NewHandler(s.account.eks))
	s.Cloud.Register("iam", iam.NewHandler(s.EC2, s.Cloud.Policies))
	if !s.Options.Bare { // as after the first spot request
		s.EC2.AddRole(ec2.Role{Name: ec2.SpotRole, Path: "/aws-service-role/spot.amazonaws.com/"})
	}
	s.Cloud.Register("kms", kms.NewHandler(s.account.keys))
	s.Cloud.Register("fis", fis.NewHandler(fis.New(fis.Options{Clock: s.Cloud.Clock(), Instances: s.EC2, Account: s.Cloud.Account(), Region: s.Cloud.Region()})))
	s.Zones = arcshift.New(arcshift.Options{Clock: s.Cloud.Clock(),
		OnEvent: func(detailType, arn string) { announceShift(s, detailType, arn) }})
	s.Cloud.Register("arc-zonal-shift", arcshift.NewHandler(s.Zones))
	s.Cloud.Register("logs", logs.NewHandler(logs.New()))
	s.Quotas = servicequotas.New()
	s.Cloud.Register("servicequotas", servicequotas.NewHandler(s.Quotas))
	return nil
}

// untagged is a network as it is before anybody has tagged subnets and groups for a cluster.
func untagged(n ec2.Network) ec2.Network {
	for _, subnet := range n.Subnets {
		delete(subnet.Tags, discoveryTag)
	}
	for _, group := range n.SecurityGroups {
		delete(group.Tags, discoveryTag)
	}
	return n
}

// discoveryTag is the tag by which classes find subnets and security groups.
const discoveryTag = "karpenter.sh/discovery"

// tokenWebhook serves what EKS puts beside its API servers, or people aws-iam-authenticator: it turns a presigned token
// into the user of an access entry.
func tokenWebhook(ctx context.Context, s *Stack, c *Cluster) ([]byte, error) {
	entries := sts.AccessEntries(c.account.eks)
	if c.own != nil {
		var err error
		if entries, err = c.own.entries(); err != nil {
			return nil, err
		}
	}
	webhook, err := sts.ServeWebhook(context.WithoutCancel(ctx), sts.TokenReviewHandler(sts.TokenReview{
		Model: s.Cloud.STS, Cluster: c.Name, Entries: entries,
		Endpoints: []string{s.Cloud.Endpoint()}, Region: s.Cloud.Region(),
	}))
	if err != nil {
		return nil, err
	}
	s.closeLater(func() { webhook.Close() })
	return webhook.Kubeconfig()
}

// addCluster makes the control plane an EKS cluster of the network's VPC, which lets nobody in yet. A bare one names the network's subnets and
// the group that EKS makes; any other has the add-on for Pod Identity.
func (a *account) addCluster(c *Cluster, bare bool) {
	of := eks.Cluster{
		Name: c.Name, Version: kubernetesMinor(), Endpoint: c.Kube.Endpoint(),
		CertificateAuthority: c.Kube.CertificateAuthority(), ServiceCIDR: c.Kube.ServiceCIDR(),
	}
	if subnets := a.ec2.Subnets(); len(subnets) > 0 {
		of.VPCID = subnets[0].VPCID
	}
	if bare {
		for _, subnet := range a.ec2.Subnets() {
			of.SubnetIDs = append(of.SubnetIDs, subnet.ID)
		}
		of.ClusterGroupID = a.ec2.SecurityGroups()[0].ID
		c.arn = a.eks.AddCluster(of)
		return
	}
	c.arn = a.eks.AddCluster(of)
	_ = a.eks.AddAddon(eks.Addon{Cluster: c.Name, Name: "eks-pod-identity-agent", Version: "v1.3.9-eksbuild.3"}) // the cluster is there
}
