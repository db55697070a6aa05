package world

import (
	"cmp"
	"context"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// A ledger is read partition by partition, each consistently and none at the same instant: a cluster's own one, which has
// intents, usage, notes and manifest, and several with its claims.

// claimPartitions is how many partitions a cluster's claims are spread over.
const claimPartitions = 8

func partitionOf(claim string) int {
	hash := fnv.New32a()
	hash.Write([]byte(claim))
	return int(hash.Sum32() % claimPartitions)
}

// rememberedFor is how long the ledger knows what it was: longer than a read can take.
const rememberedFor = 2 * time.Minute

// past is what a transaction changed, as it was before.
type past struct {
	at      time.Time
	claims  []ClaimChange
	intents map[string]*model.Intent // nil = there was none
	usage   map[string]*model.Usage

	commands       map[string]*model.Command
	budgetVersions map[string]*model.BudgetVersion
}

// Tear makes reads that take time see partitions as they were at different instants of it; nil makes every read see all of
// them as they are when it ends.
func (l *Ledger) Tear(chance *rand.Rand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chance = chance
}

// instant draws when a partition is read by a read that began at a time and ends now.
func (l *Ledger) instant(began time.Time) time.Time {
	now := l.now()
	if l.chance == nil || !began.Before(now) {
		return now
	}
	return began.Add(time.Duration(l.chance.Int64N(int64(now.Sub(began)) + 1)))
}

// keep remembers what the transaction under way changed.
func (b *clusterItems) keep(now time.Time) {
	old := 0
	for old < len(b.history) && now.Sub(b.history[old].at) > rememberedFor {
		old++
	}
	b.history = append(b.history[old:], b.undo)
	b.history[len(b.history)-1].at = now
	b.undo = past{}
}

// claimsAt returns the claims as a read that began at a time sees them, by name.
func (l *Ledger) claimsAt(b *clusterItems, began time.Time) []model.Claim {
	var read [claimPartitions]time.Time
	for i := range read {
		read[i] = l.instant(began)
	}
	before := map[string]*model.Claim{} // of those that changed since they were read
	for i := len(b.history) - 1; i >= 0 && b.history[i].at.After(began); i-- {
		for _, change := range b.history[i].claims {
			if b.history[i].at.After(read[partitionOf(change.After.Name)]) {
				before[change.After.Name] = change.Before
			}
		}
	}
	out := make([]model.Claim, 0, len(b.claims))
	for name, claim := range b.claims {
		was, changed := before[name]
		switch {
		case !changed:
			out = append(out, claim)
		case was != nil:
			out = append(out, *was)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// own is what is in a cluster's own partition: open intents by id, usage by pool, commands of the last day by id, turns by pool.
type own struct {
	intents        []model.Intent
	usage          []model.Usage
	commands       []model.Command
	budgetVersions []model.BudgetVersion
}

// ownAt returns the cluster's own partition, as a read that began at a time sees it.
func (l *Ledger) ownAt(b *clusterItems, began time.Time) own {
	read := l.instant(began)
	intents, usage, commands, budgetVersions := b.intents, b.usage, b.commands, b.budgetVersions
	for i := len(b.history) - 1; i >= 0 && b.history[i].at.After(read); i-- {
		if i == len(b.history)-1 {
			intents, usage, commands, budgetVersions = maps.Clone(intents), maps.Clone(usage), maps.Clone(commands), maps.Clone(budgetVersions)
		}
		undo(intents, b.history[i].intents)
		undo(usage, b.history[i].usage)
		undo(commands, b.history[i].commands)
		undo(budgetVersions, b.history[i].budgetVersions)
	}
	out := own{commands: keptCommands(commands, began.Unix())}
	for _, pool := range slices.Sorted(maps.Keys(budgetVersions)) {
		out.budgetVersions = append(out.budgetVersions, budgetVersions[pool])
	}
	var open []model.Intent
	for _, intent := range intents {
		if intent.State != model.IntentDone {
			open = append(open, intent)
		}
	}
	held := make([]model.Usage, 0, len(usage))
	for _, u := range usage {
		held = append(held, u)
	}
	sort.Slice(open, func(i, j int) bool { return open[i].ID < open[j].ID })
	sort.Slice(held, func(i, j int) bool { return held[i].Pool < held[j].Pool })
	out.intents, out.usage = open, held
	return out
}

// remember adds what a key is now to what a transaction has to undo, unless that is known already.
func remember[T any](before map[string]*T, now map[string]T, key string) map[string]*T {
	if before == nil {
		before = map[string]*T{}
	}
	if _, known := before[key]; known {
		return before
	}
	before[key] = nil
	if was, exists := now[key]; exists {
		before[key] = &was
	}
	return before
}

func undo[T any](now map[string]T, before map[string]*T) {
	for key, was := range before {
		if was == nil {
			delete(now, key)
			continue
		}
		now[key] = *was
	}
}

// Load returns what a planner needs.
func (l *Ledger) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	return l.LoadSince(ctx, reg, l.now())
}

// LoadSince is a Load that began at a time and ends now.
func (l *Ledger) LoadSince(_ context.Context, reg model.Registration, began time.Time) (model.Ledger, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(reg.Cluster)
	var out model.Ledger
	claims, own, unread := b.readable(l.claimsAt(b, began), l.ownAt(b, began))
	out.Unread = unread
	for _, claim := range claims {
		if claim.Live() {
			out.Claims = append(out.Claims, claim)
			continue
		}
		if claim.EndedLately(l.now().Unix()) {
			out.Ended = append(out.Ended, claim)
		}
		if claim.Pool == "" && l.now().Unix()-claim.GoneUnix < int64(keptGone.Seconds()) {
			out.FormerClaims = append(out.FormerClaims, claim)
		}
	}
	out.Intents, out.Usage, out.Commands, out.BudgetVersions = own.intents, own.usage, own.commands, own.budgetVersions
	out.Disrupt, out.Stops, out.Shifts = b.disrupt, l.stopsOf(reg), b.shifts
	out.Spent = model.SpentOf(claims, own.commands)
	for _, m := range l.unavailableOfferings[scope(reg)] {
		if !m.Forgotten(l.now().Unix()) {
			out.UnavailableOfferings = append(out.UnavailableOfferings, m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.classes)) {
		out.Classes = append(out.Classes, b.classes[name])
	}
	out.NowUnix, out.Manifest, out.Notes, out.Allowance = began.Unix(), b.manifest, b.notes, l.allowances[scope(reg)]
	sort.Slice(out.UnavailableOfferings, func(i, j int) bool {
		return markText(out.UnavailableOfferings[i]) < markText(out.UnavailableOfferings[j])
	})
	return out, nil
}

// Records returns what a collector needs.
func (l *Ledger) Records(ctx context.Context, reg model.Registration) (model.ClusterRecords, error) {
	return l.RecordsSince(ctx, reg, l.now())
}

// RecordsSince is a Survey that began at a time and ends now. Its time is read before everything else.
func (l *Ledger) RecordsSince(_ context.Context, reg model.Registration, began time.Time) (model.ClusterRecords, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(reg.Cluster)
	out := model.ClusterRecords{Collector: b.collector, Notes: b.notes, NowUnix: began.Unix()}
	claims, own, unread := b.readable(l.claimsAt(b, began), l.ownAt(b, began))
	out.Unread = withoutUsage(unread)
	for _, claim := range claims {
		kept := claim.InstanceID != "" || claim.Pool == ""
		if claim.Live() || kept && (claim.GoneUnix == 0 || began.Unix()-claim.GoneUnix < int64(keptGone.Seconds())) {
			out.Claims = append(out.Claims, claim)
		}
	}
	out.Intents, out.Commands = own.intents, own.commands
	for _, name := range slices.Sorted(maps.Keys(b.classes)) {
		out.Classes = append(out.Classes, b.classes[name])
	}
	return out, nil
}

// withoutUsage leaves out what a collector does not read.
func withoutUsage(unread model.UnreadItems) model.UnreadItems {
	return slices.DeleteFunc(unread, func(u model.Unread) bool { return u.Kind == model.UnreadUsage })
}

// Ending returns what a drain run needs.
func (l *Ledger) Ending(ctx context.Context, reg model.Registration) (model.DrainInput, error) {
	return l.EndingSince(ctx, reg, l.now())
}

// EndingSince is an Ending that began at a time and ends now, as RecordsSince is.
func (l *Ledger) EndingSince(_ context.Context, reg model.Registration, began time.Time) (model.DrainInput, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(reg.Cluster)
	out := model.DrainInput{Notes: b.notes, NowUnix: began.Unix()}
	claims, own, unread := b.readable(l.claimsAt(b, began), l.ownAt(b, began))
	out.Unread = slices.DeleteFunc(withoutUsage(unread), func(u model.Unread) bool {
		claim := b.claims[u.Name]
		return u.Kind == model.UnreadIntent || u.Kind == model.UnreadClaim && !claim.Ending()
	})
	for _, claim := range claims {
		if claim.State == model.Draining || claim.State == model.Terminating {
			out.Claims = append(out.Claims, claim)
		}
	}
	out.Commands = own.commands
	return out, nil
}

// keptGone is how long the ledger keeps a claim that is gone.
const keptGone = 24 * time.Hour

// indexed is an entry of the index of claims by instance. The index follows the claims a little later.
type indexed struct {
	claim string
	at    time.Time // from when on it is seen
}

// indexLag is how far the index may be behind. Source: DynamoDB developer guide: usually a fraction of a second.
var indexLag = Span{Min: 0, Max: 2 * time.Second}

// indexClaims takes what the transaction wrote into the index.
func (l *Ledger) indexClaims(b *clusterItems) {
	if !b.fresh {
		return
	}
	b.fresh = false
	for _, change := range b.undo.claims {
		if c := change.After; c != nil && c.InstanceID != "" && b.index[c.InstanceID].claim != c.Name {
			b.index[c.InstanceID] = indexed{c.Name, l.now().Add(indexLag.draw(l.chance))}
		}
	}
}

// ByInstance returns the claims that have one of the instances, by cluster and name.
func (l *Ledger) ByInstance(_ context.Context, ids []string) ([]model.FoundClaim, int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids = slices.Clone(ids)
	slices.Sort(ids)
	var found []model.FoundClaim
	for _, id := range slices.Compact(ids) {
		for _, cluster := range slices.Sorted(maps.Keys(l.clusters)) {
			b := l.clusters[cluster]
			entry, known := b.index[id]
			if claim, there := b.claims[entry.claim]; known && there && !b.spoilt[spoiltItem{model.UnreadClaim, entry.claim}] && claim.InstanceID == id && !l.now().Before(entry.at) {
				found = append(found, model.FoundClaim{Cluster: cluster, Claim: claim})
			}
		}
	}
	slices.SortFunc(found, func(a, b model.FoundClaim) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Claim.Name, b.Claim.Name))
	})
	return found, l.now().Unix(), nil
}

// Learn notes how much memory a node of a type had.
func (l *Ledger) Learn(_ context.Context, reg model.Registration, learned model.LearnedOf) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.learned[scope(reg)]
	if kept == nil {
		kept = map[[2]string]model.LearnedOf{}
		l.learned[scope(reg)] = kept
	}
	key := [2]string{learned.InstanceType, learned.Images}
	before, known := kept[key]
	if known && !before.Forgotten(learned.SeenUnix) && (before.MiB < learned.MiB || before.MiB == learned.MiB && before.SeenUnix >= learned.SeenUnix) {
		return nil
	}
	kept[key] = learned
	l.note(LedgerWritten{Op: "learn"})
	return nil
}

// Learned returns what was learned of types, by type, then images.
func (l *Ledger) Learned(_ context.Context, reg model.Registration, nowUnix int64) ([]model.LearnedOf, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []model.LearnedOf
	for _, learned := range l.learned[scope(reg)] {
		if !learned.Forgotten(nowUnix) {
			all = append(all, learned)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].InstanceType != all[j].InstanceType {
			return all[i].InstanceType < all[j].InstanceType
		}
		return all[i].Images < all[j].Images
	})
	return all, nil
}
