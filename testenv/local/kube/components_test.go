package kube

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestSchedulerConfigurationKeepsWhatIsGiven(t *testing.T) {
	l := layout{pki: "/pki"}
	given := `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 2
clientConnection: {kubeconfig: /somewhere/else}
profiles: [{schedulerName: other}]
`
	for name, c := range map[string]struct{ given, want string }{
		"nothing": {"", ""},
		"all":     {given, "podMaxBackoffSeconds: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := l.schedulerConfiguration([]byte(c.given))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				APIVersion       string
				Kind             string
				ClientConnection struct{ Kubeconfig string }
				LeaderElection   struct{ LeaderElect *bool }
			}
			if err := yaml.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if got.APIVersion != "kubescheduler.config.k8s.io/v1" || got.Kind != "KubeSchedulerConfiguration" {
				t.Errorf("it is a %s %s", got.APIVersion, got.Kind)
			}
			if got.ClientConnection.Kubeconfig != "/pki/scheduler.kubeconfig" {
				t.Errorf("kubeconfig is %q", got.ClientConnection.Kubeconfig)
			}
			if got.LeaderElection.LeaderElect == nil || *got.LeaderElection.LeaderElect {
				t.Errorf("it elects a leader")
			}
			if !strings.Contains(string(data), c.want) {
				t.Errorf("%q is lost:\n%s", c.want, data)
			}
		})
	}
	if _, err := l.schedulerConfiguration([]byte("- a\n")); err == nil {
		t.Error("a list was taken for a configuration")
	}
}

func TestFreePortsAreDifferent(t *testing.T) {
	const n = 50
	ports, err := FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		seen[port] = true
	}
	if len(seen) != n {
		t.Errorf("%d different ones among %v", len(seen), ports)
	}
}
