package eks

import (
	"cmp"
	"net/http"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// Addon is one that EKS runs in a cluster.
type Addon struct {
	Cluster, Name string
	Version       string
	Status        string // "" means ACTIVE
}

// AddAddon installs an add-on, replacing one of the same name.
func (m *Model) AddAddon(a Addon) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.cluster(a.Cluster)
	if err != nil {
		return err
	}
	c.addons[a.Name] = a
	return nil
}

// RemoveAddon takes an add-on away; where there is none nothing happens.
func (m *Model) RemoveAddon(clusterName, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.clusters[clusterName]; c != nil {
		delete(c.addons, name)
	}
}

type addonView struct {
	Name    string `json:"addonName"`
	Cluster string `json:"clusterName"`
	Status  string `json:"status"`
	Version string `json:"addonVersion"`
}

func (m *Model) describeAddon(r *http.Request) (any, error) {
	c, err := m.cluster(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	a, there := c.addons[r.PathValue("addon")]
	if !there {
		return nil, wire.StatusErrorf(http.StatusNotFound, "ResourceNotFoundException", "No addon: %s found in cluster: %s", r.PathValue("addon"), c.Name)
	}
	return map[string]addonView{"addon": {a.Name, c.Name, cmp.Or(a.Status, "ACTIVE"), a.Version}}, nil
}

// publicCIDRs are the addresses that may use a cluster's public endpoint.
func publicCIDRs(c *cluster) []string {
	switch {
	case c.NoPublicAccess:
		return []string{}
	case len(c.PublicAccessCIDRs) == 0:
		return []string{"0.0.0.0/0"}
	}
	return c.PublicAccessCIDRs
}
