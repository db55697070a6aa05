package kube

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/testenv/local/kube/child"
)

// layout is where the parts of one control plane listen and keep their files.
type layout struct {
	dir, pki, logs string

	etcdPort, etcdPeerPort, apiServerPort, schedulerPort, controllerManagerPort int
}

func newLayout(dir string) (layout, error) {
	ports, err := FreePorts(5)
	if err != nil {
		return layout{}, err
	}
	return layout{
		dir: dir, pki: filepath.Join(dir, "pki"), logs: filepath.Join(dir, "logs"),
		etcdPort: ports[0], etcdPeerPort: ports[1], apiServerPort: ports[2],
		schedulerPort: ports[3], controllerManagerPort: ports[4],
	}, nil
}

func (l layout) key(name string) string   { return filepath.Join(l.pki, name) }
func (l layout) etcdData() string         { return filepath.Join(l.dir, "etcd") }
func (l layout) adminConfig() string      { return filepath.Join(l.dir, "kubeconfig") }
func (l layout) auditLog() string         { return filepath.Join(l.logs, "audit.log") }
func (l layout) etcdURL() string          { return fmt.Sprintf("http://%s:%d", loopback, l.etcdPort) }
func (l layout) apiServerURL() string     { return fmt.Sprintf("https://%s:%d", loopback, l.apiServerPort) }
func (l layout) logOf(name string) string { return filepath.Join(l.logs, name+".log") }

func (l layout) spec(name, path string, args []string) child.Spec {
	return child.Spec{Name: name, Path: path, Args: args, LogPath: l.logOf(name)}
}

// etcd keeps nothing that must outlive this process, so it never waits for the
// disk. A lone member waits out an election timeout before it elects itself,
// hence the short one.
func (l layout) etcd(path string) child.Spec {
	peer := fmt.Sprintf("http://%s:%d", loopback, l.etcdPeerPort)
	return l.spec("etcd", path, []string{
		"--name=default",
		"--data-dir=" + l.etcdData(),
		"--unsafe-no-fsync",
		"--heartbeat-interval=10", "--election-timeout=100",
		"--listen-client-urls=" + l.etcdURL(),
		"--advertise-client-urls=" + l.etcdURL(),
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--log-level=warn",
	})
}

func (l layout) apiServer(path string, o Options) child.Spec {
	args := []string{
		"--etcd-servers=" + l.etcdURL(),
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		// Loopback is no address an Endpoints object may hold.
		"--endpoint-reconciler-type=none",
		"--secure-port=" + strconv.Itoa(l.apiServerPort),
		"--tls-cert-file=" + l.key("apiserver.crt"),
		"--tls-private-key-file=" + l.key("apiserver.key"),
		"--client-ca-file=" + l.key("ca.crt"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--service-account-issuer=" + cmp.Or(o.Issuer, "https://kubernetes.default.svc"),
		"--service-account-key-file=" + l.key("sa.pub"),
		"--service-account-signing-key-file=" + l.key("sa.key"),
		"--service-cluster-ip-range=" + serviceCIDR,
		"--allow-privileged=true",
		"--profiling=false",
	}
	if len(o.TokenWebhookConfig) > 0 {
		args = append(args,
			"--authentication-token-webhook-config-file="+l.key("token-webhook.kubeconfig"),
			"--authentication-token-webhook-version=v1")
	}
	if len(o.AuditPolicy) > 0 {
		args = append(args,
			"--audit-policy-file="+l.key("audit-policy.yaml"),
			"--audit-log-path="+l.auditLog())
	}
	if o.Kubeadm {
		args = append(args, kubeadmServer...)
	}
	spec := l.spec("kube-apiserver", path, append(args, o.APIServerArgs...))
	// Memory for time: with hundreds of nodes a fifth of its time went into collecting garbage, and all others share its CPUs.
	spec.Env = append(os.Environ(), "GOGC=300")
	return spec
}

func (l layout) scheduler(path string, o Options) child.Spec {
	kubeconfig := l.key("scheduler.kubeconfig")
	args := append(l.serving("scheduler", kubeconfig, l.schedulerPort),
		"--config="+l.key("scheduler.yaml"))
	return l.spec("kube-scheduler", path, append(args, o.SchedulerArgs...))
}

func (l layout) controllerManager(path string, o Options) child.Spec {
	kubeconfig := l.key("controller-manager.kubeconfig")
	args := append(l.serving("controller-manager", kubeconfig, l.controllerManagerPort),
		"--kubeconfig="+kubeconfig,
		"--leader-elect=false",
		"--service-account-private-key-file="+l.key("sa.key"),
		"--root-ca-file="+l.key("ca.crt"),
		"--cluster-signing-cert-file="+l.key("ca.crt"),
		"--cluster-signing-key-file="+l.key("ca.key"),
		"--use-service-account-credentials=true",
		"--allocate-node-cidrs=false",
		// Far above the default of 20, with which a Deployment of 200 pods
		// takes ten seconds to make them.
		"--kube-api-qps=300", "--kube-api-burst=500",
		"--profiling=false",
	)
	if o.Kubeadm {
		args = append(args, kubeadmController...)
	}
	return l.spec("kube-controller-manager", path, append(args, o.ControllerManagerArgs...))
}

// serving are the flags of a component that answers /healthz and /metrics.
func (l layout) serving(name, kubeconfig string, port int) []string {
	return []string{
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + l.key(name+".crt"),
		"--tls-private-key-file=" + l.key(name+".key"),
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
	}
}

// schedulerConfiguration completes what the caller gave, if anything.
func (l layout) schedulerConfiguration(given []byte) ([]byte, error) {
	config := map[string]any{}
	if err := yaml.UnmarshalStrict(given, &config); err != nil {
		return nil, fmt.Errorf("read scheduler configuration: %w", err)
	}
	if config == nil {
		config = map[string]any{}
	}
	if _, ok := config["apiVersion"]; !ok {
		config["apiVersion"] = "kubescheduler.config.k8s.io/v1"
		config["kind"] = "KubeSchedulerConfiguration"
	}
	config["clientConnection"] = map[string]any{"kubeconfig": l.key("scheduler.kubeconfig"), "qps": 500, "burst": 1000}
	config["leaderElection"] = map[string]any{"leaderElect": false}
	return yaml.Marshal(config)
}
