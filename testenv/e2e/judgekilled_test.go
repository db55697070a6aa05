package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/kube"
	"github.com/joiner-sh/joiner/testenv/stack"
)

// TestF150_KilledJudgeLeavesNoTaintAndStopsAreObeyed kills the function that decides what to give back with SIGKILL at effects of
// a command, again and again. Whoever comes after carries the command to the same end: one machine less, no node tainted, no
// command left open, no pod below its budget. Then disruption is stopped while a command is under way: it is undone, through
// two more deaths, and nothing is given back until disruption is resumed.
func TestF150_KilledJudgeLeavesNoTaintAndStopsAreObeyed(t *testing.T) {
	t.Parallel()
	k := &killing{file: filepath.Join(t.TempDir(), "crash")}
	k.cluster = start(t, stack.Options{
		Timeout: 8 * time.Second, Visibility: 9 * time.Second, MaxReceives: 20,
		JudgeEnv:    map[string]string{"JOINER_CRASH_FILE": k.file},
		FunctionEnv: map[string]string{"JOINER_RECOVER_AFTER": "3s"},
		KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds},
	})
	k.apply(t, namespace("judged"), class("default"), pool("default", "default", twoSizes, nil, []string{giving(time.Second, "100%")}))
	k.awaitReady(t, nodePools, "default")
	k.house = watchPods(t, quick(t, k.Kube.Config()), "judged")

	if full() {
		for _, effect := range ofACommand {
			k.shrinks(t, "before "+effect)
			k.shrinks(t, "after "+effect)
		}
	} else {
		k.shrinks(t, "after commit", "after taint", "before end", "after end") // recorded, one node tainted, it holds, its claim is Draining
	}
	k.stops(t, "before untaint", "after untaint")

	if died := k.cluster.deaths(); died != k.deaths {
		t.Errorf("functions died %d times, want %d", died, k.deaths)
	}
	audit(t, k.Kube, time.Time{})
}

// ofACommand are the effects that a command without replacements cannot do without, and the others a run of it has.
var ofACommand = []string{
	disrupt.EffectCommit, disrupt.EffectDecision, disrupt.EffectTaint, disrupt.EffectShow, disrupt.EffectStep, disrupt.EffectReplace, disrupt.EffectEnd,
	disrupt.EffectDrain, disrupt.EffectHint, disrupt.EffectNote, disrupt.EffectTell,
}

// killing is a cluster whose judge is killed.
type killing struct {
	*cluster
	house  *house
	file   string // that says where it dies next
	deaths int
	apps   int
}

// grown makes an app of nine pods, which take a machine of four CPUs and one of two, and scales it down to six, which the first
// would hold. It returns the app's name.
func (k *killing) grown(t *testing.T, point string) string {
	t.Helper()
	k.apps++
	app := fmt.Sprintf("app%d", k.apps)
	k.apply(t, guarded("judged", app, 9, 5, fmt.Sprintf("%dm", sixHundred)))
	k.awaitRunning(t, "judged", 9, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", k.settled(t))
	if n := len(k.running()); n != 2 {
		t.Fatalf("nine pods are on %d machines", n)
	}
	k.diesNext(t, point)
	k.house.hold(map[string]int{app: 5})
	k.scale(t, "judged", app, 6)
	k.awaitLeft(t, "judged", 6)
	return app
}

func (k *killing) diesNext(t *testing.T, point string) {
	t.Helper()
	if err := os.WriteFile(k.file, []byte(point), 0o644); err != nil {
		t.Fatal(err)
	}
}

// dies waits until the judge has died at the point, and looks again and again meanwhile, as a tick would.
func (k *killing) dies(t *testing.T, point string) {
	t.Helper()
	looked := time.Time{}
	await(t, 2*time.Minute, "the function dies "+point, func(ctx context.Context) string {
		if _, err := os.Stat(k.file); err != nil {
			return ""
		}
		if time.Since(looked) > 5*time.Second {
			looked = time.Now()
			if _, err := k.Judge(ctx); err != nil {
				return err.Error()
			}
		}
		return "it lives; " + k.open(t)
	})
	k.deaths++
}

// shrinks has one machine be given back and kills the judge at each of the points, one after the other. In the end there is
// nothing left.
func (k *killing) shrinks(t *testing.T, points ...string) {
	t.Helper()
	began := time.Now()
	app := k.grown(t, points[0])
	for i, point := range points {
		k.dies(t, point)
		if i+1 < len(points) {
			k.diesNext(t, points[i+1])
		}
	}
	k.awaitOne(t, app)
	t.Logf("killed %s: one machine is left after %s", strings.Join(points, ", "), time.Since(began).Round(time.Second))
	k.ends(t, app)
}

// awaitOne waits until one machine is left, with the app on it and no trace of a command.
func (k *killing) awaitOne(t *testing.T, app string) {
	t.Helper()
	await(t, 3*time.Minute, "one machine is left", func(ctx context.Context) string {
		if n := len(k.running()); n != 1 {
			return fmt.Sprintf("%d machines; %s", n, k.open(t))
		}
		if missing := k.appRuns(ctx, "judged", app, 6); missing != "" {
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

// ends deletes the app, and waits until its machine is gone.
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
		if n := len(k.byInstance(t)); n > 0 {
			return fmt.Sprintf("%d claims; %s", n, k.open(t))
		}
		return ""
	})
	k.oneEach(t)
}

// stops has a command begin, and disruption be stopped in the cluster before it is carried out; the judge dies twice at undoing
// it. Then disruption is resumed.
func (k *killing) stops(t *testing.T, points ...string) {
	t.Helper()
	app := k.grown(t, "after taint")
	k.dies(t, "after taint")
	reg, err := k.Ledger.Cluster(t.Context(), k.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	stop := model.Stop{Scope: model.StopCluster, Why: "a test", By: "e2e", SinceUnix: time.Now().Unix()}
	k.diesNext(t, points[0])
	if err := k.Ledger.Stop(t.Context(), reg, stop); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	for i, point := range points {
		k.dies(t, point)
		if i+1 < len(points) {
			k.diesNext(t, points[i+1])
		}
	}
	await(t, time.Minute, "no trace of the command is left", func(ctx context.Context) string { return k.open(t) + k.tainted(ctx) })
	t.Logf("the command was undone %s after disruption was stopped, two deaths included", time.Since(stopped).Round(time.Second))
	undone := slices.ContainsFunc(k.ledger(t).Commands, func(c model.Command) bool { return c.State == model.CommandUndone && c.FailureCode == "Stopped" })
	if n := len(k.running()); n != 2 || !undone {
		t.Errorf("%d machines after disruption was stopped; commands %+v", n, k.ledger(t).Commands)
	}
	for range 3 { // nothing is decided anew
		if _, err := k.Judge(t.Context()); err != nil {
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
	k.awaitOne(t, app)
	k.ends(t, app)
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
