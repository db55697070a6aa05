package sts

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Webhook is a TokenReviewHandler served over HTTPS on loopback.
type Webhook struct {
	URL   string
	CAPEM []byte // what a client must trust
	srv   *http.Server
}

// ServeWebhook serves handler on a free loopback port with a certificate of
// its own authority, until ctx is done or Close is called.
func ServeWebhook(ctx context.Context, handler http.Handler) (*Webhook, error) {
	cert, caPEM, err := newCertificate()
	if err != nil {
		return nil, fmt.Errorf("make webhook certificate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for token reviews: %w", err)
	}
	w := &Webhook{
		URL:   fmt.Sprintf("https://%s/authenticate", listener.Addr()),
		CAPEM: caPEM,
		srv:   &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
	}
	tlsListener := tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	go w.srv.Serve(tlsListener) // returns when closed
	context.AfterFunc(ctx, func() { w.srv.Close() })
	return w, nil
}

// Close stops serving.
func (w *Webhook) Close() error { return w.srv.Close() }

// Kubeconfig returns the file kube-apiserver takes for
// --authentication-token-webhook-config-file.
func (w *Webhook) Kubeconfig() ([]byte, error) {
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			"aws-iam-authenticator": {Server: w.URL, CertificateAuthorityData: w.CAPEM},
		},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"apiserver": {}},
		Contexts:       map[string]*clientcmdapi.Context{"webhook": {Cluster: "aws-iam-authenticator", AuthInfo: "apiserver"}},
		CurrentContext: "webhook",
	})
}

// newCertificate returns a server certificate for loopback and the PEM of the
// authority that signed it.
func newCertificate() (tls.Certificate, []byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	// Certificates are checked against the machine's clock, not the model's.
	notBefore, notAfter := time.Now().Add(-time.Hour), time.Now().Add(365*24*time.Hour)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "token-webhook-ca"},
		NotBefore: notBefore, NotAfter: notAfter,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "token-webhook"},
		NotBefore: notBefore, NotAfter: notAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), nil
}
