package machine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/testenv/local/kube/child"
)

// Cluster is what an instance's user data must name for it to join.
type Cluster struct {
	Name                 string
	Endpoint             string // https://host:port
	CertificateAuthority []byte // PEM
	Version              string // of Kubernetes, which kubelets say they are of, such as v1.36.3
}

// Timing says how long the steps of an instance's life take. Zero means at once.
type Timing struct {
	// Register passes between Booted and the Node.
	Register time.Duration
	// Initialize passes between the Node and the cloud controller manager's labels.
	Initialize time.Duration
	// Ready passes between the Node and its being ready.
	Ready time.Duration
	// Devices passes between ready and the resources of device plugins.
	Devices time.Duration
	// Delete passes between the instance's end and the deletion of its Node.
	Delete time.Duration
}

// Options say which cluster the instances join and how they behave.
type Options struct {
	// Config is a client configuration that may do everything, impersonation
	// included: each kubelet acts as its own user.
	Config  *rest.Config
	Cluster Cluster
	// Kwok is the path of the kwok controller, which runs the pods.
	Kwok string
	// Dir takes kwok's configuration and log; it must exist.
	Dir    string
	Timing Timing
	// KeepNodes leaves the Node of a terminated instance where it is, as if the
	// cloud controller manager were down.
	KeepNodes bool
	// NoCloudController says that there is no cloud controller manager, as where
	// the kubelet says its provider id itself: nobody labels Nodes with what EC2
	// knows, nor deletes those of instances that are gone.
	NoCloudController bool
	// Parameter reads one of the Parameter Store with the rights of an instance's
	// role, for scripts of images of a cluster's own. nil: there is no store.
	Parameter func(ctx context.Context, i Instance, name string) (string, error)
	// AwaitVolumes has pods with claims wait, bound and pending, until their
	// volumes are attached. They start only where an Attacher with StartPods
	// runs.
	AwaitVolumes bool
	// MayJoin is asked before an instance registers, nil for yes: the place for
	// what decides outside of user data, such as the access entries of the
	// cluster for the instance's role. Its error is why not.
	MayJoin func(Instance) error
	// OnEvent is told what happens, may be nil, and must not block. It is
	// called from several goroutines.
	OnEvent func(Event)
}

// Fleet is the instances of one cluster. Its methods may be called from any
// goroutine and do not block, Stop excepted.
type Fleet struct {
	options Options
	cloud   *userClient // the cloud controller manager's
	kwok    *child.Process

	ctx    context.Context
	cancel context.CancelFunc
	live   sync.WaitGroup

	mu        sync.Mutex
	stopped   bool
	instances map[string]*instance // by instance id; those that ended stay
}

// Start starts kwok and returns a fleet without instances. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	if o.OnEvent == nil {
		o.OnEvent = func(Event) {}
	}
	if o.Parameter == nil {
		o.Parameter = func(_ context.Context, _ Instance, name string) (string, error) {
			return "", fmt.Errorf("parameter %s: there is no store", name)
		}
	}
	if o.MayJoin == nil {
		o.MayJoin = func(Instance) error { return nil }
	}
	cloud, err := clientAs(o.Config, "system:cloud-controller-manager", "system:masters")
	if err != nil {
		return nil, fmt.Errorf("make client of the cloud controller manager: %w", err)
	}
	kwok, err := startKwok(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("start kwok: %w", err)
	}
	f := &Fleet{options: o, cloud: cloud, kwok: kwok, instances: map[string]*instance{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.live.Go(f.watchKwok)
	return f, nil
}

func (f *Fleet) watchKwok() {
	select {
	case <-f.ctx.Done():
	case <-f.kwok.Done():
		f.options.OnEvent(Event{Time: time.Now(), Kind: KwokEnded, Err: f.kwok.Err()})
	}
}

// Booted tells that an instance's system runs. It joins as its user data says,
// or never. A second call for the same id is ignored: an instance boots once.
func (f *Fleet) Booted(i Instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.instances[i.ID] != nil {
		return
	}
	m := newInstance(f, i)
	f.instances[i.ID] = m
	f.live.Go(func() { m.live(f.ctx) })
}

// Terminated tells that an instance is gone. Its Node goes silent and is
// deleted after Timing.Delete, unless Options.KeepNodes. An id that never
// booted is remembered, so that a Booted that comes late is ignored.
func (f *Fleet) Terminated(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.instances[id]; m != nil {
		m.terminate()
		return
	}
	f.instances[id] = newInstance(f, Instance{ID: id})
}

// Hang makes a running instance fall silent without ending its instance: its
// kubelet stops, the Node stays until somebody deletes it. It has no effect on
// an instance that is not there.
func (f *Fleet) Hang(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.instances[id]; m != nil {
		m.hang()
	}
}

// Stop ends kwok and forgets every instance; Nodes stay as they are. It returns
// when nothing runs any more, and may be called more than once.
func (f *Fleet) Stop() {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.cancel()
	f.kwok.Kill()
	f.live.Wait()
}

// admit says why an instance may not join this cluster, nil if it may.
func (f *Fleet) admit(i Instance, c NodeConfig) error {
	want, got := f.options.Cluster, c.Spec.Cluster
	switch {
	case got.Name != want.Name:
		return fmt.Errorf("user data names the cluster %q, this one is %q", got.Name, want.Name)
	case got.APIServerEndpoint != want.Endpoint:
		return fmt.Errorf("user data names the endpoint %q, the cluster's is %q", got.APIServerEndpoint, want.Endpoint)
	case !sameCertificate(got.CertificateAuthority, want.CertificateAuthority):
		return errors.New("user data has another certificate authority than the cluster: the API server is not trusted")
	}
	if err := f.options.MayJoin(i); err != nil {
		return fmt.Errorf("the machine may not join: %w", err)
	}
	return nil
}
