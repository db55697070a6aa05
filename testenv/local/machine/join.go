package machine

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/certificate/csr"
)

// discoveryTimeout is kubeadm's.
const discoveryTimeout = 5 * time.Minute

// joined is what `kubeadm join` leaves behind: the cluster, the kubelet's certificate and what all kubelets have in
// common.
type joined struct {
	config  *rest.Config
	kubelet []byte // YAML
}

// join does what `kubeadm join` does: it finds the cluster by the token, pins its authority, and has the kubelet's
// certificate issued. Source: kubeadm, `cmd/kubeadm/app/discovery/token` and `phases/join`.
func (j *joinConfiguration) join(ctx context.Context, node string) (*joined, error) {
	t := j.Discovery.BootstrapToken
	var authority []byte
	if err := untilFound(ctx, func(ctx context.Context) (err error) {
		authority, err = t.discover(ctx)
		return err
	}); err != nil {
		return nil, fmt.Errorf("couldn't validate the identity of the API Server: %w", err)
	}
	config := &rest.Config{
		Host: "https://" + t.APIServerEndpoint, TLSClientConfig: rest.TLSClientConfig{CAData: authority},
		BearerToken: t.Token, Timeout: requestTimeout, QPS: -1,
	}
	if j.Discovery.TLSBootstrapToken != "" {
		config.BearerToken = j.Discovery.TLSBootstrapToken
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	common, err := client.CoreV1().ConfigMaps("kube-system").Get(ctx, "kubelet-config", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to get config map: %w", err)
	}
	switch there, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); {
	case err == nil && slices.ContainsFunc(there.Status.Conditions, isReadyCondition):
		return nil, fmt.Errorf("a Node with name %q and status %q already exists in the cluster", node,
			corev1.NodeReady)
	case err != nil && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cannot get Node %q: %w", node, err)
	}
	certificate, key, err := kubeletCertificate(ctx, client, node)
	if err != nil {
		return nil, fmt.Errorf("TLS bootstrap: %w", err)
	}
	config = rest.CopyConfig(config)
	config.BearerToken, config.Timeout = "", 0
	config.CertData, config.KeyData = certificate, key
	return &joined{config: config, kubelet: []byte(common.Data["kubelet"])}, nil
}

func isReadyCondition(c corev1.NodeCondition) bool {
	return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
}

// untilFound asks again, as the API server may be away or may not have signed for the token yet.
func untilFound(ctx context.Context, find func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	for {
		err := find(ctx)
		if err == nil || errors.Is(err, errOtherAuthority) || !sleep(ctx, time.Second) {
			return err
		}
	}
}

// errOtherAuthority ends a discovery: it would find the same again.
var errOtherAuthority = errors.New(
	"cluster CA found in cluster-info ConfigMap is invalid: none of the public keys is pinned")

// discover asks the API server, whoever it is, for the cluster's authority, and believes it where the token signed
// for it and its key is pinned.
func (t *bootstrapToken) discover(ctx context.Context) ([]byte, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: "https://" + t.APIServerEndpoint, Timeout: requestTimeout,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	})
	if err != nil {
		return nil, err
	}
	info, err := client.CoreV1().ConfigMaps("kube-public").Get(ctx, "cluster-info", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	text := info.Data["kubeconfig"]
	id, secret, _ := strings.Cut(t.Token, ".")
	if !signedBy(info.Data["jws-kubeconfig-"+id], text, secret) {
		return nil, fmt.Errorf(
			"there is no JWS signature of token %q in the cluster-info ConfigMap, or it is of another secret", id)
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, err
	}
	for _, cluster := range config.Clusters {
		if t.UnsafeSkipCAVerification || t.pins(cluster.CertificateAuthorityData) {
			return cluster.CertificateAuthorityData, nil
		}
	}
	return nil, errOtherAuthority
}

// signedBy verifies a detached JWS by a secret.
func signedBy(jws, content, secret string) bool {
	parts := strings.Split(jws, ".")
	if len(parts) != 3 || parts[1] != "" {
		return false
	}
	code := hmac.New(sha256.New, []byte(secret))
	code.Write([]byte(parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(content))))
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	return err == nil && hmac.Equal(signature, code.Sum(nil))
}

// pins reports whether the public key of a certificate is one that the configuration names.
func (t *bootstrapToken) pins(authority []byte) bool {
	block, _ := pem.Decode(authority)
	if block == nil {
		return false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return false
	}
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return slices.Contains(t.CACertHashes, "sha256:"+hex.EncodeToString(sum[:]))
}

// kubeletCertificate asks for a kubelet's certificate, which kube-controller-manager approves and signs.
func kubeletCertificate(
	ctx context.Context, client kubernetes.Interface, node string,
) (certificate, key []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}},
	}, private)
	if err != nil {
		return nil, nil, err
	}
	asked := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	name, uid, err := csr.RequestCertificateWithContext(ctx, client, asked, "",
		certificatesv1.KubeAPIServerClientKubeletSignerName, nil, usages, private)
	if err != nil {
		return nil, nil, err
	}
	certificate, err = csr.WaitForCertificate(ctx, client, name, uid)
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}
