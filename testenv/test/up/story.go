package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"sync"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/machine"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// story tells what happens as it happens, and keeps the times the result is made of. What it knows of pods it sees by a
// watch of its own, independent of the watcher.
type story struct {
	out   io.Writer
	began time.Time

	mutex   sync.Mutex
	pods    map[string]*podTimes // by name
	batches []batchTimes
	changed chan struct{}
}

// podTimes are the moments of one pod's life as seen here.
type podTimes struct {
	unschedulable, bound, running time.Time
	node                          string
}

// batchTimes are the moments of one batch, as the watcher wrote them on its hint.
type batchTimes struct{ firstSeen, closed time.Time }

func newStory(out io.Writer) *story {
	return &story{out: out, began: time.Now(), pods: map[string]*podTimes{}, changed: make(chan struct{}, 1)}
}

func (s *story) say(format string, args ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.line(format, args...)
}

func (s *story) line(format string, args ...any) {
	fmt.Fprintf(s.out, "%7.2fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// follow watches the example's pods and every launch.
func (s *story) follow(ctx context.Context, st *stack.Stack) error {
	client, err := kubernetes.NewForConfig(st.Kube.Config())
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.pod(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { s.pod(o.(*corev1.Pod)) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	st.EC2.OnStateChange(func(i ec2.Instance) {
		if i.State == "pending" || i.State == "running" {
			s.say("EC2: %s %s, %s in %s, %s at $%.4f per hour", i.ID, i.State, i.Type, i.Zone, i.CapacityType, float64(i.PriceMicroUSDPerHour)/1e6)
		}
	})
	return ctx.Err()
}

func (s *story) pod(pod *corev1.Pod) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := s.pods[pod.Name]
	if p == nil {
		p = &podTimes{}
		s.pods[pod.Name] = p
	}
	now := time.Now()
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable && p.unschedulable.IsZero() {
			p.unschedulable = now
			if s.count(func(p *podTimes) bool { return !p.unschedulable.IsZero() }) == 1 {
				s.line("pod %s is pending: %s", pod.Name, condition.Message)
			}
		}
	}
	if pod.Spec.NodeName != "" && p.bound.IsZero() {
		p.bound, p.node = now, pod.Spec.NodeName
		s.line("kube-scheduler bound pod %s to %s", pod.Name, pod.Spec.NodeName)
	}
	if pod.Status.Phase == corev1.PodRunning && p.running.IsZero() {
		p.running = now
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *story) count(is func(*podTimes) bool) (n int) {
	for _, p := range s.pods {
		if is(p) {
			n++
		}
	}
	return n
}

// functionLog reads the functions' log lines.
func (s *story) functionLog(l lambdaruntime.LogLine) {
	var entry struct {
		Level   string `json:"level"`
		Msg     string `json:"msg"`
		Error   string `json:"error"`
		Batches []struct {
			FirstSeenMillis int64 `json:"firstSeenMillis"`
			ClosedMillis    int64 `json:"closedMillis"`
			Pods            int   `json:"pods"`
		} `json:"batches"`
		Outcome struct {
			Trigger       string           `json:"trigger"`
			Pending       int              `json:"pending"`
			Claims        int              `json:"claims"`
			Registered    int              `json:"registered"`
			Initialized   int              `json:"initialized"`
			Unschedulable int              `json:"unschedulable"`
			PricePerHour  float64          `json:"pricePerHour"`
			Millis        map[string]int64 `json:"millis"`
			Problems      []string         `json:"problems"`
			Committed     []string         `json:"committed"`
			Savings       float64          `json:"savings"`
			Drained       int              `json:"drained"`
			Undone        int              `json:"undone"`
		} `json:"outcome"`
	}
	if json.Unmarshal([]byte(l.Text), &entry) != nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	o := entry.Outcome
	if entry.Msg == "provision" && o.Pending > 0 {
		for _, b := range entry.Batches {
			if b.ClosedMillis != 0 {
				s.batches = append(s.batches, batchTimes{time.UnixMilli(b.FirstSeenMillis), time.UnixMilli(b.ClosedMillis)})
				s.line("watcher: a batch of %d pods, closed after %d ms", b.Pods, b.ClosedMillis-b.FirstSeenMillis)
			}
		}
		if o.Claims+o.Unschedulable > 0 { // else nodes are on their way for all of them, which was said when they were launched
			s.line("provision (%s): %s pending, %s launched at $%.4f per hour, %s unschedulable; plan after %d ms, fleet after %d ms",
				o.Trigger, many(o.Pending, "pod"), many(o.Claims, "claim"), o.PricePerHour, many(o.Unschedulable, "pod"), o.Millis["plan1"], o.Millis["fleet"])
		}
	}
	if o.Registered+o.Initialized > 0 {
		s.line("provision: %s registered, %d initialized", many(o.Registered, "node"), o.Initialized)
	}
	if n := len(o.Committed); n > 0 {
		s.line("disrupt: %s, saving $%.4f per hour", many(n, "disruption command"), o.Savings)
	}
	if o.Drained+o.Undone > 0 {
		s.line("%s: %s drained, %s undone", entry.Msg, many(o.Drained, "node"), many(o.Undone, "command"))
	}
	for _, problem := range o.Problems {
		s.line("%s: problem: %s", entry.Msg, problem)
	}
	if entry.Error != "" {
		s.line("%s: error: %s", entry.Msg, entry.Error)
	}
}

func (s *story) instance(e machine.Event) { s.say("instance: %s", e) }

// many is a number of things, in the plural unless it is one.
func many(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// awaitRunning returns when n pods run.
func (s *story) awaitRunning(ctx context.Context, n int) error {
	for {
		s.mutex.Lock()
		running := s.count(func(p *podTimes) bool { return !p.running.IsZero() })
		s.mutex.Unlock()
		if running >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d pods run: %w", running, n, ctx.Err())
		case <-s.changed:
		}
	}
}

// result takes the medians. A pod's way to the fleet is from when it was seen unschedulable to the launch of the machine
// that was made for its batch, less the batch's own window.
func (s *story) result(st *stack.Stack) result {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	nodes := map[string]bool{}
	var toFleet, toBound []int64
	launches := st.EC2.Launches()
	for _, p := range s.pods {
		if p.bound.IsZero() || p.unschedulable.IsZero() {
			continue
		}
		nodes[p.node] = true
		toBound = append(toBound, p.bound.Sub(p.unschedulable).Milliseconds())
		for _, launch := range launches {
			if launch.PrivateDNSName == p.node {
				toFleet = append(toFleet, (launch.LaunchTime.Sub(p.unschedulable) - s.window(p.unschedulable, launch.LaunchTime)).Milliseconds())
			}
		}
	}
	return result{
		Pods: s.count(func(p *podTimes) bool { return !p.running.IsZero() }), Nodes: len(nodes),
		PricePerHour:         float64(st.EC2.PricePerHour()) / 1e6,
		PendingToFleetMillis: median(toFleet), PendingToBoundMillis: median(toBound),
	}
}

// window is the part of the time between a pod's being pending and a launch in which the watcher waited for more pods.
func (s *story) window(pending, launch time.Time) time.Duration {
	for i := len(s.batches) - 1; i >= 0; i-- {
		b := s.batches[i]
		if b.closed.Before(launch) {
			from := b.firstSeen
			if pending.After(from) {
				from = pending
			}
			return max(0, b.closed.Sub(from))
		}
	}
	return 0
}

func median(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	return values[len(values)/2]
}

func (s *story) summary(r result) {
	s.say("%d pods run on %d nodes at $%.4f per hour; pending to CreateFleet %d ms (batching window left out), pending to bound %d ms (medians)",
		r.Pods, r.Nodes, r.PricePerHour, r.PendingToFleetMillis, r.PendingToBoundMillis)
}

// diagnosis is what somebody would look at first.
func (s *story) diagnosis(st *stack.Stack) string {
	return fmt.Sprintf("logs are in %s and %s", filepath.Join(st.Dir(), "logs"), st.Kube.LogDir())
}

// invite says what to try next.
func (s *story) invite(st *stack.Stack) {
	if err := invitation.Execute(s.out, placeOf(st)); err != nil {
		s.say("what to try next cannot be printed: %v", err)
	}
}

// place is where everything of a run is.
type place struct {
	Kubeconfig string `json:"kubeconfig"` // a path, as kubectl and logs
	Kubectl    string `json:"kubectl"`
	Endpoint   string `json:"endpoint"` // URL of the model of AWS
	Region     string `json:"region"`
	AccessKey  string `json:"accessKey"` // of the account's root
	SecretKey  string `json:"secretKey"`
	Cluster    string `json:"cluster"`
	APIServer  string `json:"apiServer"` // URL
	Notices    string `json:"notices"`   // URL of the queue of what EventBridge tells
	Table      string `json:"table"`     // the ledger's name
	Logs       string `json:"logs"`      // the folder of all logs
	Audit      string `json:"audit"`     // the API server's audit log, with -audit
}

func placeOf(st *stack.Stack) place {
	return place{
		Kubeconfig: st.Kube.KubeconfigPath(), Kubectl: st.Kube.Assets().Kubectl, Endpoint: st.Cloud.Endpoint(), Region: st.Cloud.Region(),
		AccessKey: accessKey, SecretKey: secretKey, Cluster: st.Cluster.Name, APIServer: st.Kube.Endpoint(),
		Notices: st.NoticesURL, Table: st.Table, Logs: filepath.Join(st.Dir(), "logs"), Audit: st.Kube.AuditLogPath(),
	}
}

var invitation = template.Must(template.New("invitation").Option("missingkey=error").Parse(`
It runs until Ctrl-C. In another terminal:

  export KUBECONFIG={{.Kubeconfig}}
  {{.Kubectl}} get nodepools,nodeclaims,nodes
  {{.Kubectl}} scale deployment inflate --replicas=60
  {{.Kubectl}} get events --field-selector reason=Nominated
  {{.Kubectl}} apply -f your-nodepool.yaml

  export AWS_REGION={{.Region}} AWS_ACCESS_KEY_ID={{.AccessKey}} AWS_SECRET_ACCESS_KEY={{.SecretKey}}
  aws --endpoint-url {{.Endpoint}} ec2 describe-instances --query 'Reservations[].Instances[].[InstanceId,InstanceType,State.Name]' --output table
  aws --endpoint-url {{.Endpoint}} sqs list-queues
  aws --endpoint-url {{.Endpoint}} dynamodb scan --table-name {{.Table}} --query Count

Logs: {{.Logs}}
`))
