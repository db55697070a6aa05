package doctor

import (
	"bytes"
	"cmp"
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
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/account"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/apiserver"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/preflight"
	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// cluster is one that is attached, as doctor looks at it.
type cluster struct {
	*region
	reg model.Registration
}

// planQueue looks at the cluster's plan queue.
func (c *cluster) planQueue(ctx context.Context) ([]check.Finding, error) {
	like := c.at.Queues["plan"]
	if like == "" {
		return check.One(check.Warn, "the installation does not name its plan queues",
			"deploy the region's stack again"), nil
	}
	findings, err := c.queue(ctx, wire.PlanQueueURL(like, c.reg.Cluster))
	var gone *types.QueueDoesNotExist
	if errors.As(err, &gone) {
		return check.One(check.Fail,
			"there is no queue "+wire.PlanQueue(c.reg.Cluster)+": hints are lost, and pods wait for the scheduled run "+
				"of each minute", "deploy the cluster's stack again"), nil
	}
	return findings, err
}

// clients opens the cluster's API server.
func (c *cluster) clients() *apiserver.Clients {
	return &apiserver.Clients{Flags: c.reach, Config: c.at.Config}
}

// checker looks at the cluster as joiner preflight does.
func (c *cluster) checker(ctx context.Context, plan preflight.Plan) (*preflight.Checker, error) {
	config := c.at.Config.Copy()
	config.Region = cmp.Or(c.reg.Region, config.Region)
	caller, err := account.New(ctx, config)
	if err != nil {
		return nil, err
	}
	return preflight.New(caller, plan, (&apiserver.Clients{Flags: c.reach, Config: config}).Open), nil
}

// planes is EKS of the cluster's region.
func (c *cluster) planes() *ekscontrol.EKS {
	config := c.at.Config.Copy()
	config.Region = c.reg.Region
	return ekscontrol.New(eks.NewFromConfig(config))
}

// registered looks at the registration itself: whether the cluster is served, and whether another cluster's owner has a
// hold on it.
func (c *cluster) registered(ctx context.Context) ([]check.Finding, error) {
	var found []check.Finding
	warn := func(seen, do string) { found = append(found, check.One(check.Warn, seen, do)...) }
	switch installation.State(&c.reg) {
	case "leaving":
		warn("a detach was started and not completed; it is paused",
			"joiner detach "+c.reg.Cluster+" --yes, or joiner attach "+c.reg.Cluster+" to keep it")
	case "paused":
		warn("it is paused: nothing is launched or terminated", "joiner attach "+c.reg.Cluster+" --paused=false")
	}
	if stack, err := arn.Parse(c.reg.Stack); err == nil && c.at.Account != "" && stack.AccountID != c.at.Account {
		warn("it is registered by stack "+c.reg.Stack+" of another account than the installation's, as in earlier "+
			"versions; that stack cannot change it any more",
			"deploy the cluster's stack there again, and then joiner-cluster-"+c.reg.Cluster+
				"-hub in account "+c.at.Account+": docs/tasks/many-clusters.md, \"Who owns a registration\"")
	}
	all, err := c.at.Ledger.Clusters(ctx)
	if err != nil && fault.CodeOf(err) != model.CodeUnreadCluster { // of which the command says so
		return nil, err
	}
	for i := range all {
		if c.reg.ExternalID != "" && all[i].Cluster != c.reg.Cluster && all[i].ExternalID == c.reg.ExternalID {
			warn("its external id is cluster "+all[i].Cluster+"'s too, as in earlier versions: roles that are named "+
				"by mistake cannot distinguish the two", "deploy its stack again, which gives it one of its own")
			break
		}
	}
	if len(found) == 0 {
		found = check.One(check.OK, "it is active", "")
	}
	return found, nil
}

// plane compares what EKS says now with what was registered.
func (c *cluster) plane(ctx context.Context) ([]check.Finding, error) {
	if c.reg.SelfManaged {
		return c.ownPlane(ctx)
	}
	again := "joiner attach " + c.reg.Cluster + ", or deploy its stack again"
	plane, err := c.planes().Describe(ctx, c.reg)
	if fault.Is(err, fault.NotFound) {
		return check.One(check.Fail, "EKS has no cluster of that name in "+c.reg.Region,
			"joiner detach "+c.reg.Cluster+", if it is gone"), nil
	}
	if err != nil {
		return nil, err
	}
	var found []check.Finding
	say := func(level check.Level, do, format string, args ...any) {
		found = append(found, check.Finding{Level: level, Seen: fmt.Sprintf(format, args...), Do: do})
	}
	if plane.ARN != c.reg.ARN {
		say(check.Fail, "joiner detach "+c.reg.Cluster+" and attach it again", "it is %s, and %s was attached",
			plane.ARN, c.reg.ARN)
	}
	if plane.Endpoint != c.reg.Endpoint || !bytes.Equal(plane.CA, c.reg.CA) {
		say(check.Fail, again, "its endpoint or certificate authority is another than the one registered (%s)",
			c.reg.Endpoint)
	}
	if plane.Version != c.reg.Version {
		say(check.Warn, again, "it runs Kubernetes %s, and %s is registered, which selects images", plane.Version,
			c.reg.Version)
	}
	if plane.Status != "ACTIVE" {
		say(check.Warn, "check the EKS console", "it is %s", plane.Status)
	}
	if plane.AuthMode == model.AuthModeConfigMap && c.reg.RelayURL == "" {
		say(check.Fail,
			"aws eks update-cluster-config --name "+c.reg.Cluster+" --access-config "+
				"authenticationMode=API_AND_CONFIG_MAP", "it has no access entries, with which functions authenticate")
	}
	if len(found) == 0 {
		found = check.One(check.OK, "Kubernetes "+plane.Version+", as registered", "")
	}
	return found, nil
}

// server reaches the API server as far as its certificate and its clock.
func (c *cluster) server(ctx context.Context) ([]check.Finding, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(c.reg.CA) {
		return check.One(check.Fail, "its registered certificate authority is not PEM", "joiner attach "+c.reg.Cluster),
			nil
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.reg.Endpoint+"/livez", nil)
	if err != nil {
		return nil, err
	}
	before := time.Now()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		do := "check whether its endpoint should be reachable from here; functions may reach it nevertheless"
		if c.reg.RelayURL != "" {
			do = "functions use the relay; it need not be reachable from here"
		}
		return check.One(check.Warn, "it cannot be reached from here: "+err.Error(), do), nil
	}
	response.Body.Close()
	said, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return check.One(check.OK, "it answers", ""), nil
	}
	level, seen, do := skew(before, time.Now(), said, "this machine's")
	return check.One(level, "it answers; its clock: "+seen, do), nil
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

func (c *cluster) entries(ctx context.Context) ([]check.Finding, error) {
	if c.reg.RelayURL != "" {
		return check.One(check.OK, "none is needed: the watcher carries out the functions' requests", ""), nil
	}
	if c.reg.SelfManaged {
		return check.One(check.OK, "a self-managed cluster has none: aws-iam-authenticator in it maps roles to groups",
			""), nil
	}
	var found []check.Finding
	for _, g := range groups {
		role := g.of(c.reg.Roles)
		if role == "" {
			role = c.at.Roles[g.name]
		}
		if role == "" {
			continue
		}
		have, err := c.planes().AccessEntryGroups(ctx, c.reg.Cluster, role)
		make := fmt.Sprintf("aws eks create-access-entry --cluster-name %s --principal-arn %s --kubernetes-groups %s",
			c.reg.Cluster, role, g.group)
		switch {
		case fault.Is(err, fault.NotFound):
			found = append(found, check.Finding{Level: check.Fail, Seen: "function " + g.name +
				" is refused: its role has no access entry", Do: "deploy the cluster's stack, or " + make})
		case err != nil:
			return found, err
		case !slices.Contains(have, g.group):
			found = append(found, check.Finding{
				Level: check.Fail, Seen: fmt.Sprintf("function %s has the groups %s and not %s", g.name,
					strings.Join(have, ", "), g.group),
				Do: strings.Replace(make, "create-", "update-", 1),
			})
		}
	}
	if len(found) == 0 {
		found = check.One(check.OK, "each function has an access entry with its own group", "")
	}
	return found, nil
}

func (c *cluster) identity(ctx context.Context) ([]check.Finding, error) {
	if c.reg.SelfManaged {
		return check.One(check.OK, "a self-managed cluster has none: the watcher has a role by the cluster's own OIDC "+
			"provider, or that of its instances", ""), nil
	}
	n, err := c.planes().PodIdentityAssociations(ctx, c.reg.Cluster, c.namespace, watcherAccount)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return check.One(check.Warn,
			"the service account "+c.namespace+"/"+watcherAccount+" has no role by Pod Identity",
			"deploy the cluster's stack; if the watcher uses IRSA, ignore this; if it runs in another namespace, name "+
				"that by --namespace"), nil
	}
	site, err := c.checker(ctx, preflight.Plan{Cluster: c.reg.Cluster})
	if err != nil {
		return nil, err
	}
	found, err := site.PodIdentityAgent(ctx, check.Warn)
	for i := range found {
		found[i].Seen = c.namespace + "/" + watcherAccount + " has a role; " + found[i].Seen
	}
	return found, err
}

// watcher looks at what the watcher last said.
func (c *cluster) watcher(ctx context.Context) ([]check.Finding, error) {
	ledger, err := c.at.Ledger.Load(ctx, c.reg)
	if err != nil {
		return nil, err
	}
	install := "joiner attach " + c.reg.Cluster + " prints the command that installs it"
	if ledger.Manifest == nil {
		return check.One(check.Warn,
			"it has never published the cluster: functions list the cluster themselves once a minute", install), nil
	}
	age := ledger.NowUnix - ledger.Manifest.HeartbeatAt
	if age > heartbeatLimit {
		return check.One(check.Warn,
			fmt.Sprintf("its last heartbeat was %d s ago; functions list the cluster themselves once a minute", age),
			"kubectl -n joiner get pods, and their logs"), nil
	}
	return check.One(check.OK, fmt.Sprintf("its last heartbeat was %d s ago; its snapshot is %d s old", age,
		ledger.NowUnix-ledger.Manifest.WrittenUnix), ""), nil
}

// ledgerItems looks for items that cannot be read, and for usage that is not what claims hold.
func (c *cluster) ledgerItems(ctx context.Context) ([]check.Finding, error) {
	ledger, err := c.at.Ledger.Load(ctx, c.reg)
	if err != nil {
		return nil, err
	}
	var found []check.Finding
	for i := range ledger.Unread {
		u := &ledger.Unread[i]
		found = append(found, check.Finding{Level: check.Fail, Object: c.reg.Cluster + " ledger " + u.Key,
			Seen: u.Text(), Do: unreadRemedy(u)})
	}
	// the ledger is not read at one instant: what is so twice is so
	if off := lifecycle.Recounts(ledger.Usage, &ledger); len(off) > 0 {
		again, err := c.at.Ledger.Load(ctx, c.reg)
		if err != nil {
			return nil, err
		}
		for _, o := range lifecycle.Recounts(ledger.Usage, &again) {
			if !slices.ContainsFunc(again.Usage, func(u model.Usage) bool {
				return u.Pool == o.Pool &&
					u.Version != o.Version
			}) {
				found = append(found, check.Finding{
					Level: check.Warn, Object: c.reg.Cluster + " NodePool " + o.Pool,
					Seen: fmt.Sprintf("limits are checked against usage %v, and its claims use %v", o.Counted,
						o.Reserved),
					Do: "joiner-provision recounts it within two minutes; if it does not, read its log",
				})
			}
		}
	}
	if len(found) == 0 {
		found = check.One(check.OK,
			fmt.Sprintf("all items can be read; %d claims are live, and use what limits are checked against",
				len(ledger.Claims)), "")
	}
	return found, nil
}

// unreadRemedy says what people do about an item that cannot be read.
func unreadRemedy(u *model.Unread) string {
	pk, sk, _ := strings.Cut(u.Key, " ")
	item := fmt.Sprintf("the item with PK %s and SK %s in the DynamoDB table", pk, sk)
	switch u.Kind {
	case model.UnreadClaim:
		return "restore " + item +
			" from a backup; or delete it: its instance is then adopted if it is a node of the cluster, and else " +
			"terminated"
	case model.UnreadIntent:
		return "restore " + item +
			" from a backup; or delete it: its instances are then adopted or terminated, and its pods are planned again"
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
func (c *cluster) ticks(ctx context.Context) ([]check.Finding, error) {
	if c.reg.Paused {
		return check.One(check.OK, "they skip it: it is paused", ""), nil
	}
	records, err := c.at.Ledger.Records(ctx, c.reg)
	if err != nil {
		return nil, err
	}
	leases, err := c.at.Ledger.ListLeases(ctx, c.reg.Cluster)
	if err != nil {
		return nil, err
	}
	last := map[string]int64{}
	for _, lease := range leases {
		last[lease.Lease] = lease.SinceUnix
	}
	var found []check.Finding
	for _, f := range []struct{ function, lease string }{{"provision", model.LeasePlanner},
		{"interruption", model.LeaseCollector}, {"catalog", model.LeaseCatalog}} {
		age := records.NowUnix - last[f.lease]
		if c.reg.RegisteredUnix > records.NowUnix-tickLimit {
			continue // it has had no time yet
		}
		if age > tickLimit {
			when := fmt.Sprintf("%d s ago", age)
			if last[f.lease] == 0 {
				when = "never"
			}
			found = append(found, check.Finding{
				Level: check.Fail, Seen: fmt.Sprintf("the last run of function %s for it was: %s", f.function, when),
				Do: "check that the rule " + TickRule + " is enabled, and read the log of joiner-" + f.function,
			})
		}
	}
	if len(found) == 0 {
		found = check.One(check.OK, "each ran within the last minutes", "")
	}
	return found, nil
}

func (c *cluster) stops(ctx context.Context) ([]check.Finding, error) {
	stops, err := c.at.Stops(ctx, c.reg)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if len(stops) > 0 {
		return check.One(check.Warn, fmt.Sprintf("%d stops hold: there is no voluntary disruption in their scope",
				len(stops)), "joiner stops --cluster "+c.reg.Cluster+" lists them; joiner resume disruption removes "+
				"them; those of alarms (by CloudWatch) end with the alarm"),
			nil
	}
	return check.One(check.OK, "none holds", ""), nil
}

// deployed is the cluster with what of its deployment decides: whether functions come by a relay, or from within a VPC.
func (c *cluster) deployed(ctx context.Context) (*preflight.Checker, error) {
	plan := preflight.Plan{Cluster: c.reg.Cluster, Relay: c.reg.RelayURL != ""}
	if function := c.at.Functions["provision"]; function != "" && !plan.Relay {
		out, err := lambda.NewFromConfig(c.at.Config).GetFunctionConfiguration(ctx,
			&lambda.GetFunctionConfigurationInput{FunctionName: &function})
		var none *lambdatypes.ResourceNotFoundException
		switch {
		case errors.As(err, &none): // then it is in no VPC; that it does nothing is said by when it was last at work
		case err != nil:
			return nil, err
		case out.VpcConfig != nil:
			plan.Subnets = out.VpcConfig.SubnetIds
		}
	}
	return c.checker(ctx, plan)
}

// endpoint looks whether functions may reach the API server by what EKS says of its endpoint.
func (c *cluster) endpoint(ctx context.Context) ([]check.Finding, error) {
	if c.reg.SelfManaged {
		return check.One(check.OK, "a self-managed cluster's is not EKS's to know", ""), nil
	}
	site, err := c.deployed(ctx)
	if err != nil {
		return nil, err
	}
	return site.Endpoint(ctx)
}

// karpenter looks at what Karpenter left in the cluster.
func (c *cluster) karpenter(ctx context.Context) ([]check.Finding, error) {
	site, err := c.checker(ctx, preflight.Plan{Cluster: c.reg.Cluster})
	if err != nil {
		return nil, err
	}
	client, err := c.clients().Open(c.reg)
	if err != nil {
		return nil, err
	}
	return site.Left(ctx, client)
}
