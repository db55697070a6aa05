package rights

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/rights"
)

const (
	account = "111111111111"
	region  = "us-west-2"
	demo    = "joiner-demo" // the cluster the committed templates are of
	nodes   = "joiner-joiner-demo-us-west-2-node"
)

func environment(stack string) cloudformation.Environment {
	return cloudformation.Environment{
		Account: account, Region: region, StackName: stack,
		StackID: "arn:aws:cloudformation:us-west-2:111111111111:stack/" + stack + "/5e1f-external",
	}
}

const templates = "../../../infra/cdk/templates/"

// open reads a committed template, of another cluster where one is named.
func open(t *testing.T, file, cluster string, env cloudformation.Environment) *cloudformation.Stack {
	t.Helper()
	path := templates + file
	if cluster != demo {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		path = t.TempDir() + "/" + file
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), demo, cluster)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := rights.Open(path, env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newBook returns a book whose policies act at once.
func newBook() *access.Book {
	b := access.NewBook(account, region, time.Now)
	b.Readings = reading.Strict(reading.Delays()...)
	return b
}

// installed is a region with two clusters, demo and other.
func installed(t *testing.T) *access.Book {
	t.Helper()
	book := newBook()
	stack := open(t, "region.json", demo, environment("joiner"))
	exports, err := stack.ExportValues()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rights.Add(book, stack, nil); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{demo, "other"} {
		env := environment("joiner-cluster-" + cluster)
		env.Exports = exports
		left, err := rights.Add(book, open(t, "cluster-adopters.json", cluster, env), nil) // cluster.json, the role for people, and alarms
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{role("joiner-" + cluster + "-" + region + "-node")}; !slices.Equal(left, want) {
			t.Fatalf("cluster %s: left out %v, want the nodes' role alone", cluster, left)
		}
	}
	return book
}

func role(name string) string { return "arn:aws:iam::" + account + ":role/" + name }

// ofCluster is the role a program has in cluster demo.
func ofCluster(program string) string { return role("joiner-" + demo + "-" + region + "-" + program) }

// ofFunction is a function's own role.
func ofFunction(name string) string { return role("joiner-" + name + "-" + region) }

func ec2(resource string) string { return "arn:aws:ec2:" + region + ":" + account + ":" + resource }
func queue(name string) string   { return "arn:aws:sqs:" + region + ":" + account + ":" + name }
func object(key string) string   { return "arn:aws:s3:::joiner-" + account + "-" + region + "/" + key }

const ledger = "arn:aws:dynamodb:us-west-2:111111111111:table/joiner"

// keys are condition keys and values in turn.
func keys(pairs ...string) map[string][]string {
	out := map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		key := strings.ToLower(pairs[i])
		out[key] = append(out[key], pairs[i+1])
	}
	return out
}

func with(a map[string][]string, pairs ...string) map[string][]string {
	out := maps.Clone(a)
	maps.Copy(out, keys(pairs...))
	return out
}

func without(a map[string][]string, key string) map[string][]string {
	out := maps.Clone(a)
	delete(out, strings.ToLower(key))
	return out
}

// What the functions send, and what machines of the two clusters are tagged with.
var (
	ownTags = keys("aws:RequestTag/kubernetes.io/cluster/joiner-demo", "owned", "aws:RequestTag/eks:eks-cluster-name", demo,
		"aws:RequestTag/karpenter.sh/nodepool", "default", "aws:RequestTag/joiner.sh/intent", "01J")
	launch      = with(ownTags, "ec2:MetadataHttpTokens", "required", "ec2:InstanceType", "m7g.large")
	ownInstance = keys("aws:ResourceTag/kubernetes.io/cluster/joiner-demo", "owned", "aws:ResourceTag/karpenter.sh/nodepool", "default", "aws:ResourceTag/joiner.sh/intent", "01J")
	otherTags   = keys("aws:RequestTag/kubernetes.io/cluster/other", "owned", "aws:RequestTag/eks:eks-cluster-name", "other",
		"aws:RequestTag/karpenter.sh/nodepool", "default", "aws:RequestTag/joiner.sh/intent", "01J", "ec2:MetadataHttpTokens", "required")
	otherInstance = keys("aws:ResourceTag/kubernetes.io/cluster/other", "owned", "aws:ResourceTag/karpenter.sh/nodepool", "default", "aws:ResourceTag/joiner.sh/intent", "01J")
	amazons       = keys("ec2:Owner", "amazon")
	toEC2         = keys("iam:PassedToService", "ec2.amazonaws.com")
	external      = keys("sts:ExternalId", "5e1f-external")
	ownItems      = keys("dynamodb:LeadingKeys", "C#joiner-demo#W#")
	ledgerItems   = keys("dynamodb:LeadingKeys", "C#joiner-demo#") // leases, intents, commands, classes, notes, usage, stops
	otherItems    = keys("dynamodb:LeadingKeys", "C#other#W#")
)

// row is one question and what the answer must be.
type row struct {
	threat string // whose attack it is, in the words of the threat model; "work" for what has to go
	name   string
	who    string // ARN of a role, or a service
	action string
	on     string
	keys   map[string][]string
	allow  bool
}

func work(name, who, action, on string, keys map[string][]string) row {
	return row{"work", name, who, action, on, keys, true}
}

func attack(threat, name, who, action, on string, keys map[string][]string) row {
	return row{threat, name, who, action, on, keys, false}
}

// Actors of the threat model.
const (
	podAuthor   = "pod author"
	nsAdmin     = "namespace admin"
	poolAuthor  = "NodePool or NodeClass author"
	neighbor    = "other cluster, same account"
	tagEditor   = "tag editor"
	node        = "compromised node"
	watcher     = "compromised watcher"
	function    = "compromised Lambda"
	forger      = "forged events"
	webhookUser = "webhook caller"
	ci          = "CI attacker"
)

func provisionRows() []row {
	p := ofCluster("provision")
	return []row{
		work("launches its machines", p, "ec2:RunInstances", ec2("instance/*"), launch),
		work("asks for a fleet", p, "ec2:CreateFleet", ec2("fleet/*"), ownTags),
		work("with volumes", p, "ec2:RunInstances", ec2("volume/*"), ownTags),
		work("with network interfaces", p, "ec2:RunInstances", ec2("network-interface/*"), ownTags),
		work("as spot", p, "ec2:RunInstances", ec2("spot-instances-request/*"), ownTags),
		work("from its launch template", p, "ec2:RunInstances", ec2("launch-template/lt-1"), ownInstance),
		work("as a fleet, whose image EC2 may name without its owner (A16)", p, "ec2:CreateFleet", "arn:aws:ec2:us-west-2::image/ami-1", nil),
		work("from Amazon's image", p, "ec2:RunInstances", "arn:aws:ec2:us-west-2::image/ami-1", amazons),
		work("into a subnet", p, "ec2:RunInstances", ec2("subnet/subnet-1"), nil),
		work("with a security group", p, "ec2:RunInstances", ec2("security-group/sg-1"), nil),
		work("makes its launch template", p, "ec2:CreateLaunchTemplate", ec2("launch-template/*"), ownTags),
		work("deletes its launch template", p, "ec2:DeleteLaunchTemplate", ec2("launch-template/lt-1"), ownInstance),
		work("tags what it launches", p, "ec2:CreateTags", ec2("instance/*"), with(ownTags, "ec2:CreateAction", "RunInstances")),
		work("passes the nodes' role", p, "iam:PassRole", role(nodes), toEC2),
		work("passes the role that Karpenter's nodes have (A5)", p, "iam:PassRole", role("KarpenterNodeRole-joiner-demo"), toEC2),
		work("names its machine later", p, "ec2:CreateTags", ec2("instance/i-1"), with(ownInstance, "aws:TagKeys", "Name")),
		work("looks at machines", p, "ec2:DescribeInstances", "*", nil),
		work("looks at a new class's subnets", p, "ec2:DescribeSubnets", "*", nil),
		work("looks at a new class's security groups", p, "ec2:DescribeSecurityGroups", "*", nil),
		work("looks at a new class's images", p, "ec2:DescribeImages", "*", nil),
		work("looks at a new class's image parameter", p, "ssm:GetParameter", "arn:aws:ssm:us-west-2::parameter/aws/service/bottlerocket/aws-k8s-1.36/x86_64/latest/image_id", nil),
		work("finds the profile of the nodes' role", p, "iam:ListInstanceProfilesForRole", role(nodes), nil),
		work("from an image of the account's own", p, "ec2:RunInstances", "arn:aws:ec2:us-west-2::image/ami-2", keys("ec2:Owner", account)),

		attack(function, "provision ends a machine of its own cluster", p, "ec2:TerminateInstances", ec2("instance/i-1"), ownInstance),
		attack(function, "provision stops a machine", p, "ec2:StopInstances", ec2("instance/i-1"), ownInstance),
		attack(function, "provision launches machines without tags", p, "ec2:RunInstances", ec2("instance/*"), keys("ec2:MetadataHttpTokens", "required")),
		attack(function, "provision launches machines no launch of ours can be found by", p, "ec2:RunInstances", ec2("instance/*"), without(launch, "aws:RequestTag/joiner.sh/intent")),
		attack(function, "provision launches machines of no pool", p, "ec2:RunInstances", ec2("instance/*"), without(launch, "aws:RequestTag/karpenter.sh/nodepool")),
		attack(function, "provision launches a fleet without tags", p, "ec2:CreateFleet", ec2("fleet/*"), nil),
		attack(function, "provision makes itself rights", p, "iam:PutRolePolicy", p, nil),
		attack(function, "provision makes an instance profile", p, "iam:CreateInstanceProfile", "arn:aws:iam::111111111111:instance-profile/karpenter/us-west-2/joiner-demo/x", ownTags),
		attack(function, "provision turns off the trail", p, "cloudtrail:StopLogging", "arn:aws:cloudtrail:us-west-2:111111111111:trail/t", nil),
		attack(function, "provision reads a secret", p, "secretsmanager:GetSecretValue", "*", nil),
		attack(function, "provision changes an instance's user data", p, "ec2:ModifyInstanceAttribute", ec2("instance/i-1"), ownInstance),
		attack(neighbor, "machines of another cluster", p, "ec2:RunInstances", ec2("instance/*"), otherTags),
		attack(neighbor, "machines that name two clusters, ours as shared", p, "ec2:RunInstances", ec2("instance/*"), with(launch, "aws:RequestTag/kubernetes.io/cluster/joiner-demo", "shared")),
		attack(neighbor, "another cluster's launch template", p, "ec2:RunInstances", ec2("launch-template/lt-2"), otherInstance),
		attack(neighbor, "deletes another cluster's launch template", p, "ec2:DeleteLaunchTemplate", ec2("launch-template/lt-2"), otherInstance),
		attack(neighbor, "names another cluster's machine", p, "ec2:CreateTags", ec2("instance/i-2"), with(otherInstance, "aws:TagKeys", "Name")),
		attack(neighbor, "passes another cluster's node role", p, "iam:PassRole", role("joiner-other-us-west-2-node"), toEC2),
		attack(neighbor, "passes the role of another cluster's nodes of Karpenter (A5)", p, "iam:PassRole", role("KarpenterNodeRole-other"), toEC2),
		attack(neighbor, "passes the role of nodes of a cluster of that name in another region (A5)", p, "iam:PassRole", role("joiner-joiner-demo-eu-west-1-node"), toEC2),
		attack(poolAuthor, "passes a role of the NodeClass's choosing", p, "iam:PassRole", role("Admin"), toEC2),
		attack(poolAuthor, "passes the nodes' role to another service", p, "iam:PassRole", role(nodes), keys("iam:PassedToService", "lambda.amazonaws.com")),
		attack(poolAuthor, "passes a function's role to machines", p, "iam:PassRole", ofFunction("provision"), toEC2),
		attack(poolAuthor, "machines whose metadata needs no token", p, "ec2:RunInstances", ec2("instance/*"), with(launch, "ec2:MetadataHttpTokens", "optional")),
		attack(poolAuthor, "an image of nobody knows whom", p, "ec2:RunInstances", "arn:aws:ec2:us-west-2::image/ami-1", nil),
		attack(poolAuthor, "an image of a stranger", p, "ec2:RunInstances", "arn:aws:ec2:us-west-2::image/ami-evil", keys("ec2:Owner", "999999999999", "ec2:Public", "true")),
		attack(tagEditor, "gives a stranger's machine our tags", p, "ec2:CreateTags", ec2("instance/i-9"), with(ownTags, "aws:TagKeys", "kubernetes.io/cluster/joiner-demo")),
		attack(tagEditor, "moves its machine to another cluster", p, "ec2:CreateTags", ec2("instance/i-1"), with(ownInstance, "aws:TagKeys", "kubernetes.io/cluster/other")),
		attack(tagEditor, "takes tags away", p, "ec2:DeleteTags", ec2("instance/i-1"), ownInstance),
		attack(podAuthor, "machines in another region", p, "ec2:RunInstances", "arn:aws:ec2:eu-west-1:111111111111:instance/*", with(launch, "aws:RequestedRegion", "eu-west-1")),
		attack(podAuthor, "a look at another region", p, "ec2:DescribeInstances", "*", keys("aws:RequestedRegion", "eu-west-1")),
	}
}

func endRows() []row {
	i, d := ofCluster("interruption"), ofCluster("disrupt")
	return []row{
		work("ends its machine", i, "ec2:TerminateInstances", ec2("instance/i-1"), ownInstance),
		work("looks at machines", i, "ec2:DescribeInstances", "*", nil),
		work("looks at their health", i, "ec2:DescribeInstanceStatus", "*", nil),
		attack(function, "interruption launches", i, "ec2:RunInstances", ec2("instance/*"), launch),
		attack(function, "interruption asks for a fleet", i, "ec2:CreateFleet", ec2("fleet/*"), ownTags),
		attack(function, "interruption tags", i, "ec2:CreateTags", ec2("instance/i-1"), with(ownInstance, "aws:TagKeys", "Name")),
		attack(function, "interruption passes a role", i, "iam:PassRole", role(nodes), toEC2),
		attack(function, "interruption ends a machine without tags", i, "ec2:TerminateInstances", ec2("instance/i-9"), nil),
		attack(neighbor, "interruption ends another cluster's machine", i, "ec2:TerminateInstances", ec2("instance/i-2"), otherInstance),
		attack(neighbor, "interruption ends a managed node group's machine", i, "ec2:TerminateInstances", ec2("instance/i-3"), keys("aws:ResourceTag/kubernetes.io/cluster/joiner-demo", "owned", "aws:ResourceTag/eks:nodegroup-name", "system")),
		attack(tagEditor, "a machine tagged for the cluster, but of no launch of ours", i, "ec2:TerminateInstances", ec2("instance/i-9"), without(ownInstance, "aws:ResourceTag/joiner.sh/intent")),
		attack(tagEditor, "a machine that says it is shared", i, "ec2:TerminateInstances", ec2("instance/i-9"), with(ownInstance, "aws:ResourceTag/kubernetes.io/cluster/joiner-demo", "shared")),
		attack(function, "disrupt ends a machine", d, "ec2:TerminateInstances", ec2("instance/i-1"), ownInstance),
		attack(function, "disrupt launches", d, "ec2:RunInstances", ec2("instance/*"), launch),
		attack(nsAdmin, "disrupt has no right of EC2 at all", d, "ec2:DescribeInstances", "*", nil),
	}
}

func catalogRows() []row {
	c, profile := ofCluster("catalog"), "arn:aws:iam::111111111111:instance-profile/karpenter/us-west-2/joiner-demo/web"
	tags := with(ownTags, "aws:RequestTag/topology.kubernetes.io/region", region, "aws:RequestTag/karpenter.k8s.aws/ec2nodeclass", "web")
	owned := keys("aws:ResourceTag/kubernetes.io/cluster/joiner-demo", "owned", "aws:ResourceTag/topology.kubernetes.io/region", region, "aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass", "web")
	return []row{
		work("reads types", c, "ec2:DescribeInstanceTypes", "*", nil),
		work("reads images", c, "ec2:DescribeImages", "*", nil),
		work("reads prices", c, "pricing:GetProducts", "*", nil),
		work("reads which image is newest", c, "ssm:GetParameter", "arn:aws:ssm:us-west-2::parameter/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id", nil),
		work("knows its cluster", c, "eks:DescribeCluster", "arn:aws:eks:us-west-2:111111111111:cluster/joiner-demo", nil),
		work("tries a launch", c, "ec2:RunInstances", ec2("instance/*"), launch),
		work("makes a profile", c, "iam:CreateInstanceProfile", profile, tags),
		work("gives it the nodes' role", c, "iam:AddRoleToInstanceProfile", profile, owned),
		work("passes the nodes' role", c, "iam:PassRole", role(nodes), toEC2),
		work("asks for a profile that is not there", c, "iam:GetInstanceProfile", "arn:aws:iam::111111111111:instance-profile/web", nil),
		work("deletes its profile", c, "iam:DeleteInstanceProfile", profile, owned),
		attack(function, "catalog ends a machine", c, "ec2:TerminateInstances", ec2("instance/i-1"), ownInstance),
		attack(function, "catalog attaches a policy", c, "iam:AttachRolePolicy", role(nodes), nil),
		attack(function, "catalog makes a role", c, "iam:CreateRole", role("x"), nil),
		attack(poolAuthor, "catalog passes a NodeClass's role to machines", c, "iam:PassRole", role("Admin"), toEC2),
		attack(poolAuthor, "catalog reads the account's parameters", c, "ssm:GetParameter", "arn:aws:ssm:us-west-2:111111111111:parameter/prod/password", nil),
		attack(neighbor, "catalog changes another cluster's profile", c, "iam:AddRoleToInstanceProfile", "arn:aws:iam::111111111111:instance-profile/karpenter/us-west-2/other/web", keys("aws:ResourceTag/kubernetes.io/cluster/other", "owned")),
		attack(neighbor, "catalog changes somebody's profile", c, "iam:AddRoleToInstanceProfile", "arn:aws:iam::111111111111:instance-profile/admin", owned),
		attack(neighbor, "catalog looks at another cluster", c, "eks:DescribeCluster", "arn:aws:eks:us-west-2:111111111111:cluster/other", nil),
		attack(function, "catalog lets somebody into the cluster", c, "eks:CreateAccessEntry", "arn:aws:eks:us-west-2:111111111111:cluster/joiner-demo", nil),
	}
}

func watcherRows() []row {
	w, a := ofCluster("watcher"), ofCluster("adopt")
	return []row{
		work("hints", w, "sqs:SendMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
		attack(watcher, "hints in another cluster's name (W3)", w, "sqs:SendMessage", queue("joiner-plan-other.fifo"), nil),
		attack(watcher, "hints to a cluster whose name begins with its own (W3)", w, "sqs:SendMessage", queue("joiner-plan-joiner-demo-2.fifo"), nil),
		attack(watcher, "sends to a queue of functions (W1, W3)", w, "sqs:SendMessage", queue("joiner-interruption"), nil),
		attack(watcher, "sends to a queue of functions (W3)", w, "sqs:SendMessage", queue("joiner-disruption"), nil),
		attack(watcher, "sends to a queue of functions (W3)", w, "sqs:SendMessage", queue("joiner-catalog"), nil),
		work("publishes", w, "s3:PutObject", object("snap/joiner-demo/e1/base"), nil),
		work("reads prices for what it says of pools", w, "s3:GetObject", object("catalog/111111111111/us-west-2.jnc"), nil),
		work("points to its snapshot", w, "dynamodb:UpdateItem", ledger, ownItems),
		attack(watcher, "launches", w, "ec2:RunInstances", ec2("instance/*"), launch),
		attack(watcher, "ends a machine", w, "ec2:TerminateInstances", ec2("instance/i-1"), ownInstance),
		attack(watcher, "looks at EC2", w, "ec2:DescribeInstances", "*", nil),
		attack(watcher, "takes hints away", w, "sqs:ReceiveMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
		attack(watcher, "empties the queue", w, "sqs:PurgeQueue", queue("joiner-plan-joiner-demo.fifo"), nil),
		attack(watcher, "forges a notice of EventBridge's", w, "sqs:SendMessage", queue("joiner-notices"), nil),
		attack(watcher, "fills the dead-letter queue", w, "sqs:SendMessage", queue("joiner-plan-dead.fifo"), nil),
		attack(watcher, "overwrites another cluster's snapshot", w, "s3:PutObject", object("snap/other/e1/base"), nil),
		attack(watcher, "reads another cluster's snapshot", w, "s3:GetObject", object("snap/other/e1/base"), nil),
		attack(watcher, "overwrites the catalogue", w, "s3:PutObject", object("catalog/111111111111/us-west-2.jnc"), nil),
		attack(watcher, "writes a decision", w, "s3:PutObject", object("decisions/joiner-demo/x"), nil),
		attack(watcher, "deletes a snapshot", w, "s3:DeleteObject", object("snap/joiner-demo/e1/base"), nil),
		attack(watcher, "writes another cluster's items", w, "dynamodb:PutItem", ledger, otherItems),
		attack(watcher, "writes both clusters' items", w, "dynamodb:BatchGetItem", ledger, keys("dynamodb:LeadingKeys", "C#joiner-demo#W#", "dynamodb:LeadingKeys", "C#other#W#")),
		attack(watcher, "writes leases, intents, commands, classes and stops of its own cluster (W6)", w, "dynamodb:PutItem", ledger, ledgerItems),
		attack(watcher, "renews a lease of its own cluster (W6)", w, "dynamodb:UpdateItem", ledger, ledgerItems),
		attack(watcher, "writes its own cluster's claims (W6)", w, "dynamodb:PutItem", ledger, keys("dynamodb:LeadingKeys", "C#joiner-demo#N#0")),
		attack(watcher, "a cluster whose name begins with its own", w, "dynamodb:PutItem", ledger, keys("dynamodb:LeadingKeys", "C#joiner-demo#W#2")),
		attack(watcher, "reads the whole ledger", w, "dynamodb:Scan", ledger, nil),
		attack(watcher, "deletes items", w, "dynamodb:DeleteItem", ledger, ownItems),
		attack(watcher, "invokes a function", w, "lambda:InvokeFunction", "arn:aws:lambda:us-west-2:111111111111:function:joiner-provision", nil),
		attack(watcher, "becomes a role that launches", w, "sts:AssumeRole", ofCluster("provision"), external),
		attack(watcher, "presses the stop switch", w, "ssm:PutParameter", "arn:aws:ssm:us-west-2:111111111111:parameter/joiner/stop", nil),

		work("people look at machines", a, "ec2:DescribeInstances", "*", nil),
		work("people take a machine over", a, "ec2:CreateTags", ec2("instance/i-1"), with(ownInstance, "aws:TagKeys", "joiner.sh/intent")),
		attack(neighbor, "people take over another cluster's machine", a, "ec2:CreateTags", ec2("instance/i-2"), with(otherInstance, "aws:TagKeys", "joiner.sh/intent")),
		attack(tagEditor, "people change a machine's cluster", a, "ec2:CreateTags", ec2("instance/i-1"), with(ownInstance, "aws:TagKeys", "kubernetes.io/cluster/other")),
		attack(ci, "people's role asks a watcher to carry something out", a, "sqs:SendMessage", queue("joiner-relay-joiner-demo"), nil),
		attack(ci, "people's role ends machines", a, "ec2:TerminateInstances", ec2("instance/i-1"), ownInstance),
		attack(ci, "people's role launches", a, "ec2:RunInstances", ec2("instance/*"), launch),
	}
}

func functionRows() []row {
	p, i, c, d := ofFunction("provision"), ofFunction("interruption"), ofFunction("catalog"), ofFunction("disrupt")
	rows := []row{
		work("takes its queue's messages", p, "sqs:ReceiveMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
		work("writes the ledger", p, "dynamodb:PutItem", ledger, ownItems),
		work("tells the watcher what is gone (F4)", p, "dynamodb:UpdateItem", ledger, ownItems),
		work("says so, too, where it judges (F4)", d, "dynamodb:UpdateItem", ledger, ownItems),
		work("says so, too, where it reads prices (F4)", c, "dynamodb:UpdateItem", ledger, ownItems),
		work("reads snapshots", p, "s3:GetObject", object("snap/joiner-demo/e1/base"), nil),
		work("writes decisions", p, "s3:PutObject", object("decisions/joiner-demo/x"), nil),
		work("writes the catalogue", c, "s3:PutObject", object("catalog/111111111111/us-west-2.jnc"), nil),
		work("keeps its versions", c, "s3:PutObject", object("versions/111111111111/us-west-2/0a.jnc"), nil),
		work("keeps why machines ended", i, "s3:PutObject", object("removals/joiner-demo/2026-11-20/x.json.gz"), nil),
		work("asks for a replacement", d, "sqs:SendMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
		work("asks for a node's end", d, "sqs:SendMessage", queue("joiner-interruption"), nil),
		work("tells the judge that budgets have room", i, "sqs:SendMessage", queue("joiner-disruption"), nil),
		work("moves a claim that is gone (F9)", i, "dynamodb:DeleteItem", ledger, ownItems),
		work("finds a claim by its machine", i, "dynamodb:Query", ledger+"/index/byInstance", keys("dynamodb:LeadingKeys", "i-1")),
		work("reads the stop switch", p, "ssm:GetParameter", "arn:aws:ssm:us-west-2:111111111111:parameter/joiner/stop", nil),
		attack(function, "a function's own role launches", p, "ec2:RunInstances", ec2("instance/*"), launch),
		attack(function, "a function's own role ends machines", i, "ec2:TerminateInstances", ec2("instance/i-1"), ownInstance),
		attack(function, "provision takes notices away", p, "sqs:ReceiveMessage", queue("joiner-notices"), nil),
		attack(function, "disrupt takes plans away", d, "sqs:ReceiveMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
		attack(function, "a function forges a notice", d, "sqs:SendMessage", queue("joiner-notices"), nil),
		attack(function, "provision releases the stop switch", p, "ssm:PutParameter", "arn:aws:ssm:us-west-2:111111111111:parameter/joiner/stop", nil),
		attack(function, "provision forges a snapshot", p, "s3:PutObject", object("snap/joiner-demo/e1/base"), nil),
		attack(function, "provision forges the catalogue", p, "s3:PutObject", object("catalog/111111111111/us-west-2.jnc"), nil),
		attack(function, "provision forges a version of it", p, "s3:PutObject", object("versions/111111111111/us-west-2/0a.jnc"), nil),
		attack(function, "interruption writes a decision", i, "s3:PutObject", object("decisions/joiner-demo/x"), nil),
		attack(function, "disrupt deletes decisions", d, "s3:DeleteObject", object("decisions/joiner-demo/x"), nil),
		attack(function, "interruption deletes the table", i, "dynamodb:DeleteTable", ledger, nil),
		attack(function, "catalog turns off point-in-time recovery", c, "dynamodb:UpdateContinuousBackups", ledger, nil),
		attack(function, "disrupt changes another function's code", d, "lambda:UpdateFunctionCode", "arn:aws:lambda:us-west-2:111111111111:function:joiner-provision", nil),
		attack(function, "provision deletes its log", p, "logs:DeleteLogGroup", "arn:aws:logs:us-west-2:111111111111:log-group:/aws/lambda/joiner-provision:*", nil),
		attack(function, "provision writes another function's log", p, "logs:PutLogEvents", "arn:aws:logs:us-west-2:111111111111:log-group:/aws/lambda/joiner-disrupt:log-stream:x", nil),
		attack(function, "disrupt deletes a queue", d, "sqs:DeleteQueue", queue("joiner-plan-joiner-demo.fifo"), nil),
		attack(function, "a function changes an alarm", p, "cloudwatch:DeleteAlarms", "*", nil),
		attack(webhookUser, "reviews have no role that writes: the catalogue's does not launch for the region", c, "ec2:RunInstances", ec2("instance/*"), launch),
		attack(ci, "a function's role is taken on by people", role("Deployer"), "sts:AssumeRole", p, nil),
	}
	for _, name := range []string{"provision", "interruption", "catalog", "disrupt"} {
		other := map[string]string{"provision": "interruption", "interruption": "provision", "catalog": "interruption", "disrupt": "provision"}[name]
		rows = append(rows,
			work(name+" takes on its role in the cluster", ofFunction(name), "sts:AssumeRole", ofCluster(name), external),
			attack(function, name+" takes on another's role", ofFunction(name), "sts:AssumeRole", ofCluster(other), external),
			attack(function, name+" takes on its role without the external id", ofFunction(name), "sts:AssumeRole", ofCluster(name), nil),
			attack(function, name+" takes on its role with a stranger's", ofFunction(name), "sts:AssumeRole", ofCluster(name), keys("sts:ExternalId", "guess")),
			attack(function, name+" takes on people's role", ofFunction(name), "sts:AssumeRole", ofCluster("adopt"), external),
			attack(node, "a node takes on the role of "+name, role(nodes), "sts:AssumeRole", ofCluster(name), external),
		)
	}
	return rows
}

func eventRows() []row {
	events := "events.amazonaws.com"
	provision := "arn:aws:lambda:us-west-2:111111111111:function:joiner-provision"
	rule := func(account, name string) map[string][]string {
		return keys("aws:SourceArn", "arn:aws:events:us-west-2:"+account+":rule/"+name, "aws:SourceAccount", account)
	}
	plain := keys("aws:SecureTransport", "false")
	return []row{
		work("our rule's events come in", events, "sqs:SendMessage", queue("joiner-notices"), rule(account, "joiner-spot")),
		work("the rule of each minute invokes", events, "lambda:InvokeFunction", provision, rule(account, "joiner-tick")),
		work("Lambda runs a function by its role", "lambda.amazonaws.com", "sts:AssumeRole", ofFunction("provision"), nil),
		work("a pod of the watcher has its role", "pods.eks.amazonaws.com", "sts:AssumeRole", ofCluster("watcher"), keys("aws:SourceAccount", account, "aws:SourceArn", "arn:aws:eks:us-west-2:111111111111:cluster/joiner-demo")),
		attack(forger, "another account's rule of the same name", events, "sqs:SendMessage", queue("joiner-notices"), rule("999999999999", "joiner-spot")),
		attack(forger, "another rule of the account", events, "sqs:SendMessage", queue("joiner-notices"), rule(account, "theirs")),
		attack(forger, "a rule whose name begins like ours", events, "sqs:SendMessage", queue("joiner-notices"), rule(account, "joiner-spot-2")),
		attack(forger, "EventBridge for nobody in particular", events, "sqs:SendMessage", queue("joiner-notices"), nil),
		attack(forger, "an event straight into the plan queue", events, "sqs:SendMessage", queue("joiner-plan-joiner-demo.fifo"), rule(account, "joiner-spot")),
		attack(forger, "another service", "sns.amazonaws.com", "sqs:SendMessage", queue("joiner-notices"), rule(account, "joiner-spot")),
		attack(forger, "somebody's role in the account without rights", ofCluster("disrupt"), "sqs:SendMessage", queue("joiner-notices"), nil),
		attack(forger, "another rule of the account invokes", events, "lambda:InvokeFunction", provision, rule(account, "theirs")),
		attack(forger, "a rule of warnings invokes", events, "lambda:InvokeFunction", provision, rule(account, "joiner-spot")),
		attack(forger, "a rule of the same name in another account invokes", events, "lambda:InvokeFunction", provision, rule("999999999999", "joiner-tick")),
		attack(forger, "EventBridge invokes for nobody in particular", events, "lambda:InvokeFunction", provision, nil),
		attack(forger, "another service invokes", "sns.amazonaws.com", "lambda:InvokeFunction", provision, rule(account, "joiner-tick")),
		attack(neighbor, "a pod of another cluster has the watcher's role", "pods.eks.amazonaws.com", "sts:AssumeRole", ofCluster("watcher"), keys("aws:SourceAccount", account, "aws:SourceArn", "arn:aws:eks:us-west-2:111111111111:cluster/other")),
		attack(forger, "the rule of each minute sends", events, "sqs:SendMessage", queue("joiner-plan-joiner-demo.fifo"), rule(account, "joiner-tick")),
		attack(forger, "the rule of each minute warns", events, "sqs:SendMessage", queue("joiner-notices"), rule(account, "joiner-tick")),
		attack(webhookUser, "hints without TLS", ofCluster("watcher"), "sqs:SendMessage", queue("joiner-plan-joiner-demo.fifo"), plain),
		attack(webhookUser, "snapshots without TLS", ofCluster("watcher"), "s3:PutObject", object("snap/joiner-demo/e1/base"), plain),
		attack(webhookUser, "notices without TLS", events, "sqs:SendMessage", queue("joiner-notices"), with(rule(account, "joiner-spot"), "aws:SecureTransport", "false")),
		attack(webhookUser, "root without TLS", "arn:aws:iam::111111111111:root", "s3:GetObject", object("snap/joiner-demo/e1/base"), plain),
		attack(ci, "a pipeline from outside invokes the function that registers", "arn:aws:iam::999999999999:role/ci", "lambda:InvokeFunction", "arn:aws:lambda:us-west-2:111111111111:function:joiner-catalog", nil),
	}
}

// nodeRows: the nodes' role has AWS's managed policies, which are not in the template; what counts is that nothing of ours trusts it
// and that the resources of ours grant it nothing.
func nodeRows() []row {
	return []row{
		attack(node, "a node takes on a function's own role", role(nodes), "sts:AssumeRole", ofFunction("provision"), external),
		attack(node, "a node takes on the watcher's role", role(nodes), "sts:AssumeRole", ofCluster("watcher"), nil),
		attack(node, "a node is a machine's role and no pod's", "ec2.amazonaws.com", "sts:AssumeRole", ofCluster("watcher"), nil),
	}
}

func allRows() []row {
	return slices.Concat(provisionRows(), endRows(), catalogRows(), watcherRows(), functionRows(), eventRows(), nodeRows())
}

func principal(who string) policy.Principal {
	switch {
	case !strings.HasPrefix(who, "arn:"):
		return policy.Service(who)
	case strings.HasSuffix(who, ":root"):
		return policy.Principal{ARN: who, Account: strings.Split(who, ":")[4]}
	}
	return policy.Role(who)
}

// TestPolicyTable asks everything of the roles and resources the committed templates make.
func TestPolicyTable(t *testing.T) {
	book := installed(t)
	for _, r := range allRows() {
		t.Run(r.threat+"/"+r.name+"/"+r.action, func(t *testing.T) {
			if who := principal(r.who); who.Service == "" && r.threat != node && !strings.HasSuffix(r.who, ":root") && strings.Contains(r.who, "joiner-") && !book.Knows(r.who) {
				t.Fatalf("no template makes %s", r.who)
			}
			got := book.Decide(principal(r.who), wire.Access{Action: r.action, Resource: r.on, Context: r.keys})
			if got.Allowed() != r.allow {
				t.Errorf("%s on %s by %s: %v, want allowed = %v", r.action, r.on, r.who, got, r.allow)
			}
		})
	}
}

// TestPolicyTableIsWhole: it has rows of every actor of the threat model, and of every role what it may and may not do.
func TestPolicyTableIsWhole(t *testing.T) {
	rows := allRows()
	if len(rows) < 60 {
		t.Errorf("%d rows, want at least 60", len(rows))
	}
	threats, may, mayNot, seen := map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}
	for _, r := range rows {
		key := fmt.Sprint(r.who, r.action, r.on, r.keys)
		if seen[key] {
			t.Errorf("%s/%s is asked twice", r.threat, r.name)
		}
		seen[key] = true
		threats[r.threat]++
		if r.allow {
			may[r.who]++
		} else {
			mayNot[r.who]++
		}
	}
	for _, threat := range []string{podAuthor, nsAdmin, poolAuthor, neighbor, tagEditor, node, watcher, function, forger, webhookUser, ci} {
		if threats[threat] == 0 {
			t.Errorf("no row of the actor %s", threat)
		}
	}
	book := installed(t)
	for _, arn := range book.Roles() {
		if strings.Contains(arn, "-other-") {
			continue
		}
		if mayNot[arn] == 0 || may[arn] == 0 && arn != ofCluster("disrupt") {
			t.Errorf("%s: %d rows of what it may do, %d of what it may not", arn, may[arn], mayNot[arn])
		}
	}
	t.Logf("%d rows: %v", len(rows), threats)
}

// TestNobodyLaunchesAndEnds: no role can do both, alone or by way of roles it can take on.
func TestNobodyLaunchesAndEnds(t *testing.T) {
	book := installed(t)
	does := func(arn string) (launches, ends bool) {
		launches = book.Decide(policy.Role(arn), wire.Access{Action: "ec2:RunInstances", Resource: ec2("instance/*"), Context: launch}).Allowed()
		ends = book.Decide(policy.Role(arn), wire.Access{Action: "ec2:TerminateInstances", Resource: ec2("instance/i-1"), Context: ownInstance}).Allowed()
		return launches, ends
	}
	launchers, enders := 0, 0
	for _, from := range book.Roles() {
		launches, ends := does(from)
		for _, to := range book.Roles() {
			if book.Decide(policy.Role(from), wire.Access{Action: "sts:AssumeRole", Resource: to, Context: external}).Allowed() {
				l, e := does(to)
				launches, ends = launches || l, ends || e
			}
		}
		if launches && ends {
			t.Errorf("%s can launch and end machines", from)
		}
		if launches {
			launchers++
		}
		if ends {
			enders++
		}
	}
	if launchers == 0 || enders == 0 {
		t.Errorf("%d launch and %d end: the question was not understood", launchers, enders)
	}
}

// TestEveryTemplateIsRead: all of the committed templates are understood, with nothing in their policies that is not evaluated.
func TestEveryTemplateIsRead(t *testing.T) {
	entries, err := os.ReadDir(templates)
	if err != nil {
		t.Fatal(err)
	}
	boundary, err := policy.Parse([]byte(`{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}`), policy.Identity)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		env := environment(strings.TrimSuffix(entry.Name(), ".json"))
		s := open(t, entry.Name(), demo, env)
		if err := s.CheckTypes(); err != nil {
			t.Errorf("%s: %v", entry.Name(), err)
		}
		if _, err := rights.Add(newBook(), s, rights.Boundaries{"arn:aws:iam::111111111111:policy/boundary": boundary}); err != nil {
			t.Errorf("%s: %v", entry.Name(), err)
		}
	}
	if len(entries) < 7 {
		t.Errorf("%d templates: the test looks at the wrong place", len(entries))
	}
}

// TestHardenedRegion: with a webhook, a network, a key and a boundary, of which the boundary here allows everything but ending.
func TestHardenedRegion(t *testing.T) {
	boundary, err := policy.Parse([]byte(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "NotAction": "sqs:DeleteMessage", "Resource": "*"}]}`), policy.Identity)
	if err != nil {
		t.Fatal(err)
	}
	book, named := newBook(), rights.Boundaries{"arn:aws:iam::111111111111:policy/boundary": boundary}
	stack := open(t, "region-hardened.json", demo, environment("joiner"))
	if _, err := rights.Add(newBook(), stack, nil); err == nil || !strings.Contains(err.Error(), "policy/boundary is not known") {
		t.Errorf("a boundary nobody knows: %v", err)
	}
	if _, err := rights.Add(book, stack, named); err != nil {
		t.Fatal(err)
	}
	w, p, api := ofFunction("webhook"), ofFunction("provision"), "apigateway.amazonaws.com"
	hook := "arn:aws:lambda:us-west-2:111111111111:function:joiner-webhook"
	source := keys("aws:SourceAccount", account, "aws:SourceArn", "arn:aws:execute-api:us-west-2:111111111111:WebhookApi/$default/POST/joiner/secret")
	byLambda := keys("lambda:SourceFunctionArn", "arn:aws:lambda:us-west-2:111111111111:function:joiner-provision")
	const key = "arn:aws:kms:us-west-2:111111111111:key/11111111-2222-3333-4444-555555555555"
	for _, r := range []row{
		work("a review reads the catalogue", w, "s3:GetObject", object("catalog/111111111111/us-west-2.jnc"), nil),
		work("a review reads its secret", w, "ssm:GetParameter", "arn:aws:ssm:us-west-2:111111111111:parameter/joiner/webhook", nil),
		work("its API invokes it", api, "lambda:InvokeFunction", hook, source),
		attack(webhookUser, "a review reads snapshots", w, "s3:GetObject", object("snap/joiner-demo/e1/base"), nil),
		attack(webhookUser, "a review writes", w, "s3:PutObject", object("catalog/111111111111/us-west-2.jnc"), nil),
		attack(webhookUser, "a review reads the ledger", w, "dynamodb:GetItem", ledger, ownItems),
		attack(webhookUser, "a review hints", w, "sqs:SendMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
		attack(webhookUser, "a review launches", w, "ec2:RunInstances", ec2("instance/*"), launch),
		attack(webhookUser, "a review takes on a role", w, "sts:AssumeRole", ofCluster("provision"), external),
		attack(webhookUser, "another method of the API", api, "lambda:InvokeFunction", hook, with(source, "aws:SourceArn", "arn:aws:execute-api:us-west-2:111111111111:WebhookApi/$default/GET/joiner/secret")),
		attack(webhookUser, "another API", api, "lambda:InvokeFunction", hook, with(source, "aws:SourceArn", "arn:aws:execute-api:us-west-2:111111111111:other/$default/POST/x")),
		attack(webhookUser, "an API of another account", api, "lambda:InvokeFunction", hook, with(source, "aws:SourceAccount", "999999999999")),
		attack(webhookUser, "another function by way of the API", api, "lambda:InvokeFunction", "arn:aws:lambda:us-west-2:111111111111:function:joiner-provision", source),
		work("Lambda attaches a function to its network", p, "ec2:CreateNetworkInterface", "*", nil),
		attack(function, "a function's code makes network interfaces", p, "ec2:CreateNetworkInterface", "*", byLambda),
		work("uses the key for its bucket", p, "kms:Decrypt", key, keys("kms:ViaService", "s3.us-west-2.amazonaws.com")),
		work("uses the key for its table", p, "kms:GenerateDataKey", key, keys("kms:ViaService", "dynamodb.us-west-2.amazonaws.com")),
		attack(function, "W16: opens what others put under the key by itself", p, "kms:Decrypt", key, nil),
		attack(function, "W16: opens a disk's key", p, "kms:Decrypt", key, keys("kms:ViaService", "ec2.us-west-2.amazonaws.com")),
		attack(function, "uses another key", p, "kms:Decrypt", "arn:aws:kms:us-west-2:111111111111:key/other", keys("kms:ViaService", "s3.us-west-2.amazonaws.com")),
		work("takes messages within its boundary", p, "sqs:ReceiveMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
		attack(function, "what the boundary leaves out", p, "sqs:DeleteMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
	} {
		got := book.Decide(principal(r.who), wire.Access{Action: r.action, Resource: r.on, Context: r.keys})
		if got.Allowed() != r.allow {
			t.Errorf("%s/%s: %s on %s by %s: %v, want allowed = %v", r.threat, r.name, r.action, r.on, r.who, got, r.allow)
		}
	}
}

// TestClustersOfOtherAccounts: the hub lets a cluster's account in as far as its watcher and its events go.
func TestClustersOfOtherAccounts(t *testing.T) {
	book := newBook()
	env := environment("joiner-cluster-joiner-demo-hub")
	if _, err := rights.Add(book, open(t, "cluster-foreign-hub.json", demo, env), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := rights.Add(book, open(t, "region.json", demo, environment("joiner")), nil); err != nil {
		t.Fatal(err)
	}
	env = environment("joiner-cluster-joiner-demo")
	env.Account = "222222222222"
	env.StackID = "arn:aws:cloudformation:us-west-2:222222222222:stack/joiner-cluster-joiner-demo/e"
	if _, err := rights.Add(book, open(t, "cluster-foreign.json", demo, env), nil); err != nil {
		t.Fatal(err)
	}
	registers := "arn:aws:lambda:us-west-2:111111111111:function:joiner-catalog"
	hub := role("joiner-joiner-demo-us-west-2-watcher-hub")
	theirs := func(name string) string { return "arn:aws:iam::222222222222:role/joiner-joiner-demo-us-west-2-" + name }
	bus := "arn:aws:events:us-west-2:111111111111:event-bus/default"
	for _, r := range []row{
		work("its watcher becomes the hub's", theirs("watcher"), "sts:AssumeRole", hub, nil),
		work("its watcher's pod", "pods.eks.amazonaws.com", "sts:AssumeRole", theirs("watcher"), keys("aws:SourceAccount", "222222222222", "aws:SourceArn", "arn:aws:eks:us-west-2:222222222222:cluster/joiner-demo")),
		work("the hub's watcher hints", hub, "sqs:SendMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
		work("its events are forwarded", theirs("forward"), "events:PutEvents", bus, keys("events:source", "aws.ec2")),
		attack(forger, "events of other sources", theirs("forward"), "events:PutEvents", bus, keys("events:source", "joiner")),
		attack(forger, "another account's events", "arn:aws:iam::999999999999:role/x", "events:PutEvents", bus, keys("events:source", "aws.ec2")),
		attack(neighbor, "another role of the account becomes the hub's watcher", "arn:aws:iam::222222222222:role/other", "sts:AssumeRole", hub, nil),
		attack(neighbor, "another account", "arn:aws:iam::999999999999:role/joiner-joiner-demo-us-west-2-watcher", "sts:AssumeRole", hub, nil),
		attack(watcher, "its watcher writes without being the hub's", theirs("watcher"), "sqs:SendMessage", queue("joiner-plan-joiner-demo.fifo"), nil),
		attack(watcher, "another cluster's snapshots", hub, "s3:PutObject", object("snap/other/e1/base"), nil),
		attack(function, "a function of its own account takes on its role", "arn:aws:iam::222222222222:role/joiner-provision-us-west-2", "sts:AssumeRole", theirs("provision"), keys("sts:ExternalId", "e")),
		work("the hub's function takes on its role with its id", role("joiner-provision-us-west-2"), "sts:AssumeRole", theirs("provision"), keys("sts:ExternalId", "e")),
		attack(neighbor, "the hub's function takes on its role with another cluster's id", role("joiner-provision-us-west-2"), "sts:AssumeRole", theirs("provision"), keys("sts:ExternalId", "5e1f-external")),
		attack(neighbor, "the hub's function takes on its role without an id", role("joiner-provision-us-west-2"), "sts:AssumeRole", theirs("provision"), nil),
		attack(neighbor, "its administrators register a cluster themselves", "arn:aws:iam::222222222222:root", "lambda:InvokeFunction", registers, nil),
		attack(neighbor, "a role of its account registers a cluster", "arn:aws:iam::222222222222:role/Admin", "lambda:InvokeFunction", registers, nil),
	} {
		got := book.Decide(principal(r.who), wire.Access{Action: r.action, Resource: r.on, Context: r.keys})
		if got.Allowed() != r.allow {
			t.Errorf("%s/%s: %s on %s by %s: %v, want allowed = %v", r.threat, r.name, r.action, r.on, r.who, got, r.allow)
		}
	}
}
