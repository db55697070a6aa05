package main

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
)

// defects are what the simulator should notice.
var defects = []defect{
	// The launch protocol.
	{"bytes changed on retry", provision + "recover.go",
		"result, err := r.callFleet(ctx, *intent)", "intent.Request = append([]byte(\" \"), intent.Request...)\n\tresult, err := r.callFleet(ctx, *intent)"},
	{"token not reused", provision + "launch.go",
		"result, err = r.site.Fleet.Launch(ctx, intent.Request)",
		"if intent.Attempt > 1 {\n\t\t\tintent.Request = bytes.ReplaceAll(intent.Request, []byte(intent.Token), []byte(intent.Token[1:]))\n\t\t}\n\t\tresult, err = r.site.Fleet.Launch(ctx, intent.Request)"},
	{"called before it is recorded", provision + "launch.go",
		"a.intent.Request = request\n", "a.intent.Request = request\n\tif early, callErr := r.site.Fleet.Launch(ctx, request); callErr == nil {\n\t\tdefer func() { a.result = early }()\n\t}\n"},
	{"not recorded", provision + "launch.go",
		"return r.Claims.Record(ctx, r.fence, a.intent, a.claims, a.limits)", "return nil"},
	{"outcome not recorded", provision + "launch.go",
		"return r.Claims.Settle(ctx, r.fence, outcome)", "return nil"},
	{"machines dealt backwards", provision + "recover.go",
		"return sorted[i].ID < sorted[j].ID", "return sorted[i].ID > sorted[j].ID"},
	{"refund twice", provision + "launch.go",
		"settlement.Failed = append(settlement.Failed, claim)", "settlement.Failed = append(settlement.Failed, claim, claim)"},
	{"holds nothing of the limit", provision + "launch.go",
		"Pods: planned.Pods, Held: held,", "Pods: planned.Pods, Held: model.Resources{model.CPU: held[model.CPU]},"},
	{"limit off by one", provision + "flow.go",
		"\tr.reached(\"snapshot\")\n",
		"\tpools := append([]model.Pool{}, r.snapshot.Pools...)\n\tfor i := range pools {\n\t\tif n, limited := pools[i].Limits[model.Nodes]; limited {\n\t\t\tpools[i].Limits = model.Resources{model.Nodes: n + 1}\n\t\t}\n\t}\n\tcopied := *r.snapshot\n\tcopied.Pools = pools\n\tr.snapshot = &copied\n\tr.reached(\"snapshot\")\n"},
	{"launched machines forgotten", provision + "plan.go",
		"case claim.State == model.Launched && r.now()-claim.LaunchedUnix <= int64(r.settings.JoinWithin.Seconds()):", "case false:"},
	{"a machine that joins late is none", provision + "plan.go",
		"r.now()-claim.LaunchedUnix <= int64(r.settings.JoinWithin.Seconds()):", "r.now()-claim.LaunchedUnix <= 5:"},
	{"unfinished launches never looked into", provision + "recover.go",
		"intent.State != model.IntentDone && intent.DueUnix <= r.now()", "intent.State != model.IntentDone && intent.DueUnix <= r.now()-86400"},
	{"what was found is taken for nothing", provision + "recover.go",
		"return &model.LaunchResult{Instances: found}, nil", "return &model.LaunchResult{}, nil"},

	// Stock-outs and pace.
	{"throttling taken for a stock-out", provision + "marks.go",
		"\"InsufficientInstanceCapacity\":                      scopeOffer,", "\"InsufficientInstanceCapacity\": scopeOffer, \"RequestLimitExceeded\": scopeOffer,"},
	{"stock-outs not marked", provision + "launch.go",
		"return r.Offers.Mark(ctx, r.reg, marks)", "return nil"},
	{"stock-outs forgotten in a moment", provision + "probe.go",
		"mark.UntilUnix = now + wait", "mark.UntilUnix = now + min(wait, 1)"},
	{"dry launches without bound", provision + "allowance.go",
		"most = min(n, int(a.DryMilli/milli)-keep)", "_ = keep"},

	// A node's birth.
	{"node judged without its UID", provision + "births.go",
		"patch := model.NodePatch{Name: node.Name, UID: node.UID,", "patch := model.NodePatch{Name: node.Name, UID: \"\","},
	{"claims never shown", provision + "births.go",
		"if claim.State == model.Launched && claim.ObjectUID == \"\" {", "if false {"},
	{"unregistered taint left", provision + "births.go",
		"patch.RemoveTaints = []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}}", "patch.RemoveTaints = nil"},
	{"claim not moved on", provision + "births.go",
		"next, err := r.Births.Advance(ctx, r.reg.Cluster, *claim)", "next := *claim"},

	// What ends.
	{"acts on the first look", interruption + "suspect.go",
		"if finding.Wait == 0 {", "if finding.Wait >= 0 {"},
	{"machines of open launches ended", lifecycle + "judge.go",
		"|| j.live[instance.ID] != nil || j.waiting[instance.Tags[tagIntent]] {", "|| j.live[instance.ID] != nil {"},
	{"claimed machines taken for orphans", lifecycle + "judge.go",
		"|| j.live[instance.ID] != nil || j.waiting[instance.Tags[tagIntent]] {", "|| j.waiting[instance.Tags[tagIntent]] {"},
	{"orphans left alone", interruption + "act.go",
		"\tif !adopt {\n\t\tr.doomed = append(r.doomed, f.Instance.ID)\n\t\treturn nil\n\t}", "\tif !adopt {\n\t\treturn nil\n\t}"},
	{"claims of ended machines kept", lifecycle + "judge.go",
		"\tcase instance.State == \"terminated\":\n\t\tfinding.Kind = Ended", "\tcase instance.State == \"terminated\":\n\t\treturn"},
	{"machines that never join kept", lifecycle + "judge.go",
		"case !joined && len(finding.Nodes) == 0 && j.overdue(claim, instance):", "case false:"},
	{"ended without a word in the ledger", interruption + "act.go",
		"_, err := r.Claims.Retire(ctx, r.fence, claim)\n\t\treturn err", "return nil"},
	{"closed while it only ends", lifecycle + "judge.go",
		"\tcase over(instance):\n\t\treturn", "\tcase over(instance):\n\t\tfinding.Kind = Ended"},
	{"young machines taken for lost", lifecycle + "judge.go",
		"finding.Kind, finding.Wait, finding.Removes = Missing, j.settings.YoungFor, joined", "finding.Kind, finding.Wait, finding.Removes = Missing, j.settings.Confirm, joined"},

	// What the planner is told.
	{"deletions not published", "shared/flow/forward/table.go",
		"gone = append(gone, key)", "_ = key"},
	{"changes lost where publishing fails", "shared/flow/forward/lead.go",
		"f.failedToPublish(\"publish\", err)", "f.failedToPublish(\"publish\", err)\n\t\t\tf.publishing = nil"},
	{"pods on their way to a node planned again", "shared/core/pack/input.go",
		"\t\t\tcontinue\n\t\t}\n\t\tif ok, _ := Provisionable(snapshot, i); ok {", "\t\t}\n\t\tif ok, _ := Provisionable(snapshot, i); ok || snapshot.Pods[i].NodeName != \"\" {"},
}
