package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bill "github.com/joiner-sh/joiner/testenv/cost"
)

// What the victim may need for one more instance, by count: no clock says how long it waits, but nothing else than its own hints launches
// while no tick comes. A calm moment takes one run and returns no hint.
const (
	probePool    = "probe" // instances of this pool alone are asked for between attacks, and are not compared
	mostProbing  = 4       // provision's runs for the victim until it has launched
	asksOfProbes = 2 * time.Minute
)

// ask has a pod of the victim ask for an instance of its own, and returns what waits for the launch. Ticks are off until then, so that
// nothing but a hint of the victim's own watcher can launch it.
func (r *redteam) ask(t *testing.T) (done func(t *testing.T, after string)) {
	t.Helper()
	v := r.victim
	if r.probes == 0 {
		v.apply(t, namespace(probePool), pool(probePool, "default", spotOnly, nil, nil))
		v.awaitReady(t, nodePools, probePool)
	}
	r.probes++
	v.SetTicksDisabled(true)
	stats, runs, began := v.Mapping().Stats(), len(r.runsOf(v)), time.Now()
	app := map[string]string{"app": "probe"}
	_, err := v.kube.CoreV1().Pods(probePool).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("probe-", r.probes), Labels: app},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"karpenter.sh/nodepool": probePool},
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: app}},
			}}},
			Containers: []corev1.Container{{Name: "main", Image: "example.com/pause", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := r.probes
	return func(t *testing.T, after string) {
		t.Helper()
		await(t, asksOfProbes, after+": the victim's pod gets a machine", func(context.Context) string {
			n := 0
			for _, claim := range v.ledger(t).Claims {
				if claim.Pool == probePool && claim.InstanceID != "" {
					n++
				}
			}
			if n < want {
				return fmt.Sprintf("it has %d of %d", n, want)
			}
			return ""
		})
		launched := 0
		await(t, time.Minute, after+": the run that launched is told of", func(context.Context) string {
			for i, run := range r.runsOf(v)[runs:] {
				if run.Claims > 0 {
					launched = i + 1
					return ""
				}
			}
			return "it is not"
		})
		now := v.Mapping().Stats()
		t.Logf("%s: the victim's pod has its machine after %s, by run %d, %d hints", after, time.Since(began).Round(100*time.Millisecond), launched, now.Messages-stats.Messages)
		if launched > mostProbing || now.Failed != stats.Failed || now.Throttled != stats.Throttled {
			t.Errorf("%s: the victim's machine was launched by run %d, at most %d in a calm moment; %d batches of its hints came back and %d were throttled",
				after, launched, mostProbing, now.Failed-stats.Failed, now.Throttled-stats.Throttled)
		}
		v.SetTicksDisabled(false)
	}
}

// prompt asks and waits.
func (r *redteam) prompt(t *testing.T, after string) {
	t.Helper()
	r.ask(t)(t, after)
}

// spent is what the installation was billed so far, by what is metered.
type spent struct {
	at          time.Time
	invocations map[string]int // of functions
	billed      time.Duration  // all of them together
	calls       map[string]int64
	instances   int // of EC2, ended ones included
	usage       bill.Usage
}

// spending reads the meters.
func (r *redteam) spending() spent {
	v := r.victim
	s := spent{at: time.Now(), calls: map[string]int64{}, instances: len(v.EC2.Instances())}
	s.invocations, s.billed = v.logs.invoked()
	units := v.Tables.Usage()
	s.usage = bill.Usage{ReadUnits: units.ReadUnits, WriteUnits: units.WriteUnits, Functions: map[string]bill.Function{}}
	for name, n := range s.invocations {
		s.usage.Functions[name] = bill.Function{Invocations: float64(n)}
	}
	for _, c := range v.Cloud.Counts() {
		s.calls[c.Service+" "+c.Action] = c.Requests
		chunks := float64(c.Requests + (c.RequestBytes+c.ResponseBytes)>>16) // by 64 KB, as SQS counts
		switch {
		case c.Service == "sqs" && strings.HasPrefix(c.Action, "SendMessage"):
			s.usage.QueuedInOrder += chunks
		case c.Service == "sqs" && strings.HasPrefix(c.Action, "DeleteMessage"): // and each batch was received before
			s.usage.QueuedInOrder += 2 * chunks
		case c.Service == "s3" && (c.Action == "PutObject" || strings.HasPrefix(c.Action, "List")):
			s.usage.Puts += float64(c.Requests)
		case c.Service == "s3":
			s.usage.Gets += float64(c.Requests)
		}
	}
	return s
}

// What an attack may cost the installation, beside what it would have cost anyway: ticks, resyncs and registrations of nodes of two clusters
// take up to perMinute invocations and ec2PerMinute calls of EC2 in a minute.
const (
	perMinute      = 60    // invocations
	ec2PerMinute   = 15    // calls
	mostInvoked    = 100   // invocations
	mostUSD        = 0.005 // of which 400 objects that an attacker writes are 0.002
	mostAskedOfEC2 = 80    // calls
)

// asked are the instances that pods ask for while an attack is played, by its name.
var asked = map[string]int{"W5 lies about memory": 1, "W7 bombs": len(bombs())}

// bills fails where since an earlier reading more was spent than an attack may cost.
func (r *redteam) bills(t *testing.T, before spent, attack string) {
	t.Helper()
	now := r.spending()
	minutes := now.at.Sub(before.at).Minutes()
	invoked := 0
	for name, n := range now.invocations {
		now.invocations[name] = n - before.invocations[name]
		invoked += now.invocations[name]
	}
	ec2, acts := int64(0), map[string]int64{}
	for name, n := range now.calls {
		n -= before.calls[name]
		if action, is := strings.CutPrefix(name, "ec2 "); is && n > 0 {
			ec2 += n
			acts[action] = n
		}
	}
	list, _ := bill.Sum(bill.Bill(now.usage.Since(before.usage), bill.Deployment{}), bill.Requests)
	var described []string
	for _, action := range slices.Sorted(maps.Keys(acts)) {
		described = append(described, fmt.Sprintf("%s %d", action, acts[action]))
	}
	t.Logf("%s: %d invocations %v of %s in %.1f minutes, metered requests for $%.5f, calls of EC2: %s", attack, invoked, now.invocations,
		(now.billed - before.billed).Round(time.Millisecond), minutes, list, strings.Join(described, ", "))
	if most := mostInvoked + int(perMinute*minutes); invoked > most {
		t.Errorf("%s: %d invocations %v, at most %d", attack, invoked, now.invocations, most)
	}
	if list > mostUSD*(1+minutes) {
		t.Errorf("%s: metered requests for $%.5f, at most $%.5f", attack, list, mostUSD*(1+minutes))
	}
	if most := int64(mostAskedOfEC2 + ec2PerMinute*minutes); ec2 > most {
		t.Errorf("%s: %d calls of EC2, at most %d: %v", attack, ec2, most, described)
	}
	if n := now.instances - before.instances; n > asked[attack] {
		t.Errorf("%s: %d machines were launched, at most %d", attack, n, asked[attack])
	}
}
