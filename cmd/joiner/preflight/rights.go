package preflight

// Permissions are what the caller needs in AWS, all of it reading.
var Permissions = []string{
	"sts:GetCallerIdentity", "ec2:DescribeRegions", "ec2:DescribeInstances", "ec2:DescribeInstanceTypes",
	"ec2:DescribeSubnets", "ec2:DescribeSecurityGroups",
	"ssm:GetParameter", "cloudformation:DescribeStacks", "dynamodb:DescribeTable", "s3:ListBucket", "sqs:GetQueueUrl",
	"lambda:GetFunctionConfiguration",
	"lambda:GetAccountSettings", "logs:DescribeLogGroups", "iam:GetRole", "servicequotas:ListServiceQuotas",
	"kms:DescribeKey", "kms:GetKeyPolicy", "eks:DescribeCluster",
	"eks:DescribeAddon", "eks:DescribeAccessEntry", "eks:ListPodIdentityAssociations",
}

// ClusterPermissions are what the caller lists in the cluster.
var ClusterPermissions = []string{"Deployments", "Leases", "Nodes", "NodeClaims", "NodePools",
	"Secrets (of the type that Helm keeps releases in)"}
