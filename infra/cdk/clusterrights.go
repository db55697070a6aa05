package main

import (
	"maps"

	"github.com/aws/jsii-runtime-go"
)

// Tags by which a cluster's resources are known. Condition keys cannot hold variables, which is why each cluster has roles of its
// own.
const (
	poolTag   = "karpenter.sh/nodepool"
	classTag  = "karpenter.k8s.aws/ec2nodeclass"
	intentTag = "joiner.sh/intent"
	nameTag   = "eks:eks-cluster-name"
	regionTag = "topology.kubernetes.io/region"
)

func (k *cluster) ownerTag() string { return "kubernetes.io/cluster/" + k.c.Name }

// rights are what a program may do for the cluster.
func (k *cluster) rights(program string) []statement {
	var out []statement
	switch program {
	case "provision":
		// Classes nobody has looked at yet it resolves by itself.
		out = append(out, k.readInstances(), k.readPrices(), k.readParameters(),
			allow("FindProfiles", []string{"iam:ListInstanceProfilesForRole"}, k.nodeRoleARNs(), nil))
		out = append(out, k.launch()...)
		out = append(out, k.deleteTemplates(), k.tagLater())
	case "interruption":
		out = append(out, k.describe("Instances", "InstanceStatus", "SpotInstanceRequests"),
			allow("EndOwnMachines", []string{"ec2:TerminateInstances"}, k.ec2("instance"), k.tagged(intentTag)))
	case "catalog":
		out = append(out, k.readInstances(), k.readPrices(), k.readParameters())
		if !k.c.SelfManaged {
			out = append(out, allow("KnowCluster", []string{"eks:DescribeCluster"}, []*string{k.arn()}, nil),
				// The key is what binds it to this cluster, as in the policy that Karpenter publishes.
				allow("ReadZonalShifts", []string{"arc-zonal-shift:GetManagedResource"}, everything,
					map[string]any{"StringEquals": map[string]any{"arc-zonal-shift:ResourceIdentifier": k.arn()}}))
		}
		if k.o.DryRun {
			out = append(out, k.launch()...)
		}
		out = append(out, k.deleteTemplates())
		out = append(out, k.profiles()...)
	case "disrupt":
		if k.c.StopAlarms {
			// CloudWatch shows composite alarms with no narrower right.
			out = append(out, allow("ReadStopAlarms", []string{"cloudwatch:DescribeAlarms"}, everything,
				map[string]any{"StringEquals": map[string]any{"aws:RequestedRegion": sub("${AWS::Region}")}}))
		}
	}
	if k.c.Relay {
		out = append(out, allow("AskWatcher", []string{"sqs:SendMessage"}, []*string{k.relayARN()}, nil))
	}
	return out
}

func (k *cluster) relayARN() *string {
	return sub("arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:joiner-relay-%s", short(k.c.Name))
}

// describe allows reads of EC2, which knows no resources for them, in this region.
func (k *cluster) describe(kinds ...string) statement {
	actions := make([]string, len(kinds))
	for i, kind := range kinds {
		actions[i] = "ec2:Describe" + kind
	}
	return allow("ReadEC2", actions, everything, map[string]any{"StringEquals": map[string]any{"aws:RequestedRegion": sub("${AWS::Region}")}})
}

// readInstances allows to read what there is, and what instances can be made from.
func (k *cluster) readInstances() statement {
	return k.describe("Instances", "LaunchTemplates", "InstanceTypes", "InstanceTypeOfferings", "AvailabilityZones", "SpotPriceHistory",
		"Images", "Subnets", "SecurityGroups", "CapacityReservations", "PlacementGroups")
}

func (k *cluster) readPrices() statement {
	return allow("ReadPrices", []string{"pricing:GetProducts"}, everything, nil)
}

// readParameters allows what node classes name images by: AWS's public parameters, and people's own where they said so.
func (k *cluster) readParameters() statement {
	resources := []*string{sub("arn:${AWS::Partition}:ssm:${AWS::Region}::parameter/aws/service/*")}
	if k.c.SSMParameters != "" {
		resources = append(resources, sub("arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter%s", k.c.SSMParameters),
			sub("arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter%s/*", k.c.SSMParameters))
	}
	return allow("ReadImageParameters", []string{"ssm:GetParameter"}, resources, nil)
}

// ec2 are ARNs of this account's resources of each kind; images and snapshots may be of any.
func (k *cluster) ec2(kinds ...string) []*string {
	var out []*string
	for _, kind := range kinds {
		account := "${AWS::AccountId}"
		switch kind {
		case "image", "snapshot":
			account = ""
		case "subnet", "security-group", "capacity-reservation", "placement-group":
			account = "*" // may be shared by another
		}
		out = append(out, sub("arn:${AWS::Partition}:ec2:${AWS::Region}:%s:%s/*", account, kind))
	}
	return out
}

// tagged is the condition that a resource is the cluster's: owned by it, of a pool, and carrying each of the keys.
func (k *cluster) tagged(keys ...string) map[string]any {
	like := map[string]any{"aws:ResourceTag/" + poolTag: "*"}
	for _, key := range keys {
		like["aws:ResourceTag/"+key] = "*"
	}
	return map[string]any{"StringEquals": map[string]any{"aws:ResourceTag/" + k.ownerTag(): "owned"}, "StringLike": like}
}

// tagging is the condition that a request makes a resource the cluster's.
func (k *cluster) tagging(keys ...string) map[string]any {
	like := map[string]any{"aws:RequestTag/" + poolTag: "*"}
	for _, key := range keys {
		like["aws:RequestTag/"+key] = "*"
	}
	return map[string]any{
		"StringEquals": map[string]any{"aws:RequestTag/" + k.ownerTag(): "owned", "aws:RequestTag/" + nameTag: k.c.Name},
		"StringLike":   like,
	}
}

// merge joins conditions: all of them must hold.
func merge(conditions ...map[string]any) map[string]any {
	out := map[string]any{}
	for _, one := range conditions {
		for operator, keys := range one {
			if before, ok := out[operator].(map[string]any); ok {
				keys, before := keys.(map[string]any), maps.Clone(before)
				maps.Copy(before, keys)
				out[operator] = before
				continue
			}
			out[operator] = keys
		}
	}
	return out
}

// launch allows to launch instances that are the cluster's from their first moment, from templates that are its own, and with no role
// but its nodes'. EC2 evaluates a fleet twice: as CreateFleet, and as RunInstances for what it launches. What is named in a launch template
// alone may come to CreateFleet without the keys that tell of it (users have seen launches denied for that), so images and the VPC are
// bound where instances are made from them, by RunInstances. Of other conditions CreateFleet has the tags of resources and of the request.
func (k *cluster) launch() []statement {
	both, fleet, run := []string{"ec2:CreateFleet", "ec2:RunInstances"}, []string{"ec2:CreateFleet"}, []string{"ec2:RunInstances"}
	network := []string{"subnet", "security-group"}
	into := append([]string{"snapshot", "capacity-reservation", "placement-group"}, network...)
	var inVPC, fleetInto statement
	if k.c.VPC != "" {
		into = into[:3]
		inVPC = allow("LaunchIntoVPC", run, k.ec2(network...), map[string]any{"ArnLike": map[string]any{"ec2:Vpc": sub("arn:${AWS::Partition}:ec2:${AWS::Region}:*:vpc/%s", k.c.VPC)}})
		fleetInto = allow("AskForNetwork", fleet, k.ec2(network...), nil)
	}
	out := []statement{
		allow("LaunchOwnMachines", both, k.ec2("instance", "fleet"), k.tagging(intentTag)),
		allow("LaunchWithOwnParts", both, k.ec2("volume", "network-interface", "spot-instances-request"), k.tagging()),
		allow("LaunchFromOwnTemplates", both, k.ec2("launch-template"), k.tagged()),
		allow("LaunchFromImages", run, k.ec2("image"), map[string]any{"StringEquals": map[string]any{"ec2:Owner": k.imageOwners()}}),
		allow("AskForImages", fleet, k.ec2("image"), nil),
		allow("LaunchInto", both, k.ec2(into...), nil), inVPC, fleetInto,
		allow("MakeOwnTemplates", []string{"ec2:CreateLaunchTemplate"}, k.ec2("launch-template"), k.tagging()),
		allow("TagWhatIsMade", []string{"ec2:CreateTags"},
			k.ec2("instance", "fleet", "volume", "network-interface", "spot-instances-request", "launch-template"),
			merge(k.tagging(), map[string]any{"StringEquals": map[string]any{"ec2:CreateAction": []string{"RunInstances", "CreateFleet", "CreateLaunchTemplate"}}})),
		k.passNodeRole(),
	}
	if !k.o.IMDSv1 {
		out = append(out, deny("MetadataByTokenOnly", []string{"ec2:RunInstances"}, k.ec2("instance"),
			map[string]any{"StringNotEquals": map[string]any{"ec2:MetadataHttpTokens": "required"}}))
	}
	if len(k.o.DenyTypes) > 0 {
		out = append(out, deny("NotTheseTypes", []string{"ec2:RunInstances"}, k.ec2("instance"),
			map[string]any{"StringLike": map[string]any{"ec2:InstanceType": k.o.DenyTypes}}))
	}
	return out
}

// imageOwners are whose images instances may be launched from: whoever makes an image is root on the instances. Who may write node classes
// chooses among these only.
func (k *cluster) imageOwners() []*string {
	owners := []*string{jsii.String("amazon"), sub("${AWS::AccountId}")}
	for _, owner := range k.o.ImageOwners {
		owners = append(owners, jsii.String(owner))
	}
	return owners
}

func (k *cluster) passNodeRole() statement {
	return allow("PassNodeRole", []string{"iam:PassRole"}, k.nodeRoleARNs(),
		map[string]any{"StringEquals": map[string]any{"iam:PassedToService": []string{"ec2.amazonaws.com", "ec2.amazonaws.com.cn"}}})
}

func (k *cluster) deleteTemplates() statement {
	return allow("DeleteOwnTemplates", []string{"ec2:DeleteLaunchTemplate"}, k.ec2("launch-template"), k.tagged())
}

// tagLater allows the tags that are not known before an instance has joined, on the cluster's instances.
func (k *cluster) tagLater() statement {
	return allow("TagOwnMachines", []string{"ec2:CreateTags"}, k.ec2("instance"), merge(k.tagged(), map[string]any{
		"ForAllValues:StringEquals": map[string]any{"aws:TagKeys": []string{nameTag, "karpenter.sh/nodeclaim", "Name"}},
	}))
}

// profiles allows to make and remove instance profiles of the cluster, which lie under its own path.
func (k *cluster) profiles() []statement {
	own := []*string{sub("arn:${AWS::Partition}:iam::${AWS::AccountId}:instance-profile/karpenter/${AWS::Region}/%s/*", k.c.Name)}
	request := map[string]any{
		"StringEquals": map[string]any{"aws:RequestTag/" + k.ownerTag(): "owned", "aws:RequestTag/" + nameTag: k.c.Name, "aws:RequestTag/" + regionTag: sub("${AWS::Region}")},
		"StringLike":   map[string]any{"aws:RequestTag/" + classTag: "*"},
	}
	resource := map[string]any{
		"StringEquals": map[string]any{"aws:ResourceTag/" + k.ownerTag(): "owned", "aws:ResourceTag/" + regionTag: sub("${AWS::Region}")},
		"StringLike":   map[string]any{"aws:ResourceTag/" + classTag: "*"},
	}
	out := []statement{
		allow("MakeOwnProfiles", []string{"iam:CreateInstanceProfile", "iam:TagInstanceProfile"}, own, request),
		allow("ChangeOwnProfiles", []string{"iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"}, own, resource),
		// Of a profile that is not there IAM does not know the path: asking for one is asking for its name in the root.
		allow("ReadProfiles", []string{"iam:GetInstanceProfile"}, []*string{sub("arn:${AWS::Partition}:iam::${AWS::AccountId}:instance-profile/*")}, nil),
		allow("ListProfiles", []string{"iam:ListInstanceProfiles"}, everything, nil),
	}
	if !k.o.DryRun { // else it is among what launching takes
		out = append(out, k.passNodeRole())
	}
	return out
}
