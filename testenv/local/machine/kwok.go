package machine

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/kube/child"
)

// What a pod may say, in its annotations, about how its containers behave.
const (
	// StartAfterAnnotation is how long the containers take to be ready, as a
	// duration such as 5s.
	StartAfterAnnotation = "testenv.joiner.sh/start-after"
	// RunForAnnotation is how long the containers run before they end with
	// status 0 and the pod has succeeded. Without it they run for ever, unless
	// the pod's restart policy is not Always, and all that each of them does is
	// sleep for some seconds.
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

// podIsPending is the last condition on which a pod starts, and
// volumesAreAttached is one more, where pods wait for their volumes.
const (
	podIsPending = `
    - key: .status.phase
      operator: In
      values: [Pending]
`
	volumesAreAttached = `    - key: '([.spec.volumes[]? | select(.persistentVolumeClaim != null or .ephemeral != null)] | length) == 0 or .metadata.annotations["` + volumesAttachedAnnotation + `"] == "true"'
      operator: In
      values: ["true"]
`
)

// Kwok says which Nodes a kwok controller plays the kubelets of, and how.
type Kwok struct {
	Config  *rest.Config // that may do everything, impersonation included
	Program string       // path of the controller
	Dir     string       // for its configuration and log; it must exist
	Nodes   string       // label selector
	Stages  []byte       // of Nodes, as YAML, beside those of pods; nil = none
	// AwaitVolumes has pods with claims wait for their volumes: see
	// Options.AwaitVolumes.
	AwaitVolumes bool
	// LeaseSeconds is how long a Node's lease lasts that kwok renews; 0 = somebody else does.
	LeaseSeconds int
}

// startKwok runs the kwok controller against the cluster.
func startKwok(ctx context.Context, o Options) (*child.Process, error) {
	// Leases are renewed by the instances: kwok would not touch a pod that is bound before it has seen the lease it made.
	return StartKwok(ctx, Kwok{Config: o.Config, Program: o.Kwok, Dir: o.Dir, Nodes: livingLabel + "=" + livingValue, AwaitVolumes: o.AwaitVolumes})
}

// StartKwok runs a kwok controller until it is killed. ctx bounds the start only.
func StartKwok(ctx context.Context, k Kwok) (*child.Process, error) {
	if k.Program == "" {
		return nil, errors.New("Options.Kwok names no program")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(k.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "kwok", Groups: []string{"system:masters"}}
	kubeconfig, err := kube.Kubeconfig(config)
	if err != nil {
		return nil, err
	}
	kubeconfigPath := filepath.Join(k.Dir, "kwok.kubeconfig")
	stagesPath := filepath.Join(k.Dir, "kwok.yaml")
	all := slices.Clone(stages)
	if k.AwaitVolumes {
		all = bytes.Replace(all, []byte(podIsPending), []byte(podIsPending+volumesAreAttached), 1)
	}
	if k.Stages != nil {
		all = slices.Concat(all, []byte("---\n"), k.Stages)
	}
	for path, data := range map[string][]byte{kubeconfigPath: kubeconfig, stagesPath: all} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, fmt.Errorf("write kwok's configuration: %w", err)
		}
	}
	return child.Start(child.Spec{
		Name: "kwok",
		Path: k.Program,
		Args: []string{
			"--config=" + stagesPath,
			"--kubeconfig=" + kubeconfigPath,
			"--manage-nodes-with-label-selector=" + k.Nodes,
			"--cidr=" + podCIDR,
			"--node-lease-duration-seconds=" + strconv.Itoa(k.LeaseSeconds),
			"--node-port=0", // it serves nothing
		},
		// It would read settings from the home folder of whoever runs this.
		Env:     append(os.Environ(), "HOME="+k.Dir, "KWOK_WORKDIR="+k.Dir),
		LogPath: filepath.Join(k.Dir, "kwok.log"),
	})
}
