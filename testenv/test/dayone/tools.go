package dayone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// awsCLI is the version of the AWS CLI, the one that conform knows.
const awsCLI = "1.45.11"

// Missing says which of the programs that are not ours to build are not on this machine; nil: none.
func Missing() error {
	var missing []string
	for _, name := range []string{"node", "npm", "npx", "python3", "bash", "make"} {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not on this machine: %s", strings.Join(missing, ", "))
	}
	return nil
}

// installed returns a folder of programs for the PATH: helm and kubectl as package kube builds them, the AWS CLI from PyPI, kept in the project's cache.
func installed(ctx context.Context, into string, assets kube.Assets) error {
	aws, err := installAWS(ctx)
	if err != nil {
		return err
	}
	for name, path := range map[string]string{"aws": aws, "helm": assets.Helm, "kubectl": assets.Kubectl} {
		if err := os.Symlink(path, filepath.Join(into, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// installAWS installs the AWS CLI unless it is there, and returns its path.
func installAWS(ctx context.Context) (string, error) {
	home := filepath.Join(Root(), ".cache", "awscli-"+awsCLI)
	aws := filepath.Join(home, "bin", "aws")
	if _, err := os.Stat(filepath.Join(home, "complete")); err == nil {
		return aws, nil
	}
	for _, step := range [][]string{
		{"python3", "-m", "venv", home},
		{filepath.Join(home, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "awscli==" + awsCLI},
	} {
		if text, err := exec.CommandContext(ctx, step[0], step[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("install the AWS CLI %s: %w: %s", awsCLI, err, bytes.TrimSpace(text))
		}
	}
	return aws, os.WriteFile(filepath.Join(home, "complete"), nil, 0o600)
}

// goSettings are where Go keeps what it has built, which a home of its own would hide.
func goSettings(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	values := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(values) < 4 {
		values = append(values, "")
	}
	return []string{"GOCACHE=" + values[0], "GOMODCACHE=" + values[1], "GOPATH=" + values[2], "GOFLAGS=" + values[3], "CGO_ENABLED=0"}, nil
}
