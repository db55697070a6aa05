package userdata

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// UD-03: what bootstrap.sh is given, and that it is given nothing else.
func TestUD03BootstrapIsToldEverything(t *testing.T) {
	text := render(t, of("AL2", func(in *Input) {
		in.Class.UserData, in.Class.InstanceStorePolicy, in.Class.Kubelet.JSON = "echo first", "RAID0", wholeKubelet
	}))
	d := read(t, "AL2", text)
	if len(d.bodies) != 2 || strings.TrimSpace(d.bodies[0]) != "echo first" {
		t.Fatalf("parts %q", d.bodies)
	}
	want := []string{
		"web", "--apiserver-endpoint", "https://web.example", "--b64-cluster-ca", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==",
		"--dns-cluster-ip", "10.0.0.10", "--use-max-pods", "false", "--local-disks", "raid0", "--kubelet-extra-args",
		"--node-labels=karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=default,team=a" +
			" --register-with-taints=dedicated=gpu:NoSchedule,karpenter.sh/unregistered:NoExecute --max-pods=58 --pods-per-core=4" +
			" --system-reserved=cpu=100m,memory=100Mi --kube-reserved=cpu=200m --eviction-hard=memory.available<5%,nodefs.available<10Gi" +
			" --eviction-soft=memory.available<10% --eviction-soft-grace-period=memory.available=1m30s --eviction-max-pod-grace-period=120" +
			" --image-gc-high-threshold=50 --image-gc-low-threshold=0 --cpu-cfs-quota=false",
	}
	if !slices.Equal(d.words, want) {
		t.Errorf("got\n%q\nwant\n%q", d.words, want)
	}
	for _, word := range d.words {
		if strings.HasPrefix(word, "--") && !strings.HasPrefix(word, "--node-labels") && strings.Contains(word, "=") {
			t.Errorf("bootstrap.sh does not understand %q", word)
		}
	}
}

func TestAL2SaysIPv6WithItsCIDR(t *testing.T) {
	d := read(t, "AL2", render(t, of("AL2", func(in *Input) { in.ServiceCIDR, in.ClusterDNS = "fd5e:1234::/108", "" })))
	for _, pair := range [][2]string{{"--ip-family", "ipv6"}, {"--service-ipv6-cidr", "fd5e:1234::/108"}} {
		at := slices.Index(d.words, pair[0])
		if at < 0 || d.words[at+1] != pair[1] {
			t.Errorf("%s is not %s in %q", pair[0], pair[1], d.words)
		}
	}
	if slices.Contains(d.words, "--dns-cluster-ip") {
		t.Errorf("an address of DNS nobody knows in %q", d.words)
	}
}

func TestAL2ScriptIsBashToBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	d := read(t, "AL2", render(t, of("AL2", func(in *Input) { in.Class.Kubelet.JSON = wholeKubelet })))
	check := exec.Command(bash, "-n")
	check.Stdin = strings.NewReader(d.bodies[len(d.bodies)-1])
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func FuzzAL2(f *testing.F) {
	seedMIME(f)
	f.Fuzz(func(t *testing.T, text string) {
		in := of("AL2", func(in *Input) { in.Class.UserData = text })
		got, err := Render(in)
		if err != nil {
			return
		}
		d := read(t, "AL2", string(got))
		if d.cluster != "web" || d.maxPods != "58" || len(d.taints) != 2 {
			t.Fatalf("the machine is told %+v", d)
		}
		for i, kind := range d.types[:len(d.types)-1] {
			if newPart(kind, "").is(nodeConfigType) {
				t.Fatalf("part %d is for nodeadm", i)
			}
		}
	})
}
