package performance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// line is of an audit log. more goes beside the user.
func line(second int, verb, subresource, pod, user, groups string, code int, more string) string {
	return fmt.Sprintf(`{"stage": "ResponseComplete", "verb": %q, "requestReceivedTimestamp": "2026-01-02T03:04:%02d.5Z", "user": {"username": %q, "groups": [%s]}, `+
		`"objectRef": {"resource": "pods", "subresource": %q, "namespace": "default", "name": %q}, "responseStatus": {"code": %d}%s}`+"\n", verb, second, user, groups, subresource, pod, code, more)
}

func TestDisruptedIsWhatIsEvictedOrDeletedForItsNodesSake(t *testing.T) {
	const controllers = "system:serviceaccount:kube-system:"
	log := strings.Join([]string{
		line(1, "create", "eviction", "by-karpenter", "karpenter", `"system:masters"`, 201, ""),
		line(2, "create", "eviction", "by-karpenter", "karpenter", `"system:masters"`, 201, ""), // again
		line(3, "create", "eviction", "by-joiner", "joiner-disrupt", `"joiner:disrupt"`, 201, ""),
		line(4, "create", "eviction", "refused", "karpenter", `"system:masters"`, 429, ""),
		line(5, "delete", "", "forced-by-karpenter", "karpenter", `"system:masters"`, 200, ""),
		line(6, "delete", "", "forced-by-joiner", "joiner", `"joiner:functions", "system:authenticated"`, 200, ""),
		line(7, "delete", "", "of-a-node-that-is-gone", controllers+"pod-garbage-collector", `"system:serviceaccounts"`, 200, ""),
		line(8, "delete", "", "scaled-down", controllers+"replicaset-controller", `"system:serviceaccounts"`, 200, ""),
		line(9, "delete", "", "ended", "admin", `"system:masters"`, 200, `, "impersonatedUser": {"username": "kwok", "groups": ["system:masters"]}`),
		line(10, "patch", "status", "patched", "karpenter", `"system:masters"`, 200, ""),
		strings.Replace(line(11, "create", "eviction", "asked", "karpenter", `"system:masters"`, 201, ""), "ResponseComplete", "RequestReceived", 1),
		strings.TrimSuffix(line(12, "create", "eviction", "half", "karpenter", `"system:masters"`, 201, ""), "}\n"), // it is being written
	}, "")
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Disruptions(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range all {
		got = append(got, fmt.Sprintf("%s %d", strings.TrimPrefix(d.Pod, "default/"), d.At.Second()))
	}
	if want := "by-karpenter 1, by-joiner 3, forced-by-karpenter 5, forced-by-joiner 6, of-a-node-that-is-gone 7"; strings.Join(got, ", ") != want {
		t.Errorf("disrupted are %v, want %s", got, want)
	}
	at := func(second int) time.Time { return time.Date(2026, 1, 2, 3, 4, second, 5e8, time.UTC) }
	if n := within(all, at(3), at(6)); n != 2 {
		t.Errorf("%d from the third second on and before the sixth, want 2", n)
	}
	if err := os.WriteFile(path, []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Disruptions(path); err == nil {
		t.Error("a broken log is none")
	}
}
