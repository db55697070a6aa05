package performance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Timeline is what became of a cluster's nodes and pods, by the clock of who watches.
type Timeline struct {
	mu      sync.Mutex
	now     func() time.Time
	nodes   map[string]*life
	running map[string]bool // pods of the suite, by namespace and name
	counts  []count
}

// life is a node's.
type life struct {
	instanceType string
	from, to     time.Time // to is zero while it is there
}

// count is how many pods ran from a moment on.
type count struct {
	at time.Time
	n  int
}

func newTimeline(now func() time.Time) *Timeline {
	return &Timeline{now: now, nodes: map[string]*life{}, running: map[string]bool{}}
}

// Watch follows a cluster until ctx ends. It returns when it has seen what is there.
func Watch(ctx context.Context, client kubernetes.Interface) (*Timeline, error) {
	t := newTimeline(time.Now)
	factory := informers.NewSharedInformerFactory(client, 0)
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	_, first := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { t.node(o.(*corev1.Node), false) },
		UpdateFunc: func(_, o any) { t.node(o.(*corev1.Node), false) },
		DeleteFunc: func(o any) {
			if node, ok := last(o).(*corev1.Node); ok {
				t.node(node, true)
			}
		},
	})
	_, second := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { t.pod(o.(*corev1.Pod), false) },
		UpdateFunc: func(_, o any) { t.pod(o.(*corev1.Pod), false) },
		DeleteFunc: func(o any) {
			if pod, ok := last(o).(*corev1.Pod); ok {
				t.pod(pod, true)
			}
		},
	})
	if err := errors.Join(first, second); err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return t, ctx.Err()
}

// last is an object that was deleted, or what was last known of it where the watch has missed that.
func last(o any) any {
	if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
		return unknown.Obj
	}
	return o
}

func (t *Timeline) node(node *corev1.Node, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.nodes[node.Name]
	if l == nil {
		l = &life{from: t.now()}
		t.nodes[node.Name] = l
	}
	l.instanceType = node.Labels[corev1.LabelInstanceTypeStable]
	if gone {
		l.to = t.now()
	}
}

// discovered is the label of what the suites create.
const discovered = "testing/cluster"

func (t *Timeline) pod(pod *corev1.Pod, gone bool) {
	if _, ok := pod.Labels[discovered]; !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := pod.Namespace + "/" + pod.Name
	if !gone && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
		t.running[key] = true
	} else {
		delete(t.running, key)
	}
	if n := len(t.running); len(t.counts) == 0 || t.counts[len(t.counts)-1].n != n {
		t.counts = append(t.counts, count{t.now(), n})
	}
}

// Ran returns the first moment from one on at which just so many pods ran; false where there is none until another moment.
func (t *Timeline) Ran(n int, from, to time.Time) (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	were := 0
	for _, c := range t.counts {
		if c.at.After(from) {
			break
		}
		were = c.n
	}
	if were == n {
		return from, true
	}
	for _, c := range t.counts {
		if !c.at.Before(from) && !c.at.After(to) && c.n == n {
			return c.at, true
		}
	}
	return time.Time{}, false
}

// RunningAt returns how many pods ran at a moment.
func (t *Timeline) RunningAt(at time.Time) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.counts {
		if c.at.After(at) {
			break
		}
		n = c.n
	}
	return n
}

// Changes are what became of nodes between two moments.
type Changes struct {
	Launched, Ended, Kept int
	LastGone              time.Time // of all that ended; zero where none did
	LastOldGone           time.Time // of those that were there at the begin
	Types                 []string  // instance types of those that are there at the end, sorted
}

// Changes returns what became of nodes from one moment until another.
func (t *Timeline) Changes(from, to time.Time) (c Changes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.nodes {
		if l.from.After(to) || !l.to.IsZero() && l.to.Before(from) {
			continue
		}
		old, ended := l.from.Before(from), !l.to.IsZero() && !l.to.After(to)
		switch {
		case ended:
			c.Ended++
			c.LastGone = later(c.LastGone, l.to)
			if old {
				c.LastOldGone = later(c.LastOldGone, l.to)
			}
		default:
			c.Types = append(c.Types, l.instanceType)
			if old {
				c.Kept++
			}
		}
		if !old {
			c.Launched++
		}
	}
	slices.Sort(c.Types)
	return c
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
