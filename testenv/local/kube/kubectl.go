package kube

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Kubectl runs kubectl as the administrator, with stdin as its input (nil for
// none), and returns what it printed: to standard output, and to standard
// error, where warnings are. The error carries the latter.
func (c *ControlPlane) Kubectl(ctx context.Context, stdin []byte, args ...string) (printed, reported string, err error) {
	command := exec.CommandContext(ctx, c.Assets().Kubectl, append([]string{"--kubeconfig", c.KubeconfigPath()}, args...)...)
	command.Env = append(os.Environ(), "KUBECTL_EXTERNAL_DIFF=diff -u")
	command.Stdin = bytes.NewReader(stdin)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		return out.String(), errs.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), errs.String(), nil
}
