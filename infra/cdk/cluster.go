package main

import (
	"cmp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseks"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// cluster is the stack of one while it is made. It is in the cluster's account and region.
type cluster struct {
	stack      awscdk.Stack
	o          Options
	c          Cluster
	externalID *string // what its roles ask of whoever takes them on, as no other cluster's do
	hub        string  // account of the region's stack, as it stands in ARNs
	roles      map[string]awsiam.CfnRole
	nodeRoles  []string // names that instances may be given, as they stand in ARNs
	relay      awssqs.CfnQueue
}

// programs are those that act for a cluster by a role of their own, with the group the API server knows that role by.
var programs = []struct{ ID, Program, Group, Session string }{
	{"Provision", "provision", "joiner:functions", "joiner-provision"},
	{"Interruption", "interruption", "joiner:interruption", "joiner-interruption"},
	{"Catalog", "catalog", "joiner:catalog", "joiner-catalog"},
	{"Disrupt", "disrupt", "joiner:disrupt", "joiner-disrupt"},
}

func programNames() []string {
	var out []string
	for _, p := range programs {
		out = append(out, p.Program)
	}
	return out
}

// newCluster makes the stack of a cluster: the roles by which functions act for it and for nothing else, its nodes' role, their
// access to its API server, the permissions of its watcher, and its entry in the ledger, which for a cluster in another account than the
// region's stack is the other stack's: see newHub.
func newCluster(scope constructs.Construct, id string, c Cluster, o Options) awscdk.Stack {
	stack := awscdk.NewStack(scope, s(id), &awscdk.StackProps{
		StackName: s(id), Description: s("Joiner: cluster " + c.Name), AnalyticsReporting: jsii.Bool(false), Env: in(cmp.Or(c.Account, o.HubAccount)),
	})
	k := &cluster{stack: stack, o: o, c: c, roles: map[string]awsiam.CfnRole{}, hub: "${AWS::AccountId}"}
	k.externalID = stackUUID(stack)
	if c.Account != "" {
		k.hub = o.HubAccount
	}
	k.makeNodeRoles()
	for _, p := range programs {
		k.makeRole(p.ID, p.Program, k.rights(p.Program))
	}
	if len(o.Adopters) > 0 {
		k.makeAdopter()
	}
	if c.Relay {
		k.makeRelay()
	}
	if c.Account == "" { // else it is in the account of the region's stack: see newHub
		makePlanQueue(stack, c, o)
	}
	k.makeWatcher()
	k.letIn()
	awscdk.NewCfnOutput(stack, s("ExternalID"), &awscdk.CfnOutputProps{
		Description: s("The external id that the trust policies of the cluster's roles require; context externalId of the stack that registers a cluster of another account"),
		Value:       k.externalID,
	})
	if c.Account != "" {
		k.forwardEvents()
		return stack
	}
	k.register()
	return stack
}

// stackUUID is the part of a stack's id that no other stack has.
func stackUUID(stack awscdk.Stack) *string {
	return awscdk.Fn_Select(n(2), awscdk.Fn_Split(s("/"), stack.StackId(), nil))
}

// makeRole makes the role by which one function, and no other, acts for the cluster.
func (k *cluster) makeRole(id, program string, rights []statement) {
	role := statement{
		"Effect": "Allow", "Action": "sts:AssumeRole",
		"Principal": map[string]any{"AWS": sub("arn:${AWS::Partition}:iam::%s:role/joiner-%s-${AWS::Region}", k.hub, program)},
		"Condition": map[string]any{"StringEquals": map[string]any{"sts:ExternalId": k.externalID}},
	}
	of := roleOf{ID: id + "Role", Name: k.roleName(program), About: "Joiner's function " + program + " in cluster " + k.c.Name, Trust: document(role)}
	if len(rights) > 0 {
		of.Rights = document(rights...)
	}
	k.roles[id] = newRole(k.stack, k.o, of)
}

// roleName is a role's of the cluster. Names of roles are of an account, clusters' of a region.
func (k *cluster) roleName(program string) *string {
	return sub("joiner-%s-${AWS::Region}-%s", short(k.c.Name), program)
}

// makeAdopter makes the role of people who take over the cluster's nodes from Karpenter. Without it they do so by their own permissions.
func (k *cluster) makeAdopter() {
	rights := []statement{
		k.describe("Instances"),
		allow("NameIntents", []string{"ec2:CreateTags"}, k.ec2("instance"), merge(k.tagged(), map[string]any{
			"ForAllValues:StringEquals": map[string]any{"aws:TagKeys": []string{"joiner.sh/intent"}},
		})),
	}
	k.roles["Adopt"] = newRole(k.stack, k.o, roleOf{
		ID: "AdoptRole", Name: k.roleName("adopt"), About: "People who adopt nodes of cluster " + k.c.Name + " from Karpenter",
		Trust: document(statement{
			"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": map[string]any{"AWS": k.o.Adopters},
			"Condition": map[string]any{"StringEquals": map[string]any{"sts:ExternalId": k.externalID}},
		}),
		Rights: document(rights...),
	})
}

// makeRelay makes the queue of requests to the API server, for the watcher to carry out.
func (k *cluster) makeRelay() {
	properties := &awssqs.CfnQueueProps{
		QueueName: s("joiner-relay-" + short(k.c.Name)), MessageRetentionPeriod: n(60), VisibilityTimeout: n(30),
	}
	if k.o.KMSKeyARN == "" {
		properties.SqsManagedSseEnabled = jsii.Bool(true)
	} else {
		properties.KmsMasterKeyId = kmsOf(k.o)
	}
	k.relay = awssqs.NewCfnQueue(k.stack, s("RelayQueue"), properties)
	excuse(k.relay, "AwsSolutions-SQS3", "A request that is older than seconds is not carried out: its sender has timed out")
	var hub statement // the watcher of a cluster in another account has the permissions of a role there
	if k.c.Account != "" {
		hub = allow("WatcherFromHub", carryOut, []*string{k.relay.AttrArn()}, map[string]any{"ArnEquals": map[string]any{"aws:PrincipalArn": k.hubWatcher()}})
		hub["Principal"] = map[string]any{"AWS": sub("arn:${AWS::Partition}:iam::%s:root", k.hub)}
	}
	awssqs.NewCfnQueuePolicy(k.stack, s("RelayQueuePolicy"), &awssqs.CfnQueuePolicyProps{
		Queues: &[]*string{k.relay.Ref()}, PolicyDocument: document(overTLS("sqs:*", k.relay.AttrArn()), hub),
	})
	senders := map[string]*string{}
	for _, p := range programs {
		senders[p.Program] = k.roles[p.ID].AttrRoleId()
	}
	awscdk.NewCfnOutput(k.stack, s("RelayQueueURL"), &awscdk.CfnOutputProps{Value: k.relay.Ref(), Description: s("relay.queueURL of the chart")})
	awscdk.NewCfnOutput(k.stack, s("RelaySenders"), &awscdk.CfnOutputProps{
		Description: s("relay.senders of the chart: the unique ids of the roles whose requests the watcher carries out"),
		Value: awscdk.Fn_Sub(s(`{"${P}":"provision","${I}":"interruption","${C}":"catalog","${D}":"disrupt"}`), &map[string]*string{
			"P": senders["provision"], "I": senders["interruption"], "C": senders["catalog"], "D": senders["disrupt"],
		}),
	})
}

// carryOut is what a watcher does with the queue of requests.
var carryOut = []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"}

// hubWatcher is the ARN of the role that the watcher of a cluster in another account has in that of the region's stack.
func (k *cluster) hubWatcher() *string {
	return sub("arn:${AWS::Partition}:iam::%s:role/%s", k.hub, strings.Replace("joiner-NAME-${AWS::Region}-watcher-hub", "NAME", short(k.c.Name), 1))
}

// relayRights are a watcher's beside those of every other: to store the answers of its own cluster.
func relayRights(cluster, hub string) []statement {
	return []statement{
		allow("KeepAnswers", []string{"dynamodb:PutItem"}, []*string{sub("arn:${AWS::Partition}:dynamodb:${AWS::Region}:%s:table/joiner", hub)},
			map[string]any{"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": []string{"C#" + cluster + "#R#*"}}}),
		allow("KeepLargeAnswers", []string{"s3:PutObject"}, []*string{sub("arn:${AWS::Partition}:s3:::joiner-%s-${AWS::Region}/%s", hub, "relay/"+cluster+"/*")}, nil),
	}
}

// makeWatcher gives the watcher its permissions through Pod Identity. In another account than the region's stack it takes them on in two
// steps: its own role there may do nothing but become the one here.
func (k *cluster) makeWatcher() {
	pods := statement{
		"Effect": "Allow", "Action": []string{"sts:AssumeRole", "sts:TagSession"}, "Principal": map[string]any{"Service": "pods.eks.amazonaws.com"},
		"Condition": map[string]any{
			"StringEquals": map[string]any{"aws:SourceAccount": sub("${AWS::AccountId}")},
			"ArnEquals":    map[string]any{"aws:SourceArn": k.arn()},
		},
	}
	if k.c.IRSAProvider != "" {
		pods = k.byOIDC()
	}
	rights := watcherRights(k.c.Name, k.hub, "${AWS::AccountId}")
	identity := &awseks.CfnPodIdentityAssociationProps{ClusterName: s(k.c.Name), Namespace: s(k.c.Namespace), ServiceAccount: s("joiner-watcher")}
	if k.c.Account != "" {
		target := k.hubWatcher()
		rights = []statement{allow("BecomeWatcherOfHub", []string{"sts:AssumeRole", "sts:TagSession"}, []*string{target}, nil)}
		identity.TargetRoleArn = target
	} else {
		rights = append(rights, kmsRights(k.o)...)
	}
	if k.c.Relay && k.c.Account == "" {
		rights = append(append(rights, relayRights(k.c.Name, k.hub)...), allow("CarryOutRequests", carryOut, []*string{k.relay.AttrArn()}, nil))
	}
	role := newRole(k.stack, k.o, roleOf{
		ID: "WatcherRole", Name: k.roleName("watcher"), About: "Joiner's watcher in cluster " + k.c.Name, Trust: document(pods), Rights: document(rights...),
	})
	k.roles["Watcher"] = role
	if k.c.IRSAProvider != "" {
		awscdk.NewCfnOutput(k.stack, s("WatcherRoleARN"), &awscdk.CfnOutputProps{
			Description: s("serviceAccount.annotations of the chart: eks.amazonaws.com/role-arn"), Value: role.AttrArn(),
		})
		return
	}
	identity.RoleArn = role.AttrArn()
	awseks.NewCfnPodIdentityAssociation(k.stack, s("WatcherIdentity"), identity)
}

// byOIDC lets the watcher's service account take on its role by the cluster's OIDC provider, for where there is no Pod Identity: on Fargate
// and in China. Source: EKS user guide, "IAM roles for service accounts".
func (k *cluster) byOIDC() statement {
	return statement{
		"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
		"Principal": map[string]any{"Federated": sub("arn:${AWS::Partition}:iam::${AWS::AccountId}:oidc-provider/%s", k.c.IRSAProvider)},
		"Condition": map[string]any{"StringEquals": map[string]any{
			k.c.IRSAProvider + ":aud": "sts.amazonaws.com", k.c.IRSAProvider + ":sub": "system:serviceaccount:" + k.c.Namespace + ":joiner-watcher",
		}},
	}
}

// watcherRights are a watcher's: to send hints to its cluster's plan queue and to no other, to publish snapshots of its own cluster, to say where they are, and to read
// prices for those who apply pools. hub and account are of the region's stack and of the cluster, as they stand in ARNs.
func watcherRights(cluster, hub, account string) []statement {
	object := func(prefix string) *string {
		return sub("arn:${AWS::Partition}:s3:::joiner-%s-${AWS::Region}/%s", hub, prefix)
	}
	return []statement{
		allow("SendHints", []string{"sqs:SendMessage"}, []*string{sub("arn:${AWS::Partition}:sqs:${AWS::Region}:%s:%s", hub, planQueueName(cluster))}, nil),
		allow("PublishSnapshots", []string{"s3:PutObject", "s3:GetObject"}, []*string{object("snap/" + cluster + "/*")}, nil),
		allow("ReadPrices", []string{"s3:GetObject"}, []*string{object("catalog/" + account + "/${AWS::Region}.jnc")}, nil),
		allow("PointToSnapshots", []string{"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:BatchGetItem"},
			[]*string{sub("arn:${AWS::Partition}:dynamodb:${AWS::Region}:%s:table/joiner", hub)},
			map[string]any{"ForAllValues:StringEquals": map[string]any{"dynamodb:LeadingKeys": []string{"C#" + cluster + "#W#"}}}),
	}
}

// letIn gives the roles their access to the API server. In relay mode functions need none: the watcher carries out what
// they ask. Where EKS does not run the cluster there are no access entries: people let the roles in.
func (k *cluster) letIn() {
	if k.c.SelfManaged {
		return
	}
	entry := func(id, group string) {
		awseks.NewCfnAccessEntry(k.stack, s(id+"Access"), &awseks.CfnAccessEntryProps{
			ClusterName: s(k.c.Name), PrincipalArn: k.roles[id].AttrArn(), Type: s("STANDARD"), KubernetesGroups: texts(group),
		})
	}
	if !k.c.Relay {
		for _, p := range programs {
			entry(p.ID, p.Group)
		}
	}
	if k.roles["Adopt"] != nil {
		entry("Adopt", "joiner:adopt")
	}
}

// forwardEvents sends what AWS says of this account's instances to the account of the region's stack, whose rules take it from there.
func (k *cluster) forwardEvents() {
	o := k.o
	if !strings.Contains(o.AlarmTopicARN, ":"+k.c.Account+":") {
		o.AlarmTopicARN = "" // it is of the hub's account
	}
	lost := lostAlarm("ForwardAlarm", strings.Replace("joiner-state", "joiner-", "joiner-"+short(k.c.Name)+"-", 1), "EventBridge cannot forward events about instances to account "+k.hub+": see the policy of its event bus")
	lost.Metrics = lost.Metrics[:1] // there is no dead-letter queue
	lost.make(k.stack, o, k.c.Name)
	bus := sub("arn:${AWS::Partition}:events:${AWS::Region}:%s:event-bus/default", k.hub)
	role := newRole(k.stack, k.o, roleOf{
		ID: "ForwardRole", Name: k.roleName("forward"), About: "EventBridge: forwards to account " + k.hub + " events about instances of cluster " + k.c.Name,
		Trust: document(trust("events.amazonaws.com", map[string]any{
			"StringEquals": map[string]any{"aws:SourceAccount": sub("${AWS::AccountId}")},
			"ArnLike":      map[string]any{"aws:SourceArn": sub("arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:rule/joiner-%s-*", short(k.c.Name))},
		})),
		Rights: document(allow("Forward", []string{"events:PutEvents"}, []*string{bus}, nil)),
	})
	for _, one := range rules {
		awsevents.NewCfnRule(k.stack, s(one.ID), &awsevents.CfnRuleProps{
			Name: s(strings.Replace(one.Name, "joiner-", "joiner-"+short(k.c.Name)+"-", 1)), Description: s(one.About), State: s("ENABLED"), EventPattern: one.Pattern,
			Targets: []any{&awsevents.CfnRule_TargetProperty{
				Id: s("hub"), Arn: bus, RoleArn: role.AttrArn(),
				RetryPolicy: &awsevents.CfnRule_RetryPolicyProperty{MaximumEventAgeInSeconds: n(300), MaximumRetryAttempts: n(20)},
			}},
		})
	}
}

// register enters the cluster into the ledger, and takes it out again when the stack is deleted.
func (k *cluster) register() {
	roles := map[string]any{}
	for _, p := range programs {
		roles[p.Program] = k.roles[p.ID].AttrArn()
	}
	if adopt := k.roles["Adopt"]; adopt != nil {
		roles["adopt"] = adopt.AttrArn()
	}
	properties := map[string]any{"arn": k.arn(), "account": sub("${AWS::AccountId}"), "roles": roles, "externalID": k.externalID}
	if k.c.Relay {
		properties["relayURL"] = k.relay.Ref()
	}
	if k.c.SelfManaged {
		k.c.describe(properties)
	}
	registration(k.stack, k.c, properties)
}

// registration enters a cluster into the ledger through the catalog's function, and takes it out again when the stack is deleted, which is
// refused while instances of it live. The stack is in the account of the region's stack: nobody else may call that function. properties
// and those that are put beside them are the fields of model.Registration.
func registration(stack awscdk.Stack, c Cluster, properties map[string]any) {
	properties["ServiceToken"] = sub("arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:joiner-catalog")
	properties["ServiceTimeout"] = 180 // the function answers within its 120 s
	properties["cluster"], properties["region"] = c.Name, sub("${AWS::Region}")
	if c.Paused {
		properties["paused"] = true
	}
	if c.DefaultSpread != "" {
		properties["defaultSpread"] = c.DefaultSpread
	}
	entry := awscdk.NewCfnResource(stack, s("Cluster"), &awscdk.CfnResourceProps{Type: s("Custom::JoinerCluster"), Properties: &properties})
	for _, child := range *stack.Node().Children() {
		// Its permissions are needed before it is entered, and until it is taken out.
		if needed, ok := child.(awscdk.CfnResource); ok && *needed.LogicalId() != "" && child.Node().Id() != entry.Node().Id() {
			entry.AddResourceDependency(needed, nil)
		}
	}
}

// arn is the cluster's.
func (k *cluster) arn() *string {
	return sub("arn:${AWS::Partition}:eks:${AWS::Region}:${AWS::AccountId}:cluster/%s", k.c.Name)
}

// newHub makes what a cluster in another account needs in the account of the region's stack: the role its watcher becomes, leave
// to have events told, and its entry in the ledger. The roles that the entry names are those that newCluster makes there: who deploys this stack says
// which account that is, so that no other account says anything of the cluster.
func newHub(scope constructs.Construct, id string, c Cluster, o Options) awscdk.Stack {
	stack := awscdk.NewStack(scope, s(id), &awscdk.StackProps{
		StackName: s(id), Description: s("Joiner: cluster " + c.Name + " of account " + c.Account), AnalyticsReporting: jsii.Bool(false), Env: in(o.HubAccount),
	})
	watcher := sub("arn:${AWS::Partition}:iam::%s:role/joiner-%s-${AWS::Region}-watcher", c.Account, short(c.Name))
	rights := append(watcherRights(c.Name, "${AWS::AccountId}", c.Account), kmsRights(o)...)
	if c.Relay {
		queue := sub("arn:${AWS::Partition}:sqs:${AWS::Region}:%s:joiner-relay-%s", c.Account, short(c.Name))
		rights = append(append(rights, relayRights(c.Name, "${AWS::AccountId}")...), allow("CarryOutRequests", carryOut, []*string{queue}, nil))
	}
	newRole(stack, o, roleOf{
		ID: "WatcherRole", Name: sub("joiner-%s-${AWS::Region}-watcher-hub", short(c.Name)), About: "Joiner's watcher in cluster " + c.Name + " of account " + c.Account,
		// A role that does not exist yet cannot be named as a principal, one of its account with its ARN can.
		Trust: document(statement{
			"Effect": "Allow", "Action": []string{"sts:AssumeRole", "sts:TagSession"}, "Principal": map[string]any{"AWS": sub("arn:${AWS::Partition}:iam::%s:root", c.Account)},
			"Condition": map[string]any{"ArnEquals": map[string]any{"aws:PrincipalArn": watcher}},
		}),
		Rights: document(rights...),
	})
	makePlanQueue(stack, c, o)
	awsevents.NewCfnEventBusPolicy(stack, s("Events"), &awsevents.CfnEventBusPolicyProps{
		StatementId: s("joiner-" + short(c.Name)),
		Statement: statement{
			"Sid": "joiner-" + short(c.Name), "Effect": "Allow", "Action": "events:PutEvents",
			"Principal": map[string]any{"AWS": sub("arn:${AWS::Partition}:iam::%s:root", c.Account)},
			"Resource":  sub("arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/default"),
			"Condition": map[string]any{"StringEquals": map[string]any{"events:source": []string{"aws.ec2",
				"aws.health", "aws.arc-zonal-shift"}}},
		},
	})
	roles := map[string]any{}
	named := programNames()
	if len(o.Adopters) > 0 {
		named = append(named, "adopt")
	}
	for _, p := range named {
		roles[p] = sub("arn:${AWS::Partition}:iam::%s:role/joiner-%s-${AWS::Region}-%s", c.Account, short(c.Name), p)
	}
	properties := map[string]any{
		"arn": sub("arn:${AWS::Partition}:eks:${AWS::Region}:%s:cluster/%s", c.Account, c.Name), "account": c.Account, "roles": roles, "externalID": c.ExternalID,
	}
	if c.Relay {
		properties["relayURL"] = sub("https://sqs.${AWS::Region}.${AWS::URLSuffix}/%s/joiner-relay-%s", c.Account, short(c.Name))
	}
	registration(stack, c, properties)
	return stack
}

// describe adds to the properties of the registration what EKS would say of the cluster.
func (c Cluster) describe(properties map[string]any) {
	delete(properties, "arn")
	properties["selfManaged"], properties["endpoint"] = true, c.Endpoint
	properties["ca"], properties["version"] = c.CA, c.Kubernetes
	if c.ServiceCIDR != "" {
		properties["serviceCIDR"] = c.ServiceCIDR
	}
	if c.ClusterDNS != "" {
		properties["clusterDNS"] = c.ClusterDNS
	}
}
