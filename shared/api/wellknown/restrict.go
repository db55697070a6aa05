package wellknown

import (
	"slices"
	"strings"
)

// Domain returns what stands before the slash of a label key; empty where the key has none.
func Domain(key string) string {
	domain, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return domain
}

// InDomain says whether the domain of key is domain or one below it: "karpenter.sh" contains "x.karpenter.sh/y" and not
// "fookarpenter.sh/y".
func InDomain(key, domain string) bool {
	d := Domain(key)
	return d == domain || strings.HasSuffix(d, "."+domain)
}

// core lists the well-known keys of Kubernetes and of the karpenter.sh domain.
var core = []string{
	LabelNodePool, LabelCapacityType, LabelZone, LabelRegion, LabelInstanceType, LabelArch, LabelOS, LabelWindowsBuild,
}

// Labels returns every well-known label key, sorted. A pool may leave such a key undefined: pods may then ask for any
// value that an instance type offers. The slice is the caller's own.
func Labels() []string {
	keys := append(slices.Clone(core), instance...)
	slices.Sort(keys)
	return keys
}

// IsWellKnown says whether key, already normalized, is one of Labels.
func IsWellKnown(key string) bool {
	return slices.Contains(core, key) || slices.Contains(instance, key)
}

// RestrictedReason says why key may be neither a label nor a requirement of a pool or claim; empty where it may.
// LabelNodePool passes here: a claim may require it, and the rules of NodePool refuse it themselves.
func RestrictedReason(key string) string {
	switch {
	case key == LabelHostname:
		return "label " + LabelHostname + " is restricted"
	case IsWellKnown(key):
		return ""
	case InDomain(key, Group):
		return "label domain " + Group + " is restricted"
	case InDomain(key, AWSGroup):
		return "label domain " + AWSGroup + " is restricted"
	}
	return ""
}
