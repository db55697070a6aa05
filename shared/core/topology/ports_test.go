package topology_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// The rule is that of kube-scheduler's NodePorts plugin.
func TestPortsClash(t *testing.T) {
	port := func(ip string, number int32, protocol string) model.HostPort {
		return model.HostPort{IP: ip, Port: number, Protocol: protocol}
	}
	tests := []struct {
		name string
		a, b model.HostPort
		want bool
	}{
		{"same port", port("", 80, "TCP"), port("", 80, "TCP"), true},
		{"another port", port("", 80, "TCP"), port("", 81, "TCP"), false},
		{"another protocol", port("", 80, "TCP"), port("", 80, "UDP"), false},
		{"no protocol is TCP", port("", 80, ""), port("", 80, "TCP"), true},
		{"no protocol is not UDP", port("", 80, ""), port("", 80, "UDP"), false},
		{"no address is every address", port("", 80, "TCP"), port("10.0.0.1", 80, "TCP"), true},
		{"0.0.0.0 is every address", port("0.0.0.0", 80, "TCP"), port("10.0.0.1", 80, "TCP"), true},
		{"0.0.0.0 is no address", port("0.0.0.0", 80, "TCP"), port("", 80, "TCP"), true},
		{"same address", port("10.0.0.1", 80, "TCP"), port("10.0.0.1", 80, "TCP"), true},
		{"two addresses", port("10.0.0.1", 80, "TCP"), port("10.0.0.2", 80, "TCP"), false},
		{"every IPv6 address is an address like others", port("::", 80, "TCP"), port("10.0.0.1", 80, "TCP"), false},
		{"every address is every IPv6 address too", port("::", 80, "TCP"), port("", 80, "TCP"), true},
		{"no port takes none", port("", 0, "TCP"), port("", 0, "TCP"), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			other := port("", 9999, "SCTP")
			for _, pair := range [][2]model.HostPort{{test.a, test.b}, {test.b, test.a}} {
				got, clash := topology.PortConflict([]model.HostPort{other, pair[0]}, []model.HostPort{pair[1]})
				if clash != test.want || clash && got != pair[0] {
					t.Errorf("PortsClash(%v, %v) = %v, %v, want %v", pair[0], pair[1], got, clash, test.want)
				}
			}
		})
	}
	if _, clash := topology.PortConflict(nil, nil); clash {
		t.Error("nothing clashes with nothing")
	}
}
