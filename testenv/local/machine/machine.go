package machine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	// requestTimeout bounds one request; the API server may be gone.
	requestTimeout = 10 * time.Second
)

// instance is one instance from its boot to its end. Its steps run one after
// the other in one goroutine.
type instance struct {
	fleet    *Fleet
	instance Instance
	// terminated and hung are closed at most once, under the fleet's lock.
	terminated, hung chan struct{}

	nodeName string
	nodeUID  types.UID // "" until registered
	config   kubelet
	res      resources
	client   *userClient // the kubelet's
}

func newInstance(f *Fleet, i Instance) *instance {
	return &instance{fleet: f, instance: i, terminated: make(chan struct{}), hung: make(chan struct{})}
}

func (m *instance) terminate() { closeOnce(m.terminated) }
func (m *instance) hang()      { closeOnce(m.hung) }

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// live runs the instance until ctx ends or its instance is gone.
func (m *instance) live(ctx context.Context) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends with running, at the latest when live returns
		select {
		case <-m.terminated:
		case <-m.hung:
		case <-running.Done():
		}
		stop()
	}()

	m.run(running)
	<-running.Done()
	if ctx.Err() != nil || m.client == nil {
		return
	}
	if m.nodeUID == "" { // the end may have cut a registration off
		_ = m.recognize(ctx, nil)
	}
	m.fallSilent(ctx)
	m.depart(ctx)
}

// step is something an instance does some time after it has registered.
type step struct {
	after time.Duration
	kind  EventKind // reported once it is done
	do    func(context.Context) error
}

// run takes the instance from its boot to all it will ever be.
func (m *instance) run(ctx context.Context) {
	if err := m.configure(ctx); err != nil {
		m.report(Refused, err)
		return
	}
	timing := m.fleet.options.Timing
	if !sleep(ctx, timing.Register) || !m.register(ctx) {
		return
	}
	registered := time.Now()
	m.fleet.live.Go(func() { m.heartbeat(ctx) })
	steps := []step{
		{timing.Initialize, Initialized, m.initialize},
		{timing.Ready, Ready, m.becomeReady},
		{timing.Ready + timing.Devices, DevicesReady, m.announceDevices},
	}
	if len(m.instance.Devices) == 0 {
		steps = steps[:2]
	}
	if m.fleet.options.NoCloudController {
		steps = steps[1:]
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.after, b.after) })
	for _, step := range steps {
		if !sleep(ctx, step.after-time.Since(registered)) || !m.insist(ctx, step.do) {
			return
		}
		m.report(step.kind, nil)
	}
}

// boot returns how the kubelet of an instance is set up by a NodeConfig, and what it reports. The error is one at which it would not start.
func boot(i Instance, c NodeConfig) (kubelet, resources, error) {
	k, err := configureKubelet(i, c)
	if err != nil {
		return kubelet{}, resources{}, err
	}
	r, err := k.measure(i, c)
	return k, r, err
}

// NodeOf returns the Node that an instance registers by its image and its user data, not ready yet, and the configuration of its kubelet. The
// error is why it would not join.
func NodeOf(i Instance) (*corev1.Node, kubeletconfig.KubeletConfiguration, error) {
	config, err := ReadUserDataOf(i)
	if err != nil {
		return nil, kubeletconfig.KubeletConfiguration{}, err
	}
	k, r, err := boot(i, config)
	if err != nil {
		return nil, kubeletconfig.KubeletConfiguration{}, err
	}
	return newNode(i, k, r, metav1.Now()), k.config, nil
}

// configure reads the user data. The error is why the instance never joins.
func (m *instance) configure(ctx context.Context) error {
	if systemOf(m.instance) == own {
		if err := m.fleet.options.MayJoin(m.instance); err != nil {
			return fmt.Errorf("the machine may not join: %w", err)
		}
		return m.joinByKubeadm(ctx)
	}
	config, err := ReadUserDataOf(m.instance)
	if err != nil {
		return err
	}
	if err := m.fleet.admit(m.instance, config); err != nil {
		return err
	}
	if m.config, m.res, err = boot(m.instance, config); err != nil {
		return err
	}
	m.nodeName, m.config.version = m.config.nodeName, m.fleet.options.Cluster.Version+"-eks-0000000"
	m.client, err = clientAs(m.fleet.options.Config, "system:node:"+m.nodeName, "system:nodes", "system:authenticated")
	return err
}

// register creates the Node. Where one of that name is there already it is
// another instance's, left over from before the address was given to this one;
// the instance tries until it is gone.
func (m *instance) register(ctx context.Context) bool {
	refused := false
	ok := m.insist(ctx, func(ctx context.Context) error {
		node := newNode(m.instance, m.config, m.res, metav1.Now())
		created, err := m.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		switch {
		case err == nil:
			m.nodeUID = created.UID
		case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
			m.report(Refused, fmt.Errorf("the API server refuses the node: %w", err))
			refused = true
			return nil
		case apierrors.IsAlreadyExists(err):
			return m.recognize(ctx, err)
		}
		return err
	})
	if !ok || refused {
		return false
	}
	m.report(Registered, nil)
	return true
}

// recognize looks at the Node that has our name. It is ours where a request
// whose answer was lost made it; else exists is returned.
func (m *instance) recognize(ctx context.Context, exists error) error {
	node, err := m.client.CoreV1().Nodes().Get(ctx, m.nodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Spec.ProviderID != m.config.providerID {
		return exists
	}
	m.nodeUID = node.UID
	return nil
}

// insist calls f until it succeeds, with pauses that grow, and is false where
// ctx ends first or the Node is gone: a kubelet registers once in its life.
func (m *instance) insist(ctx context.Context, f func(context.Context) error) bool {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		attempt, cancel := context.WithTimeout(ctx, requestTimeout)
		err := f(attempt)
		cancel()
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil || apierrors.IsNotFound(err):
			return false
		}
		m.report(Retrying, err)
		if !sleep(ctx, pause) {
			return false
		}
	}
}

func (m *instance) becomeReady(ctx context.Context) error {
	return m.patchStatus(ctx, corev1.NodeStatus{Conditions: conditions(true, metav1.Now())})
}

func (m *instance) announceDevices(ctx context.Context) error {
	devices := corev1.ResourceList{}
	for name, count := range m.instance.Devices {
		devices[corev1.ResourceName(name)] = quantityOf(count)
	}
	return m.patchStatus(ctx, corev1.NodeStatus{Capacity: devices, Allocatable: devices})
}

func (m *instance) report(kind EventKind, err error) {
	m.fleet.options.OnEvent(Event{
		Time: time.Now(), Kind: kind, InstanceID: m.instance.ID, NodeName: m.nodeName, Err: err,
	})
}

// sleep is false where ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// sameCertificate compares the first certificate of each, however it is wrapped.
func sameCertificate(a, b []byte) bool {
	blockA, _ := pem.Decode(a)
	blockB, _ := pem.Decode(b)
	return blockA != nil && blockB != nil && bytes.Equal(blockA.Bytes, blockB.Bytes)
}
