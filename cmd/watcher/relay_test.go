package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/relay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	cloudsts "github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

func TestSendersAreReadOrSaidWhatIsWrongWithThem(t *testing.T) {
	var s senders
	if err := s.UnmarshalText([]byte(`{"AROA1234567890EXAMPLE":"joiner:functions"}`)); err != nil || s["AROA1234567890EXAMPLE"] != "joiner:functions" {
		t.Errorf("%v %v", s, err)
	}
	for text, says := range map[string]string{
		"x":                                     "JSON",
		`{"joiner-provision":"joiner:disrupt"}`: "RoleId",
		`{"AROA1234567890EXAMPLE":"system:masters"}`: "system:masters",
		`{"AROA1234567890EXAMPLE":"provision"}`:      "not one of the groups",
	} {
		if err := new(senders).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// impersonator is what the chart gives the watcher in relay mode, beside its usual permissions.
const impersonator = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: joiner-watcher-relay}
rules:
  - {apiGroups: [""], resources: [groups], resourceNames: ["joiner:functions", "joiner:interruption", "joiner:catalog", "joiner:disrupt"], verbs: [impersonate]}
  - {apiGroups: [""], resources: [users], resourceNames: ["joiner:relay"], verbs: [impersonate]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: joiner-watcher-relay}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: joiner-watcher-relay}
subjects: [{kind: ServiceAccount, name: joiner-watcher, namespace: joiner}]
`

// relayed is a cluster in relay mode, with a client for each function's role.
type relayed struct {
	*place
	url string
	env []string
	ids map[string]string // of roles, by group
}

func (p *place) relayed(t *testing.T) *relayed {
	t.Helper()
	p.apply([]byte(impersonator))
	out, err := p.queue.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("joiner-relay-" + clusterName)})
	if err != nil {
		t.Fatal(err)
	}
	r := &relayed{place: p, url: *out.QueueUrl, ids: map[string]string{}}
	var pairs []string
	for _, group := range groups {
		who, err := sts.NewFromConfig(p.rights(t, group)).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
		if err != nil {
			t.Fatal(err)
		}
		r.ids[group], _, _ = strings.Cut(*who.UserId, ":")
		pairs = append(pairs, fmt.Sprintf("%q:%q", r.ids[group], group))
	}
	r.env = []string{"JOINER_RELAY_QUEUE_URL=" + r.url, "JOINER_RELAY_SENDERS={" + strings.Join(pairs, ",") + "}", "JOINER_LOG_LEVEL=debug"}
	return r
}

// rights are those of the role of a group's function.
func (p *place) rights(t *testing.T, group string) aws.Config {
	t.Helper()
	name := "prod-" + strings.TrimPrefix(group, "joiner:")
	p.cloud.STS.AddRole(cloudsts.Role{Name: name})
	keys, err := p.cloud.STS.Assume("arn:aws:iam::"+p.cloud.Account()+":role/"+name, "session", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return p.cloud.ConfigFor(keys)
}

// client is a function's. Nothing of it leads to the API server but the queue.
func (r *relayed) client(t *testing.T, group string) *ekscluster.Client {
	t.Helper()
	reg := model.Registration{Cluster: clusterName, Region: r.cloud.Region(), Endpoint: "https://127.0.0.1:1", RelayURL: r.url}
	client, err := ekscluster.Connect(r.rights(t, group), reg, relay.New(r.cloud.Config(), tableName, bucketName))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (r *relayed) node(t *testing.T, client kubernetes.Interface, name string) model.Object {
	t.Helper()
	made, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return model.Object{Name: name, UID: string(made.UID)}
}

// The watcher's binary carries out what functions ask for, with the permissions of each and no other; it is killed between carrying out
// and answering, and nothing is done twice.
func TestFunctionsReachAnAPIServerThroughTheWatcher(t *testing.T) {
	p := newPlace(t)
	r := p.relayed(t)
	admin, err := kubernetes.NewForConfig(p.plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	crash := filepath.Join(t.TempDir(), "crash")
	first := p.start("w-1", append(slices.Clone(r.env), "JOINER_CRASH_FILE="+crash)...)
	ends, evaluate := r.client(t, "joiner:interruption"), r.client(t, "joiner:disrupt")

	until(t, "the watcher answers", func() error { _, err := ends.ReadLive(t.Context()); return err })
	node := r.node(t, admin, "one")
	taint := model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule}
	if err := evaluate.PatchNode(t.Context(), model.NodePatch{Name: node.Name, UID: node.UID, AddTaints: []model.Taint{taint}}); err != nil {
		t.Fatal(err)
	}
	if seen, err := admin.CoreV1().Nodes().Get(t.Context(), "one", metav1.GetOptions{}); err != nil || !slices.ContainsFunc(seen.Spec.Taints, func(t corev1.Taint) bool { return t.Key == model.TaintDisrupted }) {
		t.Errorf("%+v %v", seen.Spec.Taints, err)
	}
	if err := evaluate.PatchNode(t.Context(), model.NodePatch{Name: node.Name, UID: "another", AddTaints: []model.Taint{taint}}); !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.NotFound) {
		t.Errorf("of another UID: %v", err)
	}
	// The disruption function may not delete nodes: the API server says so, by the group, although the watcher serves others who may.
	if err := evaluate.Remove(t.Context(), "Node", node); !fault.Is(err, fault.Denied) || fault.CodeOf(err) == relay.CodeRefused {
		t.Errorf("the judge deletes: %v", err)
	}

	// Killed between carrying out and answering.
	if err := os.WriteFile(crash, []byte("after delete"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = ends.Remove(t.Context(), "Node", node)
	if fault.CodeOf(err) != relay.CodeUnanswered || !fault.Is(err, fault.Internal) {
		t.Errorf("of a watcher that was killed: %v", err)
	}
	<-first.done
	if _, err := admin.CoreV1().Nodes().Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it was carried out before the watcher died: %v", err)
	}
	p.start("w-2", r.env...)
	until(t, "another watcher answers", func() error { _, err := ends.ReadLive(t.Context()); return err })
	if err := ends.Remove(t.Context(), "Node", node); err != nil && !fault.Is(err, fault.NotFound) {
		t.Errorf("again: %v", err)
	}
}
