package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/insights"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// rareSeries are sent in none of the hours that this test plays, with when they are. Functions' own tests send them.
var rareSeries = map[string]string{
	"RemovalsPutOff":                   "more nodes ended than may in five minutes, of themselves",
	"MessagesRefused":                  "a message is in a queue that does not carry it",
	"HintsRefused":                     "a hint is in another cluster's plan queue, or in a group made up",
	"NodesWaiting":                     "a node is to be disrupted, and something is in the way",
	"SavingsDelayedPerHour":            "the same, of a node that is empty or too expensive",
	"VoluntaryDisruptionQueueFailures": "a command did not hold, or its replacement did not come",
}

// measuredFunctions are those that send metrics, by their logical ids.
var measuredFunctions = []string{"Provision", "Interruption", "Disrupt", "Catalog"}

// TestF151_ADayIsMeasured plays a day of a cluster: it comes up before its watcher, grows, loses an instance to AWS, has pods nothing
// fits and a launch that fails, shrinks and rolls. Every metric that is documented was sent and the other way round, Karpenter's
// dashboard of capacity has an answer in every panel, each invocation said once what came of it, and no event is there twice.
func TestF151_ADayIsMeasured(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{Watchers: -1, FunctionEnv: map[string]string{"JOINER_METRICS": "on"}})
	dry := `{key: node.kubernetes.io/instance-type, operator: In, values: [c5.large]}, {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, ` +
		`{key: topology.kubernetes.io/zone, operator: In, values: [us-west-2a]}`
	c.EC2.SetCapacity(ec2.Pool{Type: "c5.large", Zone: "us-west-2a", CapacityType: ec2.OnDemand}, 0)
	c.apply(t, namespace("day"), class("default"), classWith("wrong", "nowhere"),
		pool("given", "default", twoSizes, nil, []string{giving(patience, "100%"), `limits: {cpu: 200, memory: 800Gi}`}),
		pool("taken", "default", fourCPUs, nil, nil), pool("dry", "default", dry, nil, nil))
	for _, name := range []string{"given", "taken", "dry"} {
		c.awaitReady(t, nodePools, name)
	}

	// Without a watcher the resync lists the cluster.
	c.apply(t, deployment("day", "first", 1, "600m", "nodeSelector: {karpenter.sh/nodepool: given}"))
	await(t, 2*time.Minute, "a run has listed the cluster", func(ctx context.Context) string {
		if _, err := c.Resync(ctx); err != nil {
			return err.Error()
		}
		return c.notSent("SilentWatchers")
	})
	watcher, err := c.StartWatcher()
	if err != nil {
		t.Fatal(err)
	}
	scrapes := c.scrapeAll(t, watcher)
	c.quicken(t)

	// It grows, as far as it can.
	const pods = 12
	c.apply(t, guarded("day", "web", pods, 1, fmt.Sprintf("%dm", sixHundred), "nodeSelector: {karpenter.sh/nodepool: given}"),
		guarded("day", "stays", 1, 1, "3", "nodeSelector: {karpenter.sh/nodepool: taken}"),
		deployment("day", "parched", 1, "1", "nodeSelector: {karpenter.sh/nodepool: dry}"), deployment("day", "nowhere", 1, "1", "nodeSelector: {example.com/none: here}"))
	await(t, 3*time.Minute, "web and stays run, and the others cannot", func(ctx context.Context) string {
		return strings.TrimSpace(c.appRuns(ctx, "day", "web", pods) + c.appRuns(ctx, "day", "stays", 1) + c.notSent("CloudProviderErrors", "LaunchesFailed", "SchedulerUnschedulablePods"))
	})
	c.deleteDeployments(t, "day", "parched", "nowhere")
	await(t, 2*time.Minute, "the claims are initialised", c.settled(t))

	// AWS takes an instance back whose pod may not go at first.
	for _, claim := range c.ledger(t).Claims {
		if claim.Pool == "taken" {
			c.warn(t, claim)
		}
	}
	await(t, time.Minute, "an eviction was refused", func(context.Context) string { return c.notSent("PodsEvictionsRefused", "InterruptionReceivedMessages") })
	if err := c.kube.PolicyV1().PodDisruptionBudgets("day").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}

	// A pod comes when everything it needs is known: its instance is launched by the watcher's word, also where EC2
	// knew the profile late.
	c.apply(t, deployment("day", "late", 1, "3", "nodeSelector: {karpenter.sh/nodepool: taken}"))
	await(t, 3*time.Minute, "the late one runs", func(ctx context.Context) string {
		return c.appRuns(ctx, "day", "late", 1)
	})

	// It rolls and shrinks.
	c.patchPool(t, "given", map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"example.com/rolled": "yes"}}}})
	await(t, 4*time.Minute, "drifted nodes are given back", func(ctx context.Context) string {
		return strings.TrimSpace(c.notSent("NodeClaimsDrifted", "VoluntaryDisruptionDecisions", "NodesTerminationDuration", "PodsDrained") + c.appRuns(ctx, "day", "web", pods))
	})
	c.scale(t, "day", "web", 3)
	await(t, 4*time.Minute, "what is saved was sent, and all else", func(ctx context.Context) string {
		return strings.TrimSpace(c.notSent(allButRare()...) + c.appRuns(ctx, "day", "web", 3))
	})

	c.sentAsDocumented(t)
	c.oneLineEach(t)
	c.noEventTwice(t)
	c.dashboardAnswers(t, scrapes)
	c.queriesAnswer(t)
}

// rareQueries are what dashboards ask of logs and nothing answers in the hours that this test plays: titles of widgets, or fields of
// their answers, with when they are filled.
var rareQueries = map[string]string{
	"Problems, newest first":         "something went wrong that stopped nothing else",
	"Runs that failed, newest first": "a run ends with an error: the ledger, EC2 or the API server does not answer",
	"outcome.undone":                 "a command did not hold, or its replacement did not come",
}

// queriesAnswer fails the test where a widget of the dashboards asks for lines that no function writes, or for fields they do not have.
func (c *cluster) queriesAnswer(t *testing.T) {
	t.Helper()
	asked := 0
	for _, id := range []string{"CapacityDashboard", "HealthDashboard"} {
		properties, err := c.Region.Properties(id)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct {
			Widgets []struct {
				Properties struct{ Title, Query string }
			}
		}
		body, _ := properties["DashboardBody"].(string)
		if err := json.Unmarshal([]byte(body), &dashboard); err != nil {
			t.Fatalf("%s: %v: %s", id, err, body)
		}
		for _, w := range dashboard.Widgets {
			if w.Properties.Query == "" {
				continue
			}
			asked++
			c.queryAnswers(t, w.Properties.Title, w.Properties.Query)
		}
	}
	if asked < 10 {
		t.Errorf("%d widgets ask the logs", asked)
	}
}

func (c *cluster) queryAnswers(t *testing.T, title, query string) {
	t.Helper()
	q, err := insights.Parse(query)
	if err != nil {
		t.Errorf("widget %q: %v", title, err)
		return
	}
	var lines []string
	for _, line := range c.Runtime.Logs(strings.TrimPrefix(q.Source, "/aws/lambda/")) {
		lines = append(lines, line.Text)
	}
	answer := q.Over(lines)
	absent := slices.DeleteFunc(answer.Absent, func(field string) bool { return rareQueries[field] != "" })
	if rareQueries[title] == "" && (answer.Lines == 0 || len(absent) > 0) {
		t.Errorf("widget %q is empty: %d of %d lines of %s pass its filters, and none of these has %q", title, answer.Lines, len(lines), q.Source, absent)
	}
	t.Logf("widget %q: %d lines", title, answer.Lines)
}

func allButRare() []string {
	var names []string
	for _, s := range boot.AllSeries() {
		if rareSeries[s.Name] == "" {
			names = append(names, s.Name)
		}
	}
	return names
}

// notSent says which of some metrics were not sent yet, "" where all were.
func (c *cluster) notSent(names ...string) string {
	sent := map[string]bool{}
	for _, id := range measuredFunctions {
		for _, m := range c.Runtime.Metrics(c.FunctionName(id)) {
			sent[m.Name] = true
		}
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return sent[name] })
	if len(missing) == 0 {
		return ""
	}
	return "not sent: " + strings.Join(missing, ", ")
}

// sentAsDocumented fails the test where something was sent that is not in the table, or otherwise.
func (c *cluster) sentAsDocumented(t *testing.T) {
	t.Helper()
	known := map[string]boot.Series{}
	for _, s := range boot.AllSeries() {
		known[s.Name] = s
	}
	series := map[string]bool{}
	for _, id := range measuredFunctions {
		for _, m := range c.Runtime.Metrics(c.FunctionName(id)) {
			s, ok := known[m.Name]
			dimensions := slices.Sorted(maps.Keys(m.Dimensions))
			if !ok || m.Namespace != boot.Namespace || m.Unit != s.Unit || !slices.Equal(dimensions, slices.Sorted(slices.Values(s.Dimensions))) || "joiner-"+s.Program != m.Function {
				t.Errorf("sent: %+v", m)
			}
			series[fmt.Sprint(m.Name, m.Dimensions)] = true
		}
	}
	t.Logf("%d series were sent", len(series))
}

// oneLineEach fails the test unless each invocation said what came of it: one line for each cluster and task, with its id.
func (c *cluster) oneLineEach(t *testing.T) {
	t.Helper()
	summaries := []string{"provision", "interruption", "drain", "notices", "disrupt", "catalog", "sweep", "batch", "event", "custom resource"}
	for _, id := range measuredFunctions {
		said, ended := map[string]map[string]int{}, map[string]bool{}
		for _, line := range c.Runtime.Logs(c.FunctionName(id)) {
			if strings.HasPrefix(line.Text, "END ") {
				ended[line.RequestID] = true
			}
			var l struct {
				Msg, Invocation string
				Outcome         struct{ Cluster string }
			}
			if json.Unmarshal([]byte(line.Text), &l) != nil || !slices.Contains(summaries, l.Msg) {
				continue
			}
			if l.Invocation != line.RequestID && l.Msg != "custom resource" {
				t.Errorf("%s: a line of invocation %s says: %s", id, line.RequestID, line.Text)
			}
			if said[line.RequestID] == nil {
				said[line.RequestID] = map[string]int{}
			}
			said[line.RequestID][l.Msg+" "+l.Outcome.Cluster]++
		}
		if len(ended) == 0 {
			t.Errorf("%s: no invocation has ended", id)
		}
		for invocation := range ended {
			if len(said[invocation]) == 0 {
				t.Errorf("%s: invocation %s said nothing", id, invocation)
			}
			for what, n := range said[invocation] {
				if n != 1 {
					t.Errorf("%s: invocation %s said %s %d times", id, invocation, what, n)
				}
			}
		}
		t.Logf("%s: %d invocations", id, len(ended))
	}
}

// noEventTwice fails the test where an object has the same event twice, as two objects: F152.
func (c *cluster) noEventTwice(t *testing.T) {
	t.Helper()
	list, err := c.kube.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen, reasons := map[string]string{}, map[string]int{}
	for _, event := range list.Items {
		if event.Source.Component != "joiner" {
			continue
		}
		reasons[event.InvolvedObject.Kind+" "+event.Reason]++
		key := fmt.Sprint(event.InvolvedObject.Kind, event.InvolvedObject.UID, event.Reason, event.Message)
		if other := seen[key]; other != "" {
			t.Errorf("%s and %s say the same: %s: %s", other, event.Name, event.Reason, event.Message)
		}
		seen[key] = event.Name
	}
	for _, wanted := range []string{
		"Pod Nominated", "Pod FailedScheduling", "Pod Evicted", "Node DisruptionTerminating", "NodeClaim DisruptionTerminating",
		"NodeClaim SpotInterrupted", "Node SpotInterrupted", "NodeClaim TerminatingOnInterruption",
	} {
		if reasons[wanted] == 0 {
			t.Errorf("nobody was told of %s; told were %v", wanted, reasons)
		}
	}
}

func (c *cluster) deleteDeployments(t *testing.T, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := c.kube.AppsV1().Deployments(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// scrapeAll asks a watcher for its metrics every five seconds until the test ends, as Prometheus does, and returns the folder that the
// answers come to.
func (c *cluster) scrapeAll(t *testing.T, w *stack.Watcher) string {
	t.Helper()
	folder, address := t.TempDir(), ""
	await(t, time.Minute, "the watcher serves metrics", func(context.Context) string {
		address = servedAt(w.LogPath, "serving metrics")
		if address == "" {
			return "it has not said where"
		}
		return ""
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		for {
			if err := scrape(ctx, address, folder); err != nil || ctx.Err() != nil {
				ended <- err
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return folder
}

// servedAt returns the address that a log's line names, "" where there is no such line yet.
func servedAt(log, what string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		var l struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &l) == nil && l.Msg == what {
			return l.Address
		}
	}
	return ""
}

// scrape asks once.
func scrape(ctx context.Context, address, folder string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("scrape: %s, %w", answer.Status, err)
	}
	path := filepath.Join(folder, fmt.Sprint(time.Now().UnixMilli()))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	return os.Rename(path, path+".txt") // whole, for whoever reads it meanwhile
}

// answer is what became of one query of a panel, as the dashboard's program says it.
type answer struct {
	Panel, Expression, Absent string
	Series                    int
}

// dashboardAnswers waits until every panel of Karpenter's dashboard of capacity has something to show in the scrapes of a folder, but for what
// is said to have none. Whether it has is evaluated by Prometheus's own engine, in a module of its own.
func (c *cluster) dashboardAnswers(t *testing.T, folder string) {
	t.Helper()
	dashboard := filepath.Join(t.TempDir(), "board")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dashboard, ".")
	build.Dir = filepath.Join("..", "dashboard")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the board: %v: %s", err, text)
	}
	var answers []answer
	await(t, time.Minute, "every panel of the board has something to show", func(ctx context.Context) string {
		text, err := exec.CommandContext(ctx, dashboard, folder).Output()
		if err != nil {
			return err.Error()
		}
		if err := json.Unmarshal(text, &answers); err != nil {
			return err.Error()
		}
		for _, a := range answers {
			if a.Series == 0 && a.Absent == "" {
				return fmt.Sprintf("panel %q: nothing answers %s", a.Panel, a.Expression)
			}
		}
		return ""
	})
	if len(answers) < 15 {
		t.Errorf("only %d queries were asked", len(answers))
	}
	for _, a := range answers {
		if a.Absent == "" {
			continue
		}
		t.Logf("panel %q: nothing answers %s: %s", a.Panel, a.Expression, a.Absent)
		if a.Series > 0 {
			t.Errorf("panel %q: %s has an answer, and is said to have none", a.Panel, a.Expression)
		}
	}
}
