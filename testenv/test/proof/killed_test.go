package proof_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
	"github.com/joiner-sh/joiner/cmd/joiner/proof/probes"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/test/proof/account"
)

// makers are probes that make one of everything there is.
var makers = []string{
	"iam-profile-delete-conflict", "sqs-name-pause", "s3-create-only", "dynamodb-table-creating", "dynamodb-lease-race", "ssm-versions", "ec2-template-lag", "policy-deny-first",
	"eks-access-entry-once", "ec2-run-token-repeats", "ec2-fleet-partial", "ec2-spot-request", "ec2-token-refused", "ec2-reservation-codes", "events-rule-to-queue",
}

// A run that is killed when it is about to make its n-th request leaves nothing, after a second run or --clean, for every n there is. The
// short form runs probes that make one of everything, the long one (JOINER_PROOF=long) all probes.
func TestARunKilledAnywhereIsCleanedUp(t *testing.T) {
	list := named(t, makers...)
	if os.Getenv("JOINER_PROOF") == "long" {
		list = probes.All()
	}
	// Every delay of AWS's that may hide what was made, and the longest way through.
	kill := func(n int) *account.Account {
		a := account.New(reading.AllOther())
		a.AddCluster(t.Context(), cluster)
		o := options(a, "r1")
		o.Cluster = cluster
		a.KillAfter(n)
		if _, err := proof.Run(t.Context(), o, list); err != nil && !a.Died() {
			t.Fatal(err)
		}
		return a
	}
	whole := kill(-1)
	nothingLeft(t, whole)
	calls := whole.Calls()
	if calls < 200 {
		t.Fatalf("a whole run makes %d requests: it makes nothing", calls)
	}
	found := 0
	for n := 1; n <= calls; n++ {
		a := kill(n)
		if !a.Died() {
			continue // races take their requests in another order
		}
		a.KillAfter(-1)
		if left, err := a.Left(t.Context()); err != nil {
			t.Fatal(err)
		} else if len(left) > 0 {
			found++
		}
		o := options(a, "r2")
		if n%2 == 0 { // --clean, without the cluster's name
			o.Yes = false
			e, err := proof.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if left, failed := e.Clean(t.Context(), func(string) {}); len(left) > 0 || len(failed) > 0 {
				t.Errorf("killed before request %d of %d: --clean leaves %v, errors %v", n, calls, left, failed)
			}
		} else {
			r := run(t, o, named(t, "ec2-dry-run-word"))
			if len(r.Left) > 0 || len(r.Errors) > 0 || r.Count(proof.Pass)+r.Count(proof.Differs) != 1 {
				t.Errorf("killed before request %d of %d: a second run leaves %v, errors %v, results %v", n, calls, r.Left, r.Errors, r.Results)
			}
		}
		nothingLeft(t, a)
		if t.Failed() {
			t.Fatalf("killed before request %d of %d", n, calls)
		}
	}
	if found < calls/2 {
		t.Errorf("something was left %d times of %d: the kills come at the wrong moments", found, calls)
	}
	t.Logf("killed before each of %d requests; something had to be removed %d times", calls, found)
}

// What is removed is what carries the tag: things of others with such names stay.
func TestCleanLeavesWhatIsNotTagged(t *testing.T) {
	a := account.New(reading.Default())
	o := options(a, "r1")
	e, err := proof.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	a.AddForeign(t.Context(), t.Fatal)
	if left, failed := e.Clean(t.Context(), func(string) {}); len(left) > 0 || len(failed) > 0 {
		t.Errorf("left %v, errors %v", left, failed)
	}
	left, err := a.Left(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(left)
	for _, want := range []string{"launch template joiner-proof-other", "queue ", "role joiner-proof-other", "rule joiner-proof-other", "table joiner-proof-other"} {
		if !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, want) }) {
			t.Errorf("%q was removed; there are %v", want, left)
		}
	}
}

// An interrupted run removes what it has made until then.
func TestAnInterruptedRunCleansUp(t *testing.T) {
	a := account.New(reading.Default())
	ctx, interrupt := cancellable(t)
	o := options(a, "r1")
	n := 0
	o.Progress = func(string) {
		if n++; n == 3 {
			interrupt()
		}
	}
	r, err := proof.Run(ctx, o, named(t, "dynamodb-lease-race", "s3-create-only", "sqs-batch-ten", "ec2-run-token-repeats"))
	if err == nil || r == nil || len(r.Left) > 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	if last := r.Results[3]; last.Verdict != proof.Skipped || !strings.Contains(last.Why, "interrupted") {
		t.Errorf("the probe after the interruption is %s: %s", last.Verdict, last.Why)
	}
	nothingLeft(t, a)
}
