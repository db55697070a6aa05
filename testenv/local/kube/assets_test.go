package kube

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each folder pins the version that is said of it, with all of Kubernetes' own modules.
func TestFoldersPinTheVersionsThatAreNamed(t *testing.T) {
	for _, p := range controlPlanes {
		data, err := os.ReadFile(filepath.Join(filepath.FromSlash(p.dir), "go.mod"))
		if err != nil {
			t.Error(err)
			continue
		}
		staging := strings.Replace(p.version, "v1.", "v0.", 1)
		if !strings.HasPrefix(p.version, "v"+p.minor+".") || !strings.Contains(string(data), "k8s.io/kubernetes "+p.version+" ") || !strings.Contains(string(data), "k8s.io/api => k8s.io/api "+staging+"\n") {
			t.Errorf("%s/go.mod does not pin Kubernetes %s, or not its modules", p.dir, p.version)
		}
		if !strings.Contains(string(data), "go.etcd.io/etcd/server/v3 "+p.etcd+" ") {
			t.Errorf("%s/go.mod does not pin etcd %s", p.dir, p.etcd)
		}
	}
}

func TestAMinorThatNoModulePinsIsRefused(t *testing.T) {
	t.Setenv(minorVariable, "1.9")
	_, err := programs()
	if err == nil || !strings.Contains(err.Error(), "JOINER_KUBERNETES=1.9") || !strings.Contains(err.Error(), "1.37") {
		t.Errorf("%v; want the variable, its value and the minors there are", err)
	}
	t.Setenv(minorVariable, "1.30")
	wanted, err := programs()
	if err != nil || wanted[1].build.version != KubernetesVersion() || !strings.Contains(wanted[1].build.ldflags, "gitMinor=30 ") {
		t.Errorf("%+v, %v", wanted[1], err)
	}
}
