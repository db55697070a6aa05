package ec2

import (
	"net/netip"
	"strings"
	"testing"
)

func TestMatchesReadsWildcards(t *testing.T) {
	tests := []struct {
		pattern, value string
		want           bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "a", true}, {"a", "A", false},
		{"*", "", true}, {"*", "anything", true}, {"a*c", "abc", true}, {"a*c", "abcd", false},
		{"a*b*c", "aXbYbZc", true}, {"*.large", "m5.large", true}, {"?5.large", "m5.large", true}, {"?", "", false},
		{`a\*`, "a*", true}, {`a\*`, "ab", false}, {`\?`, "?", true}, {`a\`, `a\`, false}, {"**a**", "a", true},
		{strings.Repeat("*a", 50) + "b", strings.Repeat("a", 2000), false},
	}
	for _, tt := range tests {
		if got := matches(tt.pattern, tt.value); got != tt.want {
			t.Errorf("matches(%q, %q) = %v", tt.pattern, tt.value, got)
		}
	}
}

func TestSubnetsHandOutAddressesInTurn(t *testing.T) {
	s := &subnet{prefix: netip.MustParsePrefix("10.1.2.16/28"), used: map[netip.Addr]bool{}}
	if s.free() != 11 {
		t.Fatalf("%d free, want 11", s.free())
	}
	var first netip.Addr
	for range 11 {
		a := s.take()
		if !first.IsValid() {
			first = a
		}
		if !s.prefix.Contains(a) {
			t.Errorf("%s is outside %s", a, s.prefix)
		}
	}
	if first != netip.MustParseAddr("10.1.2.20") || s.free() != 0 {
		t.Errorf("first %s, %d free; want 10.1.2.20 and 0", first, s.free())
	}
	s.release(first)
	if again := s.take(); again != first {
		t.Errorf("took %s, want %s", again, first)
	}
}
