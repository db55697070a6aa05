package helm

import (
	"bytes"
	"testing"
)

// TestSelfManagedValues: outside of EKS the chart projects the token that the watcher's role wants, and lets the
// watcher reach the API server's port and the metadata of its instance. By default there is none of that.
func TestSelfManagedValues(t *testing.T) {
	r := release(t)
	role := "arn:aws:iam::123456789012:role/joiner-own-us-west-2-watcher"
	traces := []string{
		role, "AWS_WEB_IDENTITY_TOKEN_FILE", "audience: sts.amazonaws.com", "port: 6443", "169.254.169.254/32",
	}
	for name, c := range map[string]struct {
		set  []string
		has  bool
		says string
	}{
		"default": {nil, false, ""},
		"own": {[]string{"--set", "serviceAccount.roleARN=" + role, "--set", "networkPolicy.ports={6443}",
			"--set", "networkPolicy.instanceMetadata=true"}, true, ""},
		"no role": {[]string{"--set", "serviceAccount.roleARN=watcher"}, false, "roleARN"},
	} {
		rendered, err := r.Template(t.Context(), values(t, "default"), c.set...)
		if c.says != "" {
			if err == nil || !bytes.Contains([]byte(err.Error()), []byte(c.says)) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, trace := range traces {
			if bytes.Contains(rendered, []byte(trace)) != c.has {
				t.Errorf("%s: %s is there: %v", name, trace, !c.has)
			}
		}
	}
}
