package model

// ControlPlane is an EKS cluster as EKS describes it.
type ControlPlane struct {
	Name          string            `json:"name"`
	ARN           string            `json:"arn"`
	Status        string            `json:"status"`  // ACTIVE, UPDATING, CREATING, …
	Version       string            `json:"version"` // Kubernetes minor, "1.36"
	Endpoint      string            `json:"endpoint"`
	CA            []byte            `json:"ca,omitempty"` // PEM
	ServiceCIDR   string            `json:"serviceCIDR"`  // of the cluster's own family
	AuthMode      string            `json:"authMode"`     // API, API_AND_CONFIG_MAP, CONFIG_MAP; empty = not said
	PublicAccess  bool              `json:"publicAccess"` // its endpoint answers on the internet
	PrivateAccess bool              `json:"privateAccess"`
	PublicCIDRs   []string          `json:"publicCIDRs,omitempty"` // that may reach the public endpoint
	VPC           string            `json:"vpc,omitempty"`
	Tags          map[string]string `json:"tags,omitempty"`
}

// AuthModeConfigMap is how EKS lets principals into a cluster that has no access entries.
const AuthModeConfigMap = "CONFIG_MAP" // by the aws-auth ConfigMap alone: there are no access entries
