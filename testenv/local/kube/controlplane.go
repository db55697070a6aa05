package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/testenv/local/kube/child"
)

// ControlPlane is a running control plane. Its methods may be called from any
// goroutine.
type ControlPlane struct {
	layout    layout
	assets    Assets
	ca        *authority
	admin     *rest.Config
	processes []*child.Process
	ownsDir   bool
	stopOnce  sync.Once
}

// Start starts a control plane and returns when it can be used: kube-apiserver,
// scheduler and controller manager say they are ready, the default service
// account exists, and so does the kube-dns Service every EKS cluster has. ctx
// bounds the start only. On an error nothing is left running; the error
// carries the end of the log of the part that gave up.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	assets, err := completeAssets(ctx, o)
	if err != nil {
		return nil, err
	}
	o.Assets = assets
	dir, ownsDir, err := makeDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("make folder of the control plane: %w", err)
	}

	// A port can be taken between its choice and its use.
	const tries = 3
	for i := 1; ; i++ {
		c := &ControlPlane{assets: assets, ownsDir: ownsDir}
		err := c.start(ctx, dir, o)
		if err == nil {
			return c, nil
		}
		c.killAll()
		if i < tries && ctx.Err() == nil && strings.Contains(err.Error(), "address already in use") {
			continue
		}
		c.removeFiles(dir)
		return nil, fmt.Errorf("start control plane: %w", err)
	}
}

func completeAssets(ctx context.Context, o Options) (Assets, error) {
	a := o.Assets
	if !slices.Contains([]string{a.Etcd, a.APIServer, a.Scheduler, a.ControllerManager}, "") {
		return a, nil
	}
	found, err := Binaries(ctx, o.Progress)
	if err != nil {
		return Assets{}, err
	}
	wanted, err := programs()
	if err != nil {
		return Assets{}, err
	}
	for _, p := range wanted {
		if *p.path(&a) == "" {
			*p.path(&a) = *p.path(&found)
		}
	}
	return a, nil
}

func makeDir(given string) (dir string, owned bool, err error) {
	if given != "" {
		return given, false, os.MkdirAll(given, 0o755)
	}
	dir, err = os.MkdirTemp("", "joiner-kube-")
	return dir, true, err
}

func (c *ControlPlane) start(ctx context.Context, dir string, o Options) error {
	var err error
	if c.layout, err = newLayout(dir); err != nil {
		return err
	}
	if err := c.clean(); err != nil { // what an earlier try or run left
		return err
	}
	if err := c.writeConfiguration(o); err != nil {
		return fmt.Errorf("write keys and configuration: %w", err)
	}

	// 1. The store and the server. The server waits for its store by itself.
	etcd, err := c.run(c.layout.etcd(c.assets.Etcd))
	if err != nil {
		return err
	}
	if err := c.awaitEtcd(ctx, etcd); err != nil {
		return err
	}
	apiServer, err := c.run(c.layout.apiServer(c.assets.APIServer, o))
	if err != nil {
		return err
	}
	if err := c.awaitReady(ctx, apiServer, c.layout.apiServerPort); err != nil {
		return err
	}

	// 2. What works on its objects.
	manager, err := c.run(c.layout.controllerManager(c.assets.ControllerManager, o))
	if err != nil {
		return err
	}
	scheduler, err := c.run(c.layout.scheduler(c.assets.Scheduler, o))
	if err != nil {
		return err
	}
	if err := c.awaitReady(ctx, manager, c.layout.controllerManagerPort); err != nil {
		return err
	}
	if err := c.awaitReady(ctx, scheduler, c.layout.schedulerPort); err != nil {
		return err
	}
	if err := c.bootstrap(ctx); err != nil || !o.Kubeadm {
		return err
	}
	return letJoin(ctx, c)
}

func (c *ControlPlane) run(spec child.Spec) (*child.Process, error) {
	p, err := child.Start(spec)
	if err == nil {
		c.processes = append(c.processes, p)
	}
	return p, err
}

// Stop ends every process and removes keys and data, and the logs too where
// the folder was ours. It may be called more than once.
func (c *ControlPlane) Stop() {
	c.stopOnce.Do(func() {
		c.killAll()
		c.removeFiles(c.layout.dir)
	})
}

func (c *ControlPlane) killAll() {
	for _, p := range slices.Backward(c.processes) {
		p.Kill()
	}
	c.processes = nil
}

func (c *ControlPlane) removeFiles(dir string) {
	if c.ownsDir {
		_ = os.RemoveAll(dir)
		return
	}
	_ = c.clean()
}

// clean removes keys and data.
func (c *ControlPlane) clean() error {
	if c.layout.dir == "" {
		return nil
	}
	return errors.Join(os.RemoveAll(c.layout.pki), os.RemoveAll(c.layout.etcdData()), os.RemoveAll(c.layout.adminConfig()))
}

// Config returns a new client configuration of the administrator, a member of
// system:masters. It is not throttled.
func (c *ControlPlane) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// KubeconfigPath returns the path of the administrator's kubeconfig. The file
// exists until Stop.
func (c *ControlPlane) KubeconfigPath() string { return c.layout.adminConfig() }

// Endpoint returns the URL of kube-apiserver, https://127.0.0.1:port.
func (c *ControlPlane) Endpoint() string { return c.layout.apiServerURL() }

// CertificateAuthority returns the PEM certificate that signed the server's
// and every client's.
func (c *ControlPlane) CertificateAuthority() []byte { return slices.Clone(c.ca.pem) }

// ServiceCIDR returns the range Service addresses come from.
func (c *ControlPlane) ServiceCIDR() string { return serviceCIDR }

// Assets returns the programs in use.
func (c *ControlPlane) Assets() Assets { return c.assets }

// LogDir returns the folder of the logs: one file for each process, named
// after it with the ending .log.
func (c *ControlPlane) LogDir() string { return c.layout.logs }

// AuditLogPath returns the file that audit events are written to. It exists
// where Options had an AuditPolicy.
func (c *ControlPlane) AuditLogPath() string { return c.layout.auditLog() }

// Processes returns the running processes in the order they were started.
func (c *ControlPlane) Processes() []*child.Process { return slices.Clone(c.processes) }
