package ekscluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/infra/chart"
	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/kube"
)

const (
	clusterName   = "prod"
	functionRole  = "joiner-function"
	collectorRole = "joiner-collector"
	catalogRole   = "joiner-catalog"
	disruptRole   = "joiner-disrupt"
)

// environment is the control plane that the tests of this package share, with EKS's token webhook and our definitions and
// roles. Each test uses objects of its own.
type environment struct {
	cloud *cloud.Cloud
	plane *kube.ControlPlane
	err   error
	stop  func()
}

var shared environment

var startShared = sync.OnceFunc(func() { shared.err = shared.start() })

func TestMain(m *testing.M) {
	os.Exit(kube.Alone(func() int {
		code := m.Run()
		if shared.stop != nil {
			shared.stop()
		}
		return code
	}))
}

// entries lets four roles in, as the cluster's access entries do.
type entries struct{}

func (entries) Lookup(cluster, principal string) (string, []string, bool) {
	group := "joiner:functions"
	if strings.Contains(principal, collectorRole) {
		group = "joiner:interruption"
	}
	if strings.Contains(principal, catalogRole) {
		group = "joiner:catalog"
	}
	if strings.Contains(principal, disruptRole) {
		group = "joiner:disrupt"
	}
	return "", []string{group}, cluster == clusterName
}

func (e *environment) start() error {
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	var err error
	if e.cloud, err = cloud.Start(ctx, cloud.Options{}); err != nil {
		return err
	}
	e.cloud.STS.AddRole(sts.Role{Name: functionRole})
	e.cloud.STS.AddRole(sts.Role{Name: collectorRole})
	e.cloud.STS.AddRole(sts.Role{Name: catalogRole})
	e.cloud.STS.AddRole(sts.Role{Name: disruptRole})
	webhook, err := sts.ServeWebhook(ctx, sts.TokenReviewHandler(sts.TokenReview{
		Model: e.cloud.STS, Cluster: clusterName, Entries: entries{}, Endpoints: []string{e.cloud.Endpoint()}, Region: e.cloud.Region(),
	}))
	if err != nil {
		return err
	}
	config, err := webhook.Kubeconfig()
	if err != nil {
		return err
	}
	if e.plane, err = kube.Start(ctx, kube.Options{TokenWebhookConfig: config, AuditPolicy: kube.AuditEnds, Progress: os.Stderr}); err != nil {
		return err
	}
	e.stop = func() { e.plane.Stop(); webhook.Close(); cancel() }
	return e.plane.Apply(ctx, append(crds.Manifests(), chart.Rights())...)
}

func plane(t *testing.T) *kube.ControlPlane {
	t.Helper()
	startShared()
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.plane
}

// admin returns a client that may do everything, to set the scene and look at it.
func admin(t *testing.T) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(plane(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// adminOf returns the same of a resource of our definitions.
func adminOf(t *testing.T, resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(plane(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(resource)
}

func registration(t *testing.T) model.Registration {
	return model.Registration{
		Cluster: clusterName, Region: shared.cloud.Region(), Endpoint: plane(t).Endpoint(), CA: plane(t).CertificateAuthority(),
	}
}

// connect returns the client of the provision function: with its role's token and the permissions we ship.
func connect(t *testing.T) *Client {
	t.Helper()
	return connectAs(t, functionRole)
}

func connectAs(t *testing.T, role string) *Client {
	t.Helper()
	plane(t)
	keys, err := shared.cloud.STS.Assume("arn:aws:iam::"+shared.cloud.Account()+":role/"+role, "test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	client, err := Connect(shared.cloud.ConfigFor(keys), registration(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func apply(t *testing.T, format string, args ...any) {
	t.Helper()
	if err := plane(t).Apply(t.Context(), []byte(fmt.Sprintf(format, args...))); err != nil {
		t.Fatal(err)
	}
}

var uniques atomic.Int64

// unique returns a name that no other call gets, so that tests can be repeated within one control plane.
func unique(base string) string { return fmt.Sprintf("%s-%d", base, uniques.Add(1)) }
