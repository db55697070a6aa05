package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestF150_KilledDisruptRunLeavesNoTaint kills functions with SIGKILL at effects of a command that gives an instance back, again and
// again. Whoever comes after carries the command to the same end: one instance less, or a smaller one in its place, no node
// tainted, no command left open, no pod below its budget.
//
// The long form has a cluster for each effect of the disruption function, and for what the functions do that it asks.
func TestF150_KilledDisruptRunLeavesNoTaint(t *testing.T) {
	t.Parallel()
	if !full() {
		k := startKilling(t)
		// Recorded; its replacement bought, and nobody knows; it holds and all is ready; its claim is Draining.
		k.shrinks(t, replaced, points{disruptFunction: {"after commit", "before end", "after end"}, planner: {"after launch"}})
		k.died(t)
		return
	}
	part := func(name string, play func(*testing.T, *killing)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startKilling(t)
			play(t, k)
			k.died(t)
		})
	}
	for _, effect := range ofACommand {
		part(effect, func(t *testing.T, k *killing) {
			k.shrinks(t, emptied, points{disruptFunction: {"before " + effect}})
			k.shrinks(t, emptied, points{disruptFunction: {"after " + effect}})
		})
	}
	for _, p := range ofAReplacement {
		part(p.name, func(t *testing.T, k *killing) {
			for _, points := range p.commands {
				k.shrinks(t, replaced, points)
			}
		})
	}
}

// TestF150_StopsAreObeyedThroughDeaths stops disruption while a command is under way: it is undone, though its judge dies once it
// has tainted the node and twice at undoing it, and nothing is given back until disruption is resumed.
func TestF150_StopsAreObeyedThroughDeaths(t *testing.T) {
	t.Parallel()
	k := startKilling(t)
	k.stops(t, "before untaint", "after untaint")
	k.died(t)
}

// ofACommand are the effects that a command without replacements cannot do without, and the others a run of it has.
var ofACommand = []string{
	disrupt.EffectCommit, disrupt.EffectDecision, disrupt.EffectTaint, disrupt.EffectPatchClaim, disrupt.EffectStep, disrupt.EffectReplace, disrupt.EffectEnd,
	disrupt.EffectDrain, disrupt.EffectHint, disrupt.EffectNote, disrupt.EffectReport,
}

// ofAReplacement are the deaths of commands with a replacement: of the disruption function from the commit on, of who launches the replacement
// and sees it in, of who drains the node it replaces, and of all three in one command. Where whoever comes after need not do the
// same again (somebody else has seen what was to be asked for, nothing is planned any more) the two deaths are of two commands.
var ofAReplacement = []struct {
	name     string
	commands []points
}{
	{"replaced, judge", []points{{disruptFunction: append(around(disrupt.EffectCommit, disrupt.EffectTaint, disrupt.EffectStep), "before "+disrupt.EffectReplace)}}},
	{"replaced, done", []points{{disruptFunction: append([]string{"after " + disrupt.EffectReplace}, around(disrupt.EffectEnd)...)}, {disruptFunction: {"before " + disrupt.EffectDrain}}, {disruptFunction: {"after " + disrupt.EffectDrain}}}},
	{"replaced, launched", []points{{planner: around(provision.EffectSpend, provision.EffectRecord, provision.EffectLaunch, provision.EffectSettle, provision.EffectPutClaim, provision.EffectNote)}}},
	{"replaced, seen in", []points{{planner: around(provision.EffectNode, provision.EffectAdvance)}, {planner: {"before " + provision.EffectDisrupt}}, {planner: {"after " + provision.EffectDisrupt}}}},
	{"replaced, told", []points{{planner: {"before " + provision.EffectDecision}}, {planner: {"after " + provision.EffectDecision, "before " + provision.EffectReport}}}},
	{"replaced, drained", []points{{ends: around(interruption.EffectStep, interruption.EffectEvict)}, {ends: around(interruption.EffectTerminate)}}},
	{"replaced, gone", []points{{ends: around(interruption.EffectRemove)}, {ends: around(interruption.EffectFree)}, {ends: around(interruption.EffectClose)}}},
	{"replaced, all", []points{{
		disruptFunction: {"after " + disrupt.EffectTaint, "after " + disrupt.EffectReplace, "before " + disrupt.EffectEnd, "after " + disrupt.EffectEnd},
		planner:         {"after " + provision.EffectRecord, "after " + provision.EffectLaunch, "after " + provision.EffectAdvance},
		ends:            {"after " + interruption.EffectEvict, "after " + interruption.EffectTerminate},
	}}},
}

// around are the points before and after each effect.
func around(effects ...string) []string {
	var out []string
	for _, effect := range effects {
		out = append(out, "before "+effect, "after "+effect)
	}
	return out
}

// The functions that die.
const (
	disruptFunction = "judge"
	planner         = "planner"
	ends            = "ends"
)

// points are where each function dies, one after the other.
type points map[string][]string

func (p points) String() string {
	var out []string
	for _, function := range slices.Sorted(maps.Keys(p)) {
		out = append(out, function+" "+strings.Join(p[function], ", "))
	}
	return strings.Join(out, "; ")
}

// clusterState is how an instance comes to be more than is needed.
type clusterState struct {
	says string
	make func(k *killing, t *testing.T, app string, armed func()) // armed is called once the cluster is at rest
	left int                                                      // pods of the app in the end, which one instance holds
	kind string                                                   // of that instance
}

var (
	// emptied makes an app of nine pods, which take an instance of four CPUs and one of two, and scales it down to six, which the
	// first holds.
	emptied = clusterState{says: "one of two machines is given back", left: 6, kind: "m6i.xlarge", make: func(k *killing, t *testing.T, app string, armed func()) {
		k.apply(t, guarded("judged", app, 9, 5, fmt.Sprintf("%dm", sixHundred)))
		k.awaitRunning(t, "judged", 9, 2*time.Minute)
		k.rests(t, 2)
		armed()
		k.house.hold(map[string]int{app: 5})
		k.scale(t, "judged", app, 6)
	}}
	// replaced makes an app of two pods beside one that only an instance of four CPUs holds, and deletes that.
	replaced = clusterState{says: "a machine is replaced by a smaller one", left: 2, kind: "m6i.large", make: func(k *killing, t *testing.T, app string, armed func()) {
		k.apply(t, deployment("judged", "large", 1, fmt.Sprintf("%dm", 4*sixHundred)))
		k.awaitRunning(t, "judged", 1, 2*time.Minute)
		k.apply(t, guarded("judged", app, 2, 1, fmt.Sprintf("%dm", sixHundred)))
		k.awaitRunning(t, "judged", 3, 2*time.Minute)
		k.rests(t, 1)
		armed()
		k.house.hold(map[string]int{app: 1})
		if err := k.kube.AppsV1().Deployments("judged").Delete(t.Context(), "large", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}}
)

// killing is a cluster whose functions are killed.
type killing struct {
	*cluster
	house  *house
	files  map[string]string // that say where each function dies next
	deaths int
	apps   int
	ticked time.Time // when functions were last told to look
}

// startKilling starts a cluster whose leases, messages and recovery are short, so that a death costs seconds.
func startKilling(t *testing.T) *killing {
	t.Helper()
	k, dir := &killing{files: map[string]string{}}, t.TempDir()
	crash := func(function string) map[string]string {
		k.files[function] = filepath.Join(dir, function)
		return map[string]string{"JOINER_CRASH_FILE": k.files[function]}
	}
	k.cluster = start(t, stack.Options{
		Timeout: 6 * time.Second, Visibility: 7 * time.Second, MaxReceives: 20,
		DisruptEnv: crash(disruptFunction), PlannerEnv: crash(planner), EndsEnv: crash(ends),
		FunctionEnv: map[string]string{"JOINER_RECOVER_AFTER": "3s", "JOINER_VALIDATE_AFTER": "5s"},
		KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds},
	})
	k.apply(t, namespace("judged"), class("default"), pool("default", "default", twoSizes, nil, []string{giving(time.Second, "100%")}))
	k.awaitReady(t, nodePools, "default")
	k.house = watchPods(t, quick(t, k.Kube.Config()), "judged")
	return k
}

// died fails the test unless exactly those functions died that were to, and nothing was done that may not be.
func (k *killing) died(t *testing.T) {
	t.Helper()
	if died := k.cluster.deaths(); died != k.deaths {
		t.Errorf("functions died %d times, want %d", died, k.deaths)
	}
	audit(t, k.Kube, time.Time{})
}

// rests waits until the cluster is at rest, and fails the test where it has not so many instances then.
func (k *killing) rests(t *testing.T, instances int) {
	t.Helper()
	await(t, time.Minute, "the claims are initialised", k.settled(t))
	await(t, time.Minute, "budgets are counted", func(ctx context.Context) string { return k.uncounted(ctx, t) })
	if n := len(k.running()); n != instances {
		t.Fatalf("the pods are on %d machines, want %d", n, instances)
	}
}

func (k *killing) diesNext(t *testing.T, function, point string) {
	t.Helper()
	if err := os.WriteFile(k.files[function], []byte(point), 0o644); err != nil {
		t.Fatal(err)
	}
}

// begins plays a scene up to where its instance may be given back, with each function's first death ahead.
func (k *killing) begins(t *testing.T, s clusterState, at points) (app string) {
	t.Helper()
	k.apps++
	app = fmt.Sprintf("app%d", k.apps)
	s.make(k, t, app, func() {
		for function, points := range at {
			k.diesNext(t, function, points[0])
		}
	})
	k.awaitLeft(t, "judged", s.left)
	return app
}

// dies waits until each function has died at all of its points, the first of which is written already, and has them look again
// and again meanwhile, as a tick would.
func (k *killing) dies(t *testing.T, at points) {
	t.Helper()
	left, began := maps.Clone(at), time.Now()
	deaths := 0
	for _, points := range at {
		deaths += len(points)
	}
	await(t, time.Minute+time.Duration(deaths)*30*time.Second, "functions die: "+at.String(), func(ctx context.Context) string {
		for function, points := range left {
			if _, err := os.Stat(k.files[function]); err == nil {
				continue
			}
			t.Logf("%s died %s after %s", function, points[0], time.Since(began).Round(time.Second))
			k.deaths++
			if left[function] = points[1:]; len(points) > 1 {
				k.diesNext(t, function, points[1])
			} else {
				delete(left, function)
			}
		}
		if len(left) == 0 {
			return ""
		}
		if err := k.tick(ctx); err != nil {
			return err.Error()
		}
		return "to come: " + left.String() + "; " + k.open(t) + "; " + k.budgets(ctx)
	})
}

// tick has every function look as its tick would, at most every five seconds instead of once in a minute: what a death lost is
// found by the next.
func (k *killing) tick(ctx context.Context) error {
	if time.Since(k.ticked) < 5*time.Second {
		return nil
	}
	k.ticked = time.Now()
	for _, tick := range []func(context.Context) (lambdaruntime.Result, error){k.Disrupt, k.Resync, k.Collect} {
		if _, err := tick(ctx); err != nil {
			return err
		}
	}
	return nil
}

// shrinks plays a scene with deaths. In the end one instance is left, and then none.
func (k *killing) shrinks(t *testing.T, s clusterState, at points) {
	t.Helper()
	began := time.Now()
	app := k.begins(t, s, at)
	k.dies(t, at)
	k.awaitOne(t, s, app)
	t.Logf("killed %s: %s after %s", at, s.says, time.Since(began).Round(time.Second))
	k.ends(t, app)
}

// awaitOne waits until the one instance of the scene is left, with the app on it and no trace of a command.
func (k *killing) awaitOne(t *testing.T, s clusterState, app string) {
	t.Helper()
	k.awaitInstances(t, s, app, "one machine is left", func(instances []ec2.Instance) bool { return len(instances) == 1 && instances[0].Type == s.kind })
}

// awaitInstances waits until the instances that run are what they should be, with the app on them and no trace of a command.
func (k *killing) awaitInstances(t *testing.T, s clusterState, app, what string, right func(instances []ec2.Instance) bool) {
	t.Helper()
	await(t, 3*time.Minute, what, func(ctx context.Context) string {
		if err := k.tick(ctx); err != nil {
			return err.Error()
		}
		if instances := k.running(); !right(instances) {
			return fmt.Sprintf("%d machines run, of types %v; %s", len(instances), typesOf(instances), k.open(t))
		}
		if missing := k.appRuns(ctx, "judged", app, s.left); missing != "" {
			return missing
		}
		if open := k.open(t) + k.tainted(ctx); open != "" {
			return open
		}
		return k.settled(t)(ctx)
	})
	k.oneEach(t)
	k.house.kept(t)
}

// ends deletes the app, and waits until its instance is gone.
func (k *killing) ends(t *testing.T, app string) {
	t.Helper()
	k.house.hold(nil)
	for _, err := range []error{
		k.kube.AppsV1().Deployments("judged").Delete(t.Context(), app, metav1.DeleteOptions{}),
		k.kube.PolicyV1().PodDisruptionBudgets("judged").Delete(t.Context(), app, metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	await(t, 2*time.Minute, "no claim is left", func(ctx context.Context) string {
		if err := k.tick(ctx); err != nil {
			return err.Error()
		}
		if n := len(k.byInstance(t)); n > 0 {
			return fmt.Sprintf("%d claims; %s", n, k.open(t))
		}
		return ""
	})
	k.oneEach(t)
}

// stops has a command begin, and disruption be stopped in the cluster before it is carried out; the disruption function dies twice at undoing
// it. Then disruption is resumed.
func (k *killing) stops(t *testing.T, at ...string) {
	t.Helper()
	app := k.begins(t, emptied, points{disruptFunction: {"after taint"}})
	k.dies(t, points{disruptFunction: {"after taint"}})
	reg, err := k.Ledger.Cluster(t.Context(), k.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	stop := model.Stop{Scope: model.StopCluster, Why: "a test", By: "e2e", SinceUnix: time.Now().Unix()}
	k.diesNext(t, disruptFunction, at[0])
	if err := k.Ledger.Stop(t.Context(), reg, stop); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	k.dies(t, points{disruptFunction: at})
	await(t, time.Minute, "no trace of the command is left", func(ctx context.Context) string {
		if err := k.tick(ctx); err != nil {
			return err.Error()
		}
		return k.open(t) + k.tainted(ctx)
	})
	t.Logf("the command was undone %s after disruption was stopped, two deaths included", time.Since(stopped).Round(time.Second))
	undone := slices.ContainsFunc(k.ledger(t).Commands, func(c model.Command) bool { return c.State == model.CommandUndone && c.FailureCode == "Stopped" })
	if n := len(k.running()); n != 2 || !undone {
		t.Errorf("%d machines after disruption was stopped; commands %+v", n, k.ledger(t).Commands)
	}
	for range 3 { // nothing is decided anew
		if _, err := k.Disrupt(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if open := k.open(t) + k.tainted(t.Context()); open != "" {
			t.Errorf("though disruption is stopped: %s", open)
		}
	}
	if err := k.Ledger.Resume(t.Context(), reg, stop); err != nil {
		t.Fatal(err)
	}
	// Giving the smaller instance back and replacing the larger one by a smaller one save the same; which of the two it is depends on where the
	// pods are that are left.
	k.awaitInstances(t, emptied, app, "one of two machines is given back, or the larger one is replaced", func(instances []ec2.Instance) bool {
		types := typesOf(instances)
		return slices.Equal(types, []string{emptied.kind}) || slices.Equal(types, []string{"m6i.large", "m6i.large"})
	})
	k.ends(t, app)
}

func typesOf(instances []ec2.Instance) []string {
	var out []string
	for _, instance := range instances {
		out = append(out, instance.Type)
	}
	return out
}

// open says which commands are under way, and which claims are still held by one.
func (k *killing) open(t *testing.T) string {
	t.Helper()
	var lines []string
	ledger := k.ledger(t)
	for _, command := range ledger.Commands {
		if command.State.Open() {
			lines = append(lines, fmt.Sprintf("command %s (%s) is %s", command.ID, command.Reason, command.State))
		}
	}
	for _, claim := range ledger.Claims {
		if claim.Command != "" && claim.Live() && !claim.Ending() {
			lines = append(lines, "claim "+claim.Name+" is in command "+claim.Command)
		}
	}
	return strings.Join(lines, "; ")
}

// budgets says what PodDisruptionBudgets allow: a budget that allows nothing keeps a command from being made.
func (k *killing) budgets(ctx context.Context) string {
	list, err := k.kube.PolicyV1().PodDisruptionBudgets("judged").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var lines []string
	for i := range list.Items {
		lines = append(lines, budgetText(&list.Items[i]))
	}
	return strings.Join(lines, "; ")
}

func budgetText(b *policyv1.PodDisruptionBudget) string {
	return fmt.Sprintf("budget %s of generation %d: %+v", b.Name, b.Generation, b.Status)
}

// uncounted names the first PodDisruptionBudget that allows nothing although it leaves room. Where counting one
// failed, for example because the API server did not answer in time, Kubernetes' controller lets it allow nothing and
// does not try again before a pod or the budget changes (its condition has the reason SyncFailed): such a budget is
// changed.
func (k *killing) uncounted(ctx context.Context, t *testing.T) string {
	client := k.kube.PolicyV1().PodDisruptionBudgets("judged")
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for i := range list.Items {
		b := &list.Items[i]
		if b.Status.DisruptionsAllowed > 0 {
			continue
		}
		failed := slices.ContainsFunc(b.Status.Conditions, func(c metav1.Condition) bool {
			return c.Reason == policyv1.SyncFailedReason
		})
		if failed {
			t.Logf("counted again: %s", budgetText(b))
			metav1.SetMetaDataAnnotation(&b.ObjectMeta, "joiner.test/counted", time.Now().Format(time.RFC3339Nano))
			if _, err := client.Update(ctx, b, metav1.UpdateOptions{}); err != nil {
				return err.Error()
			}
		}
		return budgetText(b)
	}
	return ""
}

// tainted says which nodes carry the taint.
func (k *killing) tainted(ctx context.Context) string {
	list, err := k.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, node := range list.Items {
		if slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == model.TaintDisrupted }) {
			lines = append(lines, "node "+node.Name+" is tainted")
		}
	}
	return strings.Join(lines, "; ")
}
