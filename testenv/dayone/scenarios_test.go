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

// From an empty account to the first pod on a new node by README alone; then the upgrade, which reaches the watcher, too; removal; and all of it again.
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
		await(t, "the watcher runs another image", func() bool {
			return len(w.Images()) > len(before) && !slices.Equal(w.Images()[:1], w.Images()[len(w.Images())-1:])
		})
		running(t, w)
		refused(t, w)
	})
	t.Run("A12Remove", func(t *testing.T) { remove(t, w) })
	t.Run("Again", func(t *testing.T) {
		page(t, w, "README.md", "Ten minutes")
		running(t, w)
		refused(t, w)
	})
}

// remove takes all of it away by OPERATIONS.
func remove(t *testing.T, w *World) {
	t.Helper()
	page(t, w, "OPERATIONS.md", "Remove")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := w.AwaitNoMachines(ctx); err != nil {
		t.Error(err)
	}
	status(t, w, "joiner", "")
	status(t, w, "joiner-cluster-shop", "")
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

// An account that has run Karpenter: its role, instance profile and access entry are there.
func TestA5AnAccountThatHasRunKarpenter(t *testing.T) {
	w := scenario(t, Options{})
	must(t, w, `aws iam create-role --role-name KarpenterNodeRole-shop --assume-role-policy-document '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}'`)
	must(t, w, "aws eks create-access-entry --cluster-name shop --type EC2_LINUX --principal-arn arn:aws:iam::"+w.Stack.Cloud.Account()+":role/KarpenterNodeRole-shop")
	page(t, w, "README.md", "Ten minutes")
	running(t, w)
}
