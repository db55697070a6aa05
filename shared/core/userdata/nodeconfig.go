package userdata

import (
	"bufio"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/fault"
)

// userNodeConfig is as much of a user's NodeConfig as decides whether the instance can join with it.
type userNodeConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Kubelet struct {
			Flags []string `json:"flags"`
		} `json:"kubelet"`
	} `json:"spec"`
}

// looksLikeNodeConfig tells a NodeConfig from a script: a YAML map with one of the keys a NodeConfig has, or what
// cannot be read and has two of them at the start of a line.
func looksLikeNodeConfig(text string) bool {
	if strings.HasPrefix(text, "#!") {
		return false
	}
	var document map[string]any
	if err := yaml.Unmarshal([]byte(text), &document); err == nil {
		for _, key := range []string{"apiVersion", "kind", "spec"} {
			if _, has := document[key]; has {
				return true
			}
		}
		return strings.HasPrefix(text, "{")
	}
	var version, kind bool
	for line := range strings.Lines(text) {
		version = version || strings.HasPrefix(line, "apiVersion:")
		kind = kind || strings.HasPrefix(line, "kind:")
	}
	return version && kind
}

// checkNodeConfig refuses a part that nodeadm would stumble over, and one whose flags take the place of the taints a
// node must register with. Encoded parts are passed on unread.
func checkNodeConfig(class string, p part) error {
	if !p.is(nodeConfigType) || p.encoded() {
		return nil
	}
	var config userNodeConfig
	if err := yaml.Unmarshal([]byte(p.body), &config); err != nil {
		return fault.Wrap(fault.Invalid, "InvalidUserData", err, "a NodeConfig in spec.userData of EC2NodeClass %s cannot be read; correct it", class)
	}
	if config.APIVersion != nodeConfigVersion || config.Kind != "NodeConfig" {
		return fault.New(fault.Invalid, "InvalidUserData",
			"spec.userData of EC2NodeClass %s holds a document of apiVersion %q and kind %q, not a NodeConfig; begin it with apiVersion: %s and kind: NodeConfig, or begin a script with #!",
			class, config.APIVersion, config.Kind, nodeConfigVersion)
	}
	if severalDocuments(p.body) {
		return fault.New(fault.Invalid, "InvalidUserData",
			"spec.userData of EC2NodeClass %s holds several YAML documents in one part, and only the first would be read; give each a MIME part of its own", class)
	}
	for _, flag := range config.Spec.Kubelet.Flags {
		if strings.HasPrefix(strings.TrimLeft(flag, `-"' `), "register-with-taints") {
			return fault.New(fault.Invalid, "InvalidUserData",
				"spec.kubelet.flags of a NodeConfig in spec.userData of EC2NodeClass %s sets --register-with-taints, which takes the place of the taints a node must register with; put taints into the NodePool's template",
				class)
		}
	}
	return nil
}

// severalDocuments reports whether a marker of YAML documents follows any content.
func severalDocuments(text string) bool {
	content := false
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		line := lines.Text()
		marker := line == "---" || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "---\t")
		if marker && content {
			return true
		}
		if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "#") && !marker && !strings.HasPrefix(line, "%") {
			content = true
		}
	}
	return false
}

const nodeConfigVersion = "node.eks.aws/v1alpha1"
