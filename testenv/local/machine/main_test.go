package machine_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// plane and fleet are shared by all tests of this package. Each test has
// instances of its own, and its pods select the nodes of those.
var (
	plane  *kube.ControlPlane
	fleet  *machine.Fleet
	events = newRecorder()
)

const clusterName = "demo"

func TestMain(m *testing.M) {
	flag.Parse()
	if pattern := flag.Lookup("test.fuzz"); pattern != nil && pattern.Value.String() != "" {
		os.Exit(m.Run()) // what is fuzzed needs no cluster, and every worker would start one
	}
	os.Exit(kube.Alone(func() int { return run(m) }))
}

func run(m *testing.M) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer plane.Stop()
	defer fleet.Stop()
	return m.Run()
}

func start(ctx context.Context) error {
	assets, err := kube.Binaries(ctx, os.Stderr)
	if err != nil {
		return err
	}
	if plane, err = kube.Start(ctx, kube.Options{
		Assets: assets, Kubeadm: true,
		// Twice the time between two heartbeats, not five times: a test waits for it.
		ControllerManagerArgs: []string{"--node-monitor-grace-period=20s", "--node-monitor-period=1s"},
	}); err != nil {
		return err
	}
	fleet, err = machine.Start(ctx, machine.Options{
		Config:    plane.Config(),
		Cluster:   cluster(),
		Kwok:      assets.Kwok,
		Dir:       plane.LogDir(),
		OnEvent:   events.record,
		Parameter: parameter,
	})
	if err != nil {
		plane.Stop()
	}
	return err
}

func cluster() machine.Cluster {
	return machine.Cluster{
		Name: clusterName, Endpoint: plane.Endpoint(), CertificateAuthority: plane.CertificateAuthority(), Version: kube.KubernetesVersion(),
	}
}
