package machine

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const clusterYAML = `
  cluster: {name: demo, apiServerEndpoint: "https://10.0.0.1", certificateAuthority: Y2E=, cidr: 10.96.0.0/12}
`

func TestReadUserDataFindsTheNodeConfig(t *testing.T) {
	plain := document(clusterYAML + "  kubelet: {config: {maxPods: 42}}\n")
	cases := map[string][]byte{
		"alone":            []byte(plain),
		"as JSON":          []byte(`{"apiVersion":"node.eks.aws/v1alpha1","kind":"NodeConfig","spec":{"cluster":{"name":"demo","apiServerEndpoint":"https://10.0.0.1","certificateAuthority":"Y2E=","cidr":"10.96.0.0/12"},"kubelet":{"config":{"maxPods":42}}}}`),
		"multipart":        message("text/x-shellscript", "#!/bin/sh", nodeConfigMediaType, plain),
		"with parameters":  message(nodeConfigMediaType+"; charset=us-ascii", plain),
		"lines end in LF":  bytes.ReplaceAll(message(nodeConfigMediaType, plain), []byte("\r\n"), []byte("\n")),
		"base64":           []byte(base64.StdEncoding.EncodeToString([]byte(plain))),
		"gzip":             compress(t, message(nodeConfigMediaType, plain)),
		"gzip in base64":   []byte(base64.StdEncoding.EncodeToString(compress(t, []byte(plain)))),
		"part is packed":   message(nodeConfigMediaType, base64.StdEncoding.EncodeToString(compress(t, []byte(plain)))),
		"unknown fields":   []byte(plain + "  containerd: {config: x}\n  somethingNew: [1]\n"),
		"part of no type":  []byte(strings.Replace(string(message(nodeConfigMediaType, plain)), "--//\r\n", "--//\r\n\r\nno header\r\n--//\r\n", 1)),
		"part of any case": message("Application/Node.EKS.AWS", plain),
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			c, err := ReadUserData(data)
			if err != nil {
				t.Fatal(err)
			}
			if c.Spec.Cluster.Name != "demo" || string(c.Spec.Cluster.CertificateAuthority) != "ca" {
				t.Errorf("cluster is %+v", c.Spec.Cluster)
			}
			if got := fmt.Sprint(c.Spec.Kubelet.Config["maxPods"]); got != "42" {
				t.Errorf("maxPods is %s", got)
			}
		})
	}
}

func TestReadUserDataMergesInOrder(t *testing.T) {
	first := document(`
  cluster: {name: other, cidr: 10.0.0.0/16}
  kubelet:
    config:
      maxPods: 10
      kubeReserved: {cpu: 100m, memory: 1Gi}
      clusterDNS: [1.1.1.1, 2.2.2.2]
      registerWithTaints: [{key: a, effect: NoSchedule}]
    flags: ["--node-labels=a=1"]
  featureGates: {InstanceIdNodeName: true}
  instance: {localStorage: {strategy: RAID0}}
`)
	second := document(clusterYAML + `
  kubelet:
    config:
      maxPods: 20
      kubeReserved: {cpu: 200m}
      clusterDNS: [10.96.0.10]
      registerWithTaints: []
    flags: ["--node-labels=b=2"]
`)
	got, err := ReadUserData(message(nodeConfigMediaType, first, nodeConfigMediaType, second))
	if err != nil {
		t.Fatal(err)
	}
	want, err := decodeNodeConfig([]byte(document(clusterYAML + `
  kubelet:
    config:
      maxPods: 20
      kubeReserved: {cpu: 200m, memory: 1Gi}
      clusterDNS: [10.96.0.10]
      registerWithTaints: [{key: a, effect: NoSchedule}]
    flags: ["--node-labels=a=1", "--node-labels=b=2"]
  featureGates: {InstanceIdNodeName: true}
  instance: {localStorage: {strategy: RAID0}}
`)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestReadUserDataSaysWhyTheInstanceWillNotJoin(t *testing.T) {
	good := document(clusterYAML)
	without := func(field string) string {
		return strings.Replace(good, field+":", "not"+field+":", 1)
	}
	bomb := compress(t, make([]byte, maxUnpackedBytes+1))
	cases := map[string]struct {
		data []byte
		want string
	}{
		"nothing":            {nil, "empty"},
		"white space":        {[]byte(" \n"), "empty"},
		"a shell script":     {[]byte("#!/bin/sh\nset -e\n/etc/eks/bootstrap.sh demo\n"), "NodeConfig"},
		"TOML":               {[]byte("[settings.kubernetes]\ncluster-name = \"demo\"\n"), "NodeConfig"},
		"too long":           {bytes.Repeat([]byte("#"), maxUserDataBytes+1), "EC2 allows 16384"},
		"bomb":               {bomb, "unpacks to more than"},
		"torn gzip":          {compress(t, []byte(good))[:40], "unpack"},
		"no NodeConfig part": {message("text/x-shellscript", "true"), "no part of type"},
		"no parts":           {[]byte("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b--\r\n"), "no part of type"},
		"torn part":          {bytes.TrimSuffix(message(nodeConfigMediaType, good), []byte("--//--\r\n")), "part 1"},
		"no boundary":        {[]byte("Content-Type: multipart/mixed\r\n\r\n--\r\nx\r\n"), ""},
		"bad content type":   {message("a/b/c; =", good), "content type"},
		"bad YAML":           {message(nodeConfigMediaType, "a: [b"), "part 1: read NodeConfig"},
		"other kind":         {[]byte("apiVersion: node.eks.aws/v1alpha1\nkind: Pod\n"), `"Pod"`},
		"other version":      {[]byte("apiVersion: node.eks.aws/v9\nkind: NodeConfig\n"), `"node.eks.aws/v9"`},
		"list":               {[]byte("- a\n- b\n"), "read NodeConfig"},
		"wrong type":         {[]byte(document("\n  cluster: 7\n")), "read NodeConfig"},
		"CA not base64":      {[]byte(strings.Replace(good, "Y2E=", "'-----'", 1)), "read NodeConfig"},
		"no name":            {[]byte(without("name")), "spec.cluster.name is missing"},
		"no endpoint":        {[]byte(without("apiServerEndpoint")), "spec.cluster.apiServerEndpoint is missing"},
		"no authority":       {[]byte(without("certificateAuthority")), "spec.cluster.certificateAuthority is missing"},
		"no CIDR":            {[]byte(without("cidr")), "spec.cluster.cidr is missing"},
		"bad CIDR":           {[]byte(strings.Replace(good, "10.96.0.0/12", "10.96.0.0", 1)), "spec.cluster.cidr"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ReadUserData(c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func FuzzReadUserData(f *testing.F) {
	good := document(clusterYAML + "  kubelet: {flags: ['--node-labels=a=b']}\n")
	f.Add([]byte(good))
	f.Add(message("text/x-shellscript", "true", nodeConfigMediaType, good))
	f.Add([]byte(document("\n  a: &a [x, x]\n  b: &b [*a, *a, *a]\n  c: [*b, *b, *b]\n")))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadUserData(data)
		if err != nil {
			return
		}
		// What is read must be usable, or be refused with a reason.
		k, err := configureKubelet(Instance{ID: "i-1", VCPUs: 2, MemoryBytes: 8 * gibibyte, ENIMaxPods: 29}, c)
		if err != nil {
			return
		}
		if r, err := k.measure(Instance{VCPUs: 2, MemoryBytes: 8 * gibibyte}, c); err == nil {
			for name, amount := range r.allocatable {
				if amount.Sign() < 0 {
					t.Errorf("allocatable %s is %s", name, amount.String())
				}
			}
		}
	})
}

// document is a NodeConfig with the spec given, indented by two.
func document(spec string) string {
	return "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:" + spec
}

// message makes a multipart message of pairs of content type and content.
func message(typesAndContents ...string) []byte {
	var b strings.Builder
	b.WriteString("MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"//\"\r\n\r\n")
	for i := 0; i < len(typesAndContents); i += 2 {
		fmt.Fprintf(&b, "--//\r\nContent-Type: %s\r\n\r\n%s\r\n", typesAndContents[i], typesAndContents[i+1])
	}
	b.WriteString("--//--\r\n")
	return []byte(b.String())
}

func compress(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
