package dayone

import (
	"context"
	"strings"
	"testing"
	"time"
)

// scenario begins one of the long form.
func scenario(t *testing.T, o Options) *World {
	t.Helper()
	if !full() {
		t.Skip("the long form: make day-one")
	}
	return begin(t, o)
}

// From an empty account to the first pod on a new node by README alone; then the upgrade, which reaches the watcher, too; protection; removal; and all of it
// again, with what was kept.
func TestA10TenMinutesUpgradeRemovalAndAgain(t *testing.T) {
	w := scenario(t, Options{})
	page(t, w, "README.md", "Ten minutes")
	running(t, w)
	if typed := len(w.Typed); typed > mostTyped {
		t.Errorf("a reader typed %d commands until pods ran, more than %d", typed, mostTyped)
	}
	status(t, w, "joiner", "CREATE_COMPLETE")
	refused(t, w)

	t.Run("A11Upgrade", func(t *testing.T) {
		before := w.Images()
		w.shell.set("VERSION", "day-two") // of what is built from now on
		page(t, w, "OPERATIONS.md", "Upgrade")
		await(t, "the watcher runs another image", func() bool { return len(w.Images()) > len(before) && before[0] != w.Images()[len(w.Images())-1] })
		status(t, w, "joiner", "UPDATE_COMPLETE")
		running(t, w)
		refused(t, w)
	})
	t.Run("A12Remove", func(t *testing.T) {
		must(t, w, "kubectl delete deployment inflate") // else new machines are wanted
		page(t, w, "OPERATIONS.md", "Remove")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := w.AwaitNoMachines(ctx); err != nil {
			t.Error(err)
		}
		status(t, w, "joiner-cluster-shop", "")
		page(t, w, "OPERATIONS.md", "Remove the region")
		status(t, w, "joiner", "")
	})
	t.Run("Again", func(t *testing.T) {
		page(t, w, "OPERATIONS.md", "Install again")
		page(t, w, "README.md", "Ten minutes")
		running(t, w)
		refused(t, w)
	})
}

// refused fails where policies refused something.
func refused(t *testing.T, w *World) {
	t.Helper()
	for _, use := range w.Stack.Denied() {
		t.Errorf("refused by policies: %v", use)
	}
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatalf("not within five minutes: %s", what)
		}
	}
}

// A first deployment that fails half way, because something is there already, leaves nothing that stops the next one.
func TestA7AFirstDeploymentThatFailsAndTheNext(t *testing.T) {
	w := scenario(t, Options{})
	must(t, w, "aws ssm put-parameter --name /joiner/stop --type String --value go")
	w.Return()
	err := w.Run(t.Context(), blocksOf(t, "README.md", "Ten minutes"))
	if err == nil || !strings.Contains(err.Error(), "/joiner/stop already exists") {
		t.Fatalf("the first deployment: %v", err)
	}
	must(t, w, "aws ssm delete-parameter --name /joiner/stop")
	page(t, w, "README.md", "Ten minutes")
	running(t, w)
}

// An account with a quota of ten concurrent executions has none to reserve.
func TestA2ASmallAccount(t *testing.T) {
	w := scenario(t, Options{Concurrency: 10})
	page(t, w, "README.md", "Ten minutes")
	running(t, w)
}

// An account that has run Karpenter: its role and access entry are there, Helm knows its definitions as a release of their own, and a NodePool and an
// EC2NodeClass name the role. They stay what they are all the way, and get nodes of ours in the end; the release that would take them away is gone (A4).
func TestA5ComingFromKarpenter(t *testing.T) {
	w := scenario(t, Options{})
	must(t, w, `aws iam create-role --role-name KarpenterNodeRole-shop --assume-role-policy-document '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}'`)
	must(t, w, "aws eks create-access-entry --cluster-name shop --type EC2_LINUX --principal-arn arn:aws:iam::"+w.Stack.Cloud.Account()+":role/KarpenterNodeRole-shop")
	chart := t.TempDir()
	must(t, w, "mkdir "+chart+"/templates && printf 'apiVersion: v2\nname: karpenter-crd\nversion: 1.14.1\n' >"+chart+"/Chart.yaml && cp infra/chart/files/crds/karpenter*.yaml "+chart+"/templates/")
	must(t, w, "helm install karpenter-crd "+chart+" -n kube-system")
	must(t, w, "kubectl create deployment karpenter -n kube-system --image=karpenter")
	must(t, w, "sed -E 's/joiner-demo/shop/; s/role: .*/role: KarpenterNodeRole-shop/' testenv/examples/nodepool.yaml | kubectl apply -f -")
	pools := must(t, w, "kubectl get nodepools,ec2nodeclasses -o jsonpath='{.items[*].metadata.uid}'")

	page(t, w, "README.md", "Coming from Karpenter")
	if after := must(t, w, "kubectl get nodepools,ec2nodeclasses -o jsonpath='{.items[*].metadata.uid}'"); after != pools {
		t.Errorf("the objects were %q and are %q", pools, after)
	}
	if releases := must(t, w, "helm list -A -q"); strings.Contains(releases, "karpenter-crd") {
		t.Errorf("Helm still knows karpenter-crd: %s", releases)
	}
	must(t, w, `sed "s/replicas: 0/replicas: 20/" testenv/examples/inflate.yaml | kubectl apply -f -`)
	running(t, w)
	refused(t, w)
}

// A cluster whose API server functions cannot reach: the watcher carries their requests out.
func TestPrivateClusterByTheWatcher(t *testing.T) {
	w := scenario(t, Options{})
	blocks := blocksOf(t, "README.md", "Ten minutes")
	for _, c := range Commands(blocks) {
		if strings.HasPrefix(c.Text, "export ") || c.Text == "make prepare" || c.Text == "make ecr" {
			must(t, w, c.Text)
		}
	}
	page(t, w, "OPERATIONS.md", "Requests through the watcher")
	for _, c := range Commands(blocks) {
		if strings.HasPrefix(c.Text, "sed ") {
			must(t, w, c.Text)
		}
	}
	running(t, w)
	refused(t, w)
}
