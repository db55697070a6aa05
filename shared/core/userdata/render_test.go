package userdata

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/machine/powershell"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var families = []string{"AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022", "Windows2025"}

const authority = "-----BEGIN CERTIFICATE-----\n"

func input(edit func(*Input)) Input {
	in := Input{
		Class:   model.Class{Name: "default", Family: "AL2023"},
		Cluster: "web", Endpoint: "https://web.example", CA: []byte(authority), ServiceCIDR: "10.96.0.0/12", ClusterDNS: "10.96.0.10",
		Labels:  map[string]string{"team": "a", model.LabelNodePool: "default", "kubernetes.io/arch": "amd64", "node-restriction.kubernetes.io/x": "y", "example.k8s.io/z": "z"},
		Taints:  []model.Taint{{Key: "dedicated", Value: "gpu", Effect: model.NoSchedule}, {Key: model.TaintUnregistered, Effect: model.NoExecute}},
		MaxPods: 58,
	}
	if edit != nil {
		edit(&in)
	}
	return in
}

func of(family string, edit func(*Input)) Input {
	return input(func(in *Input) {
		in.Class.Family = family
		if edit != nil {
			edit(in)
		}
	})
}

func render(t *testing.T, in Input) string {
	t.Helper()
	text, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// document is what an instance makes of user data: MIME parts or the one text, and what it is given about joining.
type document struct {
	types, bodies []string
	cluster       string
	endpoint      string
	authority     string
	dns           string
	maxPods       string
	labels        map[string]string
	taints        []string                  // key=value:effect
	kubelet       map[string]map[string]any // reservations and thresholds by the name of the field
	raid0         bool
	words         []string // of the bootstrap call, where there is one
	settings      map[string]any
}

// read takes user data apart with a real parser of its format, as an instance of the family would. It fails the test where
// that cannot be done.
func read(t testing.TB, family, text string) document {
	t.Helper()
	switch {
	case family == "AL2":
		return readAL2(t, text)
	case family == "AL2023":
		return readAL2023(t, text)
	case family == "Bottlerocket":
		return readBottlerocket(t, text)
	case strings.HasPrefix(family, "Windows"):
		return readWindows(t, text)
	}
	t.Fatalf("no reader for %s", family)
	return document{}
}

func readMIME(t testing.TB, text string) (d document) {
	t.Helper()
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("not a MIME document: %v\n%s", err, text)
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		p, err := reader.NextRawPart()
		if err == io.EOF {
			return d
		}
		if err != nil {
			t.Fatalf("part %d: %v", len(d.types), err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		d.types, d.bodies = append(d.types, p.Header.Get("Content-Type")), append(d.bodies, string(body))
	}
}

func readAL2(t testing.TB, text string) document {
	d := readMIME(t, text)
	script := d.bodies[len(d.bodies)-1]
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "user-data")
	if err != nil {
		t.Fatalf("the last part is no bash: %v\n%s", err, script)
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 && call.Args[0].Lit() == "/etc/eks/bootstrap.sh" {
			if d.words != nil {
				t.Fatalf("bootstrap.sh is called twice:\n%s", script)
			}
			for _, word := range call.Args[1:] {
				value, err := expand.Literal(nil, word)
				if err != nil {
					t.Fatal(err)
				}
				d.words = append(d.words, value)
			}
		}
		return true
	})
	if len(d.words) == 0 {
		t.Fatalf("bootstrap.sh is not called:\n%s", script)
	}
	named := map[string]string{}
	for i := 1; i+1 < len(d.words); i += 2 {
		named[d.words[i]] = d.words[i+1]
	}
	d.cluster, d.endpoint, d.dns, d.raid0 = d.words[0], named["--apiserver-endpoint"], named["--dns-cluster-ip"], named["--local-disks"] == "raid0"
	d.authority = decode(t, named["--b64-cluster-ca"])
	d.flags(t, named["--kubelet-extra-args"])
	return d
}

func readWindows(t testing.TB, text string) document {
	t.Helper()
	lower := strings.ToLower(text)
	if strings.Count(lower, "<powershell>") != 1 || strings.Count(lower, "</powershell>") != 1 ||
		!strings.HasPrefix(text, "<powershell>\n") || !strings.HasSuffix(text, "\n</powershell>\n") {
		t.Fatalf("not one block:\n%s", text)
	}
	script := strings.TrimSuffix(strings.TrimPrefix(text, "<powershell>\n"), "</powershell>\n")
	commands, err := powershell.Commands(script)
	if err != nil {
		t.Fatalf("%v:\n%s", err, script)
	}
	last := commands[len(commands)-1]
	if last.Name != `$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1` {
		t.Fatalf("the last command is %q:\n%s", last.Name, script)
	}
	named := last.Parameters()
	d := document{bodies: []string{script}, words: last.Arguments, cluster: named["EKSClusterName"], endpoint: named["APIServerEndpoint"], dns: named["DNSClusterIP"]}
	d.authority = decode(t, named["Base64ClusterCA"])
	d.flags(t, named["KubeletExtraArgs"])
	return d
}

// flags reads a kubelet's command line.
func (d *document) flags(t testing.TB, line string) {
	t.Helper()
	d.labels, d.kubelet = map[string]string{}, map[string]map[string]any{}
	for _, word := range strings.Fields(line) {
		name, value, ok := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !ok || !strings.HasPrefix(word, "--") {
			t.Fatalf("%q is no kubelet flag, in %s", word, line)
		}
		switch name {
		case "node-labels":
			for _, pair := range strings.Split(value, ",") {
				key, label, _ := strings.Cut(pair, "=")
				d.labels[key] = label
			}
		case "register-with-taints":
			d.taints = strings.Split(value, ",")
		case "max-pods":
			d.maxPods = value
		default:
			d.kubelet[name] = map[string]any{}
			for _, pair := range strings.Split(value, ",") {
				key, amount, _ := strings.Cut(strings.Replace(pair, "<", "=", 1), "=")
				d.kubelet[name][key] = amount
			}
		}
	}
}

func readAL2023(t testing.TB, text string) document {
	d := readMIME(t, text)
	var config nodeConfig
	if err := yaml.UnmarshalStrict([]byte(d.bodies[len(d.bodies)-1]), &config); err != nil {
		t.Fatalf("the last part is no NodeConfig: %v", err)
	}
	c := config.Spec.Kubelet.Config
	d.cluster, d.endpoint = config.Spec.Cluster.Name, config.Spec.Cluster.APIServerEndpoint
	d.authority = decode(t, config.Spec.Cluster.CertificateAuthority)
	d.raid0 = config.Spec.Instance != nil && config.Spec.Instance.LocalStorage.Strategy == "RAID0"
	line := strings.Join(config.Spec.Kubelet.Flags, " ")
	d.flags(t, line)
	if c["maxPods"] != nil {
		d.maxPods = fmt.Sprint(c["maxPods"])
	}
	if servers, ok := c["clusterDNS"].([]any); ok {
		d.dns = fmt.Sprint(servers[0])
	}
	for _, name := range []string{"kubeReserved", "systemReserved", "evictionHard"} {
		d.kubelet[name], _ = c[name].(map[string]any)
	}
	registered, _ := c["registerWithTaints"].([]any)
	for _, one := range registered {
		taint := one.(map[string]any)
		value, _ := taint["value"].(string)
		d.taints = append(d.taints, strings.TrimSuffix(fmt.Sprintf("%s=%s", taint["key"], value), "=")+":"+fmt.Sprint(taint["effect"]))
	}
	return d
}

func readBottlerocket(t testing.TB, text string) document {
	t.Helper()
	var top struct {
		Settings map[string]any `toml:"settings"`
	}
	if err := toml.Unmarshal([]byte(text), &top); err != nil {
		t.Fatalf("no TOML: %v\n%s", err, text)
	}
	k, _ := top.Settings["kubernetes"].(map[string]any)
	texts := func(name string) map[string]any { m, _ := k[name].(map[string]any); return m }
	d := document{settings: top.Settings, labels: map[string]string{}, kubelet: map[string]map[string]any{}}
	d.cluster, _ = k["cluster-name"].(string)
	d.endpoint, _ = k["api-server"].(string)
	d.dns, _ = k["cluster-dns-ip"].(string)
	certificate, _ := k["cluster-certificate"].(string)
	d.authority = decode(t, certificate)
	if k["max-pods"] != nil {
		d.maxPods = fmt.Sprint(k["max-pods"])
	}
	for key, value := range texts("node-labels") {
		d.labels[key] = value.(string)
	}
	for key, values := range texts("node-taints") {
		for _, value := range values.([]any) {
			taint := key + "=" + value.(string)
			d.taints = append(d.taints, strings.Replace(taint, "=:", ":", 1))
		}
	}
	for _, name := range []string{"kube-reserved", "system-reserved", "eviction-hard", "eviction-soft", "eviction-soft-grace-period"} {
		d.kubelet[name] = texts(name)
	}
	commands, _ := top.Settings["bootstrap-commands"].(map[string]any)
	d.raid0 = commands[storageCommand] != nil
	return d
}

func decode(t testing.TB, text string) string {
	t.Helper()
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return string(out)
}

const wholeKubelet = `{"clusterDNS":["10.0.0.10"],"podsPerCore":4,"maxPods":9,"systemReserved":{"cpu":"100m","memory":"100Mi"},"kubeReserved":{"cpu":"200m"},` +
	`"evictionHard":{"memory.available":"5%","nodefs.available":"10Gi"},"evictionSoft":{"memory.available":"10%"},"evictionSoftGracePeriod":{"memory.available":"1m30s"},` +
	`"evictionMaxPodGracePeriod":120,"imageGCHighThresholdPercent":50,"imageGCLowThresholdPercent":0,"cpuCFSQuota":false}`

func TestRenderGolden(t *testing.T) {
	shell := func(in *Input) { in.Class.UserData = "#!/bin/bash\necho hello\n" }
	whole := func(in *Input) { in.Class.Kubelet.JSON = wholeKubelet }
	raid := func(in *Input) { in.Class.InstanceStorePolicy = "RAID0" }
	ipv6 := func(in *Input) {
		in.ServiceCIDR, in.ClusterDNS = "fd5e:1234::/108", "fd5e:1234::a"
	}
	cases := []struct {
		family, name string
		edit         func(*Input)
	}{
		{"AL2023", "plain", nil},
		{"AL2023", "shell", shell},
		{"AL2023", "nodeconfig", func(in *Input) {
			in.Class.UserData = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n"
		}},
		{"AL2023", "mime", func(in *Input) {
			in.Class.UserData = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\nZWNobyBoaQo=\n--//--\n"
		}},
		{"AL2023", "kubelet", func(in *Input) {
			in.Class.Kubelet.JSON = `{"maxPods":9,"systemReserved":{"cpu":"100m"},"registryPullQPS":12345678901}`
		}},
		{"AL2023", "raid0", raid},
		{"AL2023", "ipv6", ipv6},
		{"AL2", "plain", nil},
		{"AL2", "shell", shell},
		{"AL2", "kubelet", whole},
		{"AL2", "raid0", raid},
		{"AL2", "ipv6", ipv6},
		{"Bottlerocket", "plain", nil},
		{"Bottlerocket", "settings", func(in *Input) { in.Class.UserData = settings }},
		{"Bottlerocket", "kubelet", func(in *Input) { in.Class.Kubelet.JSON = strings.Replace(wholeKubelet, `"podsPerCore":4,`, "", 1) }},
		{"Bottlerocket", "raid0", raid},
		{"Bottlerocket", "ipv6", ipv6},
		{"Windows2019", "plain", nil},
		{"Windows2022", "script", func(in *Input) { in.Class.UserData = "Write-Host \"hello\"" }},
		{"Windows2025", "kubelet", whole},
	}
	for _, c := range cases {
		t.Run(c.family+"/"+c.name, func(t *testing.T) {
			got := render(t, of(c.family, c.edit))
			read(t, c.family, got)
			path := filepath.Join("testdata", strings.ToLower(c.family)+"-"+c.name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal([]byte(got), want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Whatever the family, an instance learns where its cluster is, how many pods it takes and what is reserved.
func TestRenderTellsEveryFamilyHowToJoin(t *testing.T) {
	for _, family := range families {
		t.Run(family, func(t *testing.T) {
			d := read(t, family, render(t, of(family, func(in *Input) {
				in.Class.Kubelet.JSON = `{"systemReserved":{"memory":"100Mi"},"evictionHard":{"memory.available":"5%"}}`
			})))
			if d.cluster != "web" || d.endpoint != "https://web.example" || d.authority != authority || d.dns != "10.96.0.10" || d.maxPods != "58" {
				t.Errorf("got %+v", d)
			}
			reserved, hard := d.kubelet["system-reserved"], d.kubelet["eviction-hard"]
			if family == "AL2023" {
				reserved, hard = d.kubelet["systemReserved"], d.kubelet["evictionHard"]
			}
			if reserved["memory"] != "100Mi" || hard["memory.available"] != "5%" {
				t.Errorf("reserved %v, eviction %v", reserved, hard)
			}
		})
	}
}

// UD-08: labels a kubelet may not set are left out, and the taint that keeps pods away is there exactly once.
func TestUD08LabelsAndTaintsOfEveryFamily(t *testing.T) {
	for _, family := range families {
		t.Run(family, func(t *testing.T) {
			d := read(t, family, render(t, of(family, func(in *Input) { in.Taints = append(in.Taints, in.Taints...) })))
			want := map[string]string{"team": "a", model.LabelNodePool: "default", model.LabelDoNotSync: "true"}
			if fmt.Sprint(d.labels) != fmt.Sprint(want) {
				t.Errorf("got labels %v, want %v", d.labels, want)
			}
			seen := map[string]int{}
			for _, taint := range d.taints {
				seen[taint]++
			}
			if len(seen) != 2 || seen["dedicated=gpu:NoSchedule"] != 1 || seen[model.TaintUnregistered+":NoExecute"] != 1 {
				t.Errorf("got taints %v", d.taints)
			}
		})
	}
	if got := render(t, of("Custom", func(in *Input) { in.Class.UserData = "x" })); got != "x" {
		t.Errorf("Custom is given %q", got)
	}
}

// UD-11: what EC2 would refuse is refused with the reason people know, and not one byte earlier.
func TestUD11SizeLimit(t *testing.T) {
	for _, family := range append([]string{"Custom"}, families...) {
		filler := func(n int) Input {
			return of(family, func(in *Input) { in.Class.UserData = "#" + strings.Repeat("x", n) })
		}
		if family == "Bottlerocket" { // comments are not kept
			filler = func(n int) Input {
				return of(family, func(in *Input) { in.Class.UserData = "settings.motd = '" + strings.Repeat("x", n) + "'" })
			}
		}
		empty := len(render(t, filler(1)))
		if got := render(t, filler(1+MaxBytes-empty)); len(got) != MaxBytes {
			t.Errorf("%s: got %d bytes, want %d", family, len(got), MaxBytes)
		}
		_, err := Render(filler(2 + MaxBytes - empty))
		if !fault.Is(err, fault.Invalid) || fault.CodeOf(err) != "UserDataSizeLimitExceeded" || !strings.Contains(err.Error(), "spec.userData") {
			t.Errorf("%s: got %v", family, err)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	user := func(text string) func(*Input) { return func(in *Input) { in.Class.UserData = text } }
	kubelet := func(text string) func(*Input) { return func(in *Input) { in.Class.Kubelet.JSON = text } }
	cases := map[string]struct {
		families []string
		edit     func(*Input)
		code     string
		says     string
	}{
		"UD-02 service CIDR unknown":      {[]string{"AL2023"}, func(in *Input) { in.ServiceCIDR = "" }, "ClusterUnknown", "service CIDR"},
		"cluster unknown":                 {families, func(in *Input) { in.Cluster = "" }, "ClusterUnknown", "cluster name"},
		"endpoint unknown":                {families, func(in *Input) { in.Endpoint = "" }, "ClusterUnknown", "endpoint"},
		"authority unknown":               {families, func(in *Input) { in.CA = nil }, "ClusterUnknown", "certificate authority"},
		"another family":                  {[]string{"Ubuntu", ""}, nil, "UnsupportedFamily", "spec.amiFamily"},
		"broken MIME":                     {[]string{"AL2", "AL2023"}, user("Content-Type: multipart/mixed; boundary=\"b\"\n\n--b\nno end"), "InvalidUserData", "spec.userData"},
		"MIME without boundary":           {[]string{"AL2", "AL2023"}, user("Content-Type: multipart/mixed\n\n--\n\nx\n"), "InvalidUserData", "spec.userData"},
		"kubelet is a list":               {families, kubelet("[]"), "InvalidKubeletConfiguration", "spec.kubelet"},
		"expression nobody worked out":    {families, kubelet(`{"kubeReserved":{"cpu":"vcpus * 10"}}`), "InvalidKubeletConfiguration", "spec.kubelet.kubeReserved[cpu]"},
		"reserved is no object":           {families, kubelet(`{"systemReserved":"1"}`), "InvalidKubeletConfiguration", "spec.kubelet.systemReserved"},
		"field of other families":         {[]string{"AL2", "Bottlerocket", "Windows2022"}, kubelet(`{"registryPullQPS":5}`), "UnsupportedKubeletConfiguration", "spec.kubelet.registryPullQPS"},
		"field of another type":           {[]string{"AL2", "Bottlerocket", "Windows2022"}, kubelet(`{"cpuCFSQuota":"no"}`), "InvalidKubeletConfiguration", "spec.kubelet"},
		"two servers of DNS":              {[]string{"AL2", "Bottlerocket", "Windows2022"}, kubelet(`{"clusterDNS":["10.0.0.1","10.0.0.2"]}`), "UnsupportedKubeletConfiguration", "clusterDNS"},
		"podsPerCore":                     {[]string{"Bottlerocket"}, kubelet(`{"podsPerCore":5}`), "UnsupportedKubeletConfiguration", "podsPerCore"},
		"reserved pid":                    {[]string{"Bottlerocket"}, kubelet(`{"kubeReserved":{"pid":"5"}}`), "UnsupportedKubeletConfiguration", "kubeReserved[pid]"},
		"NodeConfig on AL2":               {[]string{"AL2"}, user("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"), "InvalidUserData", "AL2023"},
		"NodeConfig of another version":   {[]string{"AL2023"}, user("apiVersion: node.eks.aws/v9\nkind: NodeConfig\n"), "InvalidUserData", "node.eks.aws/v9"},
		"NodeConfig without kind":         {[]string{"AL2023"}, user("spec:\n  kubelet: {}\n"), "InvalidUserData", "begin it with"},
		"NodeConfig that cannot be read":  {[]string{"AL2023"}, user("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: [\n"), "InvalidUserData", "cannot be read"},
		"two NodeConfigs in one":          {[]string{"AL2023"}, user("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n---\nspec: {}\n"), "InvalidUserData", "several"},
		"NodeConfig that takes our taint": {[]string{"AL2023"}, user("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {flags: ['--register-with-taints=a:NoSchedule']}}\n"), "InvalidUserData", "register-with-taints"},
		"no TOML":                         {[]string{"Bottlerocket"}, user("#!/bin/sh\necho"), "InvalidUserData", "TOML"},
		"settings are no table":           {[]string{"Bottlerocket"}, user("settings = 1"), "InvalidUserData", "settings"},
		"kubernetes is no table":          {[]string{"Bottlerocket"}, user("[settings]\nkubernetes = []"), "InvalidUserData", "settings.kubernetes"},
		"labels are no table":             {[]string{"Bottlerocket"}, user("[settings.kubernetes]\nnode-labels = ''"), "InvalidUserData", "node-labels"},
		"a label is no text":              {[]string{"Bottlerocket"}, user("[settings.kubernetes.node-labels]\na = 1"), "InvalidUserData", "node-labels"},
		"block ended by the user":         {[]string{"Windows2022"}, user("a\n</PowerShell>\n"), "InvalidUserData", "</PowerShell>"},
		"block begun by the user":         {[]string{"Windows2022"}, user("<powershell>a</powershell>"), "InvalidUserData", "<powershell>"},
		"a script of the other kind":      {[]string{"Windows2022"}, user("<script>a</script>"), "InvalidUserData", "<script>"},
		"zero byte":                       {[]string{"Windows2022"}, user("a\x00b"), "InvalidUserData", "zero byte"},
		"IPv6 and Windows":                {[]string{"Windows2022"}, func(in *Input) { in.ServiceCIDR = "fd00::/108" }, "UnsupportedFamily", "IPv6"},
		"RAID0 where nobody makes one":    {[]string{"Windows2022", "Custom"}, func(in *Input) { in.Class.InstanceStorePolicy = "RAID0" }, "UnsupportedInstanceStorePolicy", "spec.instanceStorePolicy"},
		"RAID1":                           {families, func(in *Input) { in.Class.InstanceStorePolicy = "RAID1" }, "UnsupportedInstanceStorePolicy", "RAID1"},
		"RAID0 before there was any": {[]string{"Bottlerocket"}, func(in *Input) {
			in.Class.InstanceStorePolicy, in.ImageName = "RAID0", "bottlerocket-aws-k8s-1.32-x86_64-v1.21.9-abcdef01"
		}, "UnsupportedInstanceStorePolicy", "1.22.0"},
		"a quote in a label":     {[]string{"AL2", "AL2023", "Windows2022"}, func(in *Input) { in.Labels["a"] = "b' --c" }, "InvalidUserData", "node-labels"},
		"a quote in a cluster":   {[]string{"AL2", "Windows2022"}, func(in *Input) { in.Cluster = "a'; b" }, "InvalidUserData", "a'; b"},
		"a quote in a threshold": {[]string{"AL2", "Windows2022"}, kubelet(`{"evictionHard":{"memory.available":"1' --x"}}`), "InvalidUserData", "eviction-hard"},
	}
	for name, c := range cases {
		for _, family := range c.families {
			t.Run(name+"/"+family, func(t *testing.T) {
				_, err := Render(of(family, c.edit))
				if !fault.Is(err, fault.Invalid) || fault.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v (%s), want Invalid %s naming %s", err, fault.CodeOf(err), c.code, c.says)
				}
			})
		}
	}
}

// What expressions amount to takes the place of what is written, on every family and name by name.
func TestRenderTakesResolvedReservations(t *testing.T) {
	for _, family := range families {
		t.Run(family, func(t *testing.T) {
			d := read(t, family, render(t, of(family, func(in *Input) {
				in.Class.Kubelet.JSON = `{"maxPods":"max_pods - 3","kubeReserved":{"cpu":"vcpus * 10","memory":"300Mi"}}`
				in.KubeReserved = map[string]string{model.CPU: "480m", model.EphemeralStorage: "3Gi"}
				in.SystemReserved = map[string]string{model.Memory: "640Mi"}
			})))
			kube, system := d.kubelet["kube-reserved"], d.kubelet["system-reserved"]
			if family == "AL2023" {
				kube, system = d.kubelet["kubeReserved"], d.kubelet["systemReserved"]
			}
			if fmt.Sprint(kube) != "map[cpu:480m ephemeral-storage:3Gi memory:300Mi]" || fmt.Sprint(system) != "map[memory:640Mi]" || d.maxPods != "58" {
				t.Errorf("kube %v, system %v, %s pods", kube, system, d.maxPods)
			}
		})
	}
}

func TestRenderMakesTheArrayWhereItIsAskedFor(t *testing.T) {
	for _, family := range []string{"AL2", "AL2023", "Bottlerocket"} {
		for _, policy := range []string{"", "RAID0"} {
			d := read(t, family, render(t, of(family, func(in *Input) { in.Class.InstanceStorePolicy = policy })))
			if d.raid0 != (policy == "RAID0") {
				t.Errorf("%s with policy %q: %v", family, policy, d.raid0)
			}
		}
	}
}

func TestRenderIsTheSameEveryTime(t *testing.T) {
	for _, family := range families {
		in := of(family, func(in *Input) {
			in.Class.Kubelet.JSON = strings.Replace(wholeKubelet, `"podsPerCore":4,`, "", 1)
			for i := range 20 {
				in.Labels[fmt.Sprint("label-", i)] = "v"
				in.Taints = append(in.Taints, model.Taint{Key: fmt.Sprint("taint-", i), Effect: model.NoSchedule})
			}
		})
		first := render(t, in)
		for range 20 {
			if again := render(t, in); again != first {
				t.Fatalf("%s: got\n%s\nand\n%s", family, first, again)
			}
		}
	}
}
