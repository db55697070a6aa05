package dayone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ecr"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// backOff is how long a watcher that ended is not started again, as by a kubelet.
const backOff = 10 * time.Second

// follower runs the watcher while a pod of the chart's Deployment is on a node, as a kubelet does: with its settings and its Secret, once its image is in the
// registry, and anew when any of that changes or the process ends.
type follower struct {
	stack    *stack.Stack
	cluster  *stack.Cluster
	registry *ecr.Model
	log      io.Writer
	end      context.CancelFunc
	ended    sync.WaitGroup

	mutex   sync.Mutex
	running *stack.Watcher
	as      string    // what runs: image and settings
	why     string    // why nothing runs
	failed  time.Time // when a process ended last
	images  []string
}

// follow begins.
func follow(s *stack.Stack, cluster *stack.Cluster, registry *ecr.Model, log io.Writer) *follower {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{stack: s, cluster: cluster, registry: registry, log: log, end: cancel}
	f.ended.Go(func() {
		for ctx.Err() == nil {
			f.because(f.poll(ctx))
			select {
			case <-time.After(500 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	return f
}

// stop ends following, and the watcher.
func (f *follower) stop() {
	f.end()
	f.ended.Wait()
	f.kill()
}

func (f *follower) kill() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.running != nil {
		f.running.Kill()
	}
	f.running, f.as = nil, ""
}

// poll compares what runs with what is asked for. The error says why nothing runs.
func (f *follower) poll(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(f.cluster.Kube.Config())
	if err != nil {
		return err
	}
	deployment, err := client.AppsV1().Deployments("joiner").Get(ctx, "joiner-watcher", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		f.kill()
		return errors.New("no chart is installed")
	}
	if err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods("joiner").List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(deployment.Spec.Selector)})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil }) {
		f.kill()
		return fmt.Errorf("none of its %d pods is on a node", len(pods.Items))
	}
	asked := fmt.Sprint(deployment.Spec.Template.Spec.Containers[0])
	if done, err := f.state(asked); done {
		return err
	}
	return f.start(ctx, deployment, asked)
}

// state reports whether nothing is to be done: what is asked for runs, or has ended just now.
func (f *follower) state(asked string) (done bool, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.running != nil {
		if err := f.running.Err(); err != nil {
			f.running, f.as, f.failed = nil, "", time.Now()
			return true, fmt.Errorf("CrashLoopBackOff: %w", err)
		}
	}
	if time.Since(f.failed) < backOff {
		return true, errors.New(f.why)
	}
	return f.as == asked, nil
}

// start runs the watcher of a Deployment in place of the one before.
func (f *follower) start(ctx context.Context, deployment *appsv1.Deployment, asked string) error {
	image := deployment.Spec.Template.Spec.Containers[0].Image
	reference, digest, pinned := strings.Cut(image, "@")
	repository := strings.TrimPrefix(reference, f.registry.Host()+"/")
	if !pinned || repository == reference || !slices.Contains(f.registry.Digests(repository), digest) {
		return fmt.Errorf("ImagePullBackOff: %s is not in the registry %s", image, f.registry.Host())
	}
	f.kill()
	if err := f.cluster.ReadWatcher(ctx); err != nil {
		return err
	}
	running, err := f.stack.StartWatcherOf(f.cluster)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.log, "watcher: runs %s\n", image)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.running, f.as, f.images = running, asked, append(f.images, digest)
	return nil
}

// because keeps why nothing runs, and tells it once. nil: it runs.
func (f *follower) because(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err == nil {
		f.why = ""
		return
	}
	if err.Error() != f.why {
		f.why = err.Error()
		fmt.Fprintf(f.log, "watcher: %v\n", err)
	}
}

// reason says why no watcher runs; "" where one does.
func (f *follower) reason() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.why
}

// Images are the digests that the watcher has run as, in order.
func (w *World) Images() []string {
	w.watcher.mutex.Lock()
	defer w.watcher.mutex.Unlock()
	return slices.Clone(w.watcher.images)
}
