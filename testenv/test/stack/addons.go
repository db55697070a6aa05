package stack

import (
	"context"
	"fmt"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/ebscsi"
	"github.com/joiner-sh/joiner/testenv/local/vpccni"
)

// Add-ons of EKS that the first cluster may have: see Options.Addons.
const (
	AddonEBS = "aws-ebs-csi-driver" // package ebscsi; pods await the volumes that they mount
	AddonVPC = "vpc-cni"            // package vpccni
)

// addonVersions are those that EKS reports of add-ons.
var addonVersions = map[string]string{AddonEBS: "v1.64.0-eksbuild.1", AddonVPC: "v1.20.4-eksbuild.1"}

// addonsOf returns the add-ons of a cluster: of any but the first none.
func (s *Stack) addonsOf(c *Cluster) []string {
	if c.account != s.account || c.Name != s.Options.Cluster {
		return nil
	}
	return s.Options.Addons
}

// startAddons installs the add-ons of a cluster.
func (s *Stack) startAddons(ctx context.Context, c *Cluster) error {
	for _, name := range s.addonsOf(c) {
		switch name {
		case AddonEBS:
			driver, err := ebscsi.Start(ctx, ebscsi.Options{Kube: c.Kube, EC2: awsec2.NewFromConfig(s.Cloud.Config()), Cluster: c.Name})
			if err != nil {
				return err
			}
			s.closeLater(driver.Stop)
		case AddonVPC:
			plugin, err := vpccni.Start(ctx, vpccni.Options{Kube: c.Kube, BranchInterfaces: ec2catalog.BranchInterfaces})
			if err != nil {
				return err
			}
			s.closeLater(plugin.Stop)
		default:
			return fmt.Errorf("there is no model of the add-on %q; there are %s and %s", name, AddonEBS, AddonVPC)
		}
		if err := c.account.eks.AddAddon(eks.Addon{Cluster: c.Name, Name: name, Version: addonVersions[name]}); err != nil {
			return err
		}
	}
	return nil
}
