// Command cluster starts a real Kubernetes control plane, lets an instance become one of its nodes, and shows a pod
// that runs there. The first run builds Kubernetes from its Go modules, which takes 10 to 25 minutes.
//
//	go run ./example/cluster          # says what happens, and ends
//	go run ./example/cluster -stay    # stays until Ctrl-C, for kubectl
package main

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

const pod = `apiVersion: v1
kind: Pod
metadata: {name: hello, namespace: default}
spec:
  containers: [{name: main, image: example/hello, resources: {requests: {cpu: 100m}}}]
`

// joining is user data with endpoint, certificate authority and the range of services' addresses left open.
const joining = `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: demo, apiServerEndpoint: %s, certificateAuthority: %s, cidr: %s}
--//--
`

func main() {
	stay := flag.Bool("stay", false, "stay until Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *stay, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run starts everything and ends it when it returns.
func run(ctx context.Context, stay bool, out io.Writer) error {
	plane, err := kube.Start(ctx, kube.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer plane.Stop()
	fleet, err := machine.Start(ctx, machine.Options{
		Config: plane.Config(), Kwok: plane.Assets().Kwok, Dir: plane.LogDir(),
		Cluster: machine.Cluster{
			Name: "demo", Endpoint: plane.Endpoint(), CertificateAuthority: plane.CertificateAuthority(),
			Version: kube.KubernetesVersion(),
		},
		OnEvent: func(e machine.Event) { fmt.Fprintln(out, e) },
	})
	if err != nil {
		return err
	}
	defer fleet.Stop()
	fleet.Booted(machine.Instance{
		ID: "i-0123456789abcdef0", Type: "m7g.large", Zone: "us-west-2a", Region: "us-west-2", Architecture: "arm64",
		PrivateDNSName: "ip-10-0-0-1.us-west-2.compute.internal", PrivateIP: "10.0.0.1",
		ImageName: "amazon-eks-node-al2023-arm64-standard-1.36-v20251120", UserData: userData(plane),
		VCPUs: 2, MemoryBytes: 8 << 30, ENIMaxPods: 29, LaunchTime: time.Now(),
	})
	if err := plane.Apply(ctx, []byte(pod)); err != nil {
		return err
	}
	node, err := awaitPod(ctx, plane)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "pod hello runs on %s\n", node)
	if stay {
		fmt.Fprintf(out, "try: kubectl --kubeconfig %s get nodes,pods\n", plane.KubeconfigPath())
		<-ctx.Done()
	}
	return nil
}

// userData is what joins an instance of Amazon Linux 2023 to the cluster.
func userData(plane *kube.ControlPlane) []byte {
	return fmt.Appendf(nil, joining, plane.Endpoint(), base64.StdEncoding.EncodeToString(plane.CertificateAuthority()),
		plane.ServiceCIDR())
}

// awaitPod returns the node of the pod once that runs.
func awaitPod(ctx context.Context, plane *kube.ControlPlane) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	client, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		return "", err
	}
	for ; ; time.Sleep(100 * time.Millisecond) {
		got, err := client.CoreV1().Pods("default").Get(ctx, "hello", metav1.GetOptions{})
		if err != nil || got.Status.Phase == corev1.PodRunning {
			return got.Spec.NodeName, err
		}
	}
}
