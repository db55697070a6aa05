package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/machine"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// follow watches the example's pods, nodes, NodePools and every launch.
func (s *story) follow(ctx context.Context, st *stack.Stack) error {
	client, err := kubernetes.NewForConfig(st.Kube.Config())
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(st.Kube.Config())
	if err != nil {
		return err
	}
	pods := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	nodes := informers.NewSharedInformerFactory(client, 0)
	pools := dynamicinformer.NewDynamicSharedInformerFactory(objects, 0)
	for _, watched := range []struct {
		informer cache.SharedIndexInformer
		seen     func(object any)
		gone     func(name string)
	}{
		{pods.Core().V1().Pods().Informer(), func(o any) { s.pod(o.(*corev1.Pod)) }, func(string) {}},
		{nodes.Core().V1().Nodes().Informer(), func(o any) { s.node(o.(*corev1.Node)) }, s.nodeGone},
		{pools.ForResource(nodePools).Informer(), func(o any) {
			if pool := o.(metav1.Object); pool.GetDeletionTimestamp() != nil {
				s.poolDeleted(pool.GetName())
			} else {
				s.poolThere(pool.GetName())
			}
		}, s.poolDeleted},
	} {
		if _, err := watched.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    watched.seen,
			UpdateFunc: func(_, o any) { watched.seen(o) },
			DeleteFunc: func(o any) {
				if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
					watched.gone(name)
				}
			},
		}); err != nil {
			return err
		}
	}
	pods.Start(ctx.Done())
	nodes.Start(ctx.Done())
	pools.Start(ctx.Done())
	pods.WaitForCacheSync(ctx.Done())
	st.EC2.OnStateChange(func(i ec2.Instance) { s.ec2(i, st.EC2) })
	return ctx.Err()
}

// ec2 tells what becomes of instances.
func (s *story) ec2(i ec2.Instance, of interface{ PricePerHour() int64 }) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch i.State {
	case ec2.Pending:
		what := fmt.Sprintf("%s in %s, %s at $%.4f per hour", i.Type, i.Zone, i.CapacityType,
			float64(i.PriceMicroUSDPerHour)/1e6)
		s.gather("pending", i.ID, func(names []string) string {
			if len(names) == 1 {
				return fmt.Sprintf("EC2: %s pending, %s", i.ID, what)
			}
			return fmt.Sprintf("EC2: %s pending, the first one %s", many(len(names), "instance"), what)
		})
	case ec2.Terminated:
		s.gatherUnlessDeleted(string(i.State), i.ID, i.Tags[model.LabelNodePool], func(names []string) string {
			return fmt.Sprintf("EC2: %s terminated; what runs costs $%.4f per hour", named(names, "instance"),
				float64(of.PricePerHour())/1e6)
		})
	default:
		s.gatherUnlessDeleted(string(i.State), i.ID, i.Tags[model.LabelNodePool], func(names []string) string {
			return fmt.Sprintf("EC2: %s %s", named(names, "instance"), i.State)
		})
	}
}

// instance tells what becomes of instances as nodes. What EC2 or the cluster shows of it too is printed there.
func (s *story) instance(e machine.Event) {
	switch e.Kind {
	case machine.Silent, machine.Deleted:
		return
	case machine.Registered, machine.Initialized, machine.Ready, machine.DevicesReady:
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.gather("instance "+string(e.Kind), e.InstanceID, func(names []string) string {
			if len(names) == 1 {
				return "instance: " + e.String()
			}
			return fmt.Sprintf("%s: %s", many(len(names), "instance"), e.Kind)
		})
	default:
		s.say("instance: %s", e)
	}
}

// node tells when a node begins to be drained: with a NodePool that is deleted the line is about the pool.
func (s *story) node(node *corev1.Node) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	n := s.nodes[node.Name]
	if n == nil {
		n = &seenNode{}
		s.nodes[node.Name] = n
	}
	n.gone = false
	if pool := node.Labels[model.LabelNodePool]; pool != "" {
		n.pool = pool
	}
	tainted := false
	for _, taint := range node.Spec.Taints {
		tainted = tainted || taint.Key == model.TaintDisrupted
	}
	if tainted && !n.drained {
		s.gatherUnlessDeleted("disrupted", node.Name, n.pool, func(names []string) string {
			take, is := "takes", is(len(names))
			if len(names) != 1 {
				take = "take"
			}
			return fmt.Sprintf("%s %s no more pods and %s to be removed (taint %s)", named(names, "node"), take, is,
				model.TaintDisrupted)
		})
	}
	n.drained = tainted
}

func (s *story) nodeGone(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	n := s.nodes[name]
	if n == nil || n.gone {
		return
	}
	n.gone = true
	s.gatherUnlessDeleted("gone", name, n.pool, func(names []string) string {
		left := s.countNodes("")
		return fmt.Sprintf("%s %s gone; %s %s left", named(names, "node"), is(len(names)), many(left, "node"), is(left))
	})
	if had, deleted := s.deleted[n.pool]; deleted && s.countNodes(n.pool) == 0 {
		s.line("NodePool %s: %s %s gone", n.pool, many(had, "node"), is(had))
		delete(s.deleted, n.pool)
	}
}

// gatherUnlessDeleted gathers unless the node's pool is deleted: what becomes of its nodes is printed once. The caller
// holds the mutex.
func (s *story) gatherUnlessDeleted(kind, name, pool string, line func([]string) string) {
	if _, deleted := s.deleted[pool]; !deleted {
		s.gather(kind, name, line)
	}
}

// countNodes counts those of a NodePool that exist, or of all together for "".
func (s *story) countNodes(pool string) (n int) {
	for _, node := range s.nodes {
		if !node.gone && node.pool != "" && (pool == "" || node.pool == pool) {
			n++
		}
	}
	return n
}

// poolDeleted tells that a NodePool is deleted, and takes its nodes with it: they share a line.
func (s *story) poolDeleted(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, known := s.deleted[name]; known {
		return
	}
	n := s.countNodes(name)
	if n == 0 {
		s.line("NodePool %s is deleted", name)
		return
	}
	s.deleted[name] = n
	s.line("NodePool %s is deleted: its %s %s drained and terminated", name, many(n, "node"), is(n))
}

// poolThere notes a NodePool that exists, also one that has come back under its name.
func (s *story) poolThere(name string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.deleted, name)
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
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable &&
			p.unschedulable.IsZero() {
			p.unschedulable = now
			message := condition.Message
			s.gather("pending pods", pod.Name, func(names []string) string {
				return fmt.Sprintf("%s %s pending: %s", named(names, "pod"), is(len(names)), message)
			})
		}
	}
	if pod.Spec.NodeName != "" && p.bound.IsZero() {
		p.bound, p.node = now, pod.Spec.NodeName
		s.gather("bound to "+pod.Spec.NodeName, pod.Name, func(names []string) string {
			return fmt.Sprintf("kube-scheduler bound %s to %s", named(names, "pod"), p.node)
		})
	}
	if pod.Status.Phase == corev1.PodRunning && p.running.IsZero() {
		p.running = now
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
