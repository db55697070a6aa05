package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bridgetypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestRedteamFromAnotherAccount has a cluster of another account, attached by the templates for such ones: it gets its nodes, in its own
// account. Then whoever administers that account plays what a hostile tenant would, with whatever that account can allow. Everything is
// refused, and the victim, in the installation's account, is what it was.
func TestRedteamFromAnotherAccount(t *testing.T) {
	t.Parallel()
	var heard atomic.Int64 // messages of the queue of notices
	c := start(t, stack.Options{
		FunctionEnv: map[string]string{"JOINER_METRICS": "on"}, OnNotices: func(d eventsource.Delivery) { heard.Add(int64(len(d.MessageIDs))) },
	})
	f := stack.AddForeign(c.Stack, "attacker")
	twin, err := f.AddCluster(t.Context(), "attacker")
	if err != nil {
		t.Fatal(err)
	}
	r := &redteam{victim: c, attacker: c.around(t, twin, f.EC2), queues: map[string]string{}}
	all, err := sqs.NewFromConfig(c.Cloud.Config()).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range all.QueueUrls {
		r.queues[wire.QueueName(address)] = address
	}
	c.apply(t, namespace("here"), class("default"), pool("default", "default", spotOnly, nil, nil))
	r.attacker.apply(t, namespace("here"), strings.ReplaceAll(class("default"), "joiner-demo", "attacker"), pool("default", "default", spotOnly, nil, nil))
	for _, one := range []*cluster{r.victim, r.attacker} {
		if err := c.resolve(t.Context()); err != nil {
			t.Fatal(err)
		}
		one.awaitReady(t, nodePools, "default")
	}
	if _, err := c.StartWatcherOf(twin); err != nil {
		t.Fatal(err)
	}
	c.apply(t, stateful("here", "web", 2))
	r.attacker.apply(t, deployment("here", "own", 1, "1"))
	c.awaitRunning(t, "here", 2, 3*time.Minute)
	r.attacker.awaitRunning(t, "here", 1, 3*time.Minute)
	for _, one := range []*cluster{r.victim, r.attacker} {
		await(t, time.Minute, "claims are initialised", one.settled(t))
		if instances, claims := len(one.running()), len(one.ledger(t).Claims); instances != claims || instances == 0 {
			t.Fatalf("cluster %s has %d claims and its account %d machines", one.Options.Cluster, claims, instances)
		}
	}
	keys, err := f.Administrator()
	if err != nil {
		t.Fatal(err)
	}
	watchers, err := c.WatcherKeys(twin, "redteam")
	if err != nil {
		t.Fatal(err)
	}
	r.keys = c.Cloud.ConfigFor(keys)
	c.hostile = append(c.hostile, "Admin", "joiner-attacker-"+c.Cloud.Region()+"-watcher-hub")
	r.prompt(t, "before")
	for _, attack := range []struct {
		name string
		play func(*testing.T, *redteam)
	}{
		{"rights", playForeignRights}, {"roles", playForeignRoles}, {"machines", playForeignInstances},
		{"events", func(t *testing.T, r *redteam) { playForeignEvents(t, r, f, &heard) }},
		{"registrations", playForeignRegistrations}, {"watcher", func(t *testing.T, r *redteam) {
			playForeignWatcher(t, r, c.Cloud.ConfigFor(watchers))
		}},
	} {
		t.Run(attack.name, func(t *testing.T) {
			before, spent := r.seen(t), r.spending()
			attack.play(t, r)
			r.unharmed(t, before)
			r.bills(t, spent, attack.name)
			r.prompt(t, attack.name)
		})
	}
	if instances, claims := len(r.attacker.running()), len(r.attacker.ledger(t).Claims); instances != claims {
		t.Errorf("the attacker has %d claims and its account %d machines", claims, instances)
	}
}

// refused fails unless a call was refused for want of rights.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: allowed", what)
		return
	}
	if text := err.Error(); !strings.Contains(text, "AccessDenied") && !strings.Contains(text, "not authorized") {
		t.Errorf("%s: refused for another reason than rights: %v", what, err)
	}
}

// playForeignRights tries queues, table, bucket and parameters of the installation. The account's own prefix is no more open to it than
// others': its watcher alone has it, by a role of the installation's account.
func playForeignRights(t *testing.T, r *redteam) {
	c, ctx := r.victim, t.Context()
	queues, table := sqs.NewFromConfig(r.keys), dynamodb.NewFromConfig(r.keys)
	bucket := s3.NewFromConfig(r.keys, func(o *s3.Options) { o.UsePathStyle = true })
	for name, address := range r.queues {
		refused(t, "send to "+name, r.send(ctx, name, "{}", "attacker", "foreign"))
		_, err := queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &address})
		refused(t, "receive from "+name, err)
		_, err = queues.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &address})
		refused(t, "empty "+name, err)
		_, err = queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &address})
		refused(t, "delete "+name, err)
	}
	arn := "arn:aws:dynamodb:" + c.Cloud.Region() + ":" + c.Cloud.Account() + ":table/" + c.Table
	for _, named := range []string{arn, c.Table} {
		for _, pk := range []string{"CLUSTERS", "C#attacker#", "C#attacker#W#", "C#joiner-demo#", "C#joiner-demo#W#", "R#" + c.Cloud.Account() + "#" + c.Cloud.Region() + "#"} {
			key := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: "SNAP"}}
			_, err := table.PutItem(ctx, &dynamodb.PutItemInput{TableName: &named, Item: key})
			refused(t, "put "+pk+" into "+named, err)
			_, err = table.GetItem(ctx, &dynamodb.GetItemInput{TableName: &named, Key: key})
			refused(t, "get "+pk+" from "+named, err)
		}
		_, err := table.Scan(ctx, &dynamodb.ScanInput{TableName: &named})
		refused(t, "scan "+named, err)
		_, err = table.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &named})
		refused(t, "delete "+named, err)
	}
	for _, key := range []string{"snap/attacker/x", "snap/joiner-demo/x", "decisions/joiner-demo/x", "catalog/" + c.Cloud.Account() + "/" + c.Cloud.Region() + ".jnc"} {
		_, err := bucket.PutObject(ctx, &s3.PutObjectInput{Bucket: &c.Bucket, Key: &key, Body: bytes.NewReader([]byte("x"))})
		refused(t, "write "+key, err)
		_, err = bucket.GetObject(ctx, &s3.GetObjectInput{Bucket: &c.Bucket, Key: &key})
		refused(t, "read "+key, err)
		_, err = bucket.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &c.Bucket, Key: &key})
		refused(t, "delete "+key, err)
	}
	_, err := bucket.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &c.Bucket})
	refused(t, "list the bucket", err)
	name := "/joiner/installation" // of its own account, which has none of the name
	if out, err := ssm.NewFromConfig(r.keys).GetParameter(ctx, &ssm.GetParameterInput{Name: &name}); err == nil {
		t.Errorf("another account reads %s", aws.ToString(out.Parameter.Value))
	}
}

// playForeignRoles tries to become each role of the installation's account, with the external id that the victim's ask for, too.
func playForeignRoles(t *testing.T, r *redteam) {
	c := r.victim
	reg, err := c.Stack.Ledger.Cluster(t.Context(), c.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	roles := 0
	for _, arn := range c.Cloud.Policies.Roles() {
		if !strings.HasPrefix(arn, "arn:aws:iam::"+c.Cloud.Account()+":") {
			continue
		}
		roles++
		for _, external := range []*string{nil, &reg.ExternalID} {
			_, err := sts.NewFromConfig(r.keys).AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: &arn, RoleSessionName: aws.String("redteam"), ExternalId: external})
			refused(t, "become "+arn, err)
		}
	}
	if roles < 9 {
		t.Errorf("%d roles: functions' and the victim's are more", roles)
	}
}

// playForeignInstances names the victim's instances and cluster to EC2 and EKS, which know an account's own alone.
func playForeignInstances(t *testing.T, r *redteam) {
	client := awsec2.NewFromConfig(r.keys)
	for _, claim := range r.victim.ledger(t).Claims {
		ids := []string{claim.InstanceID}
		_, err := client.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: ids})
		_, tagged := client.CreateTags(t.Context(), &awsec2.CreateTagsInput{Resources: ids, Tags: []ec2types.Tag{{Key: aws.String("karpenter.sh/nodepool"), Value: aws.String("gone")}}})
		_, described := client.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: ids})
		for what, err := range map[string]error{"end": err, "tag": tagged, "look at": described} {
			if err == nil || !strings.Contains(err.Error(), "NotFound") {
				t.Errorf("%s %s: %v", what, claim.InstanceID, err)
			}
		}
	}
	if out, err := awseks.NewFromConfig(r.keys).DescribeCluster(t.Context(), &awseks.DescribeClusterInput{Name: &r.victim.Options.Cluster}); err == nil {
		t.Errorf("another account's EKS knows %s", aws.ToString(out.Cluster.Arn))
	}
}

// playForeignEvents puts events of the victim's instances on the hub's bus: in the name of AWS, which EventBridge lets nobody; in its own
// name, which the bus's policy does not let it; and, were EC2 itself of that account to tell of them, by its rules, of which the hub believes
// what is said of instances of that account.
func playForeignEvents(t *testing.T, r *redteam, f *stack.Foreign, heard *atomic.Int64) {
	c := r.victim
	before, reported := heard.Load(), int64(0)
	hub := "arn:aws:events:" + c.Cloud.Region() + ":" + c.Cloud.Account() + ":event-bus/default"
	client := eventbridge.NewFromConfig(r.keys)
	for _, claim := range c.ledger(t).Claims {
		warning, detail := "EC2 Spot Instance Interruption Warning", fmt.Sprintf(`{"instance-id":%q,"instance-action":"terminate"}`, claim.InstanceID)
		for _, source := range []string{"aws.ec2", "aws.health", "joiner", "custom.aws.ec2"} {
			out, err := client.PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []bridgetypes.PutEventsRequestEntry{
				{EventBusName: &hub, Source: aws.String(source), DetailType: &warning, Detail: &detail},
			}})
			if !strings.HasPrefix(source, "aws.") {
				refused(t, "an event of "+source, err)
				continue
			}
			if err != nil || out.FailedEntryCount != 1 || aws.ToString(out.Entries[0].ErrorCode) != "NotAuthorizedForSourceException" {
				t.Errorf("an event of %s: %+v, %v", source, out, err)
			}
		}
		for _, one := range []events.Entry{
			{Source: "aws.ec2", DetailType: warning, Detail: json.RawMessage(detail)},
			{Source: "aws.ec2", DetailType: "EC2 Instance State-change Notification", Detail: json.RawMessage(fmt.Sprintf(`{"instance-id":%q,"state":"terminated"}`, claim.InstanceID))},
		} {
			if _, err := f.Bus.PutEvents(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			reported++
		}
	}
	await(t, time.Minute, "the hub's function hears of it", func(context.Context) string {
		if n := heard.Load() - before; n < reported {
			return fmt.Sprintf("%d of %d events came", n, reported)
		}
		return ""
	})
	r.settle(t)
	for _, run := range []func(context.Context) error{c.collect, c.resync} {
		if err := run(t.Context()); err != nil {
			t.Error(err)
		}
	}
	r.settle(t)
}

// playForeignRegistrations asks the functions themselves, and then, as if the function that registers were open to it, in the name of stacks
// of its own account.
func playForeignRegistrations(t *testing.T, r *redteam) {
	c := r.victim
	for _, id := range []string{"Catalog", "Provision", "Interruption", "Disrupt"} {
		arn := c.Runtime.FunctionARN(c.FunctionName(id))
		status, text, err := invokeBy(t.Context(), r.keys, c.Cloud.Endpoint(), arn, []byte(`{"sweep":"2026-11-23T10:00:00Z"}`))
		if err != nil || status != http.StatusForbidden || !strings.Contains(text, "not authorized") {
			t.Errorf("invoke %s: status %d, %.300s, %v", arn, status, text, err)
		}
	}
	playRegistrations(t, r)
}

// invokeBy invokes a function over Lambda's API.
func invokeBy(ctx context.Context, config aws.Config, endpoint, arn string, payload []byte) (status int, text string, err error) {
	address := endpoint + "/2015-03-31/functions/" + url.PathEscape(arn) + "/invocations"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(payload))
	if err != nil {
		return 0, "", err
	}
	keys, err := config.Credentials.Retrieve(ctx)
	if err != nil {
		return 0, "", err
	}
	sum := sha256.Sum256(payload)
	if err := v4.NewSigner().SignHTTP(ctx, keys, request, hex.EncodeToString(sum[:]), "lambda", config.Region, time.Now()); err != nil {
		return 0, "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// playForeignWatcher has the role that the cluster's watcher has in the hub's account, which an administrator of its account can have too,
// by becoming the watcher: it reaches its own cluster's pointer, snapshots and queue, and nothing of the victim's.
func playForeignWatcher(t *testing.T, r *redteam, keys aws.Config) {
	c, ctx := r.victim, t.Context()
	own := &redteam{victim: r.victim, attacker: r.attacker, keys: keys, queues: r.queues}
	for name := range r.queues {
		if name != wire.PlanQueue("attacker") {
			refused(t, "the watcher sends to "+name, own.send(ctx, name, "{}", "attacker", "foreign-watcher"))
		}
	}
	table, bucket := dynamodb.NewFromConfig(keys), s3.NewFromConfig(keys, func(o *s3.Options) { o.UsePathStyle = true })
	for _, pk := range []string{"CLUSTERS", "C#attacker#", "C#joiner-demo#", "C#joiner-demo#W#"} {
		item := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: "SNAP"}}
		_, err := table.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.Table, Item: item})
		refused(t, "the watcher puts "+pk, err)
	}
	key := "snap/joiner-demo/x"
	_, err := bucket.PutObject(ctx, &s3.PutObjectInput{Bucket: &c.Bucket, Key: &key, Body: bytes.NewReader([]byte("x"))})
	refused(t, "the watcher writes "+key, err)
	hint, err := wire.EncodeHint(wire.Hint{Cluster: c.Options.Cluster, Reason: wire.ReasonBatch, Epoch: 9e15, Seq: 9e15, Pods: []model.PodRef{}})
	if err != nil {
		t.Fatal(err)
	}
	dropped := c.logs.refused()
	if err := own.send(ctx, wire.PlanQueue("attacker"), string(hint), c.Options.Cluster, "foreign-hint"); err != nil {
		t.Errorf("its own queue: %v", err)
	}
	await(t, time.Minute, "a hint that speaks of the victim is dropped", func(context.Context) string {
		if c.logs.refused() == dropped {
			return "it is not"
		}
		return ""
	})
}
