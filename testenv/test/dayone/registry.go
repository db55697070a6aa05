package dayone

import (
	"bufio"
	"context"
	"fmt"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ecr"
)

// serveRegistry has the model of ECR serve its registry, before one that keeps what is pushed: tools/registry, a process of its own, since
// its libraries are none of this module's.
func serveRegistry(ctx context.Context, m *ecr.Model) (stop func(), err error) {
	program := filepath.Join(Root(), ".cache", "registry")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./registry")
	build.Dir = filepath.Join(Root(), "tools")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the registry: %w: %s", err, text)
	}
	process := exec.Command(program)
	process.Stderr = os.Stderr
	alive, err := process.StdinPipe() // it ends when this is closed
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	ended := func() { alive.Close(); process.Wait() }
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		ended()
		return nil, fmt.Errorf("start the registry: %w", err)
	}
	behind, err := url.Parse("http://" + strings.TrimSpace(address))
	if err != nil {
		ended()
		return nil, err
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind)
		r.Out.Host = r.In.Host // uploads go on at the address they began at
	}}
	closed, err := m.ServeRegistry("127.0.0.1:0", proxy)
	if err != nil {
		ended()
		return nil, err
	}
	return func() { closed(); ended() }, nil
}
