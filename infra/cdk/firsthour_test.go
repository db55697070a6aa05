package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

// Rows of the review of the first hour in an account that are about the stacks, by their numbers.

// assembly synthesizes an app as main does and returns what the cdk command reads of it: each stack with its environment and what it depends on.
func assembly(t *testing.T, text string) map[string]struct {
	Environment  string
	Dependencies []string
} {
	t.Helper()
	zips, out := t.TempDir(), t.TempDir()
	if err := emptyZips(zips, Options{Webhook: true}); err != nil {
		t.Fatal(err)
	}
	given := contextFrom(t, text)
	given["zips"] = zips
	o, err := readOptions(given)
	if err != nil {
		t.Fatal(err)
	}
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Outdir: s(out)})
	build(app, o)
	app.Synth(nil)
	read, err := os.ReadFile(filepath.Join(out, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Artifacts map[string]struct {
			Type, Environment string
			Dependencies      []string
		}
	}
	if err := json.Unmarshal(read, &manifest); err != nil {
		t.Fatal(err)
	}
	stacks := map[string]struct {
		Environment  string
		Dependencies []string
	}{}
	for id, a := range manifest.Artifacts {
		if a.Type == "aws:cloudformation:stack" {
			needs := slices.DeleteFunc(a.Dependencies, func(id string) bool { return manifest.Artifacts[id].Type != "aws:cloudformation:stack" })
			stacks[id] = struct {
				Environment  string
				Dependencies []string
			}{a.Environment, needs}
		}
	}
	return stacks
}

// A1, A60: the cdk command deploys the region's stack before those that need it, and is given no order beyond that. A stack of another
// account has that account in its environment.
func TestA1RegionsStackIsDeployedFirst(t *testing.T) {
	for text, wants := range map[string]map[string]string{
		`{"cluster": "shop"}`:      {"joiner": "unknown-account []", "joiner-cluster-shop": "unknown-account [joiner]"},
		`{"clusters": "shop,web"}`: {"joiner": "unknown-account []", "joiner-cluster-shop": "unknown-account [joiner]", "joiner-cluster-web": "unknown-account [joiner]"},
		`{"hubAccount": "111111111111", "clusters": [{"name": "shop"}, {"name": "web", "account": "222222222222"}]}`: {
			"joiner": "111111111111 []", "joiner-cluster-shop": "111111111111 [joiner]", "joiner-cluster-web": "222222222222 []"},
		`{"hubAccount": "111111111111", "clusters": [{"name": "web", "account": "222222222222", "externalId": "11111111-2222-3333-4444-555555555555"}]}`: {
			"joiner": "111111111111 []", "joiner-cluster-web": "222222222222 []", "joiner-cluster-web-hub": "111111111111 [joiner]"},
	} {
		stacks := assembly(t, text)
		if len(stacks) != len(wants) {
			t.Errorf("%s: stacks %v", text, stacks)
		}
		for id, want := range wants {
			one := stacks[id]
			if got := fmt.Sprint(strings.Split(one.Environment, "/")[2], " ", one.Dependencies); got != want {
				t.Errorf("%s: %s is of %s, want %s", text, id, got, want)
			}
		}
	}
}

// A2: as deployed nothing is reserved, which Lambda would refuse in an account with a quota of ten; where people ask for it each function
// gets more than its queues take, and what queues may take is bounded where there are more than a few clusters, reserved or not.
func TestA2NothingIsReservedUnlessAskedFor(t *testing.T) {
	reserved := func(file string) (sum float64) {
		for id, r := range parsed(t, file).Resources {
			if n, ok := r.Properties["ReservedConcurrentExecutions"].(float64); ok {
				sum += n
			} else if r.Type == "AWS::Lambda::Function" && file == "region-hardened" {
				t.Errorf("%s: nothing is reserved for %s", file, id)
			}
		}
		return sum
	}
	if got := reserved("region"); got != 0 {
		t.Errorf("%v executions are reserved as deployed", got)
	}
	if got := reserved("region-hardened"); got != 101+111+52+51+2 {
		t.Errorf("%v executions are reserved for fifty clusters", got)
	}
	for id, most := range map[string]float64{"InterruptionFromInterruption": 100, "InterruptionFromNotices": 10, "CatalogFromCatalog": 50, "DisruptFromDisruption": 50} {
		for file, want := range map[string]any{"region": nil, "region-small": 2.0, "region-hardened": most} {
			scaling, _ := parsed(t, file).Resources[id].Properties["ScalingConfig"].(map[string]any)
			if scaling["MaximumConcurrency"] != want {
				t.Errorf("%s: %s is bounded by %v, want %v", file, id, scaling, want)
			}
		}
	}
	stack := awscdk.NewStack(awscdk.NewApp(nil), s("small"), nil)
	makePlanQueue(stack, Cluster{Name: "shop"}, Options{Clusters: []Cluster{{Name: "shop"}}, Batches: 2})
	template := assertions.Template_FromStack(stack, nil)
	template.HasResourceProperties(s("AWS::Lambda::EventSourceMapping"), map[string]any{"ScalingConfig": map[string]any{"MaximumConcurrency": 2}})
}

// A5: roles, profiles and access entries have names that nothing else has: not Karpenter's, and not those of a cluster of the same name in
// another region. Node classes that were written for Karpenter may name its role. What nodes run with stays where it is replaced.
func TestA5NodesHaveARoleOfTheirOwn(t *testing.T) {
	for _, file := range []string{"cluster", "cluster-foreign"} {
		for id, r := range parsed(t, file).Resources {
			for _, name := range []string{"RoleName", "InstanceProfileName"} {
				if value := r.Properties[name]; value != nil && !strings.Contains(fmt.Sprint(value), "${AWS::Region}") {
					t.Errorf("%s: %s is called %v in every region", file, id, value)
				}
			}
		}
		for _, id := range []string{"NodeRole", "NodeProfile", "NodeAccess"} {
			if r := parsed(t, file).Resources[id]; r.UpdateReplacePolicy != "Retain" || r.DeletionPolicy != "Delete" {
				t.Errorf("%s: %s, when replaced: %q, when removed: %q", file, id, r.UpdateReplacePolicy, r.DeletionPolicy)
			}
		}
		for _, one := range statements(t, file, "ProvisionRole") {
			if want := "role/joiner-joiner-demo-${AWS::Region}-node] map[Fn::Sub:arn:${AWS::Partition}:iam::${AWS::AccountId}:role/KarpenterNodeRole-joiner-demo]]"; one.Sid == "PassNodeRole" && !strings.HasSuffix(fmt.Sprint(one.Resource), want) {
				t.Errorf("%s: passes %v", file, one.Resource)
			}
		}
	}
	long := &cluster{stack: awscdk.NewStack(awscdk.NewApp(nil), s("long"), nil), c: Cluster{Name: strings.Repeat("n", 100)}}
	if long.makeNodeRoles(); len(long.nodeRoles) != 1 {
		t.Errorf("a role that cannot be there may be passed: %v", long.nodeRoles)
	}
	named := &cluster{stack: awscdk.NewStack(awscdk.NewApp(nil), s("named"), nil), c: Cluster{Name: "shop", NodeRoleName: "KarpenterNodeRole-shop"}}
	if named.makeNodeRoles(); fmt.Sprint(named.nodeRoles) != "[KarpenterNodeRole-shop]" {
		t.Errorf("with a name of people's choice these may be passed: %v", named.nodeRoles)
	}
}

// A7: what a failed first deployment made is taken away again, so that the next one finds its names free: nothing protects itself before
// people say so, and nothing is kept that was only just made.
func TestA7AFailedDeploymentLeavesNothing(t *testing.T) {
	for _, v := range variants() {
		for id, r := range parsed(t, v.File).Resources {
			if r.DeletionPolicy == "Retain" || r.DeletionPolicy == "Snapshot" {
				t.Errorf("%s: %s stays after a failed creation", v.File, id)
			}
			if protected := r.Properties["DeletionProtectionEnabled"]; protected == true && v.File != "region-hardened" {
				t.Errorf("%s: %s cannot be deleted after a failed creation", v.File, id)
			}
		}
	}
	m := synthesised(t)
	for file, want := range map[string]bool{"region": false, "region-hardened": true, "cluster": false} {
		if got := m.stacks[file].TerminationProtection(); got == nil || *got != want {
			t.Errorf("%s: termination protection %v", file, got)
		}
	}
	if parsed(t, "region-hardened").Resources["Table"].Properties["DeletionProtectionEnabled"] != true {
		t.Error("context protect does not protect the table")
	}
}

// A13: the policy that people give their key lets in every service that keeps something with it by itself, of this installation alone.
func TestA13KeyPolicyLetsServicesIn(t *testing.T) {
	text, err := os.ReadFile("key-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Statement []struct {
			Sid       string
			Principal map[string]string
			Action    []string
			Resource  string
			Condition map[string]map[string]any
		}
	}
	if err := strictlyIn(strings.NewReplacer("ACCOUNT", "111111111111", "REGION", "us-west-2").Replace(string(text)), &policy); err != nil {
		t.Fatal(err)
	}
	wants := map[string]string{}
	for id, r := range parsed(t, "region-hardened").Resources {
		switch r.Type {
		case "AWS::Logs::LogGroup":
			wants["logs.us-west-2.amazonaws.com"] = "arn:aws:logs:us-west-2:111111111111:log-group:"
		case "AWS::Events::Rule":
			if strings.Contains(fmt.Sprint(r.Properties["Targets"]), "NoticesQueue") {
				wants["events.amazonaws.com"] = "map[]" // EventBridge sends KMS no aws:SourceAccount and aws:SourceArn; the queue's policy binds it
			}
		case "AWS::SQS::Queue", "AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::Lambda::Function": // by the permissions of who asks
		default:
			if strings.Contains(strings.ToLower(fmt.Sprint(r.Properties)), "kmskey") && r.Type != "AWS::IAM::Role" {
				t.Errorf("%s, %s, is kept with the key, and nobody thought of who asks KMS", id, r.Type)
			}
		}
	}
	if len(wants) != 2 {
		t.Fatalf("services %v", wants)
	}
	for service, condition := range wants {
		found := false
		for _, one := range policy.Statement {
			if one.Principal["Service"] == service {
				found = slices.ContainsFunc(one.Action, func(a string) bool { return strings.HasPrefix(a, "kms:GenerateDataKey") }) &&
					slices.ContainsFunc(one.Action, func(a string) bool { return strings.HasPrefix(a, "kms:Decrypt") }) && strings.Contains(fmt.Sprint(one.Condition), condition)
			}
		}
		if !found {
			t.Errorf("the key's policy does not let %s use it for %s: %s", service, condition, text)
		}
	}
	for _, r := range parsed(t, "region-hardened").Resources {
		if r.Type == "AWS::Logs::LogGroup" {
			name, pattern := fmt.Sprint(r.Properties["LogGroupName"]), "/aws/*/joiner-*"
			if ok, err := filepath.Match(pattern, name); !ok || err != nil || !strings.Contains(string(text), "log-group:"+pattern) {
				t.Errorf("log group %s is not meant by the key's policy: %v", name, err)
			}
		}
	}
	if first := policy.Statement[0]; first.Principal["AWS"] != "arn:aws:iam::111111111111:root" || fmt.Sprint(first.Action) != "[kms:*]" {
		t.Errorf("the account's own policies say nothing of the key: %+v", first)
	}
}

// strictlyIn decodes JSON of a document whose version stands beside what is looked at.
func strictlyIn(text string, into any) error { return json.Unmarshal([]byte(text), into) }

// A14, A26: where there is no Pod Identity, on Fargate and in China, the watcher gets its role by the cluster's OIDC provider, as its own service account alone.
func TestA14WatcherWithoutPodIdentity(t *testing.T) {
	resources := parsed(t, "cluster-hardened").Resources
	if _, there := resources["WatcherIdentity"]; there {
		t.Error("there is a Pod Identity association beside the provider")
	}
	want := `{"Statement": [{"Action": "sts:AssumeRoleWithWebIdentity", "Effect": "Allow", "Principal": {"Federated": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE"}},
		"Condition": {"StringEquals": {"oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE:aud": "sts.amazonaws.com", "oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE:sub": "system:serviceaccount:joiner:joiner-watcher"}}}]}`
	for _, problem := range missing(value(t, want), resources["WatcherRole"].Properties["AssumeRolePolicyDocument"], "trust") {
		t.Error(problem)
	}
	if parsed(t, "cluster-hardened").Outputs["WatcherRoleARN"] == nil {
		t.Error("no output tells the role's ARN, which the chart is given")
	}
	o, err := readOptions(contextFrom(t, `{"cluster": "a", "irsaProvider": "https://oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE"}`))
	if err != nil || o.Clusters[0].IRSAProvider != "oidc.eks.us-west-2.amazonaws.com/id/EXAMPLE" {
		t.Errorf("%+v, %v", o.Clusters, err)
	}
}

// A16, A34: CreateFleet is asked for no key but tags, since what a launch template names may come without any other; images and the VPC are
// bound by RunInstances, which EC2 asks for each instance of a fleet.
func TestA16FleetsAreBoundByTagsAlone(t *testing.T) {
	bound := map[string]bool{}
	eachStatement(t, func(where string, one statementJSON) {
		if one.Effect != "Allow" {
			return
		}
		for _, keys := range one.Condition {
			for key := range keys {
				if slices.Contains(one.Action, "ec2:CreateFleet") && !strings.HasPrefix(key, "aws:RequestTag/") && !strings.HasPrefix(key, "aws:ResourceTag/") {
					t.Errorf("%s allows ec2:CreateFleet on condition of %s", where, key)
				}
				if key == "ec2:Owner" || key == "ec2:Vpc" {
					bound[key] = bound[key] || fmt.Sprint(one.Action) == "[ec2:RunInstances]"
				}
			}
		}
		text := fmt.Sprint(one.Resource)
		if slices.Contains(one.Action, "ec2:RunInstances") && strings.Contains(text, ":image/") && one.Condition["StringEquals"]["ec2:Owner"] == nil {
			t.Errorf("%s launches from any image", where)
		}
		if strings.HasPrefix(where, "cluster-hardened.") && slices.Contains(one.Action, "ec2:RunInstances") && strings.Contains(text, ":subnet/") && one.Condition["ArnLike"]["ec2:Vpc"] == nil {
			t.Errorf("%s launches into any VPC", where)
		}
	})
	if !bound["ec2:Owner"] || !bound["ec2:Vpc"] {
		t.Errorf("RunInstances is bound by %v", bound)
	}
}

// A24, A25: nodes of a cluster with IPv6 may give pods addresses, and nodes with Windows have a role with an access entry of their own type.
func TestA24NodesOfIPv6AndWindows(t *testing.T) {
	resources := parsed(t, "cluster-hardened").Resources
	for id, kind := range map[string]string{"Node": "EC2_LINUX", "WindowsNode": "EC2_WINDOWS"} {
		access := resources[id+"Access"].Properties
		if access["Type"] != kind || fmt.Sprint(access["PrincipalArn"]) != fmt.Sprint(value(t, attribute(id+"Role", "Arn"))) {
			t.Errorf("%s: %v", id, access)
		}
		rights := statements(t, "cluster-hardened", id+"Role")
		if len(rights) != 2 || !slices.Contains(rights[0].Action, "ec2:AssignIpv6Addresses") || fmt.Sprint(rights[1].Action) != "[ec2:CreateTags]" || !strings.HasSuffix(fmt.Sprint(rights[1].Resource), ":network-interface/*]]") {
			t.Errorf("%s: %+v", id, rights)
		}
	}
	for _, one := range statements(t, "cluster-hardened", "ProvisionRole") {
		if one.Sid == "PassNodeRole" && (len(one.Resource) != 3 || !strings.Contains(fmt.Sprint(one.Resource), "-${AWS::Region}-windows")) {
			t.Errorf("passes %v", one.Resource)
		}
	}
	if rights := statements(t, "cluster", "NodeRole"); len(rights) != 0 {
		t.Errorf("nodes of a cluster without IPv6 may %v", rights)
	}
}

// A35: there is a role for people who take a cluster over only where they are named, and for nobody else.
func TestA35NobodyAdoptsWhoIsNotNamed(t *testing.T) {
	for _, v := range variants() {
		resources := parsed(t, v.File).Resources
		_, role := resources["AdoptRole"]
		_, access := resources["AdoptAccess"]
		registered, _ := resources["Cluster"].Properties["roles"].(map[string]any)
		if with := v.File == "cluster-adopters"; role != with || access != with || (registered["adopt"] != nil) != with {
			t.Errorf("%s: role %v, access %v, registered %v", v.File, role, access, registered["adopt"])
		}
	}
	all := clusterWanted(false)
	all["AdoptRole"] = wanted{"AWS::IAM::Role", `{"RoleName": {"Fn::Sub": "joiner-joiner-demo-${AWS::Region}-adopt"}, "AssumeRolePolicyDocument": {"Statement": [{
		"Principal": {"AWS": ["arn:aws:iam::123456789012:user/person"]}, "Condition": {"StringEquals": {"sts:ExternalId": {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}}}}]}}`}
	all["AdoptAccess"] = wanted{"AWS::EKS::AccessEntry", `{"ClusterName": "joiner-demo", "Type": "STANDARD", "KubernetesGroups": ["joiner:adopt"], "PrincipalArn": ` + attribute("AdoptRole", "Arn") + `}`}
	expect(t, "cluster-adopters", all)
}

// What the pages say of options is so: each is one, what an installation of an earlier version is asked to keep is accepted, and as many executions are reserved as it says.
func TestPagesDescribeOptionsAsTheyAre(t *testing.T) {
	text, err := os.ReadFile("../../docs/getting-started.md")
	if err != nil {
		t.Fatal(err)
	}
	upgrade, err := os.ReadFile("../../docs/tasks/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	_, err = readOptions(contextFrom(t, `{"none": 1}`))
	if err == nil {
		t.Fatal("a key that is none is accepted")
	}
	_, all, _ := strings.Cut(err.Error(), "there are ")
	keys := strings.Split(all, ", ")
	reported := regexp.MustCompile("(?m)^\\| `([A-Za-z0-9]+)=").FindAllStringSubmatch(string(text), -1)
	if len(reported) < 10 {
		t.Errorf("docs/getting-started.md tells of %v", reported)
	}
	for _, match := range reported {
		if !slices.Contains(keys, match[1]) {
			t.Errorf("docs/getting-started.md tells of option %s, and there are %v", match[1], keys)
		}
	}
	_, kept, _ := strings.Cut(string(upgrade), "```json\n{\"nodeRoleName\"") // what an upgrade is to keep
	kept = "{\"nodeRoleName\"" + kept
	kept, _, _ = strings.Cut(kept, "```")
	given := contextFrom(t, strings.NewReplacer("ACCOUNT", "111111111111", "CLUSTER", "shop").Replace(kept))
	given["cluster"] = "shop"
	o, err := readOptions(given) // as keepOld has it, of which cloudformation-diff says that nothing is replaced or deleted
	if err != nil || o.Clusters[0].NodeRoleName != "KarpenterNodeRole-shop" || !o.Reserve || !o.Protect || fmt.Sprint(o.Adopters) != "[arn:aws:iam::111111111111:root]" {
		t.Errorf("%+v, %v", o, err)
	}
	sum := 0
	for _, f := range functions(Options{}.withDefaults()) {
		sum += f.Concurrency
	}
	if want := fmt.Sprintf("%d executions are reserved", sum); !strings.Contains(string(text), want) {
		t.Errorf("docs/getting-started.md does not say that %s", want)
	}
}
