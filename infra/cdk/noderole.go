package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseks"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

// makeNodeRoles makes the role of the cluster's nodes where people have none, and one for nodes with Windows where they want that: an
// access entry is of one type, and a role has one (EKS user guide, "Create access entries").
func (k *cluster) makeNodeRoles() {
	if k.c.NodeRole != "" {
		k.nodeRoles = []string{k.c.NodeRole}
		return
	}
	name := k.c.NodeRoleName
	if name == "" {
		// Its names are of the account, and clusters' of a region: KarpenterNodeRole-CLUSTER, which Karpenter's guide makes, is there already
		// where people come from Karpenter, and where a cluster of another region has that name.
		name = "joiner-" + short(k.c.Name) + "-${AWS::Region}-node"
	}
	k.makeNodeRole("Node", name, "EC2_LINUX", "Nodes of cluster "+k.c.Name)
	if k.c.Windows {
		k.makeNodeRole("WindowsNode", "joiner-"+short(k.c.Name)+"-${AWS::Region}-windows", "EC2_WINDOWS", "Nodes with Windows of cluster "+k.c.Name)
	}
	if theirs := karpenterNodeRole(k.c.Name); k.c.NodeRoleName == "" && len(theirs) <= 64 {
		k.nodeRoles = append(k.nodeRoles, theirs) // node classes that were written for Karpenter name it
	}
}

// makeNodeRole makes a role of nodes, its instance profile, and the access entry that lets them join. Nodes run with what is there: where
// another name replaces it, what they have stays.
func (k *cluster) makeNodeRole(id, name, kind, about string) {
	managed := func(name string) *string { return sub("arn:${AWS::Partition}:iam::aws:policy/%s", name) }
	of := roleOf{
		ID: id + "Role", Name: filledIn(name), About: about, Trust: document(trust("ec2.amazonaws.com", nil)),
		Managed: []*string{managed("AmazonEKSWorkerNodePolicy"), managed("AmazonEKS_CNI_Policy"), managed("AmazonEC2ContainerRegistryPullOnly"),
			managed("AmazonSSMManagedInstanceCore")},
	}
	if k.c.IPv6 {
		of.Rights = document(ipv6Rights()...)
	}
	role := newRole(k.stack, k.o, of)
	profile := awsiam.NewCfnInstanceProfile(k.stack, s(id+"Profile"), &awsiam.CfnInstanceProfileProps{InstanceProfileName: filledIn(name), Roles: &[]any{role.Ref()}})
	made := []awscdk.CfnResource{role, profile}
	if !k.c.SelfManaged {
		made = append(made, awseks.NewCfnAccessEntry(k.stack, s(id+"Access"),
			&awseks.CfnAccessEntryProps{ClusterName: s(k.c.Name), PrincipalArn: role.AttrArn(), Type: s(kind)}))
	}
	for _, one := range made {
		one.CfnOptions().SetUpdateReplacePolicy(awscdk.CfnDeletionPolicy_RETAIN)
		one.CfnOptions().SetDeletionPolicy(awscdk.CfnDeletionPolicy_DELETE)
	}
	awscdk.NewCfnOutput(k.stack, s(id+"RoleName"), &awscdk.CfnOutputProps{Description: s("role of EC2NodeClasses: " + about), Value: role.Ref()})
	k.nodeRoles = append(k.nodeRoles, name)
}

// karpenterNodeRole is the name that Karpenter's guide gives to the role of a cluster's nodes.
func karpenterNodeRole(cluster string) string { return "KarpenterNodeRole-" + cluster }

// nodeRoleARNs are the roles that instances may be given.
func (k *cluster) nodeRoleARNs() []*string {
	var out []*string
	for _, name := range k.nodeRoles {
		out = append(out, sub("arn:${AWS::Partition}:iam::${AWS::AccountId}:role/%s", name))
	}
	return out
}

// ipv6Rights are what the VPC CNI needs of a node's role to give pods IPv6 addresses, where it has no role of its own. AmazonEKS_CNI_Policy
// is for IPv4. Source: EKS user guide, "Configure Amazon VPC CNI plugin to use IRSA", the policy for IPv6.
func ipv6Rights() []statement {
	return []statement{
		allow("AssignIPv6", []string{"ec2:AssignIpv6Addresses", "ec2:DescribeInstances", "ec2:DescribeTags", "ec2:DescribeNetworkInterfaces", "ec2:DescribeInstanceTypes"}, everything, nil),
		allow("TagInterfaces", []string{"ec2:CreateTags"}, []*string{sub("arn:${AWS::Partition}:ec2:*:*:network-interface/*")}, nil),
	}
}
