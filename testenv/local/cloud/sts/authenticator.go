package sts

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// Authenticator is the configuration of aws-iam-authenticator's server, which takes the place of access entries where
// EKS does not run the cluster.
type Authenticator struct {
	ClusterID string `json:"clusterID"`
	Server    struct {
		MapRoles []RoleMapping `json:"mapRoles"`
	} `json:"server"`
}

// RoleMapping says who sessions of a role are in the cluster.
type RoleMapping struct {
	RoleARN  string   `json:"roleARN"`
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

// ReadAuthenticator reads the server's YAML. What it has beside clusterID and mapRoles is an error: it would be of no
// effect here.
func ReadAuthenticator(text []byte) (*Authenticator, error) {
	a := &Authenticator{}
	if err := yaml.UnmarshalStrict(text, a); err != nil {
		return nil, fmt.Errorf("read configuration of aws-iam-authenticator: %w", err)
	}
	if a.ClusterID == "" {
		return nil, fmt.Errorf("read configuration of aws-iam-authenticator: clusterID is required")
	}
	return a, nil
}

// Lookup implements AccessEntries.
func (a *Authenticator) Lookup(clusterName, principalARN string) (username string, groups []string, ok bool) {
	if clusterName != a.ClusterID {
		return "", nil, false
	}
	for _, m := range a.Server.MapRoles {
		if m.RoleARN == principalARN {
			return m.Username, m.Groups, true
		}
	}
	return "", nil, false
}
