package typed

import (
	"net/http"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TypeOf is the type that an object of a kind is decoded into, such as v1 and PodList; nil where there is none.
func TypeOf(apiVersion, kind string) reflect.Type {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil
	}
	return scheme.AllKnownTypes()[version.WithKind(kind)]
}

// Client is one API server. It may be used from many goroutines.
type Client struct{ core, apps, policy, storage, coordination rest.Interface }

// NewForConfig returns the client of an API server. Its groups share connections; each has the config's rate limit, or
// the usual one, for itself. Nothing is sent yet.
func NewForConfig(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &Client{}
	for _, group := range []struct {
		into    *rest.Interface
		path    string
		version schema.GroupVersion
	}{
		{&c.core, "/api", corev1.SchemeGroupVersion}, {&c.apps, "/apis", appsv1.SchemeGroupVersion},
		{&c.policy, "/apis", policyv1.SchemeGroupVersion}, {&c.storage, "/apis", storagev1.SchemeGroupVersion},
		{&c.coordination, "/apis", coordinationv1.SchemeGroupVersion},
	} {
		if *group.into, err = clientOf(*config, connections, group.path, group.version); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func clientOf(config rest.Config, connections *http.Client, path string, version schema.GroupVersion) (rest.Interface,
	error) {
	config.APIPath, config.GroupVersion = path, &version
	config.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, codecs).WithoutConversion()
	return rest.RESTClientForConfigAndClient(&config, connections)
}

// Core is the group without a name.
type Core struct{ client rest.Interface }

// CoreV1 is the group without a name.
func (c *Client) CoreV1() Core { return Core{c.core} }

// RESTClient is for what has no method.
func (c Core) RESTClient() rest.Interface { return c.client }

// Pods of a namespace, of all for "". So with the others.
func (c Core) Pods(namespace string) Kind[corev1.Pod, corev1.PodList] {
	return Kind[corev1.Pod, corev1.PodList]{c.client, "pods", namespace}
}

// Nodes of the cluster.
func (c Core) Nodes() Kind[corev1.Node, corev1.NodeList] {
	return Kind[corev1.Node, corev1.NodeList]{c.client, "nodes", ""}
}

// Namespaces of the cluster.
func (c Core) Namespaces() Kind[corev1.Namespace, corev1.NamespaceList] {
	return Kind[corev1.Namespace, corev1.NamespaceList]{c.client, "namespaces", ""}
}

// PersistentVolumeClaims of a namespace.
func (c Core) PersistentVolumeClaims(namespace string) Kind[corev1.PersistentVolumeClaim,
	corev1.PersistentVolumeClaimList] {
	return Kind[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList]{c.client, "persistentvolumeclaims",
		namespace}
}

// PersistentVolumes of the cluster.
func (c Core) PersistentVolumes() Kind[corev1.PersistentVolume, corev1.PersistentVolumeList] {
	return Kind[corev1.PersistentVolume, corev1.PersistentVolumeList]{c.client, "persistentvolumes", ""}
}

// Services of a namespace.
func (c Core) Services(namespace string) Kind[corev1.Service, corev1.ServiceList] {
	return Kind[corev1.Service, corev1.ServiceList]{c.client, "services", namespace}
}

// ReplicationControllers of a namespace.
func (c Core) ReplicationControllers(namespace string) Kind[corev1.ReplicationController,
	corev1.ReplicationControllerList] {
	return Kind[corev1.ReplicationController, corev1.ReplicationControllerList]{c.client, "replicationcontrollers",
		namespace}
}

// PodTemplates of a namespace.
func (c Core) PodTemplates(namespace string) Kind[corev1.PodTemplate, corev1.PodTemplateList] {
	return Kind[corev1.PodTemplate, corev1.PodTemplateList]{c.client, "podtemplates", namespace}
}

// Events of a namespace.
func (c Core) Events(namespace string) Kind[corev1.Event, corev1.EventList] {
	return Kind[corev1.Event, corev1.EventList]{c.client, "events", namespace}
}

// Apps is the group of workloads.
type Apps struct{ client rest.Interface }

// AppsV1 is the group of workloads.
func (c *Client) AppsV1() Apps { return Apps{c.apps} }

// DaemonSets of a namespace.
func (c Apps) DaemonSets(namespace string) Kind[appsv1.DaemonSet, appsv1.DaemonSetList] {
	return Kind[appsv1.DaemonSet, appsv1.DaemonSetList]{c.client, "daemonsets", namespace}
}

// ReplicaSets of a namespace.
func (c Apps) ReplicaSets(namespace string) Kind[appsv1.ReplicaSet, appsv1.ReplicaSetList] {
	return Kind[appsv1.ReplicaSet, appsv1.ReplicaSetList]{c.client, "replicasets", namespace}
}

// StatefulSets of a namespace.
func (c Apps) StatefulSets(namespace string) Kind[appsv1.StatefulSet, appsv1.StatefulSetList] {
	return Kind[appsv1.StatefulSet, appsv1.StatefulSetList]{c.client, "statefulsets", namespace}
}

// Deployments of a namespace.
func (c Apps) Deployments(namespace string) Kind[appsv1.Deployment, appsv1.DeploymentList] {
	return Kind[appsv1.Deployment, appsv1.DeploymentList]{c.client, "deployments", namespace}
}

// Policy is the group of budgets.
type Policy struct{ client rest.Interface }

// PolicyV1 is the group of budgets.
func (c *Client) PolicyV1() Policy { return Policy{c.policy} }

// RESTClient is for what has no method.
func (c Policy) RESTClient() rest.Interface { return c.client }

// PodDisruptionBudgets of a namespace.
func (c Policy) PodDisruptionBudgets(namespace string) Kind[policyv1.PodDisruptionBudget,
	policyv1.PodDisruptionBudgetList] {
	return Kind[policyv1.PodDisruptionBudget, policyv1.PodDisruptionBudgetList]{c.client, "poddisruptionbudgets",
		namespace}
}

// Storage is the group of volumes' classes and attachments.
type Storage struct{ client rest.Interface }

// StorageV1 is the group of volumes' classes and attachments.
func (c *Client) StorageV1() Storage { return Storage{c.storage} }

// StorageClasses of the cluster.
func (c Storage) StorageClasses() Kind[storagev1.StorageClass, storagev1.StorageClassList] {
	return Kind[storagev1.StorageClass, storagev1.StorageClassList]{c.client, "storageclasses", ""}
}

// CSINodes of the cluster.
func (c Storage) CSINodes() Kind[storagev1.CSINode, storagev1.CSINodeList] {
	return Kind[storagev1.CSINode, storagev1.CSINodeList]{c.client, "csinodes", ""}
}

// VolumeAttachments of the cluster.
func (c Storage) VolumeAttachments() Kind[storagev1.VolumeAttachment, storagev1.VolumeAttachmentList] {
	return Kind[storagev1.VolumeAttachment, storagev1.VolumeAttachmentList]{c.client, "volumeattachments", ""}
}

// Coordination is the group of leases.
type Coordination struct{ client rest.Interface }

// CoordinationV1 is the group of leases.
func (c *Client) CoordinationV1() Coordination { return Coordination{c.coordination} }

// Leases of a namespace.
func (c Coordination) Leases(namespace string) Kind[coordinationv1.Lease, coordinationv1.LeaseList] {
	return Kind[coordinationv1.Lease, coordinationv1.LeaseList]{c.client, "leases", namespace}
}
