package kube

import "io"

// Options say how a control plane differs from the default one. The zero value
// is a control plane in a temporary folder.
type Options struct {
	// Assets are the programs to run. Those that are "" come from Binaries.
	Assets Assets
	// Progress takes what Binaries reports; nil discards it.
	Progress io.Writer
	// Dir takes keys, data and logs; it is made if absent. Stop removes the
	// keys and data and leaves the logs. Empty means a temporary folder, which
	// Stop removes whole.
	Dir string

	// TokenWebhookConfig is a kubeconfig file's content: where kube-apiserver
	// sends bearer tokens it does not know for a TokenReview
	// (authentication.k8s.io/v1). Empty means no webhook.
	TokenWebhookConfig []byte
	// AuditPolicy is an audit.k8s.io/v1 Policy. With it, kube-apiserver writes
	// one JSON event a line to AuditLogPath of the control plane.
	AuditPolicy []byte

	// Issuer is the URL in service account tokens, which IAM may know as an OIDC
	// provider; "" = https://kubernetes.default.svc.
	Issuer string
	// Kubeadm has nodes join by bootstrap tokens, as in clusters that kubeadm
	// made: see BootstrapToken.
	Kubeadm bool

	// SchedulerConfig is a kubescheduler.config.k8s.io/v1
	// KubeSchedulerConfiguration. Its client connection and leader election
	// are overwritten. Empty means the default profile.
	SchedulerConfig []byte

	// APIServerArgs, SchedulerArgs and ControllerManagerArgs are flags put
	// after ours; of a flag given twice the last one counts.
	APIServerArgs         []string
	SchedulerArgs         []string
	ControllerManagerArgs []string
}

const (
	loopback    = "127.0.0.1"
	serviceCIDR = "10.96.0.0/12"
	// kubernetesServiceIP and dnsServiceIP are the first and the tenth address
	// of serviceCIDR, as EKS assigns them.
	kubernetesServiceIP = "10.96.0.1"
	dnsServiceIP        = "10.96.0.10"
)
