package machine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"sigs.k8s.io/yaml"
)

const nodeConfigAPIVersion = "node.eks.aws/v1alpha1"

// NodeConfig is the part of a node.eks.aws/v1alpha1 NodeConfig that decides
// whether and how an instance joins.
type NodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       NodeConfigSpec `json:"spec"`
}

// NodeConfigSpec is a NodeConfig's spec.
type NodeConfigSpec struct {
	Cluster      ClusterDetails  `json:"cluster"`
	Kubelet      KubeletOptions  `json:"kubelet"`
	Instance     InstanceOptions `json:"instance"`
	FeatureGates map[string]bool `json:"featureGates"`
}

// ClusterDetails name the cluster to join. All four must be there for nodeadm,
// all but the CIDR for others.
type ClusterDetails struct {
	Name                 string `json:"name"`
	APIServerEndpoint    string `json:"apiServerEndpoint"`
	CertificateAuthority []byte `json:"certificateAuthority"` // PEM; base64 in the document
	CIDR                 string `json:"cidr"`
}

// KubeletOptions are what the document says to the kubelet.
type KubeletOptions struct {
	// Config is a partial KubeletConfiguration (kubelet.config.k8s.io/v1beta1).
	Config map[string]any `json:"config"`
	// Flags are command-line arguments, with the quotes a shell would take off.
	Flags []string `json:"flags"`
}

// InstanceOptions configure the instance itself.
type InstanceOptions struct {
	LocalStorage struct {
		Strategy string `json:"strategy"` // RAID0, RAID10, Mount or ""
	} `json:"localStorage"`
}

func decodeNodeConfig(document []byte) (NodeConfig, error) {
	var c NodeConfig
	asJSON, err := yaml.YAMLToJSON(document)
	if err != nil {
		return c, fmt.Errorf("read NodeConfig: %w", err)
	}
	if err := json.Unmarshal(asJSON, &c); err != nil {
		return c, fmt.Errorf("read NodeConfig: %w", err)
	}
	if c.APIVersion != nodeConfigAPIVersion || c.Kind != "NodeConfig" {
		return c, fmt.Errorf("read NodeConfig: the document is %q %q, not %s NodeConfig", c.APIVersion, c.Kind, nodeConfigAPIVersion)
	}
	return c, nil
}

// merge puts a later document over an earlier one: what is set in it wins,
// kubelet configuration is merged by key, flags are appended.
func (c *NodeConfig) merge(later NodeConfig) {
	override(&c.Spec.Cluster.Name, later.Spec.Cluster.Name)
	override(&c.Spec.Cluster.APIServerEndpoint, later.Spec.Cluster.APIServerEndpoint)
	override(&c.Spec.Cluster.CIDR, later.Spec.Cluster.CIDR)
	override(&c.Spec.Instance.LocalStorage.Strategy, later.Spec.Instance.LocalStorage.Strategy)
	if len(later.Spec.Cluster.CertificateAuthority) > 0 {
		c.Spec.Cluster.CertificateAuthority = later.Spec.Cluster.CertificateAuthority
	}
	for gate, on := range later.Spec.FeatureGates {
		if c.Spec.FeatureGates == nil {
			c.Spec.FeatureGates = map[string]bool{}
		}
		c.Spec.FeatureGates[gate] = on
	}
	if c.Spec.Kubelet.Config == nil {
		c.Spec.Kubelet.Config = map[string]any{}
	}
	mergeDocument(c.Spec.Kubelet.Config, later.Spec.Kubelet.Config)
	c.Spec.Kubelet.Flags = append(c.Spec.Kubelet.Flags, later.Spec.Kubelet.Flags...)
}

func override(value *string, later string) {
	if later != "" {
		*value = later
	}
}

// mergeDocument merges maps into maps; anything else that is not empty
// replaces what was there.
func mergeDocument(document, later map[string]any) {
	for key, value := range later {
		nested, isMap := value.(map[string]any)
		present, wasMap := document[key].(map[string]any)
		switch {
		case isMap && wasMap:
			mergeDocument(present, nested)
		case !isEmpty(value) || document[key] == nil:
			document[key] = value
		}
	}
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case float64:
		return v == 0
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}

// validate says what keeps an instance from trying to join at all.
func (c NodeConfig) validate() error {
	if err := c.validateCluster(); err != nil {
		return err
	}
	cidr := c.Spec.Cluster.CIDR
	if cidr == "" {
		return errors.New("NodeConfig: spec.cluster.cidr is missing")
	}
	if _, err := netip.ParsePrefix(cidr); err != nil {
		return fmt.Errorf("NodeConfig: spec.cluster.cidr: %w", err)
	}
	return nil
}

// validateCluster says what every system must be told of its cluster.
func (c NodeConfig) validateCluster() error {
	cluster := c.Spec.Cluster
	switch {
	case cluster.Name == "":
		return errors.New("NodeConfig: spec.cluster.name is missing")
	case cluster.APIServerEndpoint == "":
		return errors.New("NodeConfig: spec.cluster.apiServerEndpoint is missing")
	case len(cluster.CertificateAuthority) == 0:
		return errors.New("NodeConfig: spec.cluster.certificateAuthority is missing")
	}
	return nil
}
