package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// clusterWanted is what every cluster's stack has.
func clusterWanted(relay bool) map[string]wanted {
	own := `{"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}`
	all := map[string]wanted{
		"NodeRole": {"AWS::IAM::Role", `{"RoleName": {"Fn::Sub": "joiner-joiner-demo-${AWS::Region}-node"}, "AssumeRolePolicyDocument": {"Statement": [{"Principal": {"Service": "ec2.amazonaws.com"}}]},
			"ManagedPolicyArns": [{"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AmazonEKSWorkerNodePolicy"}, {"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AmazonEKS_CNI_Policy"},
				{"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly"}, {"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AmazonSSMManagedInstanceCore"}]}`},
		"NodeProfile": {"AWS::IAM::InstanceProfile", `{"InstanceProfileName": {"Fn::Sub": "joiner-joiner-demo-${AWS::Region}-node"}, "Roles": [{"Ref": "NodeRole"}]}`},
		"NodeAccess":  {"AWS::EKS::AccessEntry", `{"ClusterName": "joiner-demo", "Type": "EC2_LINUX", "PrincipalArn": ` + attribute("NodeRole", "Arn") + `}`},
		"WatcherRole": {"AWS::IAM::Role", `{"RoleName": {"Fn::Sub": "joiner-joiner-demo-${AWS::Region}-watcher"}, "AssumeRolePolicyDocument": {"Statement": [{
			"Action": ["sts:AssumeRole", "sts:TagSession"], "Principal": {"Service": "pods.eks.amazonaws.com"}, "Condition": {"StringEquals": {"aws:SourceAccount": {"Fn::Sub": "${AWS::AccountId}"}},
			"ArnEquals": {"aws:SourceArn": {"Fn::Sub": "arn:${AWS::Partition}:eks:${AWS::Region}:${AWS::AccountId}:cluster/joiner-demo"}}}}]}}`},
		"WatcherIdentity": {"AWS::EKS::PodIdentityAssociation", `{"ClusterName": "joiner-demo", "Namespace": "joiner", "ServiceAccount": "joiner-watcher", "RoleArn": ` + attribute("WatcherRole", "Arn") + `}`},
		"Cluster": {"Custom::JoinerCluster", `{"ServiceToken": {"Fn::Sub": "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:joiner-catalog"},
			"cluster": "joiner-demo", "account": {"Fn::Sub": "${AWS::AccountId}"}, "region": {"Fn::Sub": "${AWS::Region}"}, "externalID": ` + own + `,
			"roles": {"provision": ` + attribute("ProvisionRole", "Arn") + `, "interruption": ` + attribute("InterruptionRole", "Arn") + `, "catalog": ` + attribute("CatalogRole", "Arn") + `,
				"disrupt": ` + attribute("DisruptRole", "Arn") + `}}`},
	}
	maps.Copy(all, planWanted())
	for id, p := range map[string][2]string{
		"Provision": {"provision", "joiner:functions"}, "Interruption": {"interruption", "joiner:interruption"}, "Catalog": {"catalog", "joiner:catalog"}, "Disrupt": {"disrupt", "joiner:disrupt"},
	} {
		all[id+"Role"] = wanted{"AWS::IAM::Role", fmt.Sprintf(`{"RoleName": {"Fn::Sub": "joiner-joiner-demo-${AWS::Region}-%s"}, "AssumeRolePolicyDocument": {"Statement": [{"Action": "sts:AssumeRole",
			"Principal": {"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/joiner-%s-${AWS::Region}"}}, "Condition": {"StringEquals": {"sts:ExternalId": %s}}}]}}`, p[0], p[0], own)}
		if !relay {
			all[id+"Access"] = wanted{"AWS::EKS::AccessEntry", fmt.Sprintf(`{"ClusterName": "joiner-demo", "Type": "STANDARD", "KubernetesGroups": [%q], "PrincipalArn": %s}`, p[1], attribute(id+"Role", "Arn"))}
		}
	}
	return all
}

// planWanted are a cluster's plan queue and what belongs to it, in the account of the region's stack.
func planWanted() map[string]wanted {
	return map[string]wanted{
		"PlanQueue": {"AWS::SQS::Queue", `{"QueueName": "joiner-plan-joiner-demo.fifo", "FifoQueue": true, "VisibilityTimeout": 40, "SqsManagedSseEnabled": true,
			"RedrivePolicy": {"maxReceiveCount": 5, "deadLetterTargetArn": ` + filled("arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:joiner-plan-dead.fifo") + `}}`},
		"PlanQueuePolicy": {"AWS::SQS::QueuePolicy", `{"Queues": [{"Ref": "PlanQueue"}], "PolicyDocument": {"Statement": [` + tlsOnly + `]}}`},
		"ProvisionFromPlan": {"AWS::Lambda::EventSourceMapping", `{"FunctionName": ` + filled("arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:joiner-provision") + `,
			"EventSourceArn": ` + attribute("PlanQueue", "Arn") + `, "BatchSize": 10, "Enabled": true, "FunctionResponseTypes": ["ReportBatchItemFailures"]}`},
		"PlanAgeAlarm": {"AWS::CloudWatch::Alarm", `{"AlarmName": "Joiner-PlanAge-joiner-demo", "MetricName": "ApproximateAgeOfOldestMessage", "Threshold": 60,
			"Dimensions": [{"Name": "QueueName", "Value": "joiner-plan-joiner-demo.fifo"}]}`},
	}
}

// W3: a plan queue asks for no high throughput. Whatever groups a watcher makes up, two batches of its queue are under way at once where
// there are other clusters, and where concurrency is reserved for the function it has room for two of each cluster and a tick.
func TestW3FloodsOfGroupsLeaveRoomForOtherClusters(t *testing.T) {
	for file, bound := range map[string]string{"cluster": "null", "cluster-relay": "null", "cluster-of-two": `{"MaximumConcurrency":2}`, "cluster-foreign-hub": `{"MaximumConcurrency":2}`} {
		resources := parsed(t, file).Resources
		queue, mapping := resources["PlanQueue"].Properties, resources["ProvisionFromPlan"].Properties
		got, err := json.Marshal(mapping["ScalingConfig"])
		if err != nil || queue["FifoThroughputLimit"] != nil || queue["DeduplicationScope"] != nil || string(got) != bound {
			t.Errorf("%s: %v, %s, %v", file, queue, got, err)
		}
	}
	for clusters, want := range map[int]int{1: 5, 10: 21, 50: 101} {
		if got := functions(Options{MaxClusters: clusters}.withDefaults())[0]; got.ID != "Provision" || got.Concurrency != want {
			t.Errorf("%d clusters: %+v", clusters, got)
		}
	}
	if parsed(t, "cluster-foreign").Resources["PlanQueue"].Type != "" {
		t.Error("the plan queue of a cluster in another account is in that account")
	}
}

func TestEveryResourceOfACluster(t *testing.T) {
	expect(t, "cluster", clusterWanted(false))
	entry := parsed(t, "cluster").Resources["Cluster"]
	if len(entry.DependsOn) != len(clusterWanted(false))-1 {
		t.Errorf("the cluster is registered after %v alone; it needs all else, and on deletion all else needs it gone", entry.DependsOn)
	}
}

func TestEveryResourceInRelayMode(t *testing.T) {
	all := clusterWanted(true)
	all["RelayQueue"] = wanted{"AWS::SQS::Queue", `{"QueueName": "joiner-relay-joiner-demo", "SqsManagedSseEnabled": true, "MessageRetentionPeriod": 60}`}
	all["RelayQueuePolicy"] = wanted{"AWS::SQS::QueuePolicy", `{"Queues": [{"Ref": "RelayQueue"}], "PolicyDocument": {"Statement": [` + tlsOnly + `]}}`}
	expect(t, "cluster-relay", all)
	if url := parsed(t, "cluster-relay").Resources["Cluster"].Properties["relayURL"]; len(missing(value(t, ref("RelayQueue")), url, "")) > 0 {
		t.Errorf("the cluster is registered with relay %v", url)
	}
}

func TestOwnNodeRole(t *testing.T) {
	resources := parsed(t, "cluster-own-node-role").Resources
	for _, id := range []string{"NodeRole", "NodeProfile", "NodeAccess"} {
		if _, ok := resources[id]; ok {
			t.Errorf("%s is made beside people's own node role", id)
		}
	}
	for _, one := range statements(t, "cluster-own-node-role", "ProvisionRole") {
		if one.Sid == "PassNodeRole" && !strings.HasSuffix(fmt.Sprint(one.Resource), "role/own-nodes]]") {
			t.Errorf("PassNodeRole is for %v", one.Resource)
		}
	}
}

// In another account a cluster's stack names the hub by its account wherever it means the region's stack, and tells it of events.
func TestEveryResourceOfAClusterElsewhere(t *testing.T) {
	resources := parsed(t, "cluster-foreign").Resources
	for id, r := range resources {
		text := fmt.Sprint(r.Properties)
		if strings.Contains(text, "ImportValue") {
			t.Errorf("%s imports from a stack of another account: %s", id, text)
		}
	}
	all := map[string]wanted{}
	for id, w := range clusterWanted(false) {
		w.properties = strings.ReplaceAll(w.properties, "iam::${AWS::AccountId}:role/", "iam::111111111111:role/")
		if id != "Cluster" {
			all[id] = w
		}
	}
	for id, rule := range map[string]string{"SpotRule": "spot", "RebalanceRule": "rebalance",
		"ReservationRule": "reservation", "StateRule": "state", "HealthRule": "health", "ShiftRule": "shift"} {
		all[id] = wanted{"AWS::Events::Rule", fmt.Sprintf(`{"Name": "joiner-joiner-demo-%s", "State": "ENABLED", "Targets": [{"Arn": {"Fn::Sub": "arn:${AWS::Partition}:events:${AWS::Region}:111111111111:event-bus/default"},
			"RoleArn": %s}]}`, rule, attribute("ForwardRole", "Arn"))}
	}
	all["ForwardRole"] = wanted{"AWS::IAM::Role", `{"AssumeRolePolicyDocument": {"Statement": [{"Principal": {"Service": "events.amazonaws.com"}, "Condition": {"StringEquals": {"aws:SourceAccount": {"Fn::Sub": "${AWS::AccountId}"}}}}]},
		"Policies": [{"PolicyDocument": {"Statement": [{"Action": ["events:PutEvents"], "Resource": [{"Fn::Sub": "arn:${AWS::Partition}:events:${AWS::Region}:111111111111:event-bus/default"}]}]}}]}`}
	all["ForwardAlarm"] = wanted{"AWS::CloudWatch::Alarm", `{"AlarmName": "Joiner-Forward-joiner-demo", "Namespace": "AWS/Events", "MetricName": "FailedInvocations",
		"Dimensions": [{"Name": "RuleName", "Value": "joiner-joiner-demo-state"}], "Threshold": 1, ` + reaching + `, ` + atOnce + `}`}
	hub := filled("arn:${AWS::Partition}:iam::111111111111:role/joiner-joiner-demo-${AWS::Region}-watcher-hub")
	all["WatcherIdentity"] = wanted{"AWS::EKS::PodIdentityAssociation", `{"TargetRoleArn": ` + hub + `, "RoleArn": ` + attribute("WatcherRole", "Arn") + `}`}
	all["WatcherRole"] = wanted{"AWS::IAM::Role", `{"Policies": [{"PolicyDocument": {"Statement": [{"Action": ["sts:AssumeRole", "sts:TagSession"], "Resource": [` + hub + `]}]}}]}`}
	for id := range planWanted() {
		delete(all, id)
	}
	expect(t, "cluster-foreign", all)

	var theirs []string
	for _, p := range programNames() {
		theirs = append(theirs, fmt.Sprintf(`%q: {"Fn::Sub": "arn:${AWS::Partition}:iam::222222222222:role/joiner-joiner-demo-${AWS::Region}-%s"}`, p, p))
	}
	hubs := planWanted()
	maps.Copy(hubs, map[string]wanted{
		"WatcherRole": {"AWS::IAM::Role", `{"RoleName": {"Fn::Sub": "joiner-joiner-demo-${AWS::Region}-watcher-hub"}, "AssumeRolePolicyDocument": {"Statement": [{
			"Condition": {"ArnEquals": {"aws:PrincipalArn": {"Fn::Sub": "arn:${AWS::Partition}:iam::222222222222:role/joiner-joiner-demo-${AWS::Region}-watcher"}}}}]}}`},
		"Events": {"AWS::Events::EventBusPolicy", `{"Statement": {"Action": "events:PutEvents", "Principal": {"AWS": {"Fn::Sub": "arn:${AWS::Partition}:iam::222222222222:root"}},
			"Condition": {"StringEquals": {"events:source": ["aws.ec2", "aws.health", "aws.arc-zonal-shift"]}}}}`},
		"Cluster": {"Custom::JoinerCluster", `{"ServiceToken": {"Fn::Sub": "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:joiner-catalog"},
			"cluster": "joiner-demo", "account": "222222222222", "region": {"Fn::Sub": "${AWS::Region}"}, "externalID": "11111111-2222-3333-4444-555555555555",
			"arn": {"Fn::Sub": "arn:${AWS::Partition}:eks:${AWS::Region}:222222222222:cluster/joiner-demo"}, "roles": {` + strings.Join(theirs, ",") + `}}`},
	})
	expect(t, "cluster-foreign-hub", hubs)
}

// TestW2NobodyElseRegisters: no template lets another account invoke a function; a cluster is registered by a stack of the hub's account, and
// the roles it names are the names of those that the cluster's stack makes.
func TestW2NobodyElseRegisters(t *testing.T) {
	for _, v := range variants() {
		for id, r := range parsed(t, v.File).Resources {
			if who := r.Properties["Principal"]; r.Type == "AWS::Lambda::Permission" && !strings.HasSuffix(fmt.Sprint(who), ".amazonaws.com") {
				t.Errorf("%s: %s lets %v invoke %v", v.File, id, who, r.Properties["FunctionName"])
			}
			if token := fmt.Sprint(r.Properties["ServiceToken"]); r.Type == "Custom::JoinerCluster" && !strings.Contains(token, "${AWS::AccountId}:function:joiner-catalog") {
				t.Errorf("%s: %s asks another account's function: %s", v.File, id, token)
			}
		}
	}
	if _, there := parsed(t, "cluster-foreign").Resources["Cluster"]; there {
		t.Error("the stack of a tenant's account registers its cluster")
	}
	made := map[string]bool{}
	for _, r := range parsed(t, "cluster-foreign").Resources {
		if r.Type == "AWS::IAM::Role" {
			made[fmt.Sprint(r.Properties["RoleName"])] = true
		}
	}
	for program, role := range parsed(t, "cluster-foreign-hub").Resources["Cluster"].Properties["roles"].(map[string]any) {
		_, name, _ := strings.Cut(strings.TrimSuffix(fmt.Sprint(role), "]"), ":role/")
		if !made["map[Fn::Sub:"+name+"]"] {
			t.Errorf("roles.%s is %v, and the cluster's stack makes %v", program, role, made)
		}
	}
}

// TestW2EachClusterHasAnExternalIDOfItsOwn: a role asks for the id of its own stack, which the stack tells, and for no other.
func TestW2EachClusterHasAnExternalIDOfItsOwn(t *testing.T) {
	own := "map[Fn::Select:[2 map[Fn::Split:[/ map[Ref:AWS::StackId]]]]]"
	for _, file := range []string{"cluster", "cluster-relay", "cluster-foreign"} {
		asked := 0
		for id, r := range parsed(t, file).Resources {
			text := fmt.Sprint(r.Properties["AssumeRolePolicyDocument"])
			if strings.Contains(text, "sts:ExternalId") {
				asked++
				if !strings.Contains(text, "StringEquals:map[sts:ExternalId:"+own+"]") {
					t.Errorf("%s: %s asks for %s", file, id, text)
				}
			}
		}
		if asked < len(programs) {
			t.Errorf("%s: %d roles ask for an external id", file, asked)
		}
		if out := fmt.Sprint(parsed(t, file).Outputs["ExternalID"]); !strings.Contains(out, own) {
			t.Errorf("%s tells %s", file, out)
		}
	}
}

func TestHardenedRegion(t *testing.T) {
	all := regionWanted()
	resources := parsed(t, "region-hardened").Resources
	more := map[string]wanted{
		"Webhook":            {"AWS::Lambda::Function", `{"FunctionName": "joiner-webhook", "ReservedConcurrentExecutions": 2, "Timeout": 5, "MemorySize": 512, "Environment": {"Variables": {"JOINER_WEBHOOK_PARAMETER": "/joiner/webhook"}}}`},
		"WebhookRole":        {"AWS::IAM::Role", `{"PermissionsBoundary": "arn:aws:iam::111111111111:policy/boundary"}`},
		"WebhookLogs":        {"AWS::Logs::LogGroup", `{"KmsKeyId": "arn:aws:kms:us-west-2:111111111111:key/11111111-2222-3333-4444-555555555555"}`},
		"WebhookApi":         {"AWS::ApiGatewayV2::Api", `{"Name": "joiner-webhook", "ProtocolType": "HTTP"}`},
		"WebhookIntegration": {"AWS::ApiGatewayV2::Integration", `{"IntegrationType": "AWS_PROXY", "PayloadFormatVersion": "2.0", "IntegrationUri": ` + attribute("Webhook", "Arn") + `}`},
		"WebhookRoute":       {"AWS::ApiGatewayV2::Route", `{"RouteKey": "POST /{proxy+}", "Target": {"Fn::Sub": "integrations/${WebhookIntegration}"}}`},
		"WebhookStage":       {"AWS::ApiGatewayV2::Stage", `{"StageName": "$default", "AutoDeploy": true, "DefaultRouteSettings": {"ThrottlingBurstLimit": 20, "ThrottlingRateLimit": 10}}`},
		"WebhookApiLogs":     {"AWS::Logs::LogGroup", `{"RetentionInDays": 14}`},
		"WebhookCalls":       {"AWS::Lambda::Permission", `{"Principal": "apigateway.amazonaws.com", "SourceAccount": {"Fn::Sub": "${AWS::AccountId}"}}`},
		"WebhookErrorAlarm":  {"AWS::CloudWatch::Alarm", `{"AlarmActions": ["arn:aws:sns:us-west-2:111111111111:alarms"]}`},
	}
	for id, w := range more {
		for _, problem := range missing(value(t, w.properties), any(resources[id].Properties), id) {
			t.Error(problem)
		}
	}
	maps.Copy(all, more)
	for id, r := range resources {
		if _, ok := all[id]; !ok {
			t.Errorf("no test says what resource %s is to be", id)
		}
		text := fmt.Sprint(r.Properties)
		key, wants := "11111111-2222-3333-4444-555555555555", map[string]string{
			"AWS::SQS::Queue": "KmsMasterKeyId", "AWS::DynamoDB::Table": "KMSMasterKeyId", "AWS::S3::Bucket": "KMSMasterKeyID", "AWS::Logs::LogGroup": "KmsKeyId", "AWS::Lambda::Function": "KmsKeyArn",
		}[r.Type]
		if wants != "" && (!strings.Contains(text, key) || !strings.Contains(text, wants)) {
			t.Errorf("%s is not encrypted with people's key: %s", id, text)
		}
		switch r.Type {
		case "AWS::IAM::Role":
			if r.Properties["PermissionsBoundary"] != "arn:aws:iam::111111111111:policy/boundary" {
				t.Errorf("%s is not bounded", id)
			}
		case "AWS::Lambda::Function":
			for _, problem := range missing(value(t, `{"Architectures": ["x86_64"], "VpcConfig": {"SubnetIds": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"], "SecurityGroupIds": ["sg-0123456789abcdef0"]}}`), any(r.Properties), id) {
				t.Error(problem)
			}
		}
	}
	if got := resources["Provision"].Properties["ReservedConcurrentExecutions"]; got != float64(101) {
		t.Errorf("fifty clusters are planned for by %v at once", got)
	}
	env := resources["Catalog"].Properties["Environment"].(map[string]any)["Variables"].(map[string]any)
	if env["JOINER_DISABLE_DRY_RUN"] != "true" || env["JOINER_ISOLATED_VPC"] != "true" {
		t.Errorf("the catalogue's settings are %v", env)
	}
	if env := resources["Disrupt"].Properties["Environment"].(map[string]any)["Variables"].(map[string]any); env["JOINER_SPOT_TO_SPOT"] != "true" || env["JOINER_MIN_VALUES_POLICY"] != "BestEffort" {
		t.Errorf("the judge's settings are %v", env)
	}
}
