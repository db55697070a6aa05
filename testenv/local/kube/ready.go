package kube

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/testenv/local/kube/child"
)

const (
	pollInterval = 20 * time.Millisecond
	// startTimeout is how long one part may take; a loaded machine is slow, and a part that dies is seen at once.
	startTimeout = 3 * time.Minute
)

func (c *ControlPlane) awaitEtcd(ctx context.Context, p *child.Process) error {
	return AwaitHealth(ctx, p, http.DefaultClient, c.layout.etcdURL()+"/readyz", c.layout.etcdURL()+"/health") // before 3.5.11
}

func (c *ControlPlane) awaitReady(ctx context.Context, p *child.Process, port int) error {
	client, err := rest.HTTPClientFor(c.admin)
	if err != nil {
		return err
	}
	base := fmt.Sprintf("https://%s:%d", loopback, port)
	return AwaitHealth(ctx, p, client, base+"/readyz", base+"/healthz") // schedulers before 1.31
}

// AwaitHealth asks until the answer is 200, the process ends or three minutes are over: the first URL, and the second, if any, where the program
// does not know the first.
func AwaitHealth(ctx context.Context, p *child.Process, client *http.Client, url, older string) error {
	last := "no answer"
	err := poll(ctx, p, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			last = err.Error()
			return false, nil
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
		last = response.Status + " " + strings.TrimSpace(string(body))
		if response.StatusCode == http.StatusNotFound && older != "" {
			url, older = older, ""
		}
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s at %s (last: %s): %w", p.Name(), url, last, err)
	}
	return nil
}

// poll calls f until it is true or fails. p may be nil.
func poll(ctx context.Context, p *child.Process, f func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var ended <-chan struct{}
	if p != nil {
		ended = p.Done()
	}
	for {
		done, err := f(ctx)
		if err != nil || done {
			return err
		}
		select {
		case <-ended:
			return p.Err()
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// bootstrap makes what every EKS cluster has before its first node.
func (c *ControlPlane) bootstrap(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	if _, err := client.CoreV1().Services("kube-system").Create(ctx, dnsService(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the kube-dns service: %w", err)
	}
	// Without it every pod is refused.
	err = poll(ctx, nil, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("wait for the default service account: %w", err)
	}
	return nil
}

func dnsService() *corev1.Service {
	labels := map[string]string{"k8s-app": "kube-dns"}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-dns", Namespace: "kube-system", Labels: labels},
		Spec: corev1.ServiceSpec{
			ClusterIP: dnsServiceIP,
			Selector:  labels,
			Ports: []corev1.ServicePort{
				{Name: "dns", Port: 53, TargetPort: intstr.FromInt32(53), Protocol: corev1.ProtocolUDP},
				{Name: "dns-tcp", Port: 53, TargetPort: intstr.FromInt32(53), Protocol: corev1.ProtocolTCP},
			},
		},
	}
}
