package disrupt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// state is what the ledger says of the cluster, as this run has written it.
type state struct {
	model.Ledger
	claims map[string]*model.Claim // by name; gone ones too
	alarms []model.AlarmStop       // that stop NodePools
}

// load reads the ledger.
func (f *Flow) load(ctx context.Context, reg model.Registration) (state, error) {
	ledger, err := f.Ledger.Load(ctx, reg)
	if err != nil {
		return state{}, fmt.Errorf("load the ledger of cluster %s: %w", reg.Cluster, err)
	}
	claims := make(map[string]*model.Claim, len(ledger.Claims)+len(ledger.Ended))
	for _, list := range [][]model.Claim{ledger.FormerClaims, ledger.Ended, ledger.Spent, ledger.Claims} {
		for i := range list {
			claims[list[i].Name] = &list[i]
		}
	}
	return state{Ledger: ledger, claims: claims}, nil
}

// byProvider returns the live claims with an instance, by provider id.
func (l *state) byProvider() map[string]*model.Claim {
	claims := map[string]*model.Claim{}
	for i := range l.Claims {
		if claim := &l.Claims[i]; claim.Live() && claim.ProviderID != "" {
			claims[claim.ProviderID] = claim
		}
	}
	return claims
}

// openIDs are the ids of open commands, and of those that cannot be read.
func (l *state) openIDs() map[string]bool {
	open := map[string]bool{}
	for _, u := range l.Unread.Of(model.UnreadCommand) {
		open[u.Name] = true
	}
	for i := range l.Commands {
		if l.Commands[i].State.Open() {
			open[l.Commands[i].ID] = true
		}
	}
	return open
}

// stored notes a command as it is in the ledger now.
func (l *state) stored(command model.Command) {
	for i := range l.Commands {
		if l.Commands[i].ID == command.ID {
			l.Commands[i] = command
		}
	}
}

// firmStops are the stops that undo commands, too: those of people, and of alarms that are on.
func (l *state) firmStops() []model.Stop {
	on := slices.DeleteFunc(slices.Clone(l.alarms), func(a model.AlarmStop) bool { return !a.On })
	return model.WithAlarms(l.Stops, on)
}

// stopOf returns a stop that is about a command, nil where there is none.
func (l *state) stopOf(command *model.Command) *model.Stop {
	stops := l.firmStops()
	for i := range stops {
		stop := &stops[i]
		if stop.Scope != model.StopPool || slices.ContainsFunc(command.Targets, func(t model.Target) bool { return t.Pool == stop.Pool }) {
			return stop
		}
	}
	return nil
}

// unfit says why a replacement of a command cannot be launched, as provision found out since the command waits for it; empty = it may yet
// be.
func (l *state) unfit(command *model.Command, name string) string {
	for i := range l.Notes.Unfit {
		if unfit := &l.Notes.Unfit[i]; unfit.Name == name && unfit.AtUnix >= command.ReplacingUnix {
			return unfit.Why
		}
	}
	return ""
}

// namesTaken are the names of claims, nodes and replacements there are.
func (l *state) namesTaken(snapshot *model.Snapshot) map[string]bool {
	names := map[string]bool{}
	for name := range l.claims {
		names[name] = true
	}
	for i := range snapshot.Nodes {
		names[snapshot.Nodes[i].Name] = true
	}
	for i := range snapshot.Claims {
		names[snapshot.Claims[i].Name] = true
	}
	for i := range l.Commands {
		for j := range l.Commands[i].Replacements {
			names[l.Commands[i].Replacements[j].Name] = true
		}
	}
	return names
}

// budgetVersionsOf returns the turns of a command's pools, by pool.
func (l *state) budgetVersionsOf(command *model.Command) []model.BudgetVersion {
	versions := map[string]int64{}
	for _, budgetVersion := range l.BudgetVersions {
		versions[budgetVersion.Pool] = budgetVersion.Version
	}
	seen := map[string]bool{}
	var budgetVersions []model.BudgetVersion
	for i := range command.Targets {
		if pool := command.Targets[i].Pool; !seen[pool] {
			seen[pool] = true
			budgetVersions = append(budgetVersions, model.BudgetVersion{Pool: pool, Version: versions[pool]})
		}
	}
	slices.SortFunc(budgetVersions, func(a, b model.BudgetVersion) int { return strings.Compare(a.Pool, b.Pool) })
	return budgetVersions
}

// nextBudgetVersion notes that a turn was taken.
func (l *state) nextBudgetVersion(budgetVersion model.BudgetVersion) {
	budgetVersion.Version++
	for i := range l.BudgetVersions {
		if l.BudgetVersions[i].Pool == budgetVersion.Pool {
			l.BudgetVersions[i] = budgetVersion
			return
		}
	}
	l.BudgetVersions = append(l.BudgetVersions, budgetVersion)
}

// older reports whether a snapshot is older than one that was decided by.
func (l *state) older(notes *model.DisruptNotes, epoch, seq int64) bool {
	before := func(e, s int64) bool { return epoch < e || epoch == e && seq < s }
	return before(notes.Epoch, notes.Seq) || slices.ContainsFunc(l.Commands, func(c model.Command) bool { return before(c.Epoch, c.Seq) })
}

// suspendedPools are the pools that nothing may be bought for: what takes their nodes' place would not take their pods.
func (l *state) suspendedPools() []model.SuspendedPool {
	var out []model.SuspendedPool
	for i := range l.Notes.PoolSuspensions {
		if suspension := &l.Notes.PoolSuspensions[i]; suspension.Instances > 0 {
			out = append(out, model.SuspendedPool{Pool: suspension.Pool, Why: suspension.Text()})
		}
	}
	for _, u := range l.Unread.Of(model.UnreadUsage) {
		if !slices.ContainsFunc(out, func(p model.SuspendedPool) bool { return p.Pool == u.Name }) {
			out = append(out, model.SuspendedPool{Pool: u.Name, Why: u.Text()})
		}
	}
	return out
}

// unavailableOfferings are the ledger's, and what is half open is closed: whether there is capacity again is not for us to try out.
func (l *state) unavailableOfferings() []model.UnavailableOffering {
	offerings := slices.Clone(l.UnavailableOfferings)
	for i := range offerings {
		offerings[i].UntilUnix = max(offerings[i].UntilUnix, offerings[i].ForgetUnix)
	}
	return append(offerings, l.Shifts.Unavailable(l.NowUnix)...)
}

// suspended reports whether launches from a class have failed lately for reasons that another offering would not get round.
func (l *state) suspended(class string, nowUnix int64) bool {
	return slices.ContainsFunc(l.Notes.ClassSuspensions, func(s model.ClassSuspension) bool { return s.Class == class && nowUnix < s.UntilUnix }) ||
		slices.ContainsFunc(l.Notes.Refusals, func(r model.ClassRefusal) bool { return r.Class == class && nowUnix < r.UntilUnix })
}

// empty reports whether there is nothing of ours in the cluster and nobody asks for anything, so that resyncs may come less often.
func (l *state) empty(s *model.Snapshot) bool {
	if len(l.Claims)+len(l.Ended)+len(l.Intents)+len(l.Unread)+len(s.Claims)+len(s.Buffers) > 0 || len(l.Classes) != len(s.Classes) ||
		len(l.openIDs()) > 0 {
		return false
	}
	return !slices.ContainsFunc(l.Classes, func(c model.ClassRecord) bool { return len(c.Status.Problems) > 0 }) &&
		!slices.ContainsFunc(s.Classes, func(c model.Class) bool { return c.DeletedUnix != 0 }) &&
		!slices.ContainsFunc(s.Pools, func(p model.Pool) bool { return p.DeletedUnix != 0 || p.Replicas != nil }) &&
		!slices.ContainsFunc(s.Nodes, func(n model.Node) bool { return n.Finalizer }) && len(pack.Pending(s)) == 0
}

// digest stands for what the ledger says beyond the snapshot.
func (l *state) digest(settings *Settings) string {
	h := sha256.New()
	fmt.Fprint(h, settings.Build, settings.Disruption, l.Stops, l.UnavailableOfferings, l.Usage, l.BudgetVersions, l.Notes.ClassSuspensions,
		l.Notes.Refusals)
	if l.Shifts.Version != 0 {
		fmt.Fprintln(h, l.Shifts.Shifts)
	}
	for i := range l.Claims {
		fmt.Fprintln(h, l.Claims[i].Name, l.Claims[i].Version)
	}
	for i := range l.Commands {
		fmt.Fprintln(h, l.Commands[i].ID, l.Commands[i].Version)
	}
	for i := range l.Classes {
		fmt.Fprintln(h, l.Classes[i].Name, l.Classes[i].Version, l.Classes[i].Status.ResolvedUnix)
	}
	if len(l.Unread) > 0 {
		fmt.Fprintln(h, l.Unread)
	}
	if len(l.alarms) > 0 {
		fmt.Fprintln(h, l.alarms)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
