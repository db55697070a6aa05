package kube

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// User returns a client configuration whose certificate says it is the user
// name, a member of groups (and of system:authenticated, as everybody with a
// certificate is). What that user may do is up to RBAC.
func (c *ControlPlane) User(name string, groups ...string) (*rest.Config, error) {
	pair, err := c.ca.client(name, groups)
	if err != nil {
		return nil, fmt.Errorf("issue certificate for user %s: %w", name, err)
	}
	return &rest.Config{
		Host: c.Endpoint(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.ca.pem,
			CertData: pair.cert,
			KeyData:  pair.key,
		},
		QPS: -1, // the server's own fairness is limit enough
	}, nil
}

// tokenLife is longer than any test: nobody renews the token of a process, as
// kubelets do those of pods.
const tokenLife = 24 * time.Hour

// ServiceAccount returns a client configuration with a token of a service
// account, which must exist.
func (c *ControlPlane) ServiceAccount(ctx context.Context, namespace, name string) (*rest.Config, error) {
	token, err := c.ServiceAccountToken(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            c.Endpoint(),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem},
		BearerToken:     token,
		QPS:             -1,
	}, nil
}

// ServiceAccountToken returns a token of a service account, which must exist,
// for audiences: the API server's where none is named.
func (c *ControlPlane) ServiceAccountToken(
	ctx context.Context, namespace, name string, audiences ...string,
) (string, error) {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return "", err
	}
	life := int64(tokenLife / time.Second)
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &life},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("get a token of service account %s/%s: %w", namespace, name, err)
	}
	return token.Status.Token, nil
}

// Kubeconfig writes a client configuration as a kubeconfig file's bytes, for
// programs that read one. The certificate and key are inside, and the user it
// acts as, if any.
func Kubeconfig(config *rest.Config) ([]byte, error) {
	const name = "joiner"
	out := clientcmdapi.NewConfig()
	out.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	out.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
		Impersonate:           config.Impersonate.UserName,
		ImpersonateGroups:     config.Impersonate.Groups,
	}
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	out.CurrentContext = name
	data, err := clientcmd.Write(*out)
	if err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return data, nil
}
