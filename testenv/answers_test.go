package testenv

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// answers are what readers have looked for in the pages, by the finding that says so, and words with which a page
// answers.
var answers = []struct {
	finding, page string
	says          []string
}{
	{"U59", "docs/getting-started.md", []string{"## Create a cluster", "## Ten minutes", "service-linked role for spot",
		"## Check that it works", "## Scale down and clean up", "Instances cost what EC2 charges"}},
	{"U60", "docs/getting-started.md", []string{"The cluster may be empty", "CoreDNS", "Fargate"}},
	{"U61", "docs/tasks/migrate-from-cluster-autoscaler.md", []string{"authenticationMode=API_AND_CONFIG_MAP",
		"aws eks delete-nodegroup", "kubectl drain"}},
	{"U62", "docs/troubleshooting.md", []string{"aws ssm start-session", "journalctl -u kubelet", "nodeadm",
		"failed to assign an IP address", "spec.kubelet.maxPods", "enable-windows-ipam", "InvalidKMSKey"}},
	{"U63", "docs/faq.md", []string{"### Which NodePool does a pod get?", "shell on a node", "IPv6",
		"Node Termination Handler"}},
	{"U64", "docs/concepts/nodepools.md", []string{"karpenter.sh/docs/concepts/nodepools", "of version 1.14"}},
	{"U64", "docs/concepts/ec2nodeclasses.md", []string{"karpenter.sh/docs/concepts/nodeclasses"}},
	{"U64", "docs/concepts/scheduling.md", []string{"## From a pending pod to a node"}},
	{"U64", "docs/concepts/disruption.md", []string{"consolidat", "Drift", "budget"}},
	{"U64", "docs/concepts/overlays.md", []string{"NodeOverlay"}},
	{"U64", "docs/concepts/buffers.md", []string{"CapacityBuffer"}},
	{"U68", "docs/threat-model.md", []string{"## What is protected", "## Who acts", "Attacks on a watcher", "relay"}},
	{"U69", "docs/tasks/observe.md", []string{"metrics.prometheusRule.enabled", "Some queries:",
		"karpenter_cluster_utilization_percent"}},
	{"U70", "docs/compatibility.md", []string{"## Versions of Kubernetes"}},
	{"U71", "docs/tasks/upgrade.md", []string{"## Go back", "## Notes for installations of earlier versions"}},
	{"U72", "docs/concepts/ec2nodeclasses.md", []string{"## Images", "Pin a version", "## Capacity reservations"}},
	{"U77", "docs/tasks/many-clusters.md", []string{"### The EC2 API", "No cluster has a fixed quota"}},
	{"U78", "docs/concepts/interruption.md", []string{"The three tags are `kubernetes.io/cluster/CLUSTER`"}},
	{"U79", "docs/tasks/migrate-from-karpenter.md", []string{"so `joiner shadow` cannot compare them"}},
	{"U80", "docs/tasks/observe.md", []string{"Alarms notify nobody until"}},
	{"U80", "docs/concepts/ec2nodeclasses.md", []string{"next to nothing, because you pay for the reservation"}},
	{"U80", "docs/tasks/private-clusters.md", []string{"| public, or public and private |", "| private |"}},
	{"U80", "docs/tasks/remove.md", []string{"removes a finalizer when it finishes the deletion"}},
	{"U80", "docs/concepts/scheduling.md", []string{"`defaultConstraints` of the `PodTopologySpread` plugin"}},
	{"U81", "docs/glossary.md", []string{"| claim |", "| offering |", "| ledger |", "| snapshot |", "| hint |",
		"| disruption command |"}},
	{"U81", "infra/chart/values.yaml", []string{"The validating webhook", "failurePolicy is Ignore"}},
}

// U59 to U64, U68 to U72, U77 to U81: what a reader looked for and did not find is on the page where one looks.
func TestU59PagesAnswerWhatReadersLookedFor(t *testing.T) {
	for _, a := range answers {
		text, err := os.ReadFile("../" + a.page)
		if err != nil {
			t.Errorf("%s: %v", a.finding, err)
			continue
		}
		for _, words := range a.says {
			if !strings.Contains(string(text), words) {
				t.Errorf("%s: %s does not say %q", a.finding, a.page, words)
			}
		}
	}
}

var (
	findingID     = regexp.MustCompile(`\b[MU][0-9]{1,3}\b`)
	findingsNamed = regexp.MustCompile(`^func Test((?:[A-Z]+[0-9]+_?)+)`)
	findingOfName = regexp.MustCompile(`[MU][0-9]{1,3}`)
	findingLines  = regexp.MustCompile(`^\s*(?://|func Test|test\(|\{?"|\{")`) // of a test: comment, name, case
)

// Each finding about rows of parity (M1 to M115) and about what users meet (U1 to U89) has a test that names it, or a
// paragraph of the decisions.
func TestFindingsHaveATestOrADecision(t *testing.T) {
	has := map[string]bool{}
	for _, a := range answers {
		has[a.finding] = true
	}
	take := func(line string) {
		ids := findingID.FindAllString(line, -1)
		if name := findingsNamed.FindStringSubmatch(line); name != nil {
			ids = append(ids, findingOfName.FindAllString(name[1], -1)...)
		}
		for _, id := range ids {
			has[id] = true
		}
	}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return filepath.SkipDir
		case name == "answers_test.go" || !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, ".test.mjs"):
			return nil
		}
		text, err := os.ReadFile(path)
		for line := range strings.SplitSeq(string(text), "\n") {
			if findingLines.MatchString(line) {
				take(line)
			}
		}
		return err
	})
	decisions, unread := os.ReadFile("../docs/decisions.md")
	if err := cmp.Or(err, unread); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(decisions), "\n") {
		if strings.HasPrefix(line, "### ") {
			take(line)
		} else if cells := strings.Split(line, "|"); len(cells) > 2 {
			take(cells[1])
		}
	}
	var missing []string
	for letter, last := range map[string]int{"M": 115, "U": 89} {
		for i := range last {
			if id := letter + strconv.Itoa(i+1); !has[id] {
				missing = append(missing, id)
			}
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		t.Errorf("no test and no decision names %s", strings.Join(missing, ", "))
	}
}
