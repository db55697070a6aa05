package userdata

import (
	"net/netip"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

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

	// KubeReserved and SystemReserved are what the class reserves on the instance's type, by resource, expressions
	// worked out: an InstanceType's. They take the place of spec.kubelet's amounts of the same name; a name that only
	// spec.kubelet has must be a quantity there.
	KubeReserved   map[string]string
	SystemReserved map[string]string

	ImageName string // of the image that boots; "" = not known: the class's terms and status tell its version then
}

const raid0 = "RAID0"

// needed refuses input without which an instance of the family cannot join.
func (in Input) needed(cidr bool) error {
	fields := []struct{ what, value string }{
		{"cluster name", in.Cluster}, {"API server endpoint", in.Endpoint}, {"certificate authority", string(in.CA)},
	}
	if cidr {
		fields = append(fields, struct{ what, value string }{"service CIDR", in.ServiceCIDR})
	}
	for _, f := range fields {
		if f.value == "" {
			return fault.New(fault.Invalid, "ClusterUnknown", "the %s of cluster %q is not known, and %s cannot join without it; attach the cluster again",
				f.what, in.Cluster, in.Class.Family)
		}
	}
	return nil
}

// ipv6 reports whether the cluster's services have IPv6 addresses.
func (in Input) ipv6() bool {
	if prefix, err := netip.ParsePrefix(in.ServiceCIDR); err == nil {
		return prefix.Addr().Is6()
	}
	address, err := netip.ParseAddr(in.ClusterDNS)
	return err == nil && address.Is6()
}

// taints returns the taints a node registers with: the given ones, each key and effect once, and the one that keeps
// pods away until registration. A kubelet that is given one twice does not start.
func taints(in Input) []model.Taint {
	out := make([]model.Taint, 0, len(in.Taints)+1)
	for _, taint := range in.Taints {
		known := slices.ContainsFunc(out, func(t model.Taint) bool { return t.Key == taint.Key && t.Effect == taint.Effect })
		if taint.Key != model.TaintUnregistered && !known {
			out = append(out, taint)
		}
	}
	return append(out, model.Taint{Key: model.TaintUnregistered, Effect: model.NoExecute})
}

// nodeLabels returns the labels a kubelet may set on its own node. Those of the Kubernetes domains are left to
// registration: the NodeRestriction admission plugin refuses them from a kubelet.
func nodeLabels(in Input) map[string]string {
	labels := map[string]string{model.LabelDoNotSync: "true"}
	for key, value := range in.Labels {
		if !restrictedToServers(key) {
			labels[key] = value
		}
	}
	return labels
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

// pairs writes a map as key, separator, value, sorted by key and joined by commas.
func pairs(values map[string]string, separator string) string {
	out := make([]string, 0, len(values))
	for key, value := range values {
		out = append(out, key+separator+value)
	}
	sort.Strings(out)
	return strings.Join(out, ",")
}

// plain holds what may stand in an argument of a shell, a unit file of systemd and a Windows service alike: nothing
// that any of them gives a meaning to when it is quoted.
var plain = regexp.MustCompile(`^[A-Za-z0-9._~/:=,<%+@\[\]-]*$`)

// checkPlain refuses a text that could end the argument it stands in.
func (in Input) checkPlain(what, text string) error {
	if plain.MatchString(text) {
		return nil
	}
	return fault.New(fault.Invalid, "InvalidUserData", "%s %q for EC2NodeClass %s has a character that cannot be passed to instances of family %s; leave out quotes, spaces and the like",
		what, text, in.Class.Name, in.Class.Family)
}
