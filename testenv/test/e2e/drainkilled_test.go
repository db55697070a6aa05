package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestKilledAtEveryEffectOfADrainEndsOneInstance kills the function that ends instances with SIGKILL at effects of a drain, of
// a spot instance that EC2 warned of or of a node whose NodeClaim somebody deleted. Each drain is finished by those that come
// after: one instance ends, the pods' budget is kept at every instant, and they all run. The long form takes a quarter of an hour;
// -run 'TestKilledAtEvery/^(begin|taint)$' is a part of it.
func TestKilledAtEveryEffectOfADrainEndsOneInstance(t *testing.T) {
	t.Parallel()
	crash := filepath.Join(t.TempDir(), "crash")
	c := start(t, stack.Options{
		Timeout: 8 * time.Second, Visibility: 9 * time.Second, MaxReceives: 20,
		EndsEnv:     map[string]string{"JOINER_CRASH_FILE": crash},
		FunctionEnv: map[string]string{"JOINER_RECOVER_AFTER": "3s"},
		KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds},
	})
	c.apply(t, namespace("killed"), class("default"), pool("default", "default", spotOnly, nil, nil))
	c.awaitReady(t, nodePools, "default")
	house := watchPods(t, c.kube, "killed")
	c.apply(t, guarded("killed", "web", 3, 2, "500m", apart("web")))
	c.awaitRunning(t, "killed", 3, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	house.hold(map[string]int{"web": 2})

	began := time.Now()
	if !full() {
		c.drainKilled(t, crash, c.warn, "after begin", "after evict", "after terminate") // recorded, one pod asked, EC2 told
	}
	for i, effect := range ofADrain {
		how := c.warn
		if i%2 == 1 && effect != interruption.EffectUnavailable {
			how = c.deleteClaim
		}
		if full() {
			t.Run(effect, func(t *testing.T) { c.drainKilled(t, crash, how, "before "+effect, "after "+effect) })
		}
	}
	t.Logf("of 3 pods at least %s were ready", house.kept(t))
	if os.Getenv("E2EDEBUG") != "" {
		t.Log(c.logs.text())
	}
	byEviction(t, audit(t, c.Kube, began), "killed", time.Time{})
}

// ofADrain are the effects that a drain cannot do without; mark only of a spot instance. The others need somebody's doubt, a
// deadline or something to tell; the world in memory kills there too.
var ofADrain = []string{
	interruption.EffectBegin, interruption.EffectTaint, interruption.EffectPlan, interruption.EffectDrain, interruption.EffectUnavailable, interruption.EffectStep,
	interruption.EffectRemove, interruption.EffectEvict, interruption.EffectTerminate, interruption.EffectFree, interruption.EffectClose,
}

const spotOnly = `{key: karpenter.sh/capacity-type, operator: In, values: [spot]}, {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}`

// warn has EC2 warn of a claim's instance.
func (c *cluster) warn(t *testing.T, claim model.Claim) {
	t.Helper()
	if !c.EC2.Interrupt(claim.InstanceID) {
		t.Fatalf("%s was not interrupted", claim.InstanceID)
	}
}

// deleteClaim deletes a claim's NodeClaim.
func (c *cluster) deleteClaim(t *testing.T, claim model.Claim) {
	t.Helper()
	if err := c.dynamic.Resource(nodeClaims).Delete(t.Context(), claim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// drainKilled has a drain begin and kills the function at each of the points, one after the other.
func (c *cluster) drainKilled(t *testing.T, crash string, how func(*testing.T, model.Claim), points ...string) {
	t.Helper()
	name := func(at string) {
		if err := os.WriteFile(crash, []byte(at), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before, died := c.byInstance(t), c.deaths()
	claim := c.ledger(t).Claims[0]
	began := time.Now()
	name(points[0])
	how(t, claim)
	for i, point := range points {
		await(t, 2*time.Minute, "the function dies "+point, func(context.Context) string {
			if _, err := os.Stat(crash); err == nil {
				return "it lives"
			}
			return ""
		})
		t.Logf("killed %s after %s", point, time.Since(began).Round(100*time.Millisecond))
		if i+1 < len(points) {
			name(points[i+1])
		}
	}
	await(t, 2*time.Minute, "nothing is left of claim "+claim.Name, func(ctx context.Context) string {
		if left := c.isGone(ctx, t, claim.Name, claim.NodeName, claim.InstanceID); left != "" {
			return left
		}
		return c.appRuns(ctx, "killed", "web", 3)
	})
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	t.Logf("its node has ended and its pod runs after %s", time.Since(began).Round(100*time.Millisecond))
	c.oneEach(t)
	c.usageIsOf(t)
	c.onlyTheseEnded(t, before, []model.Claim{claim})
	if n := c.deaths() - died; n != len(points) {
		t.Errorf("the function died %d times, want %d", n, len(points))
	}
}

// deaths counts how often a function was killed.
func (c *cluster) deaths() int {
	n := 0
	for _, exit := range c.logs.exits() {
		if exit.Reason == lambdaruntime.ExitCrashed {
			n++
		}
	}
	return n
}
