package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	replaycmd "github.com/joiner-sh/joiner/cmd/joiner/internal/replay"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/flow/shadow"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// liveRecords are the decisions of a simulated cluster, moved to the last minutes, and what they went by.
type liveRecords struct {
	provisioned []model.Decision
	evaluated   []model.Disrupted
	facts       map[string]replay.Facts // by id
	store       *s3snapshot.Store
}

// lives plays a cluster in which instances come and go, and stores its records as an installation does.
func lives(t *testing.T, client *s3.Client, bucket string) *liveRecords {
	t.Helper()
	after := int64(30)
	pool := world.Pool("web", "default", world.Need(model.LabelCapacityType, model.OnDemand))
	pool.Disruption = model.Disruption{Policy: "WhenEmptyOrUnderutilized", ConsolidateAfterSeconds: &after, Budgets: []model.Budget{{Nodes: "100%"}}}
	var w *world.World
	result := sim.Run(sim.Config{Seed: 1, After: func(over *world.World) { w = over }, Scenario: sim.Scenario{
		Length: 40 * time.Minute, Types: []string{"m5.large", "m5.xlarge", "m5.2xlarge"}, Pools: []model.Pool{pool}, Versions: 1, Choices: true,
		Workloads: []world.Workload{{Kind: world.Deployment, Name: "web", Shape: world.Shape(700, 1<<30), Replicas: 12, Steps: []world.Step{
			{At: world.Start.Add(10 * time.Minute), Replicas: 4}, {At: world.Start.Add(25 * time.Minute), Replicas: 9}}}},
	}})
	if len(result.Violations) > 0 {
		t.Fatal(result.Violations)
	}
	out := &liveRecords{facts: map[string]replay.Facts{}, store: s3snapshot.New(client, bucket), provisioned: w.Store.Decisions(), evaluated: w.Store.Disruptions()}
	at := time.Now().Unix() - 1800
	for i := range out.provisioned {
		d := &out.provisioned[i]
		at++
		d.Build, d.AtUnix = "live", at
		out.keep(t, w, d.ID, d.Input, d.Catalog)
	}
	for i := range out.evaluated {
		d := &out.evaluated[i]
		at++
		d.Build, d.AtUnix = "live", at
		out.keep(t, w, d.ID, d.Recorded, d.Catalog)
	}
	if len(out.provisioned) < 2 || len(out.evaluated) < 2 {
		t.Fatalf("%d decisions to provision and %d of the judge: the test shows nothing", len(out.provisioned), len(out.evaluated))
	}
	out.put(t)
	return out
}

// keep stores what a decision went by: the snapshot in the bucket, the catalog in the record.
func (l *liveRecords) keep(t *testing.T, w *world.World, id string, input *model.DecisionInput, catalog model.CatalogUse) {
	t.Helper()
	facts, err := w.Catalogs().Facts(input, catalog)
	if err != nil {
		t.Fatal(err)
	}
	l.facts[id] = facts
	if input.Catalog == nil {
		catalog, err := w.Catalogs().Catalog(input.Account, input.Region, catalog.Version)
		if err != nil {
			t.Fatal(err)
		}
		if input.Catalog, err = wire.EncodeCatalog(catalog); err != nil {
			t.Fatal(err)
		}
	}
	if input.Snapshot == nil {
		return
	}
	snapshot, err := w.Catalogs().Snapshot(*input.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	data, err := wire.EncodeSnapshot(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	key, err := l.store.PutSnapshot(t.Context(), snapshot.Cluster, snapshot.Epoch, snapshot.Seq, data)
	if err != nil {
		t.Fatal(err)
	}
	input.Snapshot = &model.Manifest{Cluster: snapshot.Cluster, Epoch: snapshot.Epoch, SnapshotKey: key, SnapshotSeq: snapshot.Seq, HeadSeq: snapshot.Seq}
}

func (l *liveRecords) put(t *testing.T) {
	t.Helper()
	for _, d := range l.provisioned {
		if err := l.store.PutDecision(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range l.evaluated {
		if err := l.store.PutDisruption(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
}

// otherwise has the records say what another version would have decided: it knew no m5.large, and disrupted nothing. It returns what
// the report has to say of each decision, by id.
func (l *liveRecords) otherwise(t *testing.T) map[string]shadow.DifferentDecision {
	t.Helper()
	want := map[string]shadow.DifferentDecision{}
	for i := range l.provisioned {
		d := &l.provisioned[i]
		facts := l.facts[d.ID]
		facts.Types = slices.DeleteFunc(slices.Clone(facts.Types), func(m model.InstanceTypeInfo) bool { return m.Name == "m5.large" })
		for j := range d.Rounds {
			is := d.Rounds[j].Plan
			d.Rounds[j].Plan = replay.Round(d.Rounds[j].Input, facts.Snapshot, facts.Types)
			if was := d.Rounds[j].Plan; !replay.Identical(was, is) && want[d.ID].Decision == "" {
				want[d.ID] = shadow.DifferentDecision{Decision: d.ID, Kind: model.KindProvision, AtUnix: d.AtUnix, Live: was.Price, Shadow: is.Price}
			}
		}
	}
	for i := range l.evaluated {
		d := &l.evaluated[i]
		if is := d.Plan; len(is.Commands) > 0 {
			d.Plan.Commands, d.Plan.PriceAfter = nil, d.Plan.PriceBefore
			want[d.ID] = shadow.DifferentDecision{Decision: d.ID, Kind: model.KindDisrupt, AtUnix: d.AtUnix, Live: is.PriceBefore, Shadow: is.PriceAfter}
		}
	}
	l.put(t)
	return want
}

// whoReads has the command line be somebody with no more permissions than the help says, and returns a function that ends it and returns what
// was asked of AWS meanwhile, each once.
func (a *installedAccount) whoReads(t *testing.T, name string, actions ...string) (asked func() []string) {
	t.Helper()
	var statements []string
	for _, action := range actions {
		name, resource, _ := strings.Cut(action, " ")
		statements = append(statements, fmt.Sprintf(`{"Effect": "Allow", "Action": %q, "Resource": "arn:aws:s3:::joiner-data%s"}`, name, resource))
	}
	document, err := policy.Parse([]byte(`{"Version": "2012-10-17", "Statement": [`+strings.Join(statements, ",")+`]}`), policy.Identity)
	if err != nil {
		t.Fatal(err)
	}
	arn := a.STS.AddRole(sts.Role{Name: name})
	a.Policies.SetRole(arn, access.Role{Identity: []policy.Attached{{Name: "own", Document: document}}})
	keys, err := a.STS.Assume(arn, "session", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	config := a.ConfigFor(keys)
	secret, err := config.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", secret.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret.SecretAccessKey)
	t.Setenv("AWS_SESSION_TOKEN", secret.SessionToken)
	before := len(a.Requests())
	return func() []string {
		var out []string
		for _, r := range a.Requests()[before:] {
			out = append(out, r.Service+":"+r.Action)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
}

// objects returns the keys of the bucket with the digests of what is there.
func (a *installedAccount) keys(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	client := s3.NewFromConfig(a.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	for pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: aws.String("joiner-data")}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			out[aws.ToString(o.Key)] = aws.ToString(o.ETag)
		}
	}
	return out
}

func reportOf(t *testing.T, text string) shadow.Report {
	t.Helper()
	var report shadow.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return report
}

// D7: a build that decides beside itself differs in nothing; one that decides beside another version lists what differs, with its price.
// It asks AWS for nothing but reads of the bucket, and with --keep writes below shadow/.
func TestD7ShadowListsWhatAnotherVersionDecidesOtherwise(t *testing.T) {
	a := newAccount(t)
	live := lives(t, s3.NewFromConfig(a.Config(), func(o *s3.Options) { o.UsePathStyle = true }), "joiner-data")
	all := len(live.provisioned) + len(live.evaluated)
	before := a.keys(t)

	// The same build, into a folder.
	out := t.TempDir()
	asked := a.whoReads(t, "reader", "s3:GetObject /*", "s3:ListBucket ")
	code, text, errs := joiner("", "shadow", "run", "--bucket", "joiner-data", "--out", out, "-o", "json")
	if code != 0 {
		t.Fatalf("exit status %d: %s%s", code, text, errs)
	}
	if r := reportOf(t, text); r.Compared != all || r.Same != all || r.Different != 0 || len(r.Unanswered) != 0 || !slices.Equal(r.Builds, []string{"live"}) || r.Cluster != world.Name {
		t.Errorf("of %d decisions: %s", all, text)
	}
	if got := asked(); !slices.Equal(got, []string{"s3:GetObject", "s3:ListObjectsV2"}) {
		t.Errorf("AWS was asked %v", got)
	}
	if after := a.keys(t); !maps.Equal(after, before) {
		t.Error("the bucket is not as it was")
	}
	if code, text, errs := joiner("", "shadow", "report", "--out", out); code != 0 || !strings.Contains(text, fmt.Sprintf("%d compared: %d the same, 0 different.", all, all)) {
		t.Errorf("exit status %d: %s%s", code, text, errs)
	}

	// Beside another version, into the bucket.
	want := live.otherwise(t)
	before = a.keys(t)
	asked = a.whoReads(t, "keeper", "s3:GetObject /*", "s3:ListBucket ", "s3:PutObject /shadow/*")
	code, text, errs = joiner("", "shadow", "run", "--bucket", "joiner-data", "--keep", "-o", "json")
	if code != 1 {
		t.Fatalf("exit status %d: %s%s", code, text, errs)
	}
	if got := asked(); !slices.Equal(got, []string{"s3:GetObject", "s3:ListObjectsV2", "s3:PutObject"}) {
		t.Errorf("AWS was asked %v", got)
	}
	after := a.keys(t)
	maps.DeleteFunc(after, func(key, _ string) bool { return strings.HasPrefix(key, "shadow/"+world.Name+"/") })
	if !maps.Equal(after, before) {
		t.Error("more than what is below shadow/ was written")
	}
	r := reportOf(t, text)
	if r.Compared != all || r.Different != len(want) || r.Same != all-len(want) || len(r.Decisions) != len(want) || r.Provision.Different == 0 || r.Disrupt.Different == 0 {
		t.Fatalf("of %d decisions %d differ: %s", all, len(want), text)
	}
	var launched, left shadow.Total
	for i := range r.Decisions {
		got := r.Decisions[i]
		if w := want[got.Decision]; got.Kind != w.Kind || got.AtUnix != w.AtUnix || got.Live != w.Live || got.Shadow != w.Shadow || got.Build != "live" {
			t.Errorf("%+v, want %+v", got, w)
		}
		switch d := got.Rounds[0]; {
		case got.Kind == model.KindProvision:
			launched.Live, launched.Shadow = launched.Live+got.Live, launched.Shadow+got.Shadow
			if len(d.Claims) == 0 {
				t.Errorf("no machine differs: %+v", got)
			}
		default:
			left.Live, left.Shadow = left.Live+got.Live, left.Shadow+got.Shadow
			if len(d.Commands) == 0 || d.Commands[0].Was != nil || d.Commands[0].Is == nil || got.Shadow >= got.Live {
				t.Errorf("no command is added, or it saves nothing: %+v", got)
			}
		}
	}
	n := model.MicroUSD(r.Disrupt.Different)
	if r.Provision.Live != launched.Live || r.Provision.Shadow != launched.Shadow || r.Disrupt.Live != left.Live/n || r.Disrupt.Shadow != left.Shadow/n {
		t.Errorf("totals %+v and %+v", r.Provision, r.Disrupt)
	}

	// It can be read by who has no permission to write, for people, and again with the same verdict.
	asked = a.whoReads(t, "looker", "s3:GetObject /*", "s3:ListBucket ")
	code, text, errs = joiner("", "shadow", "report", "--bucket", "joiner-data", "--kept", "--since", "2h")
	for _, says := range []string{fmt.Sprintf("%d different", len(want)), "Launches that differ cost $", "Disruption that differs leaves the cluster at $", "instance ", "added: ", r.Decisions[0].Decision} {
		if code != 1 || !strings.Contains(text, says) {
			t.Errorf("exit status %d, it is not said %q: %s%s", code, says, text, errs)
		}
	}
	if got := asked(); !slices.Equal(got, []string{"s3:GetObject", "s3:ListObjectsV2"}) {
		t.Errorf("AWS was asked %v", got)
	}
	if code, text, errs = joiner("", "shadow", "run", "--bucket", "joiner-data", "--keep"); code != 2 || !strings.Contains(errs, "AccessDenied") {
		t.Errorf("without the permission to write: exit status %d: %s%s", code, text, errs)
	}
}

// D7: it goes on with what is recorded after it began, deals with each decision once, also where it begins anew, and what cannot be made once more is said.
func TestD7ShadowGoesOnWithNewRecords(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	live := lives(t, installation.FolderClient(dir), installation.FolderBucket)
	all := len(live.provisioned) + len(live.evaluated)
	f := &installation.RecordFlags{Dir: dir}
	follow := func(then func(pass int)) string {
		t.Helper()
		at, err := f.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		flow := &shadow.Flow{Records: at.Store, Findings: s3snapshot.New(installation.FolderClient(out), installation.FolderBucket), Catalogs: at.Catalogs(t.Context()), By: "new"}
		ticks, ended := make(chan time.Time), make(chan error)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- replaycmd.Follow(ctx, &said, flow, at.Cluster, time.Now().Unix()-7200, ticks) }()
		for pass := range 2 { // a tick is taken once the pass before it is over
			then(pass)
			ticks <- time.Time{}
		}
		ticks <- time.Time{}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		return said.String()
	}
	late := live.provisioned[0]
	late.ID, late.AtUnix, late.Input = "01ZZZZZZZZZZZZZZZZZZZZZZZZ", time.Now().Unix()-5, nil
	said := follow(func(pass int) {
		if pass == 1 {
			if err := live.store.PutDecision(t.Context(), late); err != nil {
				t.Error(err)
			}
		}
	})
	if want := fmt.Sprintf("%d compared: %d the same\n0 compared: 0 the same, 1 could not be replayed: the record does not have the input", all, all); !strings.HasPrefix(said, want) || strings.Count(said, "\n") != 2 {
		t.Errorf("it said %q, want %q", said, want)
	}
	if said := follow(func(int) {}); said != "" {
		t.Errorf("it began anew and said %q", said)
	}
	code, text, errs := joiner("", "shadow", "report", "--out", out, "-o", "json")
	if r := reportOf(t, text); code != 0 || r.Compared != all || r.By != "new" || len(r.Unanswered) != 1 {
		t.Errorf("exit status %d: %s%s", code, text, errs)
	}
}

// Where nothing was compared nothing is said to be the same.
func TestD7NothingComparedIsNoVerdict(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	says := func(status int, what string, args ...string) {
		t.Helper()
		if code, text, errs := joiner("", append([]string{"shadow"}, args...)...); code != status || !strings.Contains(text+errs, what) {
			t.Errorf("%v: exit status %d, want %d with %q: %s%s", args, code, status, what, text, errs)
		}
	}
	says(2, "no decision of any cluster is recorded", "run", "--dir", dir, "--out", out)
	says(2, "no findings of", "report", "--out", out)
	says(2, "--since", "run", "--dir", dir, "--out", out, "--since", "0s")
	says(2, "none of the others can be", "run", "--out", out, "--keep")

	store := s3snapshot.New(installation.FolderClient(dir), installation.FolderBucket)
	at := time.Now().Unix() - 60
	if err := store.PutDecision(t.Context(), model.Decision{ID: "01JB2S6CZ8E4W9D2N0K7Q5T3VA", Cluster: "shop", AtUnix: at}); err != nil {
		t.Fatal(err)
	}
	unread := filepath.Join(dir, "decisions", "shop", s3snapshot.Day(at), "disrupt-01JB2S6CZ8E4W9D2N0K7Q5T3VB.json.gz")
	if err := os.WriteFile(unread, []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(2, "0 compared", "run", "--dir", dir, "--out", out)
	says(2, "the record does not have the input", "report", "--out", out)
	says(2, "(Malformed)", "report", "--out", out)
	says(2, "no decision of cluster web", "report", "--out", out, "--cluster", "web")
	says(2, "was replayed by build other", "report", "--out", out, "--build", "other")
}
