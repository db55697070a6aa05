package userdata

import (
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// MaxBytes is what EC2 accepts, before encoding. Source: EC2 user guide, "Run commands when you launch an instance".
const MaxBytes = 16384

// Input is everything user data depends on.
type Input struct {
	Class       model.Class
	Cluster     string
	Endpoint    string // of the API server
	CA          []byte // PEM
	ServiceCIDR string // AL2023 refuses to start without it
	ClusterDNS  string // address; empty = the node's own default
	Labels      map[string]string
	Taints      []model.Taint // startup taints included; the unregistered taint is added here
	MaxPods     int64         // 0 = the node's own default
}

// Render returns the bytes the machine reads, not encoded. Invalid where the family is not supported, something needed
// is missing, or the result is larger than MaxBytes.
func Render(in Input) ([]byte, error) {
	text, err := renderFamily(in)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, fault.New(fault.Invalid, "UserDataSizeLimitExceeded",
			"user data of EC2NodeClass %s is %d bytes and EC2 takes %d; shorten spec.userData (now %d bytes)",
			in.Class.Name, len(text), MaxBytes, len(in.Class.UserData))
	}
	return text, nil
}

func renderFamily(in Input) ([]byte, error) {
	switch in.Class.Family {
	case "AL2023":
		return renderAL2023(in)
	case "Custom":
		return []byte(in.Class.UserData), nil
	}
	return nil, fault.New(fault.Invalid, "UnsupportedFamily",
		"spec.amiFamily %q of EC2NodeClass %s is not supported yet; use AL2023, or Custom with user data of your own", in.Class.Family, in.Class.Name)
}

// taints returns the taints a node registers with: the given ones and, once, the one that keeps pods away until
// registration.
func taints(in Input) []model.Taint {
	out := make([]model.Taint, 0, len(in.Taints)+1)
	for _, taint := range in.Taints {
		if taint.Key != model.TaintUnregistered {
			out = append(out, taint)
		}
	}
	return append(out, model.Taint{Key: model.TaintUnregistered, Effect: model.NoExecute})
}

// nodeLabels returns the labels a kubelet may set on its own node, as key=value sorted by key. Those of the Kubernetes
// domains are left to registration: the NodeRestriction admission plugin refuses them from a kubelet.
func nodeLabels(in Input) []string {
	labels := map[string]string{}
	if in.Class.Family != "Custom" {
		labels[model.LabelDoNotSync] = "true"
	}
	for key, value := range in.Labels {
		if !restrictedToServers(key) {
			labels[key] = value
		}
	}
	out := make([]string, 0, len(labels))
	for key, value := range labels {
		out = append(out, key+"="+value)
	}
	sort.Strings(out)
	return out
}

func restrictedToServers(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return false
	}
	for _, d := range []string{"kubernetes.io", "k8s.io", "node-restriction.kubernetes.io"} {
		if domain == d || strings.HasSuffix(domain, "."+d) {
			return true
		}
	}
	return false
}
