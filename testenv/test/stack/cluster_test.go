package stack

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/eventsource"
)

// Two clusters of one account and region hang on the same functions, each with an API server of its own where objects of
// the same names are other objects; and what EC2 says of instances comes to the function that ends them, whoever owns them.
func TestTwoClustersShareTheFunctionsAndEventsReachTheirQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole stack, with two control planes")
	}
	var mutex sync.Mutex
	delivered, lost := 0, 0
	s, err := Start(t.Context(), Options{
		Watchers: -1, ResyncEvery: time.Hour,
		EC2: ec2.Timing{Shutdown: ec2.Delay{Min: time.Second, Max: time.Second}, Warning: 2 * time.Second, Gone: time.Hour},
		OnNotices: func(d eventsource.Delivery) {
			mutex.Lock()
			defer mutex.Unlock()
			delivered += len(d.MessageIDs) - len(d.Failed)
		},
		LoseEvent: func(e events.Entry) bool {
			mutex.Lock()
			defer mutex.Unlock()
			drop := e.DetailType == ec2.EventSpotWarning && lost == 0
			if drop {
				lost++
			}
			return drop
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	other, err := s.AddCluster(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	registered, err := s.Ledger.Clusters(t.Context())
	if err != nil || len(registered) != 2 || registered[0].Endpoint == registered[1].Endpoint || registered[0].ARN == registered[1].ARN {
		t.Fatalf("%+v %v", registered, err)
	}
	uids := map[string]bool{}
	for _, c := range []*Cluster{s.Cluster, other} {
		client, err := kubernetes.NewForConfig(c.Kube.Config())
		if err != nil {
			t.Fatal(err)
		}
		node, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "same"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		uids[string(node.UID)] = true
	}
	if len(uids) != 2 {
		t.Error("both clusters show one node")
	}
	ids, err := s.RunForeign(t.Context(), "other", 5)
	if err != nil || len(ids) != 5 {
		t.Fatalf("%v %v", ids, err)
	}
	// Five warnings less the one that is lost, five instances that shut down and have ended, and a change of AWS Health.
	for _, id := range ids {
		if !s.EC2.Interrupt(id) {
			t.Errorf("%s is no spot instance", id)
		}
	}
	if err := s.Health(t.Context(), "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", ids...); err != nil {
		t.Fatal(err)
	}
	const want = 4 + 10 + 1
	var got int
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && got < want; time.Sleep(100 * time.Millisecond) {
		mutex.Lock()
		got = delivered
		mutex.Unlock()
	}
	if got != want {
		var said []string
		for _, line := range s.Runtime.Logs(s.FunctionName("Interruption")) {
			said = append(said, fmt.Sprint(line))
		}
		t.Errorf("%d events were delivered, want %d\n%s", got, want, strings.Join(said[max(0, len(said)-20):], "\n"))
	}
	var states []string
	for _, id := range ids {
		i, _ := s.EC2.Lookup(id)
		states = append(states, string(i.State))
	}
	if slices.ContainsFunc(states, func(state string) bool { return state != "terminated" }) {
		t.Errorf("machines are %v", states)
	}
}
