package stack

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// admission stands for the Service in front of the watchers' /admit: the API server can reach no Service here, so it is
// told an address of this computer, where connections go on to a watcher that lives.
type admission struct {
	listener net.Listener
	folder   string // of tls.crt and tls.key, which every watcher serves with
	ca       []byte // PEM; who signed that

	mutex    sync.Mutex
	watchers []answering // in the order of their start
}

// answering is a watcher that may answer.
type answering struct {
	log   string       // path; it says there at what address it answers
	ended func() error // nil while it runs
}

// newAdmission listens until close. Without a watcher connections are ended at once, which the registration's failure
// policy ignores.
func newAdmission(folder string) (*admission, error) {
	a := &admission{folder: folder}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	if err := a.sign(); err != nil {
		return nil, fmt.Errorf("make the certificate of the admission webhook: %w", err)
	}
	var err error
	if a.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("listen for admission reviews: %w", err)
	}
	go a.serve()
	return a, nil
}

// url is where the API server sends reviews.
func (a *admission) url() string { return "https://" + a.listener.Addr().String() + "/admit" }

func (a *admission) close() { a.listener.Close() }

// environment is what a watcher needs to answer.
func (a *admission) environment() []string { return []string{"JOINER_WEBHOOK_CERT_DIR=" + a.folder} }

// add has a watcher answer, too.
func (a *admission) add(w answering) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.watchers = append(a.watchers, w)
}

func (a *admission) serve() {
	for {
		in, err := a.listener.Accept()
		if err != nil {
			return // closed
		}
		go a.forward(in)
	}
}

// forward joins a connection with the first watcher that takes one.
func (a *admission) forward(in net.Conn) {
	defer in.Close()
	a.mutex.Lock()
	watchers := slices.Clone(a.watchers)
	a.mutex.Unlock()
	for _, w := range watchers {
		address := admitAddress(w.log)
		if address == "" || w.ended() != nil {
			continue
		}
		out, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			continue
		}
		defer out.Close()
		go func() {
			_, _ = io.Copy(out, in)
			out.Close()
		}()
		_, _ = io.Copy(in, out)
		return
	}
}

// admitAddress is where a watcher says in its log that it answers reviews; "" = it does not say so yet.
func admitAddress(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving admission" {
			return line.Address
		}
	}
	return ""
}

// sign writes a certificate for addresses of this computer.
func (a *admission) sign() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	of := &x509.Certificate{ // it is its own authority
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "joiner-webhook"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(10 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	a.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(filepath.Join(a.folder, "tls.crt"), a.ca, 0o600); err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	return os.WriteFile(filepath.Join(a.folder, "tls.key"), text, 0o600)
}
