package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/cmd/joiner/preflight"
	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// checksOf are those of a cluster.
func (p *target) checksOf(reg model.Registration) []doctor.Check {
	object := "cluster " + reg.Cluster
	check := func(name string, check func(context.Context, model.Registration) ([]doctor.Finding, error)) doctor.Check {
		return doctor.Check{Name: name, Object: object, Run: func(ctx context.Context) ([]doctor.Finding, error) { return check(ctx, reg) }}
	}
	return []doctor.Check{
		check("registration", p.registered), check("control plane", p.plane), check("endpoint", p.endpoint), check("API server", p.server), check("access entries", p.entries),
		check("permissions", p.rights), check("pod identity", p.identity), check("definitions", p.objects), check("Karpenter", p.left), check("watcher", p.watcher), check("ledger items", p.ledgerItems), check("functions", p.ticks),
		check("node classes", p.classes), check("stops", p.stops), check("plan queue", p.planQueue),
	}
}

// planQueue looks at the cluster's plan queue.
func (p *target) planQueue(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	like := p.at.Queues["plan"]
	if like == "" {
		return one(doctor.Warn, "the installation does not name its plan queues", "deploy the region's stack again"), nil
	}
	findings, err := p.queue(ctx, wire.PlanQueueURL(like, reg.Cluster))
	var gone *types.QueueDoesNotExist
	if errors.As(err, &gone) {
		return one(doctor.Fail, "there is no queue "+wire.PlanQueue(reg.Cluster)+": hints are lost, and pods wait for the scheduled run of each minute", "deploy the cluster's stack again"), nil
	}
	return findings, err
}

// planes is EKS of the cluster's region.
func (p *target) planes(reg model.Registration) *ekscontrol.EKS {
	config := p.at.config.Copy()
	config.Region = reg.Region
	return ekscontrol.New(eks.NewFromConfig(config))
}

// registered looks at the registration itself: whether the cluster is served, and whether another cluster's owner has a hold on it.
func (p *target) registered(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	var found []doctor.Finding
	warn := func(seen, do string) { found = append(found, one(doctor.Warn, seen, do)...) }
	switch stateOf(&reg) {
	case "leaving":
		warn("a detach was started and not completed; it is paused", "joiner detach "+reg.Cluster+" --yes, or joiner attach "+reg.Cluster+" to keep it")
	case "paused":
		warn("it is paused: nothing is launched or terminated", "joiner attach "+reg.Cluster+" --paused=false")
	}
	if stack, err := arn.Parse(reg.Stack); err == nil && p.at.Account != "" && stack.AccountID != p.at.Account {
		warn("it is registered by stack "+reg.Stack+" of another account than the installation's, as in earlier versions; that stack cannot change it any more",
			"deploy the cluster's stack there again, and then joiner-cluster-"+reg.Cluster+"-hub in account "+p.at.Account+": docs/tasks/many-clusters.md, \"Who owns a registration\"")
	}
	all, err := p.at.ledger.Clusters(ctx)
	if err != nil && fault.CodeOf(err) != model.CodeUnreadCluster { // of which the command says so
		return nil, err
	}
	for i := range all {
		if reg.ExternalID != "" && all[i].Cluster != reg.Cluster && all[i].ExternalID == reg.ExternalID {
			warn("its external id is cluster "+all[i].Cluster+"'s too, as in earlier versions: roles that are named by mistake cannot distinguish the two", "deploy its stack again, which gives it one of its own")
			break
		}
	}
	if len(found) == 0 {
		found = one(doctor.OK, "it is active", "")
	}
	return found, nil
}

// plane compares what EKS says now with what was registered.
func (p *target) plane(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	again := "joiner attach " + reg.Cluster + ", or deploy its stack again"
	plane, err := p.planes(reg).Describe(ctx, reg)
	if fault.Is(err, fault.NotFound) {
		return one(doctor.Fail, "EKS has no cluster of that name in "+reg.Region, "joiner detach "+reg.Cluster+", if it is gone"), nil
	}
	if err != nil {
		return nil, err
	}
	var found []doctor.Finding
	say := func(level doctor.Level, do, format string, args ...any) {
		found = append(found, doctor.Finding{Level: level, Seen: fmt.Sprintf(format, args...), Do: do})
	}
	if plane.ARN != reg.ARN {
		say(doctor.Fail, "joiner detach "+reg.Cluster+" and attach it again", "it is %s, and %s was attached", plane.ARN, reg.ARN)
	}
	if plane.Endpoint != reg.Endpoint || !bytes.Equal(plane.CA, reg.CA) {
		say(doctor.Fail, again, "its endpoint or certificate authority is another than the one registered (%s)", reg.Endpoint)
	}
	if plane.Version != reg.Version {
		say(doctor.Warn, again, "it runs Kubernetes %s, and %s is registered, which selects images", plane.Version, reg.Version)
	}
	if plane.Status != "ACTIVE" {
		say(doctor.Warn, "check the EKS console", "it is %s", plane.Status)
	}
	if plane.AuthMode == model.AuthModeConfigMap && reg.RelayURL == "" {
		say(doctor.Fail, "aws eks update-cluster-config --name "+reg.Cluster+" --access-config authenticationMode=API_AND_CONFIG_MAP", "it has no access entries, with which functions authenticate")
	}
	if len(found) == 0 {
		found = one(doctor.OK, "Kubernetes "+plane.Version+", as registered", "")
	}
	return found, nil
}

// server reaches the API server as far as its certificate and its clock.
func (p *target) server(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(reg.CA) {
		return one(doctor.Fail, "its registered certificate authority is not PEM", "joiner attach "+reg.Cluster), nil
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, reg.Endpoint+"/livez", nil)
	if err != nil {
		return nil, err
	}
	before := time.Now()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		do := "check whether its endpoint should be reachable from here; functions may reach it nevertheless"
		if reg.RelayURL != "" {
			do = "functions use the relay; it need not be reachable from here"
		}
		return one(doctor.Warn, "it cannot be reached from here: "+err.Error(), do), nil
	}
	response.Body.Close()
	said, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return one(doctor.OK, "it answers", ""), nil
	}
	level, seen, do := skew(before, time.Now(), said, "this machine's")
	return one(level, "it answers; its clock: "+seen, do), nil
}

// groups are what the API server is to know each role as.
var groups = []struct {
	name, group string
	of          func(model.Roles) string
}{
	{"provision", "joiner:functions", func(r model.Roles) string { return r.Provision }},
	{"interruption", "joiner:interruption", func(r model.Roles) string { return r.Interruption }},
	{"catalog", "joiner:catalog", func(r model.Roles) string { return r.Catalog }},
	{"disrupt", "joiner:disrupt", func(r model.Roles) string { return r.Disrupt }},
}

func (p *target) entries(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	if reg.RelayURL != "" {
		return one(doctor.OK, "none is needed: the watcher carries out the functions' requests", ""), nil
	}
	var found []doctor.Finding
	for _, g := range groups {
		role := g.of(reg.Roles)
		if role == "" {
			role = p.at.Roles[g.name]
		}
		if role == "" {
			continue
		}
		have, err := p.planes(reg).AccessEntryGroups(ctx, reg.Cluster, role)
		make := fmt.Sprintf("aws eks create-access-entry --cluster-name %s --principal-arn %s --kubernetes-groups %s", reg.Cluster, role, g.group)
		switch {
		case fault.Is(err, fault.NotFound):
			found = append(found, doctor.Finding{Level: doctor.Fail, Seen: "function " + g.name + " is refused: its role has no access entry", Do: "deploy the cluster's stack, or " + make})
		case err != nil:
			return found, err
		case !slices.Contains(have, g.group):
			found = append(found, doctor.Finding{
				Level: doctor.Fail, Seen: fmt.Sprintf("function %s has the groups %s and not %s", g.name, strings.Join(have, ", "), g.group),
				Do: strings.Replace(make, "create-", "update-", 1),
			})
		}
	}
	if len(found) == 0 {
		found = one(doctor.OK, "each function has an access entry with its own group", "")
	}
	return found, nil
}

func (p *target) identity(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	n, err := p.planes(reg).PodIdentityAssociations(ctx, reg.Cluster, "joiner", watcherAccount)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return one(doctor.Warn, "the service account joiner/"+watcherAccount+" has no role by Pod Identity",
			"deploy the cluster's stack; if the watcher uses IRSA or runs in another namespace, ignore this"), nil
	}
	site, err := p.site(ctx, preflight.Plan{Cluster: reg.Cluster}, reg.Region)
	if err != nil {
		return nil, err
	}
	found, err := site.PodIdentityAgent(ctx, doctor.Warn)
	for i := range found {
		found[i].Seen = "joiner/" + watcherAccount + " has a role; " + found[i].Seen
	}
	return found, err
}

// watcher looks at what the watcher last said.
func (p *target) watcher(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	ledger, err := p.at.ledger.Load(ctx, reg)
	if err != nil {
		return nil, err
	}
	install := "joiner attach " + reg.Cluster + " prints the command that installs it"
	if ledger.Manifest == nil {
		return one(doctor.Warn, "it has never published the cluster: functions list the cluster themselves once a minute", install), nil
	}
	age := ledger.NowUnix - ledger.Manifest.HeartbeatAt
	if age > heartbeatLimit {
		return one(doctor.Warn, fmt.Sprintf("its last heartbeat was %d s ago; functions list the cluster themselves once a minute", age),
			"kubectl -n joiner get pods, and their logs"), nil
	}
	return one(doctor.OK, fmt.Sprintf("its last heartbeat was %d s ago; its snapshot is %d s old", age, ledger.NowUnix-ledger.Manifest.WrittenUnix), ""), nil
}

// ledgerItems looks for items that cannot be read, and for usage that is not what claims hold.
func (p *target) ledgerItems(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	ledger, err := p.at.ledger.Load(ctx, reg)
	if err != nil {
		return nil, err
	}
	var found []doctor.Finding
	for i := range ledger.Unread {
		u := &ledger.Unread[i]
		found = append(found, doctor.Finding{Level: doctor.Fail, Object: reg.Cluster + " ledger " + u.Key, Seen: u.Text(), Do: unreadRemedy(u)})
	}
	if off := lifecycle.Recounts(ledger.Usage, &ledger); len(off) > 0 { // the ledger is not read at one instant: what is so twice is so
		again, err := p.at.ledger.Load(ctx, reg)
		if err != nil {
			return nil, err
		}
		for _, o := range lifecycle.Recounts(ledger.Usage, &again) {
			if !slices.ContainsFunc(again.Usage, func(u model.Usage) bool { return u.Pool == o.Pool && u.Version != o.Version }) {
				found = append(found, doctor.Finding{
					Level: doctor.Warn, Object: reg.Cluster + " NodePool " + o.Pool, Seen: fmt.Sprintf("limits are checked against usage %v, and its claims use %v", o.Counted, o.Reserved),
					Do: "joiner-provision recounts it within two minutes; if it does not, read its log",
				})
			}
		}
	}
	if len(found) == 0 {
		found = one(doctor.OK, fmt.Sprintf("all items can be read; %d claims are live, and use what limits are checked against", len(ledger.Claims)), "")
	}
	return found, nil
}

// unreadRemedy says what people do about an item that cannot be read.
func unreadRemedy(u *model.Unread) string {
	pk, sk, _ := strings.Cut(u.Key, " ")
	item := fmt.Sprintf("the item with PK %s and SK %s in the DynamoDB table", pk, sk)
	switch u.Kind {
	case model.UnreadClaim:
		return "restore " + item + " from a backup; or delete it: its instance is then adopted if it is a node of the cluster, and else terminated"
	case model.UnreadIntent:
		return "restore " + item + " from a backup; or delete it: its instances are then adopted or terminated, and its pods are planned again"
	case model.UnreadUsage:
		return "delete " + item + ": usage is then recounted from claims"
	case model.UnreadCommand:
		return "delete " + item + ": the taints of its nodes are then removed, and they are evaluated again"
	case model.UnreadBudgetVersion:
		return "delete " + item + ": budget versions start again"
	case model.UnreadStop:
		return "joiner stop disruption writes it again, and joiner resume disruption removes it"
	}
	return "delete " + item + ", if it is not written again by itself: its content is determined again"
}

// ticks looks when the functions were last at work for the cluster: each takes a lease each minute.
func (p *target) ticks(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	if reg.Paused {
		return one(doctor.OK, "they skip it: it is paused", ""), nil
	}
	records, err := p.at.ledger.Records(ctx, reg)
	if err != nil {
		return nil, err
	}
	leases, err := p.at.ledger.ListLeases(ctx, reg.Cluster)
	if err != nil {
		return nil, err
	}
	last := map[string]int64{}
	for _, lease := range leases {
		last[lease.Lease] = lease.SinceUnix
	}
	var found []doctor.Finding
	for _, f := range []struct{ function, lease string }{{"provision", model.LeasePlanner}, {"interruption", model.LeaseCollector}, {"catalog", model.LeaseCatalog}} {
		age := records.NowUnix - last[f.lease]
		if reg.RegisteredUnix > records.NowUnix-tickLimit {
			continue // it has had no time yet
		}
		if age > tickLimit {
			when := fmt.Sprintf("%d s ago", age)
			if last[f.lease] == 0 {
				when = "never"
			}
			found = append(found, doctor.Finding{
				Level: doctor.Fail, Seen: fmt.Sprintf("the last run of function %s for it was: %s", f.function, when),
				Do: "check that the rule " + tickRule + " is enabled, and read the log of joiner-" + f.function,
			})
		}
	}
	if len(found) == 0 {
		found = one(doctor.OK, "each ran within the last minutes", "")
	}
	return found, nil
}

func (p *target) stops(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	stops, err := p.at.ledger.Stops(ctx, reg)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if len(stops) > 0 {
		return one(doctor.Warn, fmt.Sprintf("%d stops hold: there is no voluntary disruption in their scope", len(stops)), "joiner stops --cluster "+reg.Cluster+" lists them; joiner resume disruption removes them"), nil
	}
	return one(doctor.OK, "none holds", ""), nil
}
