package drain_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/model"
)

const start = int64(1_900_000_000)

// world is a node with its pods, its API server and its instance, small enough to be evaluated at a check.
type world struct {
	t interface {
		Helper()
		Fatalf(format string, args ...any)
	}
	now      int64
	skew     int64 // the API server's clock less the ledger's
	claim    model.Claim
	node     *model.Node
	pods     []*model.Occupant
	volumes  []model.Attachment
	detach   int64            // seconds from a pod's end to its volumes'
	gone     map[string]int64 // when a volume's pod went
	budget   map[string]string
	silent   bool             // the kubelet ends no pod
	mute     bool             // nothing can be deleted, whatever the grace
	stubborn map[string]int64 // seconds beyond its grace that a pod takes
	instance model.Instance
	ending   int64 // when the instance was asked to end
	replaced bool
	settings drain.Settings

	log     []string // what was done, in order
	evicted []drain.Eviction
	steps   int
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, now: start, gone: map[string]int64{}, budget: map[string]string{}, stubborn: map[string]int64{}, replaced: true,
		claim: model.Claim{
			Name: "default-1", State: model.Draining, InstanceID: "i-1", NodeName: "node-1", NodeUID: "n-1",
			Drain: &model.Drain{SinceUnix: start},
		},
		node:     &model.Node{Name: "node-1", UID: "n-1", Ready: true, ReadyUnix: start - 3600, Labels: map[string]string{}},
		instance: model.Instance{ID: "i-1", State: "running"},
	}
}

// pod adds a running pod of a ReplicaSet with 30 s of grace.
func (w *world) pod(name string, change ...func(*model.Occupant)) *model.Occupant {
	p := &model.Occupant{
		PodRef: model.PodRef{Namespace: "shop", Name: name, UID: "u-" + name}, Phase: model.Running, OwnerKind: "ReplicaSet", GraceSeconds: 30,
		StartedUnix: w.now + w.skew - 600,
	}
	for _, c := range change {
		c(p)
	}
	w.pods = append(w.pods, p)
	return p
}

func daemon(p *model.Occupant)   { p.OwnerKind = "DaemonSet" }
func critical(p *model.Occupant) { p.PriorityClass = "system-cluster-critical" }
func grace(seconds int64) func(*model.Occupant) {
	return func(p *model.Occupant) { p.GraceSeconds = seconds }
}
func shield(value string) func(*model.Occupant) {
	return func(p *model.Occupant) { p.DoNotDisrupt = value }
}
func volume(name string) func(*model.Occupant) {
	return func(p *model.Occupant) { p.Volumes = append(p.Volumes, name) }
}

func (w *world) attach(names ...string) {
	for _, name := range names {
		w.volumes = append(w.volumes, model.Attachment{Name: "att-" + name, Volume: name, Attached: true})
	}
}

func (w *world) deadline(seconds int64) { w.claim.Drain.DeadlineUnix = w.now + seconds }

// view is what is to be seen now.
func (w *world) view() drain.View {
	v := drain.View{Claim: w.claim, Replaced: w.replaced, NowUnix: w.now}
	if w.node != nil {
		node := *w.node
		node.Taints, node.Labels = slices.Clone(node.Taints), w.node.Labels
		o := model.Occupied{ReadUnix: w.now + w.skew, Node: node, Volumes: slices.Clone(w.volumes)}
		for _, p := range w.pods {
			o.Pods = append(o.Pods, *p)
		}
		v.Node = &o
	}
	instance := w.instance
	v.Instance = &instance
	return v
}

func (w *world) next() drain.Step {
	w.steps++
	return drain.Next(w.view(), w.settings)
}

// record writes a step's record, as must be done before the step.
func (w *world) record(step drain.Step) {
	record := step.Drain
	w.claim.Drain = &record
}

// act does a step.
func (w *world) act(step drain.Step) {
	switch step.Kind {
	case drain.Cordon:
		w.note("cordon")
		w.node.Labels[model.LabelExcludeBalancers] = model.ExcludedForDrain
		w.node.Taints = append(w.node.Taints, model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
	case drain.Evict:
		for _, e := range step.Evictions {
			w.evict(e)
		}
	case drain.Terminate:
		w.note("terminate")
		w.claim.State = model.Terminating
		if w.ending == 0 {
			w.ending, w.instance.State = w.now, "shutting-down"
		}
	case drain.Done:
		w.note("done")
		w.claim.State = model.Gone
	}
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%d ", w.now-start)+fmt.Sprintf(format, args...))
}

// evict is the API server's part of an eviction or deletion.
func (w *world) evict(e drain.Eviction) {
	w.evicted = append(w.evicted, e)
	i := slices.IndexFunc(w.pods, func(p *model.Occupant) bool { return p.UID == e.Pod.UID })
	if i < 0 {
		return
	}
	p := w.pods[i]
	code := w.budget[p.Name]
	switch {
	case e.Force && w.mute:
		record := drain.Refuse(*w.claim.Drain, e, "", "a webhook says no", w.now, w.settings)
		w.claim.Drain = &record
	case e.Force:
		w.note("delete %s %d", p.Name, e.GraceSeconds)
		if until := w.now + w.skew + e.GraceSeconds; p.DeletedUnix == 0 || until < p.DeletedUnix {
			p.DeletedUnix = until
		}
	case code != "":
		w.note("refused %s", p.Name)
		record := drain.Refuse(*w.claim.Drain, e, code, "budget pdb-"+p.Name+" needs 1 healthy pod and has 1", w.now, w.settings)
		w.claim.Drain = &record
	case p.DeletedUnix == 0:
		w.note("evict %s", p.Name)
		p.DeletedUnix = w.now + w.skew + p.GraceSeconds
	}
}

// pass lets time go by: pods whose grace is over end, volumes detach, an instance told to end is terminated a minute later.
func (w *world) pass(seconds int64) {
	for range seconds {
		w.now++
		if w.instance.State == "terminated" {
			w.pods = nil
		}
		w.pods = slices.DeleteFunc(w.pods, func(p *model.Occupant) bool {
			over := !w.silent && p.DeletedUnix != 0 && w.now+w.skew >= p.DeletedUnix+w.stubborn[p.Name]
			if over {
				for _, v := range p.Volumes {
					w.gone[v] = w.now
				}
			}
			return over
		})
		w.volumes = slices.DeleteFunc(w.volumes, func(v model.Attachment) bool {
			at, left := w.gone[v.Volume]
			return left && w.now >= at+w.detach
		})
		if w.ending != 0 && w.now >= w.ending+60 {
			w.instance.State = "terminated"
		}
	}
}

// run plays steps until the drain is done, or for so many seconds.
func (w *world) run(seconds int64) {
	w.t.Helper()
	for until := w.now + seconds; w.now < until; {
		step := w.next()
		w.record(step)
		w.act(step)
		if step.Kind == drain.Done {
			return
		}
		if step.DueUnix != 0 && step.DueUnix <= w.now {
			w.t.Fatalf("at %d it is to be looked at again at %d: %+v", w.now, step.DueUnix, step)
		}
		if step.DueUnix > w.now {
			w.pass(min(step.DueUnix, until) - w.now)
		} else if step.Kind == drain.Wait {
			w.t.Fatalf("a step that waits does not say until when: %+v", step)
		}
	}
}

// when returns the second at which something was done first; -1 = it was not.
func (w *world) when(what string) int64 {
	for _, line := range w.log {
		var at int64
		var rest string
		if n, _ := fmt.Sscanf(line, "%d", &at); n == 1 {
			rest = line[len(fmt.Sprint(at))+1:]
		}
		if rest == what {
			return at
		}
	}
	return -1
}

// codes returns the codes of a step's obstacles, by pod.
func codes(step drain.Step) map[string]string {
	out := map[string]string{}
	for _, o := range step.Obstacles {
		out[o.Pod.Name+o.Volume] = o.Code
	}
	return out
}
