package machine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/testenv/kube"
	"github.com/joiner-sh/joiner/testenv/kube/child"
)

// What a pod may say, in its annotations, about how its containers behave.
const (
	// StartAfterAnnotation is how long the containers take to be ready, as a
	// duration such as 5s.
	StartAfterAnnotation = "testenv.joiner.sh/start-after"
	// RunForAnnotation is how long the containers run before they end with
	// status 0 and the pod has succeeded. Without it they run for ever.
	RunForAnnotation = "testenv.joiner.sh/run-for"
	// IgnoreTermAnnotation, with the value "true", has the containers run on
	// after SIGTERM until their grace period is over.
	IgnoreTermAnnotation = "testenv.joiner.sh/ignore-term"
)

// podCIDR is where pods get their addresses from, apart from every VPC's.
const podCIDR = "100.64.0.0/10"

// stages say what becomes of Nodes and pods; kwok reads them.
//
//go:embed stages.yaml
var stages []byte

// startKwok runs the kwok controller against the cluster.
func startKwok(ctx context.Context, o Options) (*child.Process, error) {
	if o.Kwok == "" {
		return nil, errors.New("Options.Kwok names no program")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(o.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "kwok", Groups: []string{"system:masters"}}
	kubeconfig, err := kube.Kubeconfig(config)
	if err != nil {
		return nil, err
	}
	kubeconfigPath := filepath.Join(o.Dir, "kwok.kubeconfig")
	stagesPath := filepath.Join(o.Dir, "kwok.yaml")
	for path, data := range map[string][]byte{kubeconfigPath: kubeconfig, stagesPath: stages} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, fmt.Errorf("write kwok's configuration: %w", err)
		}
	}
	return child.Start(child.Spec{
		Name: "kwok",
		Path: o.Kwok,
		Args: []string{
			"--config=" + stagesPath,
			"--kubeconfig=" + kubeconfigPath,
			"--manage-nodes-with-label-selector=" + livingLabel + "=" + livingValue,
			"--cidr=" + podCIDR,
			// Leases are renewed by the machines: kwok would not touch a pod
			// that is bound before it has seen the lease it made.
			"--node-lease-duration-seconds=0",
			"--node-port=0", // it serves nothing
		},
		// It would read settings from the home folder of whoever runs this.
		Env:     append(os.Environ(), "HOME="+o.Dir, "KWOK_WORKDIR="+o.Dir),
		LogPath: filepath.Join(o.Dir, "kwok.log"),
	})
}
