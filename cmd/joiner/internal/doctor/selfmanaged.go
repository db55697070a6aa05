package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// ownPlane compares what the API server of a self-managed cluster says of itself with what was registered. It says its
// version to whoever asks, and EKS is not asked.
func (c *cluster) ownPlane(ctx context.Context) ([]check.Finding, error) {
	version, err := c.serverVersion(ctx)
	if err != nil {
		return check.One(check.Warn, "it is self-managed, and its version cannot be read from here: "+err.Error(),
			"run joiner doctor where the API server can be reached"), nil
	}
	if version != c.reg.Version {
		return check.One(check.Warn, fmt.Sprintf("it runs Kubernetes %s, and %s is registered, which selects images",
			version, c.reg.Version), "joiner attach "+c.reg.Cluster+" --kubernetes-version "+version+
			", or deploy its stack with -c kubernetes="+version), nil
	}
	return check.One(check.OK, "self-managed, Kubernetes "+version+", as registered", ""), nil
}

// serverVersion asks the API server for its minor version.
func (c *cluster) serverVersion(ctx context.Context) (string, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.reg.CA)
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	url := strings.TrimSuffix(c.reg.Endpoint, "/") + "/version"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var said struct{ Major, Minor string }
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers %s", response.Status)
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, response.Body, 1<<16)).Decode(&said); err != nil {
		return "", fmt.Errorf("its answer is not JSON: %w", err)
	}
	return said.Major + "." + strings.TrimSuffix(said.Minor, "+"), nil
}
