package topology

import "github.com/joiner-sh/joiner/shared/model"

// everyAddress is the address that an empty one stands for. The IPv6 one is, to kube-scheduler, an address like others.
const everyAddress = "0.0.0.0"

// PortConflict returns the first port of a that b has too, so that pods with the two cannot share a node. A port on every
// address clashes with the same port on any; without a protocol it is TCP. False where nothing clashes.
func PortConflict(a, b []model.HostPort) (model.HostPort, bool) {
	for _, x := range a {
		for _, y := range b {
			if portClash(x, y) {
				return x, true
			}
		}
	}
	return model.HostPort{}, false
}

func portClash(x, y model.HostPort) bool {
	if x.Port <= 0 || x.Port != y.Port || protocol(x) != protocol(y) {
		return false
	}
	return address(x) == address(y) || address(x) == everyAddress || address(y) == everyAddress
}

func address(p model.HostPort) string {
	if p.IP == "" {
		return everyAddress
	}
	return p.IP
}

func protocol(p model.HostPort) string {
	if p.Protocol == "" {
		return "TCP"
	}
	return p.Protocol
}
