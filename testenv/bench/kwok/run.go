package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/kube/child"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

type options struct {
	dir, karpenter, types string
	apply                 []string
}

const cluster = "kwok-demo"

// stages say how the Nodes of Karpenter's kwok provider become ready. Their pods go through the same stages as those of other nodes in testenv.
//
//go:embed stages.yaml
var stages []byte

// place is where everything of a run is, in the words of `go run ./testenv/test/up -empty`. What AWS is asked for is empty.
type place struct {
	Kubeconfig string `json:"kubeconfig"` // a path, as kubectl and logs
	Kubectl    string `json:"kubectl"`
	Cluster    string `json:"cluster"`
	APIServer  string `json:"apiServer"` // URL
	Logs       string `json:"logs"`      // the folder of all logs
	Audit      string `json:"audit"`     // the API server's audit log
	Types      string `json:"types"`     // the instance types that the provider sells
}

func run(ctx context.Context, o options) error {
	if o.types != "" {
		return writeTypes(o.types)
	}
	if o.dir == "" || o.karpenter == "" {
		return errors.New("say -dir FOLDER and -karpenter PROGRAM")
	}
	logs, nodes := filepath.Join(o.dir, "logs"), filepath.Join(o.dir, "kwok")
	for _, dir := range []string{logs, nodes} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	types := filepath.Join(o.dir, "instance-types.json")
	if err := writeTypes(types); err != nil {
		return err
	}
	fmt.Printf("starting Kubernetes %s\n", kube.KubernetesVersion())
	plane, err := kube.Start(ctx, kube.Options{Dir: filepath.Join(o.dir, "kube"), Progress: os.Stdout, AuditPolicy: kube.AuditEnds})
	if err != nil {
		return err
	}
	defer plane.Stop()
	assets, err := kube.Binaries(ctx, os.Stdout) // kwok is no part of a control plane
	if err != nil {
		return err
	}
	// The label and the lease are those of upstream's installation of kwok.
	kwok, err := machine.StartKwok(ctx, machine.Kwok{
		Config: plane.Config(), Program: assets.Kwok, Dir: nodes, Nodes: "kwok.x-k8s.io/node=fake", Stages: stages, LeaseSeconds: 40,
	})
	if err != nil {
		return err
	}
	defer kwok.Kill()
	for _, path := range o.apply {
		if _, said, err := plane.Kubectl(ctx, nil, "apply", "--server-side", "-f", path); err != nil {
			return fmt.Errorf("apply %s: %w: %s", path, err, said)
		}
	}
	karpenter, err := startKarpenter(ctx, o, plane, types, logs)
	if err != nil {
		return err
	}
	defer karpenter.Kill()
	if err := json.NewEncoder(os.Stdout).Encode(place{
		Kubeconfig: plane.KubeconfigPath(), Kubectl: assets.Kubectl, Cluster: cluster, APIServer: plane.Endpoint(), Logs: logs, Audit: plane.AuditLogPath(), Types: types,
	}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-karpenter.Done():
		return fmt.Errorf("run Karpenter: it ended: %w; its log is %s", karpenter.Err(), filepath.Join(logs, "karpenter.log"))
	case <-kwok.Done():
		return fmt.Errorf("run kwok: it ended: %w; its log is %s", kwok.Err(), filepath.Join(nodes, "kwok.log"))
	}
}

// startKarpenter runs the controller with the settings that its chart has where nobody says otherwise, as a user of its own, and returns when it
// is ready. It elects no leader: who measures it looks for a lease that says which pod it is, and it is in none.
func startKarpenter(ctx context.Context, o options, plane *kube.ControlPlane, types, logs string) (*child.Process, error) {
	user, err := plane.User("karpenter", "system:masters")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := kube.Kubeconfig(user)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(o.dir, "karpenter.kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return nil, err
	}
	ports, err := kube.FreePorts(2)
	if err != nil {
		return nil, err
	}
	metrics, health := ports[0], ports[1]
	log := filepath.Join(logs, "karpenter.log")
	process, err := child.Start(child.Spec{Name: "karpenter", Path: o.karpenter, LogPath: log, Env: append(os.Environ(),
		"KUBECONFIG="+path, "SYSTEM_NAMESPACE=kube-system", "DISABLE_LEADER_ELECTION=true", "INSTANCE_TYPES_FILE_PATH="+types,
		fmt.Sprintf("METRICS_PORT=%d", metrics), fmt.Sprintf("HEALTH_PROBE_PORT=%d", health))})
	if err != nil {
		return nil, err
	}
	if err := kube.AwaitHealth(ctx, process, http.DefaultClient, fmt.Sprintf("http://127.0.0.1:%d/readyz", health), ""); err != nil {
		process.Kill()
		return nil, fmt.Errorf("run Karpenter: %w; its log is %s", err, log)
	}
	return process, nil
}
