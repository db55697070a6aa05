package dayone

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/testenv/stack"
)

// follower runs the watcher while the chart's Deployment asks for it, as a kubelet does: with its settings, once its image is in the registry, and
// anew when either changes.
type follower struct {
	stack *stack.Stack
	log   io.Writer
	end   context.CancelFunc
	ended sync.WaitGroup

	mutex   sync.Mutex
	running *stack.Watcher
	as      string // what runs: image and settings
	why     string // why nothing runs
	images  []string
}

// follow begins.
func follow(s *stack.Stack, log io.Writer) *follower {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{stack: s, log: log, end: cancel}
	f.ended.Go(func() {
		for ctx.Err() == nil {
			f.look(ctx)
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

// look compares what runs with what is asked for.
func (f *follower) look(ctx context.Context) {
	client, err := kubernetes.NewForConfig(f.stack.Kube.Config())
	if err != nil {
		f.because(err)
		return
	}
	deployment, err := client.AppsV1().Deployments("joiner").Get(ctx, "joiner-watcher", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		f.kill()
		return
	}
	if err != nil {
		f.because(err)
		return
	}
	asked := fmt.Sprint(deployment.Spec.Template.Spec.Containers[0])
	f.mutex.Lock()
	same := f.as == asked
	f.mutex.Unlock()
	if same {
		return
	}
	if err := f.start(ctx, deployment, asked); err != nil {
		f.because(err)
	}
}

// start runs the watcher of a Deployment in place of the one before.
func (f *follower) start(ctx context.Context, deployment *appsv1.Deployment, asked string) error {
	image := deployment.Spec.Template.Spec.Containers[0].Image
	reference, digest, pinned := strings.Cut(image, "@")
	repository := strings.TrimPrefix(reference, f.stack.ECR.Host()+"/")
	if !pinned || repository == reference || !slices.Contains(f.stack.ECR.Digests(repository), digest) {
		return fmt.Errorf("ImagePullBackOff: %s is not in the registry %s", image, f.stack.ECR.Host())
	}
	f.kill()
	if err := f.stack.Cluster.ReadWatcher(ctx); err != nil {
		return err
	}
	running, err := f.stack.StartWatcherOf(f.stack.Cluster)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.log, "watcher: runs %s\n", image)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.running, f.as, f.why, f.images = running, asked, "", append(f.images, digest)
	return nil
}

// because keeps why nothing runs, and tells it once.
func (f *follower) because(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err.Error() != f.why {
		f.why = err.Error()
		fmt.Fprintf(f.log, "watcher: %v\n", err)
	}
}

// Images are the digests that the watcher has run as, in order.
func (w *World) Images() []string {
	w.watcher.mutex.Lock()
	defer w.watcher.mutex.Unlock()
	return slices.Clone(w.watcher.images)
}
