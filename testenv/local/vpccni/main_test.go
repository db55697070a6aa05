package vpccni_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/machine"
	"github.com/joiner-sh/joiner/testenv/local/vpccni"
)

// What all tests of this package share: a control plane, instances that join it, and the plugin.
var (
	plane  *kube.ControlPlane
	fleet  *machine.Fleet
	client *kubernetes.Clientset
)

func TestMain(m *testing.M) { os.Exit(kube.Alone(func() int { return run(m) })) }

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	end, err := start(ctx)
	defer end()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// start starts everything. end ends what was started, also after an error.
func start(ctx context.Context) (end func(), err error) {
	var ends []func()
	end = func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}
	if plane, err = kube.Start(ctx, kube.Options{Progress: os.Stderr}); err != nil {
		return end, err
	}
	ends = append(ends, plane.Stop)
	if client, err = kubernetes.NewForConfig(plane.Config()); err != nil {
		return end, err
	}
	if fleet, err = machine.Start(ctx, machine.Options{
		Config: plane.Config(), Kwok: plane.Assets().Kwok, Dir: plane.LogDir(),
		Cluster: machine.Cluster{Name: "demo", Endpoint: plane.Endpoint(), CertificateAuthority: plane.CertificateAuthority(), Version: kube.KubernetesVersion()},
	}); err != nil {
		return end, err
	}
	ends = append(ends, fleet.Stop)
	plugin, err := vpccni.Start(ctx, vpccni.Options{Kube: plane, BranchInterfaces: func(instanceType string) int64 { return map[string]int64{"m5.large": 9}[instanceType] }})
	if err != nil {
		return end, err
	}
	ends = append(ends, plugin.Stop)
	return end, nil
}

// boot makes an instance of a type become a node, and returns that's name. number tells instances apart.
func boot(t *testing.T, number int, instanceType string) (node string) {
	t.Helper()
	node = fmt.Sprintf("ip-10-0-0-%d.us-west-2.compute.internal", number)
	id := fmt.Sprintf("i-%017d", number)
	fleet.Booted(machine.Instance{
		ID: id, Type: instanceType, Zone: "us-west-2a", ZoneID: "usw2-az1", Region: "us-west-2", PrivateDNSName: node,
		PrivateIP: fmt.Sprintf("10.0.0.%d", number), Architecture: "amd64", VCPUs: 2, MemoryBytes: 8 << 30, ENIMaxPods: 29, LaunchTime: time.Now(),
		UserData: fmt.Appendf(nil, `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: demo
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: 10.96.0.0/12
--//--
`, plane.Endpoint(), base64.StdEncoding.EncodeToString(plane.CertificateAuthority())),
	})
	t.Cleanup(func() { fleet.Terminated(id) })
	return node
}

func eventually(t *testing.T, what string, f func() (ok bool, state string)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, state := f()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s: %s", what, state)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
