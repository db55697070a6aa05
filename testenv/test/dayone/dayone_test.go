package dayone

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mostTyped is how many commands a reader types until pods run on the first node.
const mostTyped = 8

// logged writes lines to the test's log as they come.
type logged struct{ t *testing.T }

func (l logged) Write(p []byte) (int, error) {
	for line := range strings.SplitSeq(colors.ReplaceAllString(string(p), "\n"), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			l.t.Log(line)
		}
	}
	return len(p), nil
}

// begin starts a world, in the long form or where node is there.
func begin(t *testing.T, o Options) *World {
	t.Helper()
	if err := Missing(); err != nil {
		if full() {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	o.Log = logged{t}
	w, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	t.Cleanup(func() {
		t.Logf("a reader typed %d commands", len(w.Typed))
		if t.Failed() {
			t.Logf("problems of functions:\n%s", w.troubles.text())
		}
	})
	return w
}

// types types a command that is in no page.
func types(t *testing.T, w *World, text string) (string, error) {
	t.Helper()
	return w.Type(t.Context(), Command{t.Name(), text})
}

// must types a command that has to work.
func must(t *testing.T, w *World, text string) string {
	t.Helper()
	out, err := types(t, w, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// page runs the section of a page.
func page(t *testing.T, w *World, name, title string) {
	t.Helper()
	w.Return()
	if err := w.Run(t.Context(), blocksOf(t, name, title)); err != nil {
		t.Fatal(err)
	}
}

func blocksOf(t *testing.T, name, title string) []Block {
	t.Helper()
	p, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := p.Section(title)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// running waits until the example's pods run and the watcher leads, and fails where policies refused something.
func running(t *testing.T, w *World) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if err := w.AwaitRunning(ctx, "inflate", 20); err != nil {
		t.Fatal(err)
	}
	if err := w.AwaitWatcher(ctx); err != nil {
		t.Fatal(err)
	}
	for _, use := range w.Stack.Cloud.Policies.Denied() {
		t.Errorf("refused by policies: %v", use)
	}
}

// healthy fails where doctor finds that something does not work, or to be looked at but for what is allowed.
func healthy(t *testing.T, w *World, allowed ...string) {
	t.Helper()
	w.Return()
	out := must(t, w, "bin/joiner doctor $CLUSTER || [ $? -eq 1 ]")
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, "warn ") && !slices.ContainsFunc(allowed, func(s string) bool { return strings.Contains(line, s) }) {
			t.Errorf("doctor: %s", line)
		}
	}
}

// status fails unless a stack has a status.
func status(t *testing.T, w *World, stack, wanted string) {
	t.Helper()
	if got, reason := w.Stack.Stacks.Status(stack); got != wanted {
		t.Errorf("stack %s is %s (%s), not %s", stack, got, reason, wanted)
	}
}

// zips packs the functions as this process has built them, which takes less than building those that ship.
func zips(t *testing.T, w *World) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range w.Stack.Functions() {
		program, err := os.ReadFile(w.Stack.Function(name))
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(filepath.Join(dir, name+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		archive := zip.NewWriter(file)
		into, err := archive.CreateHeader(&zip.FileHeader{Name: "bootstrap"}) // stored: nobody sends it far
		if err == nil {
			_, err = into.Write(program)
		}
		if err := errors.Join(err, archive.Close(), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The real cdk bootstraps an account, deploys both stacks with the command of "Ten minutes" in an order that works at once (A1), finds nothing to do then, and
// takes the cluster's away again (A56, A61).
func TestA1TheRealCDKDeploysAndDestroys(t *testing.T) {
	if full() {
		t.Skip("the long form does this by the pages")
	}
	if testing.Short() {
		t.Skip("it runs cdk")
	}
	w := begin(t, Options{NoKubernetes: true})
	if _, err := os.Stat(filepath.Join(Root(), "infra", "cdk", "node_modules", ".bin", "cdk")); err != nil {
		if out, err := types(t, w, "make infra/cdk/node_modules/.bin/cdk"); err != nil {
			t.Skipf("cdk cannot be installed from npm: %v: %s", err, out)
		}
	}
	must(t, w, "infra/cdk/node_modules/.bin/cdk bootstrap aws://"+w.Stack.Cloud.Account()+"/$AWS_REGION") // where no app is: it would want zips
	status(t, w, "CDKToolkit", "CREATE_COMPLETE")
	all := " --all -c cluster=shop --require-approval never -c zips=" + zips(t, w)
	must(t, w, "cd infra/cdk && npx cdk deploy"+all)
	status(t, w, "joiner", "CREATE_COMPLETE")
	status(t, w, "joiner-cluster-shop", "CREATE_COMPLETE")
	must(t, w, "npx cdk destroy joiner-cluster-shop --force -c cluster=shop -c zips="+zips(t, w))
	status(t, w, "joiner-cluster-shop", "")
	if refused := w.Stack.Cloud.Policies.Denied(); len(refused) > 0 {
		t.Errorf("refused by policies: %v", refused)
	}
}
