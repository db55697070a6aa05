package ebscsi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"os"
	"os/signal"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/ebscsi"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// What all tests of this package share: a control plane, a model of EC2 whose instances join it, and the driver.
var (
	plane  *kube.ControlPlane
	cloud  *sdk.Client
	model  *ec2.Model
	driver *ebscsi.Driver
	client *kubernetes.Clientset

	mutex sync.Mutex
	ready = map[string]string{} // names of the Nodes that are ready, by instance
)

const clusterName = "demo"

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
	klog.SetLogger(logr.Discard()) // of what the library tries again; claims have events
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
	model = ec2.New(ec2.Options{Clock: clock.System(), Timing: &ec2.Timing{Visibility: 300 * time.Millisecond, Gone: time.Hour}})
	server := httptest.NewServer(ec2.NewHandler(model))
	ends = append(ends, server.Close)
	cloud = sdk.New(sdk.Options{
		Region: catalog.Region, BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	fleet, err := machine.Start(ctx, machine.Options{
		Config: plane.Config(), Kwok: plane.Assets().Kwok, Dir: plane.LogDir(), AwaitVolumes: true,
		Cluster: machine.Cluster{Name: clusterName, Endpoint: plane.Endpoint(), CertificateAuthority: plane.CertificateAuthority(), Version: kube.KubernetesVersion()},
		OnEvent: func(e machine.Event) {
			mutex.Lock()
			defer mutex.Unlock()
			if e.Kind == machine.Ready {
				ready[e.InstanceID] = e.NodeName
			}
		},
	})
	if err != nil {
		return end, err
	}
	ends = append(ends, fleet.Stop)
	model.OnRunning(func(i ec2.Instance) {
		fleet.Booted(machine.Instance{
			ID: i.ID, Type: i.Type, Zone: i.Zone, ZoneID: i.ZoneID, Region: i.Region, PrivateDNSName: i.PrivateDNSName, PrivateIP: i.PrivateIP,
			ImageName: i.ImageName, Architecture: i.Architecture, VCPUs: i.VCPUs, MemoryBytes: i.MemoryBytes, ENIMaxPods: i.MaxPods, UserData: i.UserData,
		})
	})
	model.OnTerminated(func(i ec2.Instance) { fleet.Terminated(i.ID) })
	if driver, err = ebscsi.Start(ctx, ebscsi.Options{Kube: plane, EC2: cloud, Cluster: clusterName}); err != nil {
		return end, err
	}
	ends = append(ends, driver.Stop)
	return end, nil
}

// launch launches an instance in zone "a", "b" or "c", which ends with the test, and returns its id and the name of its Node once that is ready.
func launch(t *testing.T, letter string) (id, node string) {
	t.Helper()
	subnet := ""
	for _, s := range model.Subnets() {
		if s.Zone == catalog.Region+letter {
			subnet = s.ID
		}
	}
	image := ""
	for _, p := range catalog.Parameters() {
		if p.Name == "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id" {
			image = p.Value
		}
	}
	out, err := cloud.RunInstances(t.Context(), &sdk.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: &image, InstanceType: types.InstanceTypeM5Large, SubnetId: &subnet, UserData: aws.String(userData()),
	})
	if err != nil {
		t.Fatal(err)
	}
	id = *out.Instances[0].InstanceId
	t.Cleanup(func() {
		_, err := cloud.TerminateInstances(context.WithoutCancel(t.Context()), &sdk.TerminateInstancesInput{InstanceIds: []string{id}})
		if err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the node of instance "+id, func() (bool, string) {
		mutex.Lock()
		defer mutex.Unlock()
		node = ready[id]
		return node != "", fmt.Sprint(ready)
	})
	return id, node
}

func userData() string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %s
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: 10.96.0.0/12
--//--
`, clusterName, plane.Endpoint(), base64.StdEncoding.EncodeToString(plane.CertificateAuthority())))
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
