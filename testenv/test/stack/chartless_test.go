package stack

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// TestA10AClusterWithoutTheChartFailsNoMessage: between the deployment of a cluster's stack and the installation of the chart lie minutes, or
// days. Until then the cluster has neither the CustomResourceDefinitions nor permissions for the functions, and no watcher that relays. The
// scheduled runs of that time are not failures: each would end in a dead-letter queue, and raise its alarm, before anything is installed.
func TestA10AClusterWithoutTheChartFailsNoMessage(t *testing.T) {
	for _, relayed := range []bool{false, true} {
		t.Run(fmt.Sprintf("relay %v", relayed), func(t *testing.T) { chartless(t, relayed) })
	}
}

func chartless(t *testing.T, relayed bool) {
	if testing.Short() {
		t.Skip("a whole stack")
	}
	var mutex sync.Mutex
	var failures []string
	s, err := Start(t.Context(), Options{
		NoChart: true, Relay: relayed, ResyncEvery: time.Hour, Timeout: 8 * time.Second, Visibility: 9 * time.Second, MaxReceives: 1,
		OnLog: func(l lambdaruntime.LogLine) {
			if strings.Contains(l.Text, `"error":"`) && !strings.Contains(l.Text, `"error":""`) || strings.Contains(l.Text, `"problems":[`) {
				mutex.Lock()
				defer mutex.Unlock()
				failures = append(failures, l.Function+": "+l.Text)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	for _, tick := range []struct {
		of   string
		send func() (lambdaruntime.Result, error)
	}{
		{"Provision", func() (lambdaruntime.Result, error) { return s.Resync(t.Context()) }},
		{"Interruption", func() (lambdaruntime.Result, error) { return s.Collect(t.Context()) }},
		{"Catalog", func() (lambdaruntime.Result, error) { return s.Resolve(t.Context()) }},
		{"Disrupt", func() (lambdaruntime.Result, error) { return s.Disrupt(t.Context()) }},
	} {
		if result, err := tick.send(); err != nil || result.Err() != nil {
			t.Errorf("tick of %s: %v, %v", tick.of, err, result.Err())
		}
	}
	waiting := func() (all []string) {
		for _, name := range s.Cloud.SQS.QueueNames() {
			if d, _ := s.Cloud.SQS.Depth(name); d.Visible+d.InFlight+d.Delayed > 0 {
				all = append(all, fmt.Sprintf("%s: %+v", name, d))
			}
		}
		return all
	}
	time.Sleep(time.Second) // until the messages of the ticks are there
	for end := time.Now().Add(40 * time.Second); len(waiting()) > 0 && time.Now().Before(end); {
		time.Sleep(200 * time.Millisecond)
	}
	if left := waiting(); len(left) > 0 {
		t.Errorf("messages are left, or could not be handled:\n%s", strings.Join(left, "\n"))
	}
	mutex.Lock()
	defer mutex.Unlock()
	if len(failures) > 0 {
		t.Errorf("functions report:\n%s", strings.Join(failures, "\n"))
	}
}
