package userdata

import (
	"encoding/base64"
	"encoding/json"

	"github.com/joiner-sh/joiner/shared/fault"
)

// nodeConfig is the document nodeadm reads on AL2023 (node.eks.aws/v1alpha1). It is written as JSON, which is YAML too.
type nodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       nodeConfigSpec `json:"spec"`
}

type nodeConfigSpec struct {
	Cluster  nodeConfigCluster   `json:"cluster"`
	Kubelet  nodeConfigKubelet   `json:"kubelet"`
	Instance *nodeConfigInstance `json:"instance,omitempty"`
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

type nodeConfigInstance struct {
	LocalStorage nodeConfigStorage `json:"localStorage"`
}

type nodeConfigStorage struct {
	Strategy string `json:"strategy"`
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
	for _, p := range parts {
		if err := checkNodeConfig(in.Class.Name, p); err != nil {
			return nil, err
		}
	}
	// nodeadm merges documents in order and the last one wins: ours.
	return writeParts(append(parts, newPart(nodeConfigType, string(own)+"\n"))), nil
}

func nodeConfigOf(in Input) (nodeConfig, error) {
	if err := in.needed(true); err != nil {
		return nodeConfig{}, err
	}
	kubelet, err := kubeletMap(in)
	if err != nil {
		return nodeConfig{}, err
	}
	kubelet["registerWithTaints"] = taints(in)
	labels := pairs(nodeLabels(in), "=")
	if err := in.checkPlain("kubelet flag --node-labels", labels); err != nil {
		return nodeConfig{}, err
	}
	config := nodeConfig{
		APIVersion: nodeConfigVersion, Kind: "NodeConfig",
		Spec: nodeConfigSpec{
			Cluster: nodeConfigCluster{
				Name: in.Cluster, APIServerEndpoint: in.Endpoint,
				CertificateAuthority: base64.StdEncoding.EncodeToString(in.CA), CIDR: in.ServiceCIDR,
			},
			Kubelet: nodeConfigKubelet{Config: kubelet, Flags: []string{"--node-labels=" + labels}},
		},
	}
	if in.Class.InstanceStorePolicy == raid0 {
		config.Spec.Instance = &nodeConfigInstance{nodeConfigStorage{raid0}}
	}
	return config, nil
}
