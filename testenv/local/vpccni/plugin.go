package vpccni

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// BranchInterfaces is the extended resource of pods with security groups of their own.
const BranchInterfaces corev1.ResourceName = "vpc.amazonaws.com/pod-eni"

const (
	enableVariable = "ENABLE_POD_ENI"
	// controllerUser is the user that the VPC resource controller acts as.
	controllerUser = "eks:vpc-resource-controller"
	webhookName    = "vpc-resource-mutating-webhook"
)

// Options say which cluster the plugin is installed in.
type Options struct {
	Kube *kube.ControlPlane // required
	// BranchInterfaces says how many branch interfaces a type takes, 0 for none. nil: none takes any.
	BranchInterfaces func(instanceType string) int64
}

// Plugin is an installed plugin at work, with the VPC resource controller.
type Plugin struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
	webhook *sts.Webhook
	called  atomic.Bool // the API server has called the webhook
	amount  func(instanceType string) int64
	cancel  context.CancelFunc
	live    sync.WaitGroup

	nodes corelisters.NodeLister
	pods  corelisters.PodLister
}

//go:embed plugin.yaml
var manifest []byte

// Start installs the plugin and returns it at work. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Plugin, error) {
	if err := o.Kube.Apply(ctx, manifest); err != nil {
		return nil, fmt.Errorf("install the VPC CNI plugin: %w", err)
	}
	config := o.Kube.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: controllerUser, Groups: []string{"system:masters"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of the VPC resource controller: %w", err)
	}
	p := &Plugin{client: client, amount: o.BranchInterfaces}
	if p.amount == nil {
		p.amount = func(string) int64 { return 0 }
	}
	if p.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make client of the VPC resource controller: %w", err)
	}
	running, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	factory := informers.NewSharedInformerFactory(client, 0)
	p.nodes, p.pods = factory.Core().V1().Nodes().Lister(), factory.Core().V1().Pods().Lister()
	factory.StartWithContext(running)
	p.live.Go(func() {
		<-running.Done()
		factory.Shutdown()
	})
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			p.Stop()
			return nil, fmt.Errorf("start the VPC resource controller: %s is not known: %w", kind, ctx.Err())
		}
	}
	if err := p.serve(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	p.live.Go(func() { p.advertise(running) })
	return p, nil
}

// Stop ends the plugin; its objects stay as they are. It may be called more than once.
func (p *Plugin) Stop() {
	p.cancel()
	if p.webhook != nil {
		p.webhook.Close()
	}
	p.live.Wait()
}

// serve starts the webhook and returns once the API server calls it for every new pod.
func (p *Plugin) serve(ctx context.Context) error {
	var err error
	if p.webhook, err = sts.ServeWebhook(context.WithoutCancel(ctx), p); err != nil {
		return fmt.Errorf("serve the webhook of the VPC resource controller: %w", err)
	}
	ignore, none := admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone
	_, err = p.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookName},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mpod.vpc.k8s.aws", AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &ignore, SideEffects: &none,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &p.webhook.URL, CABundle: p.webhook.CAPEM},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}, metav1.CreateOptions{})
	for err == nil && !p.called.Load() {
		// The API server takes a moment to notice a webhook. It also calls it in dry runs.
		_, _ = p.client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "webhook-"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example/main"}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err != nil {
		return fmt.Errorf("install the webhook of the VPC resource controller: %w", err)
	}
	return nil
}

// advertise gives nodes their branch interfaces. What fails is tried again.
func (p *Plugin) advertise(ctx context.Context) {
	selector := labels.SelectorFromSet(labels.Set{"k8s-app": "aws-node"})
	for {
		pods, err := p.pods.Pods(metav1.NamespaceSystem).List(selector)
		if err == nil {
			for _, pod := range pods {
				if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && allows(pod) {
					p.advertiseOn(ctx, pod.Spec.NodeName)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// allows reports whether the plugin of a pod lets pods have interfaces of their own.
func allows(pod *corev1.Pod) bool {
	for _, container := range pod.Spec.Containers {
		for _, variable := range container.Env {
			if variable.Name == enableVariable {
				return variable.Value == "true"
			}
		}
	}
	return false
}

// advertiseOn writes how many branch interfaces a node's type takes. A kubelet takes over to allocatable what is in capacity.
func (p *Plugin) advertiseOn(ctx context.Context, name string) {
	node, err := p.nodes.Get(name)
	if err != nil {
		return
	}
	count := p.amount(node.Labels[corev1.LabelInstanceTypeStable])
	has := node.Status.Allocatable[BranchInterfaces]
	if count == 0 || has.Value() == count {
		return
	}
	amount := map[corev1.ResourceName]string{BranchInterfaces: strconv.FormatInt(count, 10)}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": node.UID}, "status": map[string]any{"capacity": amount, "allocatable": amount}})
	if err != nil {
		panic(err) // maps of strings
	}
	_, _ = p.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
}
