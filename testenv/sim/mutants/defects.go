package main

import (
	"slices"
	"strings"
)

// defect is one mistake somebody could make in the flows.
type defect struct {
	name string
	file string // from the root of the module; empty = no defect
	old  string // that stands once in the file
	new  string
}

const (
	provision    = "shared/flow/provision/"
	interruption = "shared/flow/interruption/"
	lifecycle    = "shared/core/lifecycle/"
	emptying     = "shared/core/drain/"
	disrupt      = "shared/flow/disrupt/"
	disruption   = "shared/core/disruption/"
	devices      = "shared/core/device/"
)

// claimed reports whether the defect can show only where pods claim devices.
func (d defect) claimed() bool { return strings.HasPrefix(d.name, "devices: ") }

// chosen reports whether the defect can show only where nodes are disrupted voluntarily.
func (d defect) chosen() bool {
	return strings.HasPrefix(d.file, disrupt) || strings.HasPrefix(d.file, disruption)
}

// outside reports whether the simulator does without the defect's file: its own tests alone can show it.
func (d defect) outside() bool {
	for _, folder := range []string{"functions/", "shared/adapter/", "shared/api/", "shared/flow/attach/"} {
		if strings.HasPrefix(d.file, folder) {
			return true
		}
	}
	return d.file == "shared/wire/codec.go" // snapshots of the simulator's worlds are not packed
}

// unit returns the tests that show the defect where no world of the simulator does; none = the simulator has to notice it.
func (d defect) unit() unit {
	if tests, known := survivorTests[d.name]; known {
		return tests
	}
	return units[d.name]
}

// all returns every defect there is.
func all() []defect { return slices.Concat(defects, survivors) }

// unit is tests of one package.
type unit struct {
	folder string // from the root of the module
	names  string // a regular expression
}

// units are for what the worlds seldom come to: loops that a removal limit holds, backlogs beyond what one plan takes, scarcity between namespaces,
// hints that were made up.
var units = map[string]unit{
	"lighter overlays before heavier ones":                        {"shared/core/overlay", "TestF092F093"},
	"overlays that conflict in the first NodePool applied":        {"shared/core/overlay", "TestF092F093"},
	"EC2 left to its own prices under overlays":                   {provision, "TestF092"},
	"Nodes deleted before their registration left waiting":        {lifecycle, "TestWhatEndsAClaim$"},
	"nodes of a pool evaluated one by one as they come to rest":   {disruption, "TestNodesOfAPoolAreEvaluatedTogether$"},
	"templates not known yet held against a class":                {provision, "TestTemplatesNotThereYet"},
	"instances of failed replacements not awaited":                {disruption, "TestAnInstanceOfAFailedReplacement"},
	"nodes whose image is no longer one of their class's left":    {lifecycle, "TestNC28"},
	"types whose kubelet would not start available":               {"shared/core/offering", "TestTypesWhoseKubelet"},
	"types of others whose kubelet would not start open":          {packing + "offerings", "TestTypesWhoseKubelet"},
	"pods that leave not told of":                                 {"shared/flow/publish/", "TestPodsThat"},
	"replacements launched under the name of a NodeClaim":         {provision, "TestAReplacementWhoseNodeClaimExistsIsNotLaunchedAgain$"},
	"NodeClaims of earlier claims of the name left":               {lifecycle, "TestDiagnose$"},
	"spot interruptions dated by when they were seen":             {lifecycle, "TestWhatEndsAClaim$"},
	"machines in vain bought without end":                         {provision, "TestR12"},
	"pools with machines in vain not held":                        {provision, "TestR12"},
	"every machine of an incident a failure of its own":           {provision, "TestF1[A-Z]"},
	"what AWS and people ended counted as failures":               {provision, "TestF1[A-Z]"},
	"holds outlive a corrected class":                             {provision, "TestF1[A-Z]"},
	"holds outlive a corrected pool":                              {provision, "TestR12"},
	"replacements beyond limits waited for":                       {provision, "TestF7[A-Z]"},
	"NodePools and classes believed of the snapshot":              {provision, "TestW6"},
	"launched though NodePools could not be read":                 {provision, "TestW6"},
	"replacements that their NodePool would not have":             {provision, "TestW6"},
	"machines not launched in turns of namespaces":                {provision, "TestM2[A-Z]"},
	"room within limits not dealt in turns":                       {provision, "TestM2[A-Z]"},
	"plans without bound":                                         {provision, "TestF088"},
	"portions begin with the same pods each time":                 {provision, "TestF088"},
	"no room kept for pods planned ahead of older ones":           {provision, "TestM2[A-Z]"},
	"room kept before a node takes pods":                          {provision, "TestM2[A-Z]"},
	"nodes judged while NodeClaims are not defined":               {lifecycle, "TestM28"},
	"no look while NodeClaims are not defined":                    {interruption, "TestM28"},
	"classes forgotten that are not defined":                      {"shared/flow/catalog/", "TestClassThatGoesWithItsDefinition"},
	"hints believed of whatever cluster they name":                {"functions/provision/", "TestW3"},
	"hints believed of whatever queue":                            {"functions/provision/", "TestW3"},
	"usage never counted anew":                                    {provision, "TestF5"},
	"claims that cannot be read taken for absent":                 {lifecycle, "TestF3"},
	"claims that cannot be read not counted where others expire":  {lifecycle, "TestF3"},
	"what functions find gone not published anew":                 {"shared/flow/publish/", "TestF4"},
	"what is gone heard with heartbeats alone":                    {"shared/flow/publish/", "TestF4"},
	"bases published as often as somebody asks":                   {"shared/flow/publish/", "TestF4"},
	"objects that cannot be read called gone":                     {disrupt, "TestF4[A-Z]"},
	"what is gone said with every look":                           {disrupt, "TestF4[A-Z]"},
	"events believed of whatever queue":                           {"functions/interruption/", "TestW1"},
	"spot warnings believed of any machine":                       {interruption, "TestW1"},
	"registrations changed by whatever stack":                     {"shared/flow/attach/", "TestW2"},
	"custom resources answered wherever asked":                    {"functions/catalog/", "TestW2ARequestToAnswerElsewhereChangesNothing"},
	"pointers believed of whatever cluster they name":             {"shared/adapter/dynamoledger/", "TestW4"},
	"bases believed of whatever cluster":                          {"shared/adapter/s3snapshot/", "TestW4"},
	"any memory of a node learned":                                {provision, "TestW5"},
	"any memory learned believed":                                 {"shared/core/offering/", "TestW5"},
	"snapshots not weighed":                                       {"shared/wire/", "TestW7AHeavySnapshotIsRefusedBeforeItIsMade"},
	"reviews take a seat before their body":                       {"shared/adapter/ekscluster/admission/", "TestW11SlowBodiesTakeNoSeat"},
	"pods of a command counted on to leave":                       {disruption, "TestK1"},
	"one registration that cannot be read stops all":              {"shared/work/", "TestF3"},
	"old states called fresh once they are stored":                {"shared/flow/publish/", "TestF15"},
	"NodeClaims that were outlived held":                          {lifecycle, "TestDeletionsAreObeyed"},
	"machines that ended unknown not recorded":                    {interruption, "TestD5"},
	"nodes about to end counted for a tenth":                      {lifecycle, "TestS32"},
	"commands with claims that cannot be read go on":              {disrupt, "TestF3A"},
	"nodes that were made anew taken for gone":                    {interruption, "TestC11_NodeThatWasMadeAnewIsDrained$"},
	"launches recovered without claims that cannot be read":       {provision, "TestF3"},
	"hints of a judge at work come back for ever":                 {disrupt, "TestHintThatMeetsAnotherRun"},
	"zonal shifts not heeded by launches":                         {provision, "TestCT07"},
	"zonal shifts not heeded by disruption":                       {disrupt, "TestCT07"},
	"nodes of shifted zones disrupted":                            {disruption, "TestCT07"},
	"zonal shifts that nobody can ask about drop out":             {"shared/flow/catalog/", "TestCT07"},
	"single replicas consolidated":                                {disruption, "TestM90"},
	"alarms not heeded":                                           {"testenv/sim/", "TestM87"},
	"alarms that are on do not undo commands":                     {disrupt, "TestM87"},
	"alarms that nobody can read let commands begin":              {disrupt, "TestM87"},
	"last pod events not shown":                                   {disrupt, "TestM9"},
	"drifted nodes counted as current":                            {lifecycle, "TestM84"},
	"looks in between ask for looks":                              {disrupt, "TestR44LooksInBetween"},
	"nodes whose pods would wait never given back":                {disruption, "TestK1"},
	"pods about to leave taken for gone":                          {disruption, "TestK1"},
	"owners about to leave taken for gone":                        {disruption, "TestK1"},
	"spot for spot whatever minValues ask for":                    {disruption, "TestK2"},
	"pods left on a node for tolerating any taint":                {emptying, "TestK5"},
	"scheduled events before failed checks":                       {lifecycle, "TestK6"},
	"NodeClaims of other controllers let go of":                   {lifecycle, "TestK11"},
	"NodePools of other controllers taken for ours":               {"shared/adapter/ekscluster/translate/", "TestK11"},
	"a chain of one host ends with its second link":               {packing, "TestF066ChainsOfOneHost"},
	"hosts on their way take what they could once they are there": {packing, "TestK3"},
	"finalizers taken off by writing the whole NodeClaim":         {"shared/adapter/ekscluster/", "TestK7"},
	"conditions that stay as they are keep their generation":      {"shared/adapter/ekscluster/", "TestK8"},
	"a pool's nodes counted over all pools":                       {provision, "TestK10"},
	"quiet nodes not shown":                                       {disrupt, "TestQuietNodesAreShown$"},
	"nodes quiet before they are initialized":                     {disruption, "TestNodesThatNeverConsolidateAreNotQuiet$"},
}

// defects are what the simulator should notice.
var defects = []defect{
	// NodeOverlays.
	{"lighter overlays before heavier ones", "shared/core/overlay/apply.go", "cmp.Compare(b.Weight, a.Weight)",
		"cmp.Compare(a.Weight, b.Weight)"},
	{"overlays that conflict in the first NodePool applied", "shared/core/overlay/apply.go",
		"v.conflict(o, m); other != \"\" {", "v.conflict(o, m); other != \"\" && i > 0 {"},
	{"EC2 left to its own prices under overlays", provision + "draft.go", "Prioritized: choice.Prioritized,", ""},
	{"Nodes deleted before their registration left waiting", lifecycle + "diagnose.go", "n.Registered() || n.Finalizer ||", "n.Registered() ||"},
	// The launch protocol.
	{"bytes changed on retry", provision + "recover.go",
		"answer, err := r.settler.callFleet(ctx, *intent)", "intent.Request = append([]byte(\" \"), intent.Request...)\n\tanswer, err := r.settler.callFleet(ctx, *intent)"},
	{"token not reused", provision + "settle.go",
		"result, err = s.fleet.Launch(ctx, intent.Request)",
		"if intent.Attempt > 1 {\n\t\t\tintent.Request = bytes.ReplaceAll(intent.Request, []byte(intent.Token), []byte(intent.Token[1:]))\n\t\t}\n\t\tresult, err = s.fleet.Launch(ctx, intent.Request)"},
	{"called before it is recorded", provision + "launch.go",
		"a.intent.Request = request\n", "a.intent.Request = request\n\tif early, callErr := l.fleet.Launch(ctx, request); callErr == nil {\n\t\tdefer func() { a.result = early }()\n\t}\n"},
	{"not recorded", provision + "launch.go",
		"return l.store.Record(ctx, l.fence, a.intent, a.claims, a.limits)", "return nil"},
	{"outcome not recorded", provision + "settle.go",
		"return s.store.Settle(ctx, s.fence, outcome)", "return nil"},
	{"machines dealt backwards", provision + "settle.go",
		"return sorted[i].ID < sorted[j].ID", "return sorted[i].ID > sorted[j].ID"},
	{"refund twice", provision + "settle.go",
		"settlement.Failed = append(settlement.Failed, claim)", "settlement.Failed = append(settlement.Failed, claim, claim)"},
	{"holds nothing of the limit", provision + "draft.go",
		"Pods: planned.Pods, Reserved: held,", "Pods: planned.Pods, Reserved: model.Resources{model.CPU: held[model.CPU]},"},
	{"limit off by one", provision + "load.go",
		"\ts.reached(\"snapshot\")\n",
		"\tpools := append([]model.Pool{}, s.snapshot.Pools...)\n\tfor i := range pools {\n\t\tif n, limited := pools[i].Limits[model.Nodes]; limited {\n\t\t\tpools[i].Limits = model.Resources{model.Nodes: n + 1}\n\t\t}\n\t}\n\tcopied := *s.snapshot\n\tcopied.Pools = pools\n\ts.snapshot = &copied\n\ts.reached(\"snapshot\")\n"},
	{"launched machines forgotten", provision + "state.go",
		"case claim.State == model.Launched && s.now()-claim.LaunchedUnix <= s.joinWithin(&claim):", "case false:"},
	{"a machine that joins late is none", provision + "state.go",
		"s.now()-claim.LaunchedUnix <= s.joinWithin(&claim):", "s.now()-claim.LaunchedUnix <= 5:"},
	{"unfinished launches never looked into", provision + "recover.go",
		"intent.State == model.IntentDone || intent.DueUnix > r.now()", "intent.State == model.IntentDone || intent.DueUnix > r.now()-86400"},
	{"what was found is taken for nothing", provision + "recover.go",
		"return &model.LaunchResult{Instances: found}, false, nil", "return &model.LaunchResult{}, false, nil"},

	// Stock-outs and pace.
	{"throttling taken for a stock-out", provision + "ec2codes.go",
		"\"InsufficientInstanceCapacity\":                      scopeOffering,", "\"InsufficientInstanceCapacity\": scopeOffering, \"RequestLimitExceeded\": scopeOffering,"},
	{"stock-outs not marked", provision + "backoff.go",
		"return b.port.MarkUnavailable(ctx, b.reg, unavailableOfferings)", "return nil"},
	{"stock-outs forgotten in a moment", provision + "backoff.go",
		"unavailable.UntilUnix = now + wait", "unavailable.UntilUnix = now + min(wait, 1)"},
	{"dry launches without bound", provision + "quota.go",
		"most = min(most, int(a.InsufficientMilli/milli)-keep)", "_ = keep"},

	// Brakes for money.
	{"machines in vain bought without end", provision + "suspendpool.go", "if next.Instances > 1 {", "if next.Instances < 0 {"},
	{"pools with machines in vain not held", provision + "plan.go", " SuspendedPools: p.suspensions.suspendedPools(),", ""},
	{"every machine of an incident a failure of its own", provision + "suspendclass.go",
		"(claim.LaunchedUnix <= suspension.LastUnix ||\n\t\t\tclaim.LaunchedUnix < suspension.NotedUnix)", "claim.LaunchedUnix <= suspension.LastUnix"},
	{"what AWS and people ended counted as failures", provision + "state.go",
		"return claim.FailureCode == model.EndedNeverRegistered", "return true"},
	{"holds outlive a corrected class", provision + "suspendclass.go", "case now == \"\" || now == suspension.Inputs:", "case true:"},
	{"holds outlive a corrected pool", provision + "suspendpool.go", "case suspension.Inputs != inputs:", "case false:"},
	{"replacements beyond limits waited for", provision + "plan.go", "\tp.replacements.unfit(beside.Unfit)\n", ""},

	// What may be bought.
	{"NodePools and classes believed of the snapshot", provision + "live.go",
		"if l.wasRead || l.source == sourceList {", "if len(l.source) > 0 {"},
	{"launched though NodePools could not be read", provision + "provision.go", "if err = p.live.withhold(plan.Plan, all.putOff); err == nil {", "if _ = p.live.withhold(plan.Plan, all.putOff); err == nil {"},
	{"replacements that their NodePool would not have", "shared/core/replay/complete.go", "case pack.Foreign(planned, &pool.Template) != \"\":", "case false:"},

	// Between tenants.
	{"machines not launched in turns of namespaces", provision + "draft.go",
		"for _, item := range fairshare.RoundRobin(items, plan.input.Served) {", "for _, item := range items {"},
	{"room within limits not dealt in turns", "shared/core/replay/even.go", "fairshare.Shares(instances, wants, p.input.Served)", "fairshare.Shares(1<<20, wants, p.input.Served)"},
	{"plans without bound", "shared/core/fairshare/take.go", "\tif bound == nil {\n", "\tif bound != nil || after == \"\" {\n"},
	{"portions begin with the same pods each time", provision + "plan.go",
		"next != p.ledger.Notes.PlannedTo {", "next == \"-\" {"},
	{"no room kept for pods planned ahead of older ones", provision + "nominate.go",
		"if !waits || left == 0 || !ahead(", "if !waits || left >= 0 || !ahead("},
	{"room kept before a node takes pods", provision + "register.go",
		"closed && g.now()-node.CreatedUnix <= nomineesWait {", "closed && g.now()-node.CreatedUnix < 0 {"},
	{"hints believed of whatever cluster they name", "functions/provision/handler.go", "case hint.Cluster != group:", "case hint.Cluster == \"\":"},
	{"hints believed of whatever queue", "functions/provision/handler.go",
		"if wire.QueueName(record.EventSourceARN) != wire.PlanQueue(group) {", "if group == \"-\" {"},

	// Between clusters: each is what stops an attack of docs/threat-model.md.
	{"events believed of whatever queue", "functions/interruption/handler.go",
		"if record.EventSourceARN == h.notices {", "if _, err := wire.DecodeHint([]byte(record.Body)); err != nil {"},
	{"spot warnings believed of any machine", interruption + "noticecluster.go",
		"\t\treturn claim.CapacityType == model.Spot\n", "\t\treturn true\n"},
	{"registrations changed by whatever stack", "shared/flow/attach/attach.go",
		"case desired.Stack != \"\" && before.Stack != \"\" && desired.Stack != before.Stack && !desired.fromTenant(before.Stack):", "case before.Stack == \"-\":"},
	{"custom resources answered wherever asked", "functions/catalog/custom.go",
		"if !mayAnswer(e.ResponseURL, e.StackID, c.endpoint) {", "if e.ResponseURL == \"\" {"},
	{"pointers believed of whatever cluster they name", "shared/adapter/dynamoledger/place.go",
		"if manifest.Cluster != cluster {", "if manifest.Cluster == \"\" {"},
	{"bases believed of whatever cluster", "shared/adapter/s3snapshot/at.go", "manifest.SnapshotKey != want {", "manifest.SnapshotKey == \"\" {"},
	{"any memory of a node learned", provision + "learn.go", "seen.MiB < floor {", "seen.MiB < floor-floor {"},
	{"any memory learned believed", "shared/core/offering/capacity.go", "known && seen >= MinMemoryMiB(m) {", "known {"},
	{"snapshots not weighed", "shared/wire/codec.go", "weight, err := weigh(name, text, form, budget)", "weight, err := int64(0), error(nil)"},
	{"reviews take a seat before their body", "shared/adapter/ekscluster/admission/handler.go",
		"\t\tcounted := &counted{of: r.Body, all: &reading}\n",
		"\t\tselect {\n\t\tcase seats <- struct{}{}:\n\t\t\tdefer func() { <-seats }()\n\t\tcase <-time.After(waitForSeat):\n\t\t\thttp.Error(w, \"too many\", http.StatusTooManyRequests)\n\t\t\treturn\n\t\t}\n\t\tcounted := &counted{of: r.Body, all: &reading}\n"},

	// A node's registration.
	{"node judged without its UID", provision + "node.go",
		"return model.NodePatch{Name: node.Name, UID: node.UID,", "return model.NodePatch{Name: node.Name, UID: \"\","},
	{"claims never shown", provision + "nodeclaims.go",
		"if claim.State == model.Launched && claim.ObjectUID == \"\" && !claim.Vanished || g.unshown(&claim) {", "if false {"},
	{"unregistered taint left", provision + "register.go",
		"patch.RemoveTaints = []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}}", "patch.RemoveTaints = nil"},
	{"claim not moved on", provision + "nodeclaims.go",
		"next, err := g.states.Advance(ctx, g.reg.Cluster, *claim)", "next := *claim"},

	// What ends.
	{"acts on the first look", interruption + "confirm.go",
		"if finding.Wait == 0 && finding.Kind != lifecycle.Deferred {", "if finding.Wait >= 0 && finding.Kind != lifecycle.Deferred {"},
	{"machines of open launches ended", lifecycle + "diagnose.go",
		"|| j.live[instance.ID] != nil || j.waiting[instance.Tags[tagIntent]] {", "|| j.live[instance.ID] != nil {"},
	{"claimed machines taken for orphans", lifecycle + "diagnose.go",
		"|| j.live[instance.ID] != nil || j.waiting[instance.Tags[tagIntent]] {", "|| j.waiting[instance.Tags[tagIntent]] {"},
	{"orphans left alone", interruption + "act.go",
		"\tif !adopt {\n\t\tr.doomed = append(r.doomed, f.Instance.ID)\n", "\tif !adopt {\n\t\treturn nil\n"},
	{"claims of ended machines kept", lifecycle + "diagnose.go",
		"\tcase f.Instance != nil && f.Instance.State == \"terminated\":\n\t\tf.Kind = Ended\n\t\tj.find(f)", "\tcase f.Instance != nil && f.Instance.State == \"terminated\":\n\t\tf.Kind = Ended"},
	{"machines that never join kept", lifecycle + "diagnose.go",
		"case !joined && len(f.Nodes) == 0 && j.overdue(f.Claim, f.Instance):", "case false:"},
	{"ended without a word in the ledger", interruption + "begin.go",
		"begun, err = r.flow.Steps.Advance(ctx, r.reg.Cluster, next)\n\t\treturn err", "begun = next\n\t\treturn nil"},
	{"closed while it only ends", interruption + "step.go",
		"if instance != nil && instance.State == \"terminated\" {", "if instance != nil && instance.State != \"running\" {"},
	{"young machines taken for lost", lifecycle + "diagnose.go",
		"f.Kind, f.Wait, f.Removes = Missing, j.settings.YoungFor, f.serves()", "f.Kind, f.Wait, f.Removes = Missing, j.settings.Confirm, f.serves()"},

	// How a node is emptied.
	{"any pod of that name evicted", interruption + "evict.go",
		"err := s.Effect(ctx, EffectEvict, func() error { return s.clients.Pods.Evict(ctx, e.Pod) })",
		"e.Pod.UID = \"\"\n\terr := s.Effect(ctx, EffectEvict, func() error { return s.clients.Pods.Evict(ctx, e.Pod) })"},
	{"nodes that were made anew taken for gone", interruption + "step.go", "return s.readReplacedNode(ctx)", "return nil"},
	{"evicted out of tier", emptying + "pods.go", "case p.tier > first:", "case p.tier > first+9:"},
	{"forced too early", emptying + "pods.go",
		"return set && d.now >= deadline-p.grace &&", "return set && d.now >= deadline-2*p.grace-10 &&"},
	{"protection from disruption ignored", emptying + "pods.go", "case p.shield.Active(d.read):", "case false:"},
	{"evicted before replacements", emptying + "pods.go",
		"if d.replaced || d.now >= until || !displaced {", "if d.now >= 0 || d.replaced || d.now >= until || !displaced {"},
	{"volumes not waited for", emptying + "next.go",
		"if len(d.volumes) > 0 && d.now-drain.EmptyUnix < d.settings.DetachSeconds {", "if false {"},
	{"finalizer off too early", interruption + "step.go",
		"\t\ts.doomed = append(s.doomed, s.claim.InstanceID)\n", "\t\ts.doomed = append(s.doomed, s.claim.InstanceID)\n\t\tdefer s.free(ctx, KindNode)\n"},
	// The one that goes unnoticed: the resync takes off what the drain left, within minutes.
	{"finalizer never off", interruption + "step.go",
		"if _, freed := s.free(ctx, KindNodeClaim); !freed {", "if false {"},
	{"brake ignored for repair", interruption + "confirm.go",
		"if removed >= room {", "if removed >= room && f.Kind != lifecycle.Impaired {"},
	{"notices of other regions and accounts believed", interruption + "noticecluster.go",
		"if h.reg.Account != \"\" && s.Account != h.reg.Account || s.Region != h.reg.Region {", "if h.reg.Account == \"-\" {"},
	{"tainted before anything says that it ends", interruption + "begin.go",
		"\terr = r.Effect(ctx, EffectBegin, func() (err error) {",
		"\tif claim.NodeName != \"\" && claim.State == model.Initialized {\n\t\t_ = r.clients.Objects.PatchNode(ctx, cordon(claim.NodeName, claim.NodeUID))\n\t}\n\terr = r.Effect(ctx, EffectBegin, func() (err error) {"},
	{"lost warnings not looked for", lifecycle + "diagnose.go", "case interrupted && !warned(f.Claim):", "case interrupted && false:"},
	{"drains whose message was lost forgotten", interruption + "run.go",
		"\t\tif due+late > r.records.NowUnix {", "\t\tif due > 0 || late > 0 {"},

	// What the planner is told.
	{"deletions not published", "shared/flow/publish/table.go",
		"gone = append(gone, key)", "_ = key"},
	{"changes lost where publishing fails", "shared/flow/publish/lead.go",
		"f.failedToPublish(\"publish\", err)", "f.failedToPublish(\"publish\", err)\n\t\t\tf.publishing = nil"},
	{"usage never counted anew", provision + "recover.go",
		"for _, off := range lifecycle.Recounts(usage, &r.ledger) {", "for _, off := range lifecycle.Recounts(usage, &r.ledger)[:0] {"},
	{"claims that cannot be read taken for absent", lifecycle + "diagnosis.go",
		"j.unread = view.Records.Unread.Any(model.UnreadClaim, model.UnreadIntent)", "j.unread = view.Records.Unread.Any(\"\")"},
	{"claims that cannot be read not counted where others expire", lifecycle + "expire.go",
		"case u.Kind != model.UnreadClaim || u.Gone:", "case true || u.Gone:"},
	{"what functions find gone not published anew", "shared/flow/publish/publish.go",
		"f.renewedAt, f.whole, f.dirtySince = now, true, now", "f.renewedAt, f.dirtySince = now, now"},
	{"what is gone heard with heartbeats alone", "shared/flow/publish/publish.go",
		"lost = lost && manifest.Epoch == f.manifest.Epoch && ", "lost = lost && manifest.Epoch == f.manifest.Epoch+1 && "},
	{"bases published as often as somebody asks", "shared/flow/publish/publish.go",
		"f.renewedAt.IsZero() || !now.Before(", "f.renewedAt.IsZero() || now.Before(now.Add(1)) || !now.Before("},
	{"objects that cannot be read called gone", "shared/work/losses.go", "!fault.Is(failure, fault.NotFound) {", "failure == nil && !fault.Is(failure, fault.NotFound) {"},
	{"what is gone said with every look", "shared/work/losses.go", "losses == nil || manifest.Lost || ", "losses == nil || "},
	{"pods on their way to a node planned again", "shared/core/pack/pending.go",
		"\t\t\tcontinue\n\t\t}\n\t\tif ok, _ := provisionable(snapshot, i, preempts); ok {", "\t\t}\n\t\tif ok, _ := provisionable(snapshot, i, preempts); ok || snapshot.Pods[i].NodeName != \"\" {"},
	{"one registration that cannot be read stops all", "shared/work/fanout.go",
		"\t\tunread = fmt.Errorf(\"list attached clusters: %w\", unread)\n", "\t\treturn 0, fmt.Errorf(\"list attached clusters: %w\", unread)\n"},
	{"old states called fresh once they are stored", "shared/flow/publish/publish.go",
		"manifest.WrittenUnix, manifest.HeartbeatAt = now.Unix(), asOf.Unix()", "manifest.WrittenUnix, manifest.HeartbeatAt = now.Unix(), max(now.Unix(), asOf.Unix())"},
	{"NodeClaims that were outlived held", lifecycle + "vanish.go", "return j.view.Definitions == nil || j.vanishes(f)", "return false"},
	{"machines that ended unknown not recorded", interruption + "run.go", "\tr.recordUnknown(ctx, view, &collector)\n", ""},
	{"nodes about to end counted for a tenth", lifecycle + "expire.go",
		"case going[claim.Name] && claim.State != model.Draining && claim.State != model.Terminating:", "case going[claim.Name] && false:"},

	// What is disrupted voluntarily.
	{"commands with claims that cannot be read go on", disrupt + "advance.go", "if claim := s.unreadClaim(); claim != \"\" {", "if claim := s.unreadClaim(); claim == s.command.ID {"},
	{"launches recovered without claims that cannot be read", provision + "recover.go", "if claim := r.ledger.Unread.First(model.UnreadClaim, intent.Claims...); claim != \"\" {",
		"if claim := r.ledger.Unread.First(model.UnreadClaim, intent.Claims...); claim == intent.ID {"},
	{"hints of a judge at work come back for ever", disrupt + "run.go", "if r.request.Redeliveries >= most {", "if !r.request.Changed && r.request.Redeliveries >= most {"},
	{"looks in between ask for looks", disrupt + "propose.go",
		"r.found(r.snapshot, r.catalog.Version, again, plan.Constrained)", "r.found(r.snapshot, r.catalog.Version, plan.ReplanUnix, plan.Constrained)"},
	{"budgets do not count what commands hold", disruption + "budget.go",
		"node.command != nil || c.deleted[node.Claim.Name]", "c.deleted[node.Claim.Name]"},
	{"budgets of any time taken for open", disruption + "budget/budget.go", "\t\tif active {\n", "\t\tif active && b.Schedule == \"\" {\n"},
	{"taint left on what is not given back", disrupt + "advance.go",
		"\t\terrs[i] = s.free(ctx, tainted{t.Node, t.NodeUID, t.claim})\n", "\t\terrs[i] = s.show(ctx, t.claim, \"\", \"\")\n"},
	{"emptied before its replacements are ready", disrupt + "advance.go", "case claim.State != model.Initialized:", "case claim.State == model.Intended:"},
	{"replacements that failed waited for", disrupt + "advance.go", "case !claim.Live() || claim.Ending():", "case false:"},
	{"stale snapshots decided by", disrupt + "flow.go",
		"`default:\"10s\"` // age of the watcher's heartbeat", "`default:\"1h\"` // age of the watcher's heartbeat"},
	{"tainted though no command says so", disrupt + "commit.go",
		"\terr := try()\n", "\tfor i := range command.Targets {\n\t\t_ = r.clients.Objects.PatchNode(ctx, cordon(&command.Targets[i]))\n\t}\n\terr := try()\n"},
	{"given back without a reason", disrupt + "advance.go",
		"claim.FailureCode, claim.FailureMessage = s.command.Reason, why(&s.command)", "claim.FailureCode, claim.FailureMessage = \"\", why(&s.command)"},
	{"young and busy nodes given back", disruption + "evaluate.go", "\tcase after <= 0:\n", "\tcase after >= 0:\n"},
	{"what runs taken for twice as dear as it is", disruption + "price.go", "\t\t\treturn o.Price\n", "\t\t\treturn 2 * o.Price\n"},
	{"opposite decision within half an hour", disruption + "evaluate.go",
		"if until := e.history.recent(c); until > 0 && e.history.cameOf(node, c) {", "if until := e.history.recent(c); until < 0 && e.history.cameOf(node, c) {"},
	{"tainted whatever node has the name", "testenv/sim/world/cluster.go", // as an adapter would that does not look at the UID
		"if node == nil || node.UID != patch.UID {", "if node == nil || node.UID != patch.UID && len(patch.AddTaints) == 0 {"},
	{"pods of what is given back planned for at once", provision + "state.go",
		"leaving[node.Name] = pack.Stays", "leaving[node.Name] = 0"},
	{"nodes judged while NodeClaims are not defined", lifecycle + "diagnose.go", "case j.view.Live.Undefined:", "case false:"},
	{"no look while NodeClaims are not defined", interruption + "observe.go", "case r.live.Undefined && ", "case false && "},
	{"classes forgotten that are not defined", "shared/flow/catalog/run.go", "if len(r.config.Undefined) > 0 {", "if len(r.config.Undefined) > 3 {"},
	{"deletions obeyed whether the definition stands or not", interruption + "confirm.go", "if !lifecycle.Obeys(view, findings) {", "if true {"},
	{"pods of a command counted on to leave", disruption + "spread/balance.go", "\tif renews {\n", "\tif true {\n"},
	{"nodes whose pods would wait never given back", disruption + "consolidate_commands.go", "if no.Code == SpreadWaits && len(p.group) > 1 {", "if false {"},
	{"pods about to leave taken for gone", "shared/core/pack/existing/counting.go", "\tp.linger()\n", ""},
	{"owners about to leave taken for gone", "shared/core/pack/group/classify.go", "rules.ownersOf(g, c.arrived[index])", "rules.ownersOf(g, false)"},

	// What Karpenter's specs found, or would have.
	{"spot for spot whatever minValues ask for", disruption + "consolidate_guard.go",
		"if g.write(kind, zones, names[:n]) == nil {\n\t\t\t\t\treturn nil\n", "if no := g.write(kind, zones, names[:n]); n > 0 {\n\t\t\t\t\treturn no\n"},
	{"pods left on a node for tolerating any taint", emptying + "pods.go", "t.Key != \"\" && t.Key != model.TaintDisrupted {", "t.Key == \"\" {"},
	{"nodes of a pool evaluated one by one as they come to rest", disruption + "evaluate.go", "if until := e.poolQuiet(node, busy); until > e.now {", "if until := e.poolQuiet(node, busy); until < 0 {"},
	{"templates not known yet held against a class", provision + "launch.go", "return after == round", "return after < 0"},
	{"a stock-out ends an hour later for static pools", provision + "plan.go",
		"filled[fill.Pool] < fill.Count", "filled[fill.Pool] < -fill.Count"},
	{"NodeClaims gone before their Nodes", interruption + "step.go",
		"if !kept { // or a look lets", "if true || kept { // or a look lets"},
	{"pods that leave not told of", "shared/flow/publish/notes.go", "case g.freed.first.IsZero():", "case false:"},
	{"replacements launched under the name of a NodeClaim", provision + "replace.go", "\t\tknown[r.shown.Claims[i].Name] = true\n", "\t\t_ = i\n"},
	{"NodeClaims of earlier claims of the name left", lifecycle + "diagnose.go", "return claim.ObjectUID == \"\" && claim.InstanceID", "return claim.ObjectUID == \"-\" && claim.InstanceID"},
	{"spot interruptions dated by when they were seen", lifecycle + "diagnose.go", "since <= now && ends > now {", "since < 0 {"},
	{"scheduled events before failed checks", lifecycle + "diagnose.go",
		"if f.Kind == \"\" {\n\t\t\t\tf.Kind, f.Code, f.Detail = Impaired, model.EndedScheduledChange", "if i.Code != \"\" {\n\t\t\t\tf.Kind, f.Code, f.Detail = Impaired, model.EndedScheduledChange"},
	{"NodeClaims of other controllers let go of", lifecycle + "diagnose.go", "case object.ClassKind != \"\":", "case object.ClassKind == \"-\":"},
	{"NodePools of other controllers taken for ours", "shared/adapter/ekscluster/translate/pool.go",
		"return (&model.Template{ClassGroup: ref.Group, ClassKind: ref.Kind}).UsesEC2NodeClass()", "return ref.Kind != \"\""},
	{"a chain of one host ends with its second link", packing + "bundle.go", "for round, made := 0, -1; made < len(units); round++ {", "for round, made := 0, -1; made < 0; round++ {"},
	{"hosts on their way take what they could once they are there", packing + "verify.go", "c.Settled || s != nil && s.Number < 0 {", "c.Settled || s != nil && s.Number < -1<<40 {"},
	{"finalizers taken off by writing the whole NodeClaim", "shared/adapter/ekscluster/api.go", "\tpatch, err := json.Marshal(body)\n",
		"\tif whole, is := object.(*unstructured.Unstructured); is {\n\t\tbody[\"spec\"] = whole.Object[\"spec\"]\n\t}\n\tpatch, err := json.Marshal(body)\n"},
	{"conditions that stay as they are keep their generation", "shared/api/condition/condition.go",
		"\tif conditions[i].Status == c.Status {\n", "\tif conditions[i].Status == c.Status && conditions[i].Reason == c.Reason && conditions[i].Message == c.Message {\n\t\treturn false\n\t}\n\tif conditions[i].Status == c.Status {\n"},
	{"a pool's nodes counted over all pools", provision + "report.go", "if claim.Pool != pool.Name || !claim.Live() || claim.State == model.Intended {", "if !claim.Live() || claim.State == model.Intended {"},
	{"quiet nodes not shown", disrupt + "run.go", "r.quiet(done.plan, seen.snapshot))", "model.Report{})"},
	{"nodes quiet before they are initialized", disruption + "poolnode.go", "node.Pool.Replicas == nil && node.Claim.State == model.Initialized && node.Node.Initialized() &&", "node.Pool.Replicas == nil &&"},
	{"instances of failed replacements not awaited", disruption + "drift.go",
		"if on := p.awaited(node, &o); on != \"\" {", "if on := p.awaited(node, &o); on == \"-\" {"},
	{"nodes whose image is no longer one of their class's left", lifecycle + "drift.go", "if !fits {",
		"if !fits && v.Type.Name != \"\" {\n\t\treturn Drift{}, nil\n\t}\n\tif !fits {"},
	{"types whose kubelet would not start available", "shared/core/offering/catalog.go",
		"|| !t.KubeletStarts() {", "|| false {"},
	{"types of others whose kubelet would not start open", packing + "offerings/market.go",
		"&& left && starts[c.Instance] {", "&& left {"},
	{"never tainted", disrupt + "step.go", "\t\tif taint {\n\t\t\terr := s.Effect", "\t\tif false {\n\t\t\terr := s.Effect"},
	{"zonal shifts not heeded by launches", provision + "backoff.go", "shifted := b.ledger.Shifts.Unavailable(b.now())",
		"shifted := b.ledger.Shifts.Unavailable(b.now() << 1)"},
	{"zonal shifts not heeded by disruption", disrupt + "state.go",
		"return append(offerings, l.Shifts.Unavailable(l.NowUnix)...)", "return offerings"},
	{"nodes of shifted zones disrupted", disruption + "evaluate.go",
		"\t\tif shift.Shifts(node.Node) {", "\t\tif shift == nil {"},
	{"zonal shifts that nobody can ask about drop out", "shared/flow/catalog/shift.go", "\t\t\tr.unasked(err)\n",
		"\t\t\tr.unasked(err)\n\t\t\t_ = r.flow.Shifts.PutShifts(ctx, r.reg.Cluster, next)\n"},
	{"single replicas consolidated", disruption + "singlereplica.go",
		"node.forbid(consolidating, SingleReplica", "node.forbid(shrinking, SingleReplica"},
	{"alarms not heeded", disrupt + "propose.go",
		"input.Stops = model.WithAlarms(r.state.Stops, r.state.alarms)", "input.Stops = r.state.Stops"},
	{"alarms that are on do not undo commands", disrupt + "state.go",
		"return model.WithAlarms(l.Stops, on)", "return model.WithAlarms(l.Stops, on[:0])"},
	{"alarms that nobody can read let commands begin", disruption + "alarm.go",
		"\t\t\tcase read.Unread != \"\":\n", "\t\t\tcase read.Unread != \"\":\n\t\t\t\tcontinue\n"},
	{"last pod events not shown", disrupt + "events.go", "at > object.PodEventUnix", "at < object.PodEventUnix"},
	{"devices: given to any number of pods", devices + "devices.go", "\t\tafter = d.allocate(c)\n",
		"\t\tif after = d.allocate(c); after != nil {\n\t\t\tafter = d\n\t\t}\n"},
	{"devices: none expected of young nodes", devices + "devices.go",
		"n.CreatedUnix+model.PublishSeconds > x.nowUnix", "n.CreatedUnix > x.nowUnix"},
	{"devices: taken on young nodes where others are in use", devices + "devices.go",
		"templateNode + \"/\" + slice.Spec.Pool.Name", "slice.Spec.Pool.Name"},
	{"devices: any node will do that has some", "shared/core/pack/existing/devices.go",
		"if d.TakeAll(c.Devices) == nil {", "if d.TakeAll(c.Devices) == nil && d.None() {"},
	{"devices: none assumed of types nobody has seen", devices + "types.go",
		"!published[driver] && x.classes.about(driver)", "!published[driver] && x.classes.about(name)"},
	{"devices: nodes initialized before their drivers publish", provision + "node.go",
		"if len(claim.DeviceDrivers) == 0 ||", "if len(claim.DeviceDrivers) >= 0 ||"},
	{"drifted nodes counted as current", lifecycle + "rollout.go", "case !r.outdated(claim):",
		"case claim.Drift == \"\":"},
}
