package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// watchersQueues are the queues that the attacker's watcher sends to.
var watchersQueues = []string{"joiner-plan-attacker.fifo"}

// redteam is a cluster whose watcher's keys somebody else has, beside one that must not notice.
type redteam struct {
	victim   *cluster
	attacker *cluster
	keys     aws.Config        // of the attacker's watcher
	queues   map[string]string // URLs of all queues of the installation, by name
	open     []string          // names of those that the keys may send to
	probes   int               // instances the victim asked for between attacks
}

// TestRedteam has the keys of one cluster's watcher play what a hostile tenant would, by unmodified SDK clients and with the policies of
// the templates in force. After each attack the other cluster's instances, pods, claims and registration are what they were.
func TestRedteam(t *testing.T) {
	t.Parallel()
	r := startRedteam(t)
	r.prompt(t, "before")
	for _, attack := range []struct {
		name string
		play func(*testing.T, *redteam)
	}{
		{"W3 W6 rights", playRights}, {"W1 forged notices", playNotices}, {"W2 forged registrations", playRegistrations},
		{"W4 pointers to others", playManifests}, {"W6 forged NodePools", playForgedPools}, {"W7 bombs", playBombs}, {"W5 lies about memory", playMemory},
		{"malformed bodies", playMalformed},
	} {
		if !t.Run(attack.name, func(t *testing.T) {
			before, spent := r.seen(t), r.spending()
			attack.play(t, r)
			r.unharmed(t, before)
			r.bills(t, spent, attack.name)
			r.prompt(t, attack.name)
		}) {
			return
		}
	}
	t.Run("what AWS says itself is still heard", func(t *testing.T) { playRealNotice(t, r) })
}

// startRedteam starts the victim with three instances that each run a pod, and the attacker's cluster, whose watcher is the test.
func startRedteam(t *testing.T) *redteam {
	t.Helper()
	return startRedteamWith(t, stack.Options{})
}

func startRedteamWith(t *testing.T, o stack.Options) *redteam {
	t.Helper()
	o.FunctionEnv = map[string]string{"JOINER_METRICS": "on"}
	c := start(t, o)
	r := &redteam{victim: c, attacker: c.beside(t, "attacker"), queues: map[string]string{}}
	keys, err := c.WatcherKeys(r.attacker.Cluster, "redteam")
	if err != nil {
		t.Fatal(err)
	}
	r.keys = c.Cloud.ConfigFor(keys)
	who, err := sts.NewFromConfig(r.keys).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil {
		t.Fatal(err)
	}
	c.hostile = append(c.hostile, strings.Split(aws.ToString(who.Arn), "/")[1])
	all, err := sqs.NewFromConfig(c.Cloud.Config()).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range all.QueueUrls {
		r.queues[wire.QueueName(url)] = url
	}
	for _, c := range []*cluster{r.victim, r.attacker} {
		name := c.Options.Cluster
		c.apply(t, namespace("here"), strings.Replace(class("default"), "role: joiner-joiner-demo-us-west-2-node", "role: joiner-"+name+"-us-west-2-node", 1),
			pool("default", "default", spotOnly, nil, nil))
		if err := r.victim.resolve(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.awaitReady(t, nodePools, "default")
	}
	r.victim.apply(t, stateful("here", "web", 3))
	r.victim.awaitRunning(t, "here", 3, 3*time.Minute)
	await(t, time.Minute, "the victim's claims are initialised", r.victim.settled(t))
	return r
}

// of reports whether a use was by the role of that name.
func of(use access.Use, role string) bool {
	return role != "" && strings.HasSuffix(strings.Split(use.Principal, "/session")[0], "/"+role)
}

// state is what of a cluster an attack on it would change.
type state struct {
	registration model.Registration
	pods         []string
	instances    []string // ids with their states
	claims       []string // names with their states, drains and marks
	nodes        []string // names with their taints
}

func (r *redteam) seen(t *testing.T) state {
	t.Helper()
	c := r.victim
	reg, err := c.Stack.Ledger.Cluster(t.Context(), c.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	s := state{registration: reg, pods: c.podsOf(t, "here")}
	for _, claim := range c.ledger(t).Claims {
		if claim.Pool == probePool {
			continue
		}
		instance, _ := c.EC2.Lookup(claim.InstanceID)
		s.instances = append(s.instances, fmt.Sprintf("%s %s", instance.ID, instance.State))
		s.claims = append(s.claims, fmt.Sprintf("%s %s with %s, drain %v", claim.Name, claim.State, claim.InstanceID, claim.Drain))
	}
	nodes, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: model.LabelNodePool + "!=" + probePool})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items {
		s.nodes = append(s.nodes, fmt.Sprintf("%s %v %v", node.Name, node.Spec.Unschedulable, node.Spec.Taints))
	}
	slices.Sort(s.instances)
	slices.Sort(s.claims)
	return s
}

// unharmed fails unless the victim is what it was before.
func (r *redteam) unharmed(t *testing.T, before state) {
	t.Helper()
	if now := r.seen(t); !reflect.DeepEqual(now, before) {
		t.Errorf("the victim was\n%+v\nand is\n%+v", before, now)
	}
}

// kept fails unless the victim still has all that it had before, as it was; it may have grown.
func (r *redteam) kept(t *testing.T, before state) {
	t.Helper()
	now := r.seen(t)
	if !reflect.DeepEqual(now.registration, before.registration) {
		t.Errorf("the registration was\n%+v\nand is\n%+v", before.registration, now.registration)
	}
	for _, list := range [][2][]string{{before.pods, now.pods}, {before.instances, now.instances}, {before.claims, now.claims}, {before.nodes, now.nodes}} {
		for _, was := range list[0] {
			if !slices.Contains(list[1], was) {
				t.Errorf("there was %s; now there are\n%s", was, strings.Join(list[1], "\n"))
			}
		}
	}
}

// settle waits until every queue is empty and gives functions that were invoked last the time to do what they would.
func (r *redteam) settle(t *testing.T) {
	t.Helper()
	client := sqs.NewFromConfig(r.victim.Cloud.Config())
	await(t, 2*time.Minute, "the queues are empty", func(ctx context.Context) string {
		for name, url := range r.queues {
			if strings.Contains(name, "dead") {
				continue
			}
			out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{
				sqstypes.QueueAttributeNameApproximateNumberOfMessages, sqstypes.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
			}})
			if err != nil {
				return err.Error()
			}
			for what, n := range out.Attributes {
				if n != "0" {
					return fmt.Sprintf("%s: %s is %s", name, what, n)
				}
			}
		}
		return ""
	})
	time.Sleep(3 * time.Second)
}

// send puts a body into a queue with the attacker's keys, in a group where the queue has groups.
func (r *redteam) send(ctx context.Context, queue, body, group, id string) error {
	url := r.queues[queue]
	in := &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}
	if strings.HasSuffix(queue, ".fifo") {
		in.MessageGroupId, in.MessageDeduplicationId = &group, &id
	}
	_, err := sqs.NewFromConfig(r.keys).SendMessage(ctx, in)
	return err
}

// playRights tries every call that would be worth having. What is allowed is what a watcher must publish, and nothing else.
func playRights(t *testing.T, r *redteam) {
	c, name := r.victim, r.attacker.Options.Cluster
	table, bucket := dynamodb.NewFromConfig(r.keys), s3.NewFromConfig(r.keys, func(o *s3.Options) { o.UsePathStyle = true })
	allowed := map[string]bool{}
	note := func(what string, err error) {
		if err != nil && !strings.Contains(err.Error(), "AccessDenied") {
			t.Errorf("%s: refused for another reason than rights: %v", what, err)
		}
		allowed[what] = err == nil
	}
	for queue := range r.queues {
		err := r.send(t.Context(), queue, "{}", name, "rights")
		note("send to "+queue, err)
		if err == nil {
			r.open = append(r.open, queue)
		}
		_, err = sqs.NewFromConfig(r.keys).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(r.queues[queue])})
		note("receive from "+queue, err)
		_, err = sqs.NewFromConfig(r.keys).PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: aws.String(r.queues[queue])})
		note("empty "+queue, err)
	}
	slices.Sort(r.open)
	items := [][2]string{
		{"CLUSTERS", name}, {"CLUSTERS", c.Options.Cluster}, {"C#" + name + "#W#", "SNAP"}, {"C#" + name + "#W#", "EPOCH"}, {"C#" + name + "#N#0", "CLAIM#x"},
		{"R#" + c.Cloud.Account() + "#" + c.Cloud.Region() + "#", "STOP"},
	}
	for _, sk := range []string{"SNAP", "INTENT#x", "COMMAND#x", "CLASS#x", "LEASE#planner", "USE#default", "STOP", "NOTES", "JUDGE", "TURN#default"} {
		items = append(items, [2]string{"C#" + name + "#", sk}, [2]string{"C#" + c.Options.Cluster + "#", sk})
	}
	items = append(items, [2]string{"C#" + c.Options.Cluster + "#W#", "SNAP"})
	for _, key := range items {
		pk, sk := &types.AttributeValueMemberS{Value: key[0]}, &types.AttributeValueMemberS{Value: key[1]}
		_, err := table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &c.Table, Item: map[string]types.AttributeValue{"PK": pk, "SK": sk}})
		note("put "+key[0]+" "+key[1], err)
		_, err = table.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &c.Table, Key: map[string]types.AttributeValue{"PK": pk, "SK": sk}})
		note("get "+key[0]+" "+key[1], err)
	}
	_, err := table.Scan(t.Context(), &dynamodb.ScanInput{TableName: &c.Table})
	note("scan the table", err)
	for _, key := range []string{"snap/" + name + "/x", "snap/" + c.Options.Cluster + "/x", "decisions/" + name + "/x", "decisions/" + c.Options.Cluster + "/x", "catalog/" + c.Cloud.Account() + "/x"} {
		_, err := bucket.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &c.Bucket, Key: &key, Body: bytes.NewReader([]byte("x"))})
		note("write "+key, err)
	}
	_, err = bucket.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &c.Bucket})
	note("list the bucket", err)

	maps.DeleteFunc(allowed, func(_ string, yes bool) bool { return !yes })
	got := slices.Sorted(maps.Keys(allowed))
	want := []string{"put C#attacker#W# EPOCH", "put C#attacker#W# SNAP"}
	for _, queue := range watchersQueues {
		want = append(want, "send to "+queue)
	}
	want = append(want, "write snap/attacker/x")
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the watcher's keys may\n%s\nand should\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	r.settle(t)
}

// playNotices announces the end of each of the victim's instances, to every queue that the keys may send to.
func playNotices(t *testing.T, r *redteam) {
	c := r.victim
	now := time.Now().Unix()
	for i, claim := range c.ledger(t).Claims {
		for j, notice := range []model.Notice{
			{Kind: model.NoticeSpotInterrupted, Detail: "terminate", AtUnix: now - 500}, {Kind: model.NoticeSpotInterrupted, Detail: "terminate", AtUnix: now},
			{Kind: model.NoticeReservationInterrupted, Detail: "terminate", AtUnix: now, EndUnix: now - 5}, {Kind: model.NoticeScheduledChange, Detail: "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", AtUnix: now},
			{Kind: model.NoticeTerminated, Detail: "terminated", AtUnix: now}, {Kind: model.NoticeStopped, Detail: "stopping", AtUnix: now},
		} {
			notice.ID, notice.Account, notice.Region = fmt.Sprintf("forged-%d-%d", i, j), c.Cloud.Account(), c.Cloud.Region()
			notice.Instances = []string{claim.InstanceID}
			body, err := wire.EncodeEvent(notice)
			if err != nil {
				t.Fatal(err)
			}
			for _, queue := range r.open {
				if err := r.send(t.Context(), queue, string(body), c.Options.Cluster, notice.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	r.settle(t)
	for _, run := range []func(context.Context) error{c.collect, c.resync} { // what the attack left behind would be carried out now
		if err := run(t.Context()); err != nil {
			t.Error(err)
		}
	}
	r.settle(t)
}

// playRegistrations asks the catalog's function for what a cluster's stack asks for, in the name of a stack of another account.
func playRegistrations(t *testing.T, r *redteam) {
	c := r.victim
	var asked atomic.Int64
	own := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.2:0") // our model of AWS is at 127.0.0.1
	if err != nil {
		t.Fatal(err)
	}
	own.Listener.Close()
	own.Listener = listener
	own.Start()
	defer own.Close()
	redirects := httptest.NewServer(http.RedirectHandler(own.URL, http.StatusTemporaryRedirect)) // where CloudFormation might wait
	defer redirects.Close()
	reg, err := c.Stack.Ledger.Cluster(t.Context(), c.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	properties := map[string]any{
		"cluster": reg.Cluster, "arn": reg.ARN, "account": reg.Account, "region": reg.Region, "externalID": reg.ExternalID, "paused": "true", "clusterDNS": "203.0.113.66",
		"relayURL": "https://sqs.us-west-2.amazonaws.com/222222222222/evil", "roles": map[string]any{"provision": "arn:aws:iam::222222222222:role/joiner-attacker-provision", "catalog": reg.Roles.Catalog},
	}
	granted := maps.Clone(properties) // what nothing speaks against but who asks
	granted["roles"] = reg.Roles
	delete(granted, "relayURL")
	answers := []string{
		own.URL, redirects.URL, "https://cloudformation-custom-resource-response-uswest2.s3.us-west-2.amazonaws.com/arn?X-Amz-Signature=1",
		strings.Replace(own.URL, "http://", "https://cloudformation-custom-resource-response-uswest2.s3.us-west-2.amazonaws.com@", 1),
	}
	for i, answer := range answers {
		for _, account := range []string{"222222222222", c.Cloud.Account()} {
			for _, kind := range []string{"Create", "Update", "Delete"} {
				for _, said := range []map[string]any{properties, granted, {"cluster": reg.Cluster}} {
					payload, err := json.Marshal(map[string]any{
						"RequestType": kind, "RequestId": fmt.Sprintf("r-%d", i), "ResponseURL": answer, "ResourceType": "Custom::JoinerCluster", "LogicalResourceId": "Cluster",
						"PhysicalResourceId": "joiner/" + reg.Cluster, "StackId": "arn:aws:cloudformation:" + reg.Region + ":" + account + ":stack/evil/1", "ResourceProperties": said,
					})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := c.Runtime.Invoke(t.Context(), c.FunctionName("Catalog"), payload); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the caller's own server was asked %d times", n)
	}
}

// playManifests points the attacker's snapshot at the victim's and asks for a plan by it.
func playManifests(t *testing.T, r *redteam) {
	c, name := r.victim, r.attacker.Options.Cluster
	ledger := dynamoledger.New(dynamodb.NewFromConfig(r.keys), c.Table)
	c.apply(t, namespace("waits"), deployment("waits", "large", 2, "900")) // which nothing can hold: pending pods, to be seen by whoever reads the snapshot
	var manifest *model.Manifest
	await(t, time.Minute, "the victim's watcher has published", func(ctx context.Context) string {
		var err error
		if manifest, err = c.Stack.Ledger.Manifest(ctx, c.Options.Cluster); err != nil || manifest == nil {
			return fmt.Sprint("no pointer ", err)
		}
		return ""
	})
	epoch, err := ledger.NextEpoch(t.Context(), name, "redteam")
	if err != nil {
		t.Fatal(err)
	}
	runs := len(r.attackersRuns())
	for i, forged := range []struct {
		cluster string
		says    string // what planning says of it
	}{
		{c.Options.Cluster, "names the cluster"}, {name, `and it names "snap/` + c.Options.Cluster},
	} {
		lie, seen := *manifest, len(r.attackersRuns())
		lie.Cluster, lie.Epoch, lie.WrittenUnix, lie.HeartbeatAt = forged.cluster, epoch, time.Now().Unix(), time.Now().Unix()
		doc, err := json.Marshal(lie)
		if err != nil {
			t.Fatal(err)
		}
		number := func(n int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }
		if _, err := dynamodb.NewFromConfig(r.keys).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &c.Table, Item: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: "C#" + name + "#W#"}, "SK": &types.AttributeValueMemberS{Value: "SNAP"}, "doc": &types.AttributeValueMemberS{Value: string(doc)},
			"epoch": number(lie.Epoch), "headSeq": number(lie.HeadSeq), "heartbeat": number(lie.HeartbeatAt),
		}}); err != nil {
			t.Fatal(err)
		}
		hint := wire.Hint{Cluster: name, Epoch: lie.Epoch, Seq: lie.HeadSeq, Number: int64(i + 1), Reason: wire.ReasonBatch}
		body, err := wire.EncodeHint(hint)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.send(t.Context(), watchersQueues[0], string(body), name, fmt.Sprint("pointer-", i)); err != nil {
			t.Fatal(err)
		}
		await(t, time.Minute, "planning for the attacker's cluster refuses the pointer", func(context.Context) string {
			said := ""
			for _, run := range r.attackersRuns()[seen:] {
				if said += strings.Join(run.Problems, "; "); strings.Contains(said, forged.says) {
					return ""
				}
			}
			return fmt.Sprintf("it says %q of cluster %q", said, forged.cluster)
		})
	}
	r.settle(t)
	for _, run := range r.attackersRuns()[runs:] {
		if run.Pending > 0 || run.Claims > 0 || run.Source == "snapshot" {
			t.Errorf("a run for the attacker saw what is the victim's: %+v", run)
		}
	}
	for _, instance := range c.running() {
		if instance.Tags["kubernetes.io/cluster/"+name] != "" {
			t.Errorf("machine %s was launched for the attacker", instance.ID)
		}
	}
}

// attackersRuns are the planning runs for the attacker's cluster so far.
func (r *redteam) attackersRuns() []provision.Outcome { return r.runsOf(r.attacker) }

// runsOf are the planning runs for a cluster so far.
func (r *redteam) runsOf(c *cluster) []provision.Outcome {
	var out []provision.Outcome
	for _, run := range r.victim.logs.runs() {
		if run.Cluster == c.Options.Cluster {
			out = append(out, run)
		}
	}
	return out
}

// playMemory has a node of the attacker say that it has 2 MiB of memory.
func playMemory(t *testing.T, r *redteam) {
	a := r.attacker
	if _, err := r.victim.StartWatcherOf(a.Cluster); err != nil {
		t.Fatal(err)
	}
	a.apply(t, deployment("here", "one", 1, "1"))
	a.awaitRunning(t, "here", 1, 3*time.Minute)
	await(t, time.Minute, "the attacker's claim is initialised", a.settled(t))
	for range 5 {
		nodes, err := a.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: model.LabelNodePool})
		if err != nil || len(nodes.Items) == 0 {
			t.Fatalf("%d nodes %v", len(nodes.Items), err)
		}
		for _, node := range nodes.Items {
			patch := []byte(`{"status":{"capacity":{"memory":"2Mi"},"allocatable":{"memory":"2Mi"}}}`)
			if _, err := a.kube.CoreV1().Nodes().Patch(t.Context(), node.Name, apitypes.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.victim.resync(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.settle(t)
	}
	reg, err := a.Stack.Ledger.Cluster(t.Context(), a.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	learned, err := a.Stack.Ledger.Learned(t.Context(), reg, time.Now().Unix())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range learned {
		if row.MiB < 256 {
			t.Errorf("all clusters would believe %+v", row)
		}
	}
}

// playMalformed sends what no program of Joiner's sends, to every queue that the keys may send to.
func playMalformed(t *testing.T, r *redteam) {
	c := r.victim
	bodies := []string{
		"{}", "garbage", strings.Repeat("[", 200_000), `{"sweep":"` + strings.Repeat("9", 250_000) + `"}`, "joiner-demo#N#0", "x\n{\"_aws\":{\"CloudWatchMetrics\":[]},\"Spent\":1e9}",
		`{"v":1,"cluster":"joiner-demo","epoch":9223372036854775807,"seq":9223372036854775807,"number":9223372036854775807,"reason":"batch"}`, "null", `{"v":1e999}`, "\x01\x02\x1b[2J",
	}
	sent := 0
	for i, body := range bodies {
		for _, queue := range r.open {
			err := r.send(t.Context(), queue, body, c.Options.Cluster, fmt.Sprintf("malformed-%d", i))
			if err != nil && !strings.Contains(err.Error(), "InvalidMessageContents") { // SQS takes no control characters
				t.Fatal(err)
			}
			if err == nil {
				sent++
			}
		}
	}
	r.settle(t)
	if said := c.logs.text(); strings.Contains(said, "panic") || strings.Contains(said, "\n{\"_aws\":{\"CloudWatchMetrics\":[]}") {
		t.Errorf("functions said\n%s", said)
	}
	for _, exit := range c.logs.exits() {
		if exit.Reason == lambdaruntime.ExitCrashed || exit.Reason == lambdaruntime.ExitOutOfMemory {
			t.Errorf("a function died: %+v", exit)
		}
	}
	t.Logf("%d bodies were taken by SQS", sent)
}

// playRealNotice has EC2 itself announce the end of one of the victim's instances.
func playRealNotice(t *testing.T, r *redteam) {
	claims := r.victim.ledger(t).Claims
	r.victim.warn(t, claims[0])
	await(t, 2*time.Minute, "the machine that EC2 takes back leaves", func(context.Context) string {
		for _, claim := range r.victim.ledger(t).Claims {
			if claim.Name == claims[0].Name && claim.Drain == nil {
				return "it stays"
			}
		}
		return ""
	})
}
