package kube

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// kubeadmServer are the flags of kube-apiserver and of kube-controller-manager by which nodes join with bootstrap
// tokens.
var (
	kubeadmServer     = []string{"--enable-bootstrap-token-auth=true"}
	kubeadmController = []string{"--controllers=*,bootstrapsigner,tokencleaner"}
)

// tokenLifetime is that of a bootstrap token; none is made twice.
const tokenLifetime = 24 * time.Hour

// BootstrapToken makes a token by which nodes join, as `kubeadm token create` does. The control plane has
// Options.Kubeadm.
func (c *ControlPlane) BootstrapToken(ctx context.Context) (string, error) {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return "", err
	}
	id, secret := randomText(6), randomText(16)
	_, err = client.CoreV1().Secrets("kube-system").Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": secret, "auth-extra-groups": joiners,
			"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true",
			"expiration": time.Now().Add(tokenLifetime).UTC().Format(time.RFC3339),
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create a bootstrap token: %w", err)
	}
	return id + "." + secret, nil
}

// randomText is of the characters of bootstrap tokens.
func randomText(n int) string {
	const characters = "abcdefghijklmnopqrstuvwxyz234567"
	out := make([]byte, n)
	rand.Read(out) // never fails
	for i := range out {
		out[i] = characters[int(out[i])%len(characters)]
	}
	return string(out)
}

// IssuerKeys returns the JWKS document of the keys that service account tokens are signed by: what somebody publishes
// whose issuer others trust.
func IssuerKeys(ctx context.Context, c *ControlPlane) ([]byte, error) {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, err
	}
	return client.RESTClient().Get().AbsPath("/openid/v1/jwks").DoRaw(ctx)
}

// letJoin makes what `kubeadm init` leaves behind for `kubeadm join`.
func letJoin(ctx context.Context, c *ControlPlane) error {
	info, err := Kubeconfig(&rest.Config{Host: c.Endpoint(), TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem}})
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	for _, m := range []corev1.ConfigMap{
		{
			ObjectMeta: metav1.ObjectMeta{Name: "cluster-info", Namespace: "kube-public"},
			Data:       map[string]string{"kubeconfig": string(info)},
		}, {
			ObjectMeta: metav1.ObjectMeta{Name: "kubelet-config", Namespace: "kube-system"},
			Data:       map[string]string{"kubelet": kubeletConfig},
		},
	} {
		if _, err := client.CoreV1().ConfigMaps(m.Namespace).Create(ctx, &m, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create ConfigMap %s: %w", m.Name, err)
		}
	}
	return c.Apply(ctx, []byte(joining))
}

// joiners is the group of those who bring a bootstrap token.
const joiners = "system:bootstrappers:kubeadm:default-node-token"

// kubeletConfig is what kubelets of the cluster have in common.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
clusterDNS: [` + dnsServiceIP + `]
clusterDomain: cluster.local
rotateCertificates: true
`

// joining lets whoever brings a bootstrap token read what it needs and ask for a kubelet's certificate, and strangers
// read where the cluster is. Names are kubeadm's.
const joining = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "kubeadm:bootstrap-signer-clusterinfo", namespace: kube-public}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [cluster-info], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "kubeadm:bootstrap-signer-clusterinfo", namespace: kube-public}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "kubeadm:bootstrap-signer-clusterinfo"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:anonymous"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "kubeadm:kubelet-config", namespace: kube-system}
rules: [{apiGroups: [""], resources: [configmaps], resourceNames: [kubelet-config], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: "kubeadm:kubelet-config", namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "kubeadm:kubelet-config"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "` + joiners + `"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "kubeadm:get-nodes"}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "kubeadm:get-nodes"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "kubeadm:get-nodes"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "` + joiners + `"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "kubeadm:kubelet-bootstrap"}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:node-bootstrapper"}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "` + joiners + `"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: "kubeadm:node-autoapprove-bootstrap"}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient"
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "` + joiners + `"}]
`
