package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation/deploy"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// Cluster is one cluster of the stack's account and region, attached to the same functions as every other.
type Cluster struct {
	Name      string
	Kube      *kube.ControlPlane
	Instances *machine.Fleet
	PlanURL   string // its plan queue

	account    *account // that it is in
	dir        string   // for its data
	arn        string
	stack      *deploy.Stack
	watcherEnv []string   // what the chart's Deployment gives the watcher
	foreign    *Foreign   // the account it is in; nil = the stack's
	admission  *admission // nil = nobody answers admission reviews
	own        *own       // nil = EKS runs it
}

// Outputs are those of the cluster's stack.
func (c *Cluster) Outputs() (map[string]string, error) { return c.stack.OutputValues() }

// AddCluster starts another cluster in the same account and region and attaches it: a control plane of its own, whose nodes
// and pods may have the same names as another's. It has no watcher unless one is started for it, and its classes find
// subnets and security groups by the discovery tag of the first cluster.
func (s *Stack) AddCluster(ctx context.Context, name string) (*Cluster, error) {
	c, err := s.startCluster(ctx, s.account, name, filepath.Join(s.dir, "cluster-"+name))
	if err != nil {
		return nil, fmt.Errorf("add cluster %s: %w", name, err)
	}
	if err := s.enter(ctx, c); err != nil {
		return nil, fmt.Errorf("add cluster %s: %w", name, err)
	}
	return c, nil
}

// enter installs the chart and attaches the cluster. In relay mode, and outside of EKS, the chart is told what the
// cluster's stack made.
func (s *Stack) enter(ctx context.Context, c *Cluster) error {
	if s.Options.NoChart {
		return s.attach(ctx, c)
	}
	steps := []func(context.Context, *Cluster) error{s.install, s.attach}
	if s.Options.Relay || c.own != nil {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// startCluster starts a control plane and what makes instances join it.
func (s *Stack) startCluster(ctx context.Context, in *account, name, dir string) (*Cluster, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	c := &Cluster{Name: name, account: in, dir: dir}
	if s.Options.SelfManaged && in == s.account && name == s.Options.Cluster {
		c.own = &own{name, kubernetesMinor(), s.Options.Relay, s.Cloud, s.EC2}
	}
	if err := s.startKube(ctx, c); err != nil {
		return nil, err
	}
	if err := s.startInstances(ctx, c); err != nil {
		return nil, err
	}
	return c, s.startAddons(ctx, c)
}

// startKube starts the control plane with EKS's token webhook, or one of kubeadm's.
func (s *Stack) startKube(ctx context.Context, c *Cluster) error {
	webhook, err := tokenWebhook(ctx, s, c)
	if err != nil {
		return err
	}
	options := s.Options.KubeOptions
	options.TokenWebhookConfig = webhook
	options.Progress = s.Options.Progress
	options.Dir = filepath.Join(c.dir, "kube")
	if c.own != nil {
		c.own.configure(&options)
	}
	c.Kube, err = kube.Start(ctx, options)
	if err != nil {
		return err
	}
	s.closeLater(c.Kube.Stop)
	if c.own != nil {
		name, token, err := c.own.surround(ctx, s.running, c.Kube)
		c.account.parameters.Put(name, token)
		return err
	}
	c.account.addCluster(c, s.Options.Bare)
	return nil
}

// startInstances makes instances of the EC2 model join as nodes: those that are tagged for the cluster, and of the first
// cluster also those that are tagged for none.
func (s *Stack) startInstances(ctx context.Context, c *Cluster) error {
	kwok := filepath.Join(c.dir, "kwok")
	if err := os.MkdirAll(kwok, 0o755); err != nil {
		return err
	}
	var parameter func(context.Context, machine.Instance, string) (string, error)
	if c.own != nil {
		parameter = c.own.parameter
	}
	fleet, err := machine.Start(ctx, machine.Options{
		Config:  c.Kube.Config(),
		Cluster: machine.Cluster{Name: c.Name, Endpoint: c.Kube.Endpoint(), CertificateAuthority: c.Kube.CertificateAuthority(), Version: kube.KubernetesVersion()},
		Kwok:    c.Kube.Assets().Kwok, Dir: kwok, Timing: s.Options.Instance, AwaitVolumes: slices.Contains(s.addonsOf(c), AddonEBS), OnEvent: s.Options.OnInstance,
		NoCloudController: c.own != nil, Parameter: parameter,
	})
	if err != nil {
		return err
	}
	c.Instances = fleet
	s.closeLater(fleet.Stop)
	first, booted := c.Name == s.Options.Cluster, map[string]bool{} // hooks are called one at a time
	c.account.ec2.OnRunning(func(i ec2.Instance) {
		if owner := clusterOf(i); owner == c.Name || owner == "" && first {
			booted[i.ID] = true
			fleet.Booted(instanceOf(i))
		}
	})
	c.account.ec2.OnStateChange(func(i ec2.Instance) {
		if i.State == ec2.Stopping && booted[i.ID] {
			fleet.Hang(i.ID) // its kubelet is the first to go
		}
	})
	c.account.ec2.OnTerminated(func(i ec2.Instance) {
		if booted[i.ID] {
			delete(booted, i.ID)
			fleet.Terminated(i.ID)
		}
	})
	return nil
}

// clusterOf is the cluster an instance is tagged for, "" when for none.
func clusterOf(i ec2.Instance) string {
	for key := range i.Tags {
		if name, ok := strings.CutPrefix(key, "kubernetes.io/cluster/"); ok {
			return name
		}
	}
	return ""
}

func instanceOf(i ec2.Instance) machine.Instance {
	return machine.Instance{
		ID: i.ID, Type: i.Type, Zone: i.Zone, ZoneID: i.ZoneID, Region: i.Region, PrivateDNSName: i.PrivateDNSName, PrivateIP: i.PrivateIP,
		ImageID: i.ImageID, ImageName: i.ImageName, Architecture: i.Architecture, CapacityType: i.CapacityType, VCPUs: i.VCPUs, MemoryBytes: i.MemoryBytes,
		ENIMaxPods: i.MaxPods, Volumes: i.Volumes, InstanceStoreBytes: i.InstanceStoreBytes, Devices: i.GPUs, UserData: i.UserData, LaunchTime: i.LaunchTime,
	}
}
