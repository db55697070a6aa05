package dayone

import (
	"context"
	"slices"
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

// From an empty account to the first pod on a new node by docs/getting-started.md alone; then the upgrade, which reaches the watcher, too; protection; removal; and all of it
// again, with what was kept.
func TestA10TenMinutesUpgradeRemovalAndAgain(t *testing.T) {
	w := scenario(t, Options{})
	page(t, w, "docs/getting-started.md", "Ten minutes")
	running(t, w)
	if typed := len(w.Typed); typed > mostTyped {
		t.Errorf("a reader typed %d commands until pods ran, more than %d", typed, mostTyped)
	}
	status(t, w, "joiner", "CREATE_COMPLETE")
	healthy(t, w, "protected")

	t.Run("A11Upgrade", func(t *testing.T) {
		before := w.Images()
		w.shell.set("VERSION", "day-two") // of what is built from now on
		page(t, w, "docs/tasks/upgrade.md", "Upgrade the installation")
		await(t, "the watcher runs another image", func() bool { return len(w.Images()) > len(before) && before[0] != w.Images()[len(w.Images())-1] })
		status(t, w, "joiner", "UPDATE_COMPLETE")
		running(t, w)
		healthy(t, w, "protected")
	})
	t.Run("A12Remove", func(t *testing.T) {
		must(t, w, "kubectl delete deployment inflate") // else new machines are wanted
		page(t, w, "docs/tasks/remove.md", "Remove a cluster")
		ended(t, w)
		status(t, w, "joiner-cluster-shop", "")
		page(t, w, "docs/tasks/remove.md", "Remove the region")
		status(t, w, "joiner", "")
	})
	t.Run("Again", func(t *testing.T) {
		page(t, w, "docs/tasks/remove.md", "Install again")
		page(t, w, "docs/getting-started.md", "Ten minutes")
		running(t, w)
	})
}

// ended waits until there are no machines of NodePools.
func ended(t *testing.T, w *World) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := w.AwaitNoInstances(ctx); err != nil {
		t.Error(err)
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

// A first deployment that fails half way, because something is there already. Preflight says so before; who deploys all the same has an installation that was
// rolled back, with nothing left that stops the next one.
func TestA7AFirstDeploymentThatFailsAndTheNext(t *testing.T) {
	w := scenario(t, Options{})
	must(t, w, "aws ssm put-parameter --name /joiner/stop --type String --value go")
	w.Return()
	err := w.Run(t.Context(), blocksOf(t, "docs/getting-started.md", "Ten minutes"))
	const remedy = "aws ssm delete-parameter --name /joiner/stop"
	if err == nil || !strings.Contains(err.Error(), "fail  names: parameter /joiner/stop: it exists") || !strings.Contains(err.Error(), remedy) {
		t.Fatalf("preflight of a name that is taken: %v", err)
	}
	if out, err := types(t, w, "make deploy"); err == nil || !strings.Contains(out, "/joiner/stop already exists") {
		t.Fatalf("the first deployment: %v", err)
	}
	status(t, w, "joiner", "ROLLBACK_COMPLETE")
	status(t, w, "joiner-cluster-shop", "")
	must(t, w, "! aws dynamodb describe-table --table-name joiner")
	must(t, w, remedy)
	page(t, w, "docs/getting-started.md", "Ten minutes")
	running(t, w)
	status(t, w, "joiner", "CREATE_COMPLETE")
}

// An account with a quota of ten concurrent executions has none to reserve. Preflight says so and what helps, and stops nobody.
func TestA2ASmallAccount(t *testing.T) {
	w := scenario(t, Options{Concurrency: 10})
	page(t, w, "docs/getting-started.md", "Ten minutes")
	running(t, w)
	must(t, w, `make preflight | grep -- "-c batches=2"`)
	must(t, w, `make deploy CDKFLAGS="-c batches=2"`)
	status(t, w, "joiner", "UPDATE_COMPLETE")
	must(t, w, "kubectl scale deployment inflate --replicas=30")
	await(t, "30 pods run", func() bool { return runs(t, w, 30) })
}

// runs reports whether so many pods of the example run.
func runs(t *testing.T, w *World, pods int) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return w.AwaitRunning(ctx, "inflate", pods) == nil
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
	must(t, w, "sed -E 's/joiner-demo/shop/; s/role: .*/role: KarpenterNodeRole-shop/' infra/examples/nodepool.yaml | kubectl apply -f -")
	pools := must(t, w, "kubectl get nodepools,ec2nodeclasses -o jsonpath='{.items[*].metadata.uid}'")

	page(t, w, "docs/tasks/migrate-from-karpenter.md", "Coming from Karpenter")
	if after := must(t, w, "kubectl get nodepools,ec2nodeclasses -o jsonpath='{.items[*].metadata.uid}'"); after != pools {
		t.Errorf("the objects were %q and are %q", pools, after)
	}
	if releases := must(t, w, "helm list -A -q"); strings.Contains(releases, "karpenter-crd") {
		t.Errorf("Helm still knows karpenter-crd: %s", releases)
	}
	must(t, w, `sed "s/replicas: 0/replicas: 20/" infra/examples/inflate.yaml | kubectl apply -f -`)
	running(t, w)
}

// A cluster whose API server functions cannot reach: the watcher carries their requests out, on a node that Joiner does not run.
func TestPrivateClusterByTheWatcher(t *testing.T) {
	w := scenario(t, Options{})
	nodeGroup(t, w)
	private(t, w)
	must(t, w, `make preflight PREFLIGHTFLAGS="-c relay=true"`)
	page(t, w, "docs/tasks/private-clusters.md", "Requests through the watcher")
	tenMinutes(t, w, "sed ")
	running(t, w)
}

// Functions in the cluster's own subnets and security group.
func TestPrivateClusterByTheVPC(t *testing.T) {
	w := scenario(t, Options{})
	private(t, w)
	page(t, w, "docs/tasks/private-clusters.md", "Functions in the VPC")
	must(t, w, `make preflight PREFLIGHTFLAGS="-c subnetIds=$SUBNETS -c securityGroupIds=$GROUP"`)
	tenMinutes(t, w, "helm ", "sed ")
	running(t, w)
}

// private takes the cluster's public endpoint away and does what comes before the deployment. Preflight says which options such a cluster needs.
func private(t *testing.T, w *World) {
	t.Helper()
	w.Stack.Clusters().SetPrivate("shop")
	tenMinutes(t, w, "export ", "make prepare", "make ecr")
	out, err := types(t, w, "make preflight")
	if err == nil || !strings.Contains(out, "fail  endpoint") || !strings.Contains(out, "-c relay=true") || !strings.Contains(out, "-c subnetIds=subnet-") {
		t.Errorf("preflight of a private cluster: %v", err)
	}
}

// Everything that is kept is encrypted with the reader's own key.
func TestA13AKeyOfOnesOwn(t *testing.T) {
	w := scenario(t, Options{})
	tenMinutes(t, w, "export ", "make prepare", "make ecr")
	page(t, w, "docs/getting-started.md", "A key of your own")
	must(t, w, `[ "$(aws dynamodb describe-table --table-name joiner --query Table.SSEDescription.KMSMasterKeyArn --output text)" = "$KEY" ]`)
	tenMinutes(t, w, "helm ", "sed ")
	running(t, w)
}

// tenMinutes types those commands of "Ten minutes" that begin so.
func tenMinutes(t *testing.T, w *World, prefixes ...string) {
	t.Helper()
	w.Return()
	typed := 0
	for _, c := range Commands(blocksOf(t, "docs/getting-started.md", "Ten minutes")) {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(c.Text, p) }) {
			continue
		}
		if _, err := w.Type(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		typed++
	}
	if typed < len(prefixes) {
		t.Fatalf("docs/getting-started.md has %d commands that begin with one of %q", typed, prefixes)
	}
}

// nodeGroup gives the cluster two nodes that Joiner does not run.
func nodeGroup(t *testing.T, w *World) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := w.NodeGroup(ctx, 2); err != nil {
		t.Fatal(err)
	}
}

// A cluster in another account than the installation's, by a reader with keys of both; and out again.
func TestAClusterInAnotherAccount(t *testing.T) {
	w := scenario(t, Options{Elsewhere: true})
	w.Table.Replaced["111111111111"], w.Table.Replaced["222222222222"] = w.Stack.Cloud.Account(), w.Foreign.Account
	page(t, w, "docs/tasks/many-clusters.md", "A cluster in another account")
	tenMinutes(t, w, "sed ")
	running(t, w)
	status(t, w, "joiner", "CREATE_COMPLETE")
	status(t, w, "joiner-cluster-shop", "")
	status(t, w, "joiner-cluster-shop-hub", "CREATE_COMPLETE")
	elsewhere := func(wanted string) {
		t.Helper()
		if got, reason := w.Foreign.Stacks.Status("joiner-cluster-shop"); got != wanted {
			t.Errorf("stack joiner-cluster-shop of account %s is %s (%s), not %s", w.Foreign.Account, got, reason, wanted)
		}
	}
	elsewhere("CREATE_COMPLETE")
	must(t, w, "kubectl delete deployment inflate")
	page(t, w, "docs/tasks/many-clusters.md", "Take it out again")
	ended(t, w)
	status(t, w, "joiner-cluster-shop-hub", "")
	elsewhere("")
}
