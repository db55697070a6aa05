package userdata

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
)

// nodeConfig is the document nodeadm reads on AL2023 (node.eks.aws/v1alpha1). It is written as JSON, which is YAML too.
type nodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       nodeConfigSpec `json:"spec"`
}

type nodeConfigSpec struct {
	Cluster nodeConfigCluster `json:"cluster"`
	Kubelet nodeConfigKubelet `json:"kubelet"`
}

type nodeConfigCluster struct {
	Name                 string `json:"name"`
	APIServerEndpoint    string `json:"apiServerEndpoint"`
	CertificateAuthority string `json:"certificateAuthority"`
	CIDR                 string `json:"cidr"`
}

type nodeConfigKubelet struct {
	Config map[string]any `json:"config"`
	Flags  []string       `json:"flags,omitempty"`
}

func renderAL2023(in Input) ([]byte, error) {
	config, err := nodeConfigOf(in)
	if err != nil {
		return nil, err
	}
	own, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "encode node config of EC2NodeClass %s", in.Class.Name)
	}
	parts, err := customParts(in.Class)
	if err != nil {
		return nil, err
	}
	// nodeadm merges documents in order and the last one wins: ours.
	return writeParts(append(parts, part{contentType: nodeConfigType, body: string(own) + "\n"})), nil
}

func nodeConfigOf(in Input) (nodeConfig, error) {
	needed := []struct{ what, value string }{
		{"cluster name", in.Cluster}, {"API server endpoint", in.Endpoint}, {"certificate authority", string(in.CA)}, {"service CIDR", in.ServiceCIDR},
	}
	for _, n := range needed {
		if n.value == "" {
			return nodeConfig{}, fault.New(fault.Invalid, "ClusterUnknown", "the %s of cluster %q is not known, and AL2023 cannot join without it; attach the cluster again", n.what, in.Cluster)
		}
	}
	kubelet, err := kubeletConfig(in)
	if err != nil {
		return nodeConfig{}, err
	}
	return nodeConfig{
		APIVersion: "node.eks.aws/v1alpha1", Kind: "NodeConfig",
		Spec: nodeConfigSpec{
			Cluster: nodeConfigCluster{
				Name: in.Cluster, APIServerEndpoint: in.Endpoint,
				CertificateAuthority: base64.StdEncoding.EncodeToString(in.CA), CIDR: in.ServiceCIDR,
			},
			Kubelet: nodeConfigKubelet{Config: kubelet, Flags: []string{"--node-labels=" + strings.Join(nodeLabels(in), ",")}},
		},
	}, nil
}

// kubeletConfig is the user's kubelet map with what we know better laid over it.
func kubeletConfig(in Input) (map[string]any, error) {
	config := map[string]any{}
	if in.Class.Kubelet.JSON != "" {
		if err := json.Unmarshal([]byte(in.Class.Kubelet.JSON), &config); err != nil {
			return nil, fault.Wrap(fault.Invalid, "InvalidKubeletConfiguration", err, "spec.kubelet of EC2NodeClass %s is not an object", in.Class.Name)
		}
	}
	if in.MaxPods > 0 {
		config["maxPods"] = in.MaxPods
	}
	if _, own := config["clusterDNS"]; !own && in.ClusterDNS != "" {
		config["clusterDNS"] = []string{in.ClusterDNS}
	}
	config["registerWithTaints"] = taints(in)
	return config, nil
}
