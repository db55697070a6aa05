package machine

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

const (
	al2Image          = "amazon-eks-node-1.32-v20251120"
	al2023Image       = "amazon-eks-node-al2023-x86_64-standard-1.36-v20251120"
	bottlerocketImage = "bottlerocket-aws-k8s-1.36-x86_64-v1.50.0-1a2b3c4d"
	olderBottlerocket = "bottlerocket-aws-k8s-1.36-x86_64-v1.45.0-1a2b3c4d"
	windowsImage      = "Windows_Server-2022-English-Core-EKS_Optimized-1.36-2025.11.14"
)

func TestSystemIsToldByTheImage(t *testing.T) {
	seen := map[string]bool{}
	for _, image := range catalog.Images() {
		s := systemOf(Instance{ImageName: image.Name})
		seen[s.name] = true
		if (s.os == "windows") != (image.Platform == "Windows") {
			t.Errorf("%s boots %s", image.Name, s.name)
		}
		if !slices.ContainsFunc(image.Volumes, func(v catalog.Volume) bool { return v.Device == s.volume && int64(v.SizeGiB) == s.gib }) {
			t.Errorf("%s has %v, pods write to %d GiB of %s", image.Name, image.Volumes, s.gib, s.volume)
		}
		if s.os == "windows" && s.build == "" {
			t.Errorf("%s is of no build", image.Name)
		}
	}
	want := []string{"Amazon Linux 2", "Amazon Linux 2023", "Bottlerocket OS", "Windows Server 2019", "Windows Server 2022", "Windows Server 2025"}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s := systemOf(Instance{ImageName: "golden"}); s != al2023 {
		t.Errorf("an image of no family boots %s", s.name)
	}
}

func TestWhyInstancesOfOtherSystemsDoNotJoin(t *testing.T) {
	const block = "[settings.kubernetes]\ncluster-name = 'demo'\napi-server = 'https://10.0.0.1'\ncluster-certificate = 'Y2E='\n"
	commands := func(lines string) string {
		return block + "[settings.bootstrap-commands.a]\nmode = 'always'\nessential = true\ncommands = [" + lines + "]\n"
	}
	call := func(arguments string) string {
		return string(message("text/x-shellscript", "#!/bin/bash\n/etc/eks/bootstrap.sh "+arguments+"\n"))
	}
	const cluster = "demo --apiserver-endpoint https://10.0.0.1 --b64-cluster-ca Y2E= "
	cases := map[string]struct{ image, data, want string }{
		"AL2: NodeConfig":             {al2Image, string(message(nodeConfigMediaType, document(clusterYAML))), "calls /etc/eks/bootstrap.sh"},
		"AL2: nothing":                {al2Image, "", "neither"},
		"AL2: other interpreter":      {al2Image, string(message("text/x-shellscript", "#!/usr/bin/python3\n/etc/eks/bootstrap.sh demo\n")), "calls"},
		"AL2: no shell":               {al2Image, string(message("text/x-shellscript", "#!/bin/bash\nif [\n")), "script 1"},
		"AL2: no cluster":             {al2Image, call("--use-max-pods false"), "name is missing"},
		"AL2: = instead of a space":   {al2Image, call("demo --apiserver-endpoint=https://10.0.0.1 --b64-cluster-ca Y2E="), "apiServerEndpoint is missing"},
		"AL2: value missing":          {al2Image, call("demo --use-max-pods"), "has no value"},
		"AL2: no authority":           {al2Image, call("demo --apiserver-endpoint https://10.0.0.1"), "certificateAuthority is missing"},
		"AL2: family":                 {al2Image, call(cluster + "--ip-family ipv6"), "needs"},
		"AL2: families":               {al2Image, call(cluster + "--ip-family ipv4 --service-ipv6-cidr fd00::/108"), "exclude"},
		"AL2: disks":                  {al2Image, call(cluster + "--local-disks raid5"), "raid5"},
		"AL2: quote":                  {al2Image, call(cluster + `--kubelet-extra-args "--a='b'"`), "unit file"},
		"Bottlerocket: a script":      {bottlerocketImage, "#!/bin/sh\necho", "no TOML"},
		"Bottlerocket: nothing":       {bottlerocketImage, "", "settings.kubernetes"},
		"Bottlerocket: other setting": {bottlerocketImage, block + "maxPods = 5\n", "no setting settings.kubernetes.maxPods"},
		"Bottlerocket: type":          {bottlerocketImage, block + "max-pods = '5'\n", "max-pods"},
		"Bottlerocket: name":          {bottlerocketImage, strings.Replace(block, "'demo'", "5", 1), "cluster-name"},
		"Bottlerocket: pid":           {bottlerocketImage, block + "[settings.kubernetes.kube-reserved]\npid = '5'\n", `no "pid"`},
		"Bottlerocket: signal":        {bottlerocketImage, block + "[settings.kubernetes.eviction-hard]\nmemory = '5'\n", `no "memory"`},
		"Bottlerocket: taint":         {bottlerocketImage, block + "[settings.kubernetes.node-taints]\na = ['NoSchedule']\n", "value:effect"},
		"Bottlerocket: bind first":    {bottlerocketImage, commands("['apiclient', 'ephemeral-storage', 'bind']"), "before"},
		"Bottlerocket: bind what":     {olderBottlerocket, commands("['apiclient', 'ephemeral-storage', 'init'], ['apiclient', 'ephemeral-storage', 'bind']"), "must be told"},
		"Windows: no block":           {windowsImage, "& Start-EKSBootstrap.ps1", "no <powershell>"},
		"Windows: no call":            {windowsImage, "<powershell>Write-Host</powershell>", "does not call"},
		"Windows: left open":          {windowsImage, "<powershell>Write-Host 'a\n& 'C:\\Start-EKSBootstrap.ps1' -EKSClusterName 'a'\n</powershell>", "quotation"},
		"Windows: ended early":        {windowsImage, "<powershell>a\n</powershell>\n& 'C:\\Start-EKSBootstrap.ps1'\n</powershell>", "does not call"},
		"Windows: no name":            {windowsImage, "<powershell>& 'C:\\Start-EKSBootstrap.ps1' -APIServerEndpoint 'https://10.0.0.1' -Base64ClusterCA 'Y2E='</powershell>", "name is missing"},
		"Windows: authority":          {windowsImage, "<powershell>& 'C:\\Start-EKSBootstrap.ps1' -EKSClusterName 'a' -Base64ClusterCA '-'</powershell>", "Base64ClusterCA"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ReadUserDataOf(Instance{ImageName: c.image, UserData: []byte(c.data)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestBootstrapScriptIsFoundWhereCloudInitRunsIt(t *testing.T) {
	script := "#!/bin/bash -xe\necho '/etc/eks/bootstrap.sh wrong'\n/etc/eks/bootstrap.sh 'demo' --b64-cluster-ca Y2E= \\\n  --apiserver-endpoint \"https://10.0.0.1\" --use-max-pods false\n"
	encoded := "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n" +
		base64.StdEncoding.EncodeToString([]byte(script)) + "\n--b--\n"
	for name, data := range map[string][]byte{
		"alone": []byte(script), "a part": message("text/x-shellscript", "#!/bin/sh\ntrue\n", "text/x-shellscript", script), "encoded part": []byte(encoded),
	} {
		config, err := ReadUserDataOf(Instance{ImageName: al2Image, UserData: data})
		if err != nil || config.Spec.Cluster.Name != "demo" {
			t.Errorf("%s: got %+v, %v", name, config.Spec.Cluster, err)
			continue
		}
		k, err := configureKubelet(Instance{ImageName: al2Image, VCPUs: 2, ENIMaxPods: 29}, config)
		if err != nil || k.config.MaxPods != 110 {
			t.Errorf("%s: %d pods, %v", name, k.config.MaxPods, err)
		}
	}
}
