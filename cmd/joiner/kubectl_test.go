package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// typed is what a user types, and what that comes to.
type typed struct {
	line    string // without the program
	in      string
	code    int
	out     string // that standard output has; "" = it is empty
	errs    string // that standard error has; "" = it is empty
	nothing bool   // standard output is not looked at
}

// transcript runs what users type.
func transcript(t *testing.T, lines ...typed) {
	t.Helper()
	for _, l := range lines {
		code, out, errs := joiner(l.in, strings.Fields(l.line)...)
		if code != l.code || !has(out, l.out) && !l.nothing || !has(errs, l.errs) {
			t.Errorf("$ joiner %s\nexit status %d, want %d\non standard output\n%s\nwant\n%s\non standard "+
				"error\n%s\nwant\n%s",
				l.line, code, l.code, out, l.out, errs, l.errs)
		}
	}
}

func has(text, want string) bool {
	if want == "" {
		return text == ""
	}
	return strings.Contains(text, want)
}

// noKubeconfig has nothing found that the computer may have.
func noKubeconfig(t *testing.T) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

// U2: a command in front of the pipe that failed is no good news.
func TestU2EmptyInputIsAnError(t *testing.T) {
	noKubeconfig(t)
	transcript(t,
		typed{line: "plan provision -f -", code: 2, errs: "joiner: -f: the input has no objects; did kubectl fail?"},
		typed{line: "plan disrupt -f /dev/null", code: 2,
			errs: "joiner: -f: the input has no objects; did kubectl fail?"},
		typed{line: "report -f -", in: "{apiVersion: v1, kind: List, items: []}", code: 2,
			errs: "the input has no objects"},
		typed{line: "plan provision -f -", in: "{apiVersion: v1, kind: Node, metadata: {name: a}}",
			out: "No pending pods: nothing to launch. The input has 0 pods, 1 node and 0 NodePools."},
	)
}

func TestU4AWorkloadManifestIsPlanned(t *testing.T) {
	deployment := "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: " +
		"{replicas: 3, " +
		"selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {tolerations: " +
		"[{operator: Exists}], containers: " +
		"[{name: web, resources: {requests: {cpu: 900m}}}]}}}}\n---\n"
	p := planOf(t, deployment+small(t), "-f", "-", "--catalog", "testdata/catalog.json")
	planned := 0
	for _, claim := range p.Claims {
		for _, pod := range claim.Pods {
			if strings.HasPrefix(pod, "shop/web-") {
				planned++
			}
		}
	}
	for _, node := range p.Nominations {
		planned += strings.Count(strings.Join(node.Pods, " "), "shop/web-")
	}
	if planned != 3 {
		t.Errorf("%d of 3 pods of the Deployment are planned: %+v", planned, p)
	}
}

func TestU15MisspeltCommandsAreCorrected(t *testing.T) {
	transcript(t,
		typed{line: "plan provison -f x", code: 2,
			errs: `joiner: unknown command "provison" for "joiner plan"; did you mean provision?`},
		typed{line: "plan provison", code: 2, errs: "did you mean provision?"},
		typed{line: "why nod -n shop a", code: 2,
			errs: `unknown command "nod" for "joiner why"; did you mean pod or node?`},
		typed{line: "plna", code: 2, errs: `unknown command "plna" for "joiner"; did you mean plan?`},
		typed{line: "plan provision --fast", code: 2, errs: "unknown flag: --fast; see joiner plan provision --help"},
	)
}

// U16: without -f the cluster is that of the kubeconfig, as for every plugin of kubectl.
func TestU16TheClusterOfTheKubeconfigIsRead(t *testing.T) {
	noKubeconfig(t)
	transcript(t, typed{line: "plan provision", code: 2,
		errs: "name what to read: files by -f or -k, or a cluster by --context or --kubeconfig; no kubeconfig " +
			"was found"})
	kubeconfigOf(t)
	transcript(t,
		typed{line: "plan provision", out: "The input has 0 pods, 1 node and 0 NodePools."},
		typed{line: "plan disrupt", out: "The input has 0 pods, 1 node and 0 NodePools."},
		typed{line: "plan provision --context none", code: 2, errs: `context "none" does not exist`},
		typed{line: "plan provision -f - --context here", in: onePod, code: 2,
			errs: "-f: it excludes --kubeconfig and --context"},
	)
}

// kubeconfigOf starts an API server with a node, and a kubeconfig whose contexts lead to it.
func kubeconfigOf(t *testing.T) {
	t.Helper()
	answers := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[` +
			`{"name":"nodes","kind":"Node","namespaced":false,"verbs":["list"]},` +
			`{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list"]}]}`,
		"/api/v1/nodes": `{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"n","uid":"n"}}]}`,
		"/api/v1/pods":  `{"kind":"PodList","apiVersion":"v1","items":[]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, is := answers[r.URL.Path]
		if !is {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := "{apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: " +
		"c, user: u, " +
		"namespace: shop}}, {name: there, context: {cluster: c, user: u}}], users: [{name: u, user: {}}], " +
		"clusters: [{name: c, cluster: {server: '" + server.URL + "'}}]}"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
}

func TestU17Outputs(t *testing.T) {
	const small = "plan provision -f testdata/small.yaml --catalog testdata/catalog.json -o "
	left := "1 object of kind ConfigMap (v1) is left out"
	transcript(t,
		typed{line: small + "yaml", out: "\n  nodePool: default\n", errs: left},
		typed{line: small + "jsonpath={.claims[0].nodePool}", out: "default\n", errs: left},
		typed{line: small + "jsonpath=.claims[0].nodePool", out: "default\n", errs: left},
		typed{line: small + "go-template={{range.unschedulable}}{{.pod}}{{end}}", out: "default/huge\n", errs: left},
		typed{line: small + "jsonpath={", code: 2, errs: "not a JSONPath template"},
		typed{line: small + "go-template={{", code: 2, errs: "not a template of Go"},
		typed{line: small + "wide", code: 2,
			errs: "must be table or json or yaml or jsonpath=TEMPLATE or go-template=TEMPLATE"},
		typed{line: small + "name", code: 2, errs: "must be table or json or yaml"},
		typed{line: "version -o yaml", out: "version: "},
	)
}

// U17, U18: lists have names, and an order.
func TestU17U18ListsHaveNamesAndAnOrder(t *testing.T) {
	ledgerOf(t, threeClusters...)
	joiner("", "stop", "disruption", "--cluster", "web", "--why", "b")
	joiner("", "stop", "disruption", "--cluster", "far", "--why", "c")
	joiner("", "stop", "disruption", "--cluster", "shop", "--pool", "gpu", "--why", "a")
	transcript(t,
		typed{line: "stops -o name --sort-by .why", out: "shop/gpu\nweb\nfar\n"},
		typed{line: "stops -o name --sort-by why", out: "shop/gpu\nweb\nfar\n"},
		typed{line: "stops --sort-by .size", code: 2,
			errs: "--sort-by: no row has .size; -o json shows what they have"},
	)
	for flags, heads := range map[string]bool{"": true, " --no-headers": false} {
		_, out, _ := joiner("", strings.Fields("stops"+flags)...)
		if strings.Contains(out, "STOPPED") != heads || strings.Count(out,
			"\n") != 3+len(map[bool]string{true: " "}[heads]) {
			t.Errorf("stops%s prints\n%s", flags, out)
		}
	}
}

func TestU18FlagsOfKubectl(t *testing.T) {
	for command, flags := range map[string]string{
		"plan provision": "--context --kubeconfig", "plan disrupt": "--context --kubeconfig",
		"why pod":  "--context --kubeconfig --namespace",
		"why node": "--context --kubeconfig", "clusters": "--no-headers --sort-by",
		"decisions": "--no-headers --sort-by", "stops": "--no-headers --sort-by",
	} {
		_, out, _ := joiner("", append(strings.Fields(command), "--help")...)
		for _, flag := range strings.Fields(flags) {
			if !strings.Contains(out, flag) {
				t.Errorf("joiner %s has no %s", command, flag)
			}
		}
	}
	transcript(t,
		typed{line: "why pod -n shop arm-0 -f testdata/shop", out: "pod shop/arm-0 is pending"},
		typed{line: "why pod -n web shop/arm-0 -f testdata/shop", code: 2,
			errs: "-n web: the pod shop/arm-0 is named with another namespace"},
	)
}

func TestU19FoldersAndKustomize(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "pods"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"pods/a.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
		"kustomization.yaml": "{resources: [pods/a.yaml], namespace: shop}"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	transcript(t,
		typed{line: "plan provision -f " + root, code: 2, errs: "its subfolders are not read without -R"},
		typed{line: "plan provision -R -o jsonpath={.unschedulable[*].pod} -f " + root, out: "default/a\n"},
		typed{line: "plan provision -o jsonpath={.unschedulable[*].pod} -k " + root, out: "shop/a\n"},
	)
}

func TestU20VersionsForPeopleAndPrograms(t *testing.T) {
	transcript(t,
		typed{line: "--version", out: "joiner "},
		typed{line: "version", out: "joiner "},
		typed{line: "version -o json", out: `"goVersion": "go1`},
	)
}

func TestU21AProfileCanBeNamed(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config,
		[]byte("[default]\nregion = eu-west-1\n[profile team]\nregion = us-west-2\naws_access_key_id = "+
			"a\naws_secret_access_key = b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ledgerOf(t, threeClusters...)
	t.Setenv("AWS_CONFIG_FILE", config)
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	transcript(t,
		typed{line: "stops --profile team", out: "There are no stops."},
		typed{line: "stops --profile nobody", code: 2, errs: "nobody"},
	)
	if _, out, _ := joiner("", "__complete", "stops", "--profile", ""); !strings.HasPrefix(out, "default\nteam\n") {
		t.Errorf("profiles are completed to %s", out)
	}
}

// U22: kubectl's exit status for what is not there is 1.
func TestU22WhatIsNotThereIsExitStatusOne(t *testing.T) {
	transcript(t,
		typed{line: "why pod shop/nope -f testdata/shop", code: 1, errs: "pod shop/nope does not exist"},
		typed{line: "why node nope -f testdata/night", code: 1, errs: "node nope is neither a node, nor a NodeClaim"},
		typed{line: "why node nope -f testdata/night -o json", code: 1, out: `"code": "NotThere"`},
	)
}

func TestU23AllThatIsMissingIsNamed(t *testing.T) {
	transcript(t,
		typed{line: "stop disruption", code: 2,
			errs: "give the scope (--cluster CLUSTER or --all-clusters) and the reason (--why TEXT); " +
				"see joiner stop disruption --help"},
		typed{line: "stop disruption --cluster shop", code: 2, errs: "give the reason (--why TEXT); see"},
		typed{line: "resume disruption", code: 2, errs: "give the scope (--cluster CLUSTER or --all-clusters); see"},
	)
}

func TestU24AMissingNameIsAskedFor(t *testing.T) {
	transcript(t,
		typed{line: "adopt", code: 2, errs: "name the cluster: joiner adopt CLUSTER"},
		typed{line: "attach a b", code: 2, errs: "joiner attach CLUSTER: it takes one of them, not 2"},
		typed{line: "why pod", code: 2, errs: "name the namespace/name: joiner why pod NAMESPACE/NAME"},
		typed{line: "why node", code: 2,
			errs: "name the node, nodeclaim, instance: joiner why node NODE|NODECLAIM|INSTANCE"},
		typed{line: "doctor a b", code: 2, errs: "joiner doctor [CLUSTER]: it takes one of them, not 2"},
	)
}

func TestU25AFolderThatIsNotThereIsNamed(t *testing.T) {
	transcript(t,
		typed{line: "replay x --dir /nope", code: 2, errs: "--dir: open /nope: no such file or directory"},
		typed{line: "shadow run --dir /nope", code: 2, errs: "--dir: open /nope: no such file or directory"},
	)
}

// U26: what is wrong with the command line is said before anybody is asked.
func TestU26FlagsAreCheckedBeforeTheCloud(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	transcript(t, typed{line: "console --listen 127.0.0.1:80x", code: 2, errs: "--listen: "})
}

func TestU27TextFitsTheTerminal(t *testing.T) {
	for columns, args := range map[string][]string{
		"60":  {"plan", "provision", "-f", "testdata/shop"},
		"80":  {"plan", "disrupt", "-f", "testdata/night", "--now", "2026-03-01T02:00:00Z"},
		"70":  {"report", "-f", "testdata/night"},
		"100": {"why", "pod", "shop/arm-0", "-f", "testdata/shop"},
	} {
		t.Setenv("COLUMNS", columns)
		code, out, errs := joiner("", args...)
		if code != 0 || strings.Count(out, "\n") < 3 {
			t.Errorf("%v in %s columns: exit status %d, %q, %s", args, columns, code, out, errs)
		}
		most := map[string]int{"60": 60, "80": 80, "70": 70, "100": 100}[columns]
		for i, line := range strings.Split(out, "\n") {
			if n := len([]rune(line)); n > most && !(i == 0 && args[0] == "why") {
				t.Errorf("%v in %s columns: a line of %d: %s (%s)", args, columns, n, line, errs)
			}
		}
	}
	t.Setenv("COLUMNS", "")
	for _, args := range [][]string{{"plan", "provision", "--help"}, {"console", "--help"}, {"attach", "--help"}} {
		_, out, _ := joiner("", args...)
		paragraphs, _, _ := strings.Cut(out, "Examples:")
		for _, line := range strings.Split(paragraphs, "\n") {
			if len(line) > 100 && !strings.HasPrefix(line, " ") {
				t.Errorf("help of %v has a line of %d: %s", args, len(line), line)
			}
		}
		_, flags, _ := strings.Cut(out, "Flags:")
		for _, line := range strings.Split(flags, "\n") {
			if len(line) > 100 {
				t.Errorf("help of %v has a flag's line of %d: %s", args, len(line), line)
			}
		}
	}
}

// U30: --region is the installation's everywhere.
func TestU30RegionIsTheInstallationsEverywhere(t *testing.T) {
	for _, command := range []string{"stop disruption", "resume disruption", "stops", "clusters", "decisions",
		"doctor"} {
		_, out, _ := joiner("", append(strings.Fields(command), "--help")...)
		if !regexp.MustCompile(`--region REGION +the REGION of the installation`).MatchString(out) {
			t.Errorf("joiner %s --help does not say that --region is the installation's:\n%s", command, out)
		}
	}
}

// U32, U31: what the chart prints can be typed.
func TestU31U32WhatTheChartPrintsCanBeTyped(t *testing.T) {
	for _, file := range []string{"../../infra/chart/templates/NOTES.txt", "../../infra/chart/README.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, "detach") && strings.Contains(line, "--hand-over") && (!strings.Contains(line,
				"--hand-over=") || !strings.Contains(line, "--yes")) {
				t.Errorf("%s: not a command as it is: %s", file, line)
			}
			if regexp.MustCompile(`kubectl get [a-z0-9,]+, `).MatchString(line) {
				t.Errorf("%s: kubectl takes no space in a list of kinds: %s", file, line)
			}
		}
	}
	transcript(t, typed{line: "detach shop --yes --dry-run", code: 2,
		errs: "--dry-run: it excludes --yes; give one of them"})
}

// U33: kubectl runs a program kubectl-joiner as "kubectl joiner".
func TestU33APluginOfKubectl(t *testing.T) {
	run := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := runAs("/usr/local/bin/kubectl-joiner", args, strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	_, out, _ := run("plan", "--help")
	if !strings.Contains(out, "Usage:\n  kubectl joiner plan [flags]\n") || !strings.Contains(out,
		`Use "kubectl joiner plan [command] --help"`) {
		t.Errorf("%s", out)
	}
	if _, out, _ = run("clusters", "--help"); !strings.Contains(out, "\n  kubectl joiner clusters -o json\n") {
		t.Errorf("%s", out)
	}
	if code, _, errs := run("plan", "provison"); code != 2 || !strings.Contains(errs,
		`unknown command "provison" for "kubectl joiner plan"; did you mean provision?`) {
		t.Errorf("exit status %d, %s", code, errs)
	}
}
