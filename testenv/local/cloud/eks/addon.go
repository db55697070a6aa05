package eks

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
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

// createAddon installs an add-on in the version that EKS would choose, which is there at once.
func (m *Model) createAddon(r *http.Request) (any, error) {
	c, err := m.cluster(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	var in struct {
		Name    string `json:"addonName"`
		Version string `json:"addonVersion"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, wire.Errorf("InvalidRequestException", "request document: %v", err)
	}
	if in.Name == "" {
		return nil, wire.Errorf("InvalidParameterException", "The addonName parameter must be set")
	}
	if _, there := c.addons[in.Name]; there {
		return nil, wire.StatusErrorf(http.StatusConflict, "ResourceInUseException", "Addon already exists.")
	}
	a := Addon{Cluster: c.Name, Name: in.Name, Version: cmp.Or(in.Version, "v1.3.9-eksbuild.3")}
	c.addons[in.Name] = a
	return map[string]addonView{"addon": {a.Name, c.Name, "CREATING", a.Version}}, nil
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
