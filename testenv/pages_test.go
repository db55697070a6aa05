package testenv

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"sigs.k8s.io/yaml"
)

// pages returns the path of every page in the project's root and below docs, the chart's, and with everywhere of every other Markdown file too.
func pages(t *testing.T, everywhere bool) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(file, ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != ".." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" || entry.Name() == "testdata" || slices.Contains([]string{"bin", "dist", "cdk.out"}, entry.Name())):
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(name) == ".md" && (everywhere || !strings.Contains(name, "/") || strings.HasPrefix(name, "docs/") || name == "infra/chart/README.md"):
			out = append(out, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// typed are the fenced blocks of commands of a page, by the heading they stand under: what a reader types as it stands.
func typed(t *testing.T, page string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../" + page)
	if err != nil {
		t.Fatal(err)
	}
	out, heading, block, fence := map[string][]string{}, "", "", ""
	for line := range strings.SplitSeq(string(text), "\n") {
		language, is := strings.CutPrefix(line, "```")
		switch {
		case is && fence == "":
			fence, block = "```"+language, ""
		case is:
			if fence == "```sh" {
				out[heading] = append(out[heading], block)
			}
			fence = ""
		case fence != "":
			block += line + "\n"
		case strings.HasPrefix(line, "##"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	if fence != "" {
		t.Fatalf("%s: a block is not closed", page)
	}
	return out
}

// commandsOf are the lines of a block, each with those it goes on with.
func commandsOf(block string) []string {
	return slices.DeleteFunc(strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

// names of variables that a block sets for those that follow, or that every shell has.
var exported = regexp.MustCompile(`(?:^|\s)([A-Z][A-Z_]*)=`)

// TestA10CommandsOfThePagesAreCommands: each block of commands is read by a shell as it stands, has no ellipsis and no placeholder, and uses no variable
// that nothing before it has set.
func TestA10CommandsOfThePagesAreCommands(t *testing.T) {
	// What the pages have set before: the first section of docs/getting-started.md, which every other one builds on.
	known := []string{"CLUSTER", "AWS_REGION", "HOME", "KUBECONFIG"}
	n := 0
	for _, page := range pages(t, false) {
		for heading, blocks := range typed(t, page) {
			set := slices.Clone(known)
			for _, block := range blocks {
				n++
				file, err := syntax.NewParser().Parse(strings.NewReader(block), heading)
				if err != nil {
					t.Errorf("%s, %s: no shell reads\n%s%v", page, heading, block, err)
					continue
				}
				if strings.Contains(block, "…") {
					t.Errorf("%s, %s: a reader cannot type\n%s", page, heading, block)
				}
				for _, found := range exported.FindAllStringSubmatch(block, -1) {
					set = append(set, found[1])
				}
				syntax.Walk(file, func(node syntax.Node) bool {
					if used, is := node.(*syntax.ParamExp); is && used.Exp == nil && !slices.Contains(set, used.Param.Value) {
						t.Errorf("%s, %s: nothing sets $%s of\n%s", page, heading, used.Param.Value, block)
					}
					return true
				})
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d blocks of commands were found", n)
	}
}

// TestA10EightCommandsToTheFirstNode counts what a reader types from an empty account to pods that ask for nodes.
func TestA10EightCommandsToTheFirstNode(t *testing.T) {
	var all []string
	for _, block := range typed(t, "docs/getting-started.md")["Ten minutes"] {
		all = append(all, commandsOf(block)...)
	}
	if len(all) == 0 || len(all) > 8 {
		t.Errorf("%d commands:\n%s", len(all), strings.Join(all, "\n"))
	}
}

// TestA11UpgradeBringsANewImage: the watcher runs a new image after it, and the new chart's defaults hold.
func TestA11UpgradeBringsANewImage(t *testing.T) {
	all := strings.Join(typed(t, "docs/tasks/upgrade.md")["Upgrade the installation"], "")
	image, chart := strings.Index(all, "make ecr"), strings.Index(all, "helm upgrade joiner")
	if image < 0 || chart < image || !strings.Contains(all, "--reset-then-reuse-values --values dist/image.yaml") || strings.Contains(all, " --reuse-values") {
		t.Errorf("the watcher is not upgraded by\n%s", all)
	}
}

// TestA12RemovalNamesTheStacksAndLiftsTheirProtection: the cluster leaves before its stack goes, and each stack is one that the app has.
func TestA12RemovalNamesTheStacksAndLiftsTheirProtection(t *testing.T) {
	page := typed(t, "docs/tasks/remove.md")
	cluster, region := strings.Join(page["Remove a cluster"], ""), strings.Join(page["Remove the region"], "")
	inOrder(t, "docs/tasks/remove.md", "Remove a cluster", "kubectl delete poddisruptionbudget joiner-watcher -n joiner", "kubectl delete nodepools --all", "kubectl delete nodeclaims --all", "helm uninstall joiner -n joiner")
	if detach, destroy := strings.Index(cluster, "joiner detach $CLUSTER --yes"), strings.Index(cluster, "cdk destroy joiner-cluster-$CLUSTER -c cluster=$CLUSTER"); detach < 0 || destroy < detach {
		t.Errorf("the cluster is not removed by\n%s", cluster)
	}
	if lift, destroy := strings.Index(region, "update-termination-protection --no-enable-termination-protection --stack-name joiner"), strings.Index(region, "cdk destroy joiner -c cluster=$CLUSTER"); lift < 0 || destroy < lift {
		t.Errorf("the region is not removed by\n%s", region)
	}
	if again := strings.Join(page["Install again"], ""); !strings.Contains(again, "--import-existing-resources") {
		t.Errorf("what was kept is not taken in by\n%s", again)
	}
}

// inOrder fails unless a section has each text, one after the other.
func inOrder(t *testing.T, page, heading string, wanted ...string) {
	t.Helper()
	rest := strings.Join(typed(t, page)[heading], "")
	for _, want := range wanted {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("%s, %s: there is no %q in\n%s", page, heading, want, rest)
			return
		}
		rest = after
	}
}

// TestA4A9PageTakesDefinitionsOverAndForgetsTheirRelease before anybody removes Karpenter, of which the definitions' release is not uninstalled.
func TestA4A9PageTakesDefinitionsOverAndForgetsTheirRelease(t *testing.T) {
	const page, heading = "docs/tasks/migrate-from-karpenter.md", "Coming from Karpenter"
	inOrder(t, page, heading, "paused=true", "--take-ownership --force-conflicts", "kubectl delete secret -n kube-system -l owner=helm,name=karpenter-crd",
		"kubectl scale deployment karpenter -n kube-system --replicas=0", "joiner adopt $CLUSTER --yes", "make deploy\n", "helm uninstall karpenter -n kube-system")
	if all := strings.Join(typed(t, page)[heading], ""); strings.Contains(all, "uninstall karpenter-crd") {
		t.Errorf("the definitions' release is uninstalled by\n%s", all)
	}
	text, err := os.ReadFile("../docs/getting-started.md")
	if err != nil || !strings.Contains(string(text), "Helm (3.17 or newer, or 4)") {
		t.Errorf("no version of Helm is named: %v", err)
	}
}

// TestA15DeadLettersOfFIFOQueuesAreMovedBack to where they came from, and discovery tags are set by a command.
func TestA15DeadLettersOfFIFOQueuesAreMovedBack(t *testing.T) {
	inOrder(t, "docs/troubleshooting.md", "Dead letters", "aws sqs purge-queue", "aws sqs start-message-move-task --source-arn arn:aws:sqs:$AWS_REGION:$AWS_ACCOUNT:joiner-plan-dead.fifo")
	text, err := os.ReadFile("../docs/getting-started.md")
	if err != nil || !strings.Contains(string(text), "--tags Key=karpenter.sh/discovery,Value=shop") {
		t.Errorf("no command tags a VPC: %v", err)
	}
}

// TestA48EksctlMakesAClusterThatJoinerTakes: access entries, the agent of Pod Identity, and the tag that the example's class looks for.
func TestA48EksctlMakesAClusterThatJoinerTakes(t *testing.T) {
	text, err := os.ReadFile("../docs/getting-started.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\napiVersion: eksctl.io")
	config, _, closed := strings.Cut("apiVersion: eksctl.io"+rest, "```")
	if !found || !closed {
		t.Fatal("there is no config of eksctl")
	}
	var cluster struct {
		Metadata struct {
			Name, Region, Version string
			Tags                  map[string]string
		}
		AccessConfig      struct{ AuthenticationMode string }
		Addons            []struct{ Name string }
		ManagedNodeGroups []struct{ DesiredCapacity int }
	}
	if err := yaml.Unmarshal([]byte(config), &cluster); err != nil {
		t.Fatal(err)
	}
	agent := slices.ContainsFunc(cluster.Addons, func(a struct{ Name string }) bool { return a.Name == "eks-pod-identity-agent" })
	if cluster.AccessConfig.AuthenticationMode != "API" || !agent || cluster.Metadata.Tags["karpenter.sh/discovery"] != cluster.Metadata.Name || len(cluster.ManagedNodeGroups) == 0 {
		t.Errorf("%+v", cluster)
	}
}

// M113: node groups are emptied before they are deleted, and when nothing fills them any more.
func TestA50NodeGroupsAreEmptiedBeforeTheyGo(t *testing.T) {
	inOrder(t, "docs/tasks/migrate-from-cluster-autoscaler.md", "Coming from Cluster Autoscaler", "kubectl scale deployment cluster-autoscaler -n kube-system --replicas=0", "kubectl cordon -l eks.amazonaws.com/nodegroup=$NODEGROUP",
		"kubectl drain -l eks.amazonaws.com/nodegroup=$NODEGROUP", "aws eks delete-nodegroup --cluster-name $CLUSTER --nodegroup-name $NODEGROUP")
}
