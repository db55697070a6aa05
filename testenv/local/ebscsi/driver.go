package ebscsi

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/go-logr/logr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// Name is the name of the driver, and of its provisioner.
const Name = machine.EBSDriver

// controllerUser is the user that the driver's controller and its sidecars act as.
const controllerUser = "system:serviceaccount:kube-system:ebs-csi-controller-sa"

// Options say which cluster the driver is installed in. All but the delays are required.
type Options struct {
	Kube *kube.ControlPlane
	EC2  *ec2.Client
	// Cluster is the name of the cluster, which volumes are tagged with.
	Cluster string
	// Attach and Detach are how long these take beside the calls of EC2: see `machine.AttacherOptions`.
	Attach, Detach time.Duration
}

// Driver is an installed driver at work. Its methods may be called from any goroutine.
type Driver struct {
	client   kubernetes.Interface
	cloud    *cloud
	attacher *machine.Attacher
	cancel   context.CancelFunc
	live     sync.WaitGroup

	nodes       corelisters.NodeLister
	pods        corelisters.PodLister
	csiNodes    storagelisters.CSINodeLister
	attachments storagelisters.VolumeAttachmentLister
}

//go:embed driver.yaml
var manifest []byte

// Start installs the driver and returns it at work. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Driver, error) {
	if err := o.Kube.Apply(ctx, manifest); err != nil {
		return nil, fmt.Errorf("install the EBS CSI driver: %w", err)
	}
	config := o.Kube.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: controllerUser, Groups: []string{"system:masters"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of the EBS CSI driver: %w", err)
	}
	d := &Driver{client: client, cloud: &cloud{client: o.EC2, cluster: o.Cluster, facts: map[string]instanceFacts{}}}
	// What the library logs, and what is wrong with a claim, is in the claim's events.
	running, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	d.cancel = cancel
	if err := d.watch(ctx, running); err != nil {
		d.Stop()
		return nil, err
	}
	if d.attacher, err = machine.StartAttacher(ctx, machine.AttacherOptions{
		Config: o.Kube.Config(), Driver: Name, Attach: o.Attach, Detach: o.Detach, Volumes: d.cloud, StartPods: true,
	}); err != nil {
		d.Stop()
		return nil, err
	}
	// The settings are those of the sidecar external-provisioner.
	provisioner := controller.NewProvisionController(running, client, Name, d,
		controller.LeaderElection(false), controller.FailedProvisionThreshold(0), controller.FailedDeleteThreshold(0), controller.AddFinalizer(true),
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, 5*time.Minute)),
		controller.CreateProvisionedPVLimiter(workqueue.DefaultTypedControllerRateLimiter[string]()),
	)
	d.live.Go(func() { provisioner.Run(running) })
	d.live.Go(func() { d.register(running) })
	return d, nil
}

// watch starts the informers and returns once they have listed what there is.
func (d *Driver) watch(ctx, running context.Context) error {
	factory := informers.NewSharedInformerFactory(d.client, 0)
	core, storage := factory.Core().V1(), factory.Storage().V1()
	d.nodes, d.pods = core.Nodes().Lister(), core.Pods().Lister()
	d.csiNodes, d.attachments = storage.CSINodes().Lister(), storage.VolumeAttachments().Lister()
	factory.StartWithContext(running)
	d.live.Go(func() {
		<-running.Done()
		factory.Shutdown()
	})
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("start the EBS CSI driver: %s is not known: %w", kind, ctx.Err())
		}
	}
	return nil
}

// SetDelays says how long attaching and detaching take from now on: see `machine.Attacher.SetDelays`.
func (d *Driver) SetDelays(attach, detach time.Duration) { d.attacher.SetDelays(attach, detach) }

// Stop ends the driver. Its objects and volumes stay as they are. It may be called more than once.
func (d *Driver) Stop() {
	d.cancel()
	if d.attacher != nil {
		d.attacher.Stop()
	}
	d.live.Wait()
}
