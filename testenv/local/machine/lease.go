package machine

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// The kubelet's defaults.
const (
	leaseDurationSeconds = 40
	renewInterval        = 10 * time.Second
)

// heartbeat renews the instance's lease until ctx ends, with the code that the
// kubelet does it with. The lease is left behind, to run out.
func (m *instance) heartbeat(ctx context.Context) {
	owner := metav1.OwnerReference{
		APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: m.nodeName, UID: m.nodeUID,
	}
	// What it logs when it is stopped in the middle of a request helps nobody.
	ctx = klog.NewContext(ctx, logr.Discard())
	setOwner := func(l *coordinationv1.Lease) error {
		l.OwnerReferences = []metav1.OwnerReference{owner}
		return nil
	}
	lease.NewController(clock.RealClock{}, m.client, m.nodeName, leaseDurationSeconds, nil,
		renewInterval, m.nodeName, corev1.NamespaceNodeLease, setOwner).Run(ctx)
}

// userClient is a client that acts as one user. It has the two groups that
// kubelets and the cloud controller manager use; any other panics. A whole
// client would cost each of a thousand instances some sixty groups.
type userClient struct {
	kubernetes.Interface

	core         corev1client.CoreV1Interface
	coordination coordinationv1client.CoordinationV1Interface
}

func (c *userClient) CoreV1() corev1client.CoreV1Interface { return c.core }
func (c *userClient) CoordinationV1() coordinationv1client.CoordinationV1Interface {
	return c.coordination
}

// clientAs returns a client that acts as a user and speaks protobuf, as kubelets do. All share one connection.
func clientAs(config *rest.Config, user string, groups ...string) (*userClient, error) {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return clientOf(config, user)
}

// clientOf returns a client of those who are in the configuration.
func clientOf(config *rest.Config, agent string) (*userClient, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = agent
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	coordination, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &userClient{core: core, coordination: coordination}, nil
}
