package helm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/sources"
)

// Name is what the release is called.
const Name = "joiner"

// Release is the chart in a cluster, or on its way there.
type Release struct {
	Helm       string // path of the program
	Kubeconfig string // path of an administrator's; not needed to render or lint
	Namespace  string // "joiner" where it is empty
	Chart      string // folder; empty = the project's own
}

// ChartDir is the folder of the project's chart. It panics where the project cannot be found.
func ChartDir() string { return filepath.Join(sources.MustRepository(), "infra", "chart") }

// Install installs the chart, or upgrades what is installed, with the values and nothing kept of earlier ones. It does not wait for
// pods. The error carries what Helm said.
func (r Release) Install(ctx context.Context, values map[string]any, flags ...string) error {
	args := []string{"upgrade", "--install", "--create-namespace", "--reset-values", Name, r.chart()}
	_, err := r.run(ctx, values, append(args, flags...)...)
	return err
}

// Uninstall removes what the release made, but for what says it stays.
func (r Release) Uninstall(ctx context.Context) error {
	_, err := r.run(ctx, nil, "uninstall", Name)
	return err
}

// Template returns what would be applied, rendered without asking any cluster.
func (r Release) Template(ctx context.Context, values map[string]any, flags ...string) ([]byte, error) {
	return r.run(ctx, values, append([]string{"template", Name, r.chart()}, flags...)...)
}

// Lint returns an error where the chart has a fault that Helm can see.
func (r Release) Lint(ctx context.Context, values map[string]any) error {
	_, err := r.run(ctx, values, "lint", "--strict", r.chart())
	return err
}

func (r Release) chart() string {
	if r.Chart != "" {
		return r.Chart
	}
	return ChartDir()
}

// run runs a command of Helm's with values, nil for none, and returns what it wrote to its standard output.
func (r Release) run(ctx context.Context, values map[string]any, args ...string) ([]byte, error) {
	home, err := os.MkdirTemp("", "joiner-helm-") // what people have told their own Helm is none of ours
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	namespace := r.Namespace
	if namespace == "" {
		namespace = "joiner"
	}
	args = append(args, "--namespace", namespace)
	if values != nil {
		text, err := json.Marshal(values) // JSON is YAML
		if err != nil {
			return nil, fmt.Errorf("write values: %w", err)
		}
		path := filepath.Join(home, "values.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--values", path)
	}
	command := exec.CommandContext(ctx, r.Helm, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+r.Kubeconfig, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home,
		"HELM_DRIVER=secret", "HELM_BURST_LIMIT=1000", "HELM_QPS=500")
	var out, reported bytes.Buffer
	command.Stdout, command.Stderr = &out, &reported
	if err := command.Run(); err != nil {
		said := strings.TrimSpace(reported.String() + "\n" + out.String())
		if args[0] != "lint" {
			said = strings.TrimSpace(reported.String())
		}
		return nil, fmt.Errorf("helm %s: %w: %s", args[0], err, said)
	}
	return out.Bytes(), nil
}
