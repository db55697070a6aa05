package eks

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// PodIdentity gives the pods of a service account a role.
type PodIdentity struct {
	Cluster, Namespace, ServiceAccount, RoleARN string

	id, arn string
}

// AddPodIdentity makes an association, replacing one of the same service account.
func (m *Model) AddPodIdentity(p PodIdentity) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.cluster(p.Cluster)
	if err != nil {
		return err
	}
	c.identities = slices.DeleteFunc(c.identities, func(o PodIdentity) bool { return o.Namespace == p.Namespace && o.ServiceAccount == p.ServiceAccount })
	p.id = fmt.Sprintf("a-%017d", len(c.identities)+1)
	p.arn = fmt.Sprintf("arn:aws:eks:%s:%s:podidentityassociation/%s/%s", m.region, m.account, p.Cluster, p.id)
	c.identities = append(c.identities, p)
	slices.SortFunc(c.identities, func(a, b PodIdentity) int {
		return strings.Compare(a.Namespace+"/"+a.ServiceAccount, b.Namespace+"/"+b.ServiceAccount)
	})
	return nil
}

// HasPodIdentity reports whether a service account of a cluster has a role.
func (m *Model) HasPodIdentity(clusterName, namespace, serviceAccount string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.clusters[clusterName]
	return c != nil && slices.ContainsFunc(c.identities, func(p PodIdentity) bool { return p.Namespace == namespace && p.ServiceAccount == serviceAccount })
}

// RemovePodIdentity deletes an association; where there is none, nothing happens.
func (m *Model) RemovePodIdentity(clusterName, namespace, serviceAccount string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.clusters[clusterName]; c != nil {
		c.identities = slices.DeleteFunc(c.identities, func(p PodIdentity) bool { return p.Namespace == namespace && p.ServiceAccount == serviceAccount })
	}
}

type podIdentityView struct {
	ClusterName    string `json:"clusterName"`
	Namespace      string `json:"namespace"`
	ServiceAccount string `json:"serviceAccount"`
	ID             string `json:"associationId"`
	ARN            string `json:"associationArn"`
}

// listPodIdentities answers in one page: there are few.
func (m *Model) listPodIdentities(r *http.Request) (any, error) {
	c, err := m.cluster(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	namespace, account := r.URL.Query().Get("namespace"), r.URL.Query().Get("serviceAccount")
	out := []podIdentityView{}
	for _, p := range c.identities {
		if (namespace == "" || namespace == p.Namespace) && (account == "" || account == p.ServiceAccount) {
			out = append(out, podIdentityView{p.Cluster, p.Namespace, p.ServiceAccount, p.id, p.arn})
		}
	}
	return map[string]any{"associations": out}, nil
}
