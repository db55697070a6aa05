package provision

import (
	"context"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// state is what a run knows of its cluster: the ledger, in step with what the run writes there, and the cluster as its
// snapshot shows it.
type state struct {
	*invocation
	store  Claims
	memory Memory

	ledger model.Ledger
	noted  bool // the ledger's notes are not written yet

	source   string          // of the snapshot
	manifest *model.Manifest // to the snapshot as it was published; nil = it was listed
	listed   *model.Snapshot // the snapshot as it was listed; nil = it was published
	shown    *model.Snapshot // the cluster as it shows itself; shared, never written to
	snapshot *model.Snapshot // what is planned by: the same, less what is known to be leaving
	leaving  pack.Leaving    // nodes of claims that are to end; nil = none
	seenUnix int64           // when it was last looked at which nodes leave

	// What is looked up in the snapshot; nil = it was not yet.
	waits []int                    // pods that ask for capacity, as indexes
	podAt map[string]int           // where those are, by UID
	nodes map[string][]*model.Node // by provider id
}

// Sources of a snapshot.
const (
	sourceList     = "list"
	sourceSnapshot = "snapshot"
)

// load reads the ledger, and what time it is there.
func (s *state) load(ctx context.Context) (model.Ledger, error) {
	ledger, err := s.store.Load(ctx, s.reg)
	if err != nil {
		return ledger, fmt.Errorf("load the ledger of cluster %s: %w", s.reg.Cluster, err)
	}
	s.offset = ledger.NowUnix - s.clock().Unix()
	return ledger, nil
}

// reload reads the ledger again after this run changed it.
func (s *state) reload(ctx context.Context) error {
	ledger, err := s.load(ctx)
	if err != nil {
		return err
	}
	if s.noted {
		ledger.Notes = s.ledger.Notes
	}
	s.ledger = ledger
	s.excludeLeavingNodes()
	return nil
}

// remember writes the notes where they have changed.
func (s *state) remember(ctx context.Context) error {
	if !s.noted {
		return nil
	}
	err := s.effect(ctx, EffectRemember, func() error { return s.memory.Remember(ctx, s.fence, s.ledger.Notes) })
	if err != nil {
		return fmt.Errorf("write the planner's notes: %w", err)
	}
	s.noted = false
	return nil
}

// excludeLeavingNodes makes what is planned by show which nodes are leaving, as far as the ledger knows more than they
// show. Nodes of claims that are to end: their taint is put on after that was recorded, and seen later still; meanwhile
// nothing must be planned onto them, and their pods need a place elsewhere. Nodes of claims that an open command has:
// nothing is planned onto them, and their pods stay until it ends, tainted or not; so do those of a node that only
// bears the taint still, or again. Otherwise capacity would be bought for the same pods twice, by two (B5). The
// snapshot itself, which others share, stays as it is.
func (s *state) excludeLeavingNodes() {
	s.snapshot, s.leaving, s.podAt, s.waits, s.nodes, s.seenUnix = s.shown, nil, nil, nil, nil, s.now()
	claims := map[string]*model.Claim{} // by provider id
	for i := range s.ledger.Claims {
		if claim := &s.ledger.Claims[i]; claim.Live() && claim.ProviderID != "" {
			claims[claim.ProviderID] = claim
		}
	}
	held := replacedBy(s.ledger.Commands)
	leaving := pack.Leaving{}
	for i := range s.shown.Nodes {
		node := &s.shown.Nodes[i]
		claim := claims[node.ProviderID]
		switch {
		case claim == nil || node.ProviderID == "":
			continue
		case claim.Ending():
			leaving[node.Name] = claim.DrainDeadlineUnix(s.seenUnix)
		case held[claim.Name], s.ledger.Unread.Has(model.UnreadCommand, claim.Command), replay.IsDisrupted(node):
			leaving[node.Name] = pack.Stays
		}
	}
	if len(leaving) > 0 {
		s.leaving = leaving
	}
	s.snapshot = replay.Seen(s.shown, leaving)
}

// replacedBy returns the names of the claims whose nodes commands are about to disrupt: those of open commands that are
// not being undone. Once one is, its nodes are capacity again as soon as their taints are off.
func replacedBy(commands []model.Command) map[string]bool {
	held := map[string]bool{}
	for i := range commands {
		if command := &commands[i]; command.State.Going() {
			for _, target := range command.Targets {
				held[target.Claim] = true
			}
		}
	}
	return held
}

// pending returns the pods that ask for capacity, as indexes into the snapshot's pods.
func (s *state) pending() []int {
	if s.waits == nil {
		s.waits = pack.PendingAt(s.snapshot, s.leaving, s.seenUnix)
		if s.waits == nil {
			s.waits = []int{} // looked up, and there are none
		}
	}
	return s.waits
}

// pod returns the snapshot's pod where it asks for capacity; nil where none of that UID does.
func (s *state) pod(ref model.PodRef) *model.Pod {
	if s.podAt == nil { // of those only: in a large cluster most run
		s.podAt = map[string]int{}
		for _, i := range s.pending() {
			s.podAt[s.snapshot.Pods[i].UID] = i
		}
	}
	if i, known := s.podAt[ref.UID]; known {
		return &s.snapshot.Pods[i]
	}
	return nil
}

// nodesByProvider indexes the snapshot's nodes by provider id; nodes without one are left out, so that nothing that has
// no id is ever taken for another thing that has none.
func (s *state) nodesByProvider() map[string][]*model.Node {
	if s.nodes != nil {
		return s.nodes
	}
	s.nodes = make(map[string][]*model.Node, len(s.snapshot.Nodes))
	for i := range s.snapshot.Nodes {
		if node := &s.snapshot.Nodes[i]; node.ProviderID != "" {
			s.nodes[node.ProviderID] = append(s.nodes[node.ProviderID], node)
		}
	}
	return s.nodes
}

// draining returns the names of the claims whose nodes are being emptied, sorted; never nil.
func (s *state) draining() []string {
	names := []string{}
	for i := range s.ledger.Claims {
		if s.ledger.Claims[i].State == model.Draining {
			names = append(names, s.ledger.Claims[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// claimNamed returns the ledger's living claim of a name; nil where there is none.
func (s *state) claimNamed(name string) *model.Claim {
	return find(s.ledger.Claims, func(claim *model.Claim) bool { return claim.Name == name && claim.Live() })
}

// class returns the snapshot's class of a name; nil where there is none.
func (s *state) class(name string) *model.Class {
	return find(s.snapshot.Classes, func(class *model.Class) bool { return class.Name == name })
}

// pool returns the snapshot's pool of a name; nil where there is none.
func (s *state) pool(name string) *model.Pool {
	return find(s.snapshot.Pools, func(pool *model.Pool) bool { return pool.Name == name })
}

// formerly returns the claim of no pool that had a name before; nil where the ledger knows none.
func (s *state) formerly(name string) *model.Claim {
	return find(s.ledger.FormerClaims, func(claim *model.Claim) bool { return claim.Name == name })
}

// claimsOf returns the intent's claims in the intent's order, as the ledger has them: those that wait for an instance.
// The ledger is not read at one instant, so it may show an intent open and its claims settled already.
func (s *state) claimsOf(intent model.Intent) []model.Claim {
	byName := make(map[string]model.Claim, len(s.ledger.Claims))
	for _, claim := range s.ledger.Claims {
		if claim.State == model.Intended {
			byName[claim.Name] = claim
		}
	}
	claims := make([]model.Claim, 0, len(intent.Claims))
	for _, name := range intent.Claims {
		if claim, ok := byName[name]; ok {
			claims = append(claims, claim)
		}
	}
	return claims
}

// replaceClaim keeps the run's view of the ledger in step with what it wrote.
func (s *state) replaceClaim(claim model.Claim) {
	if known := find(s.ledger.Claims, func(c *model.Claim) bool { return c.Name == claim.Name }); known != nil {
		*known = claim
		return
	}
	s.ledger.Claims = append(s.ledger.Claims, claim)
}

// replaces returns the open command that a claim of that name is a replacement of; nil where there is none.
func (s *state) replaces(name string) *model.Command {
	return find(s.ledger.Commands, func(command *model.Command) bool {
		return command.State.Open() && slices.ContainsFunc(command.Replacements,
			func(p model.PlannedClaim) bool { return p.Name == name })
	})
}

// neverJoined reports whether an instance had its time to join and did not, as far as the ledger and the snapshot say.
// One that is ending for another reason says nothing: people or AWS took it, or nobody looked while its time ran.
func (s *state) neverJoined(claim *model.Claim) bool {
	switch {
	case claim.RegisteredUnix != 0 || claim.LaunchedUnix == 0 || claim.ProviderID == "" ||
		len(s.nodesByProvider()[claim.ProviderID]) > 0:
		return false
	case claim.Ending() || !claim.Live():
		return claim.FailureCode == model.EndedNeverRegistered
	}
	return s.now()-claim.LaunchedUnix > s.joinWithin(claim)
}

// joinWithin returns within how many seconds the instance of a claim must join.
func (s *state) joinWithin(claim *model.Claim) int64 {
	return s.snapshot.WaitsOf(claim.Pool).JoinOr(int64(s.settings.JoinWithin.Seconds()))
}

// inFlight returns the claims that are, or will be, capacity. An instance that has not joined in time is none any more,
// nor is one whose node was there and has gone, nor one that is to end. Where that still has its node, the claim is
// handed on as gone, so that nothing is planned onto the node.
func (s *state) inFlight() []model.Claim {
	nodes := s.nodesByProvider()
	var claims []model.Claim
	for _, claim := range s.ledger.Claims {
		joined := claim.ProviderID != "" && len(nodes[claim.ProviderID]) > 0
		switch {
		case !claim.Live(), claim.Ending() && !joined:
			continue
		case claim.Ending():
			claim.State = model.Gone
		case joined, claim.State == model.Intended:
		case claim.State == model.Launched && s.now()-claim.LaunchedUnix <= s.joinWithin(&claim):
		case claim.State == model.Registered && s.now()-claim.RegisteredUnix <= int64(s.settings.SilentAfter.Seconds()):
			// the snapshot may be older than the registration
		default:
			continue
		}
		claims = append(claims, claim)
	}
	return claims
}

// unbound returns the pods that wait for a node, by UID; places of CapacityBuffers are among them.
func (s *state) unbound() map[string]*model.Pod {
	out := map[string]*model.Pod{}
	for i := range s.snapshot.Pods {
		pod := &s.snapshot.Pods[i]
		if pod.NodeName == "" && pod.DeletedUnix == 0 && !pod.Terminal() && (pod.Unschedulable || pod.Buffer != "") &&
			pod.Shape >= 0 && pod.Shape < len(s.snapshot.Shapes) && !s.snapshot.ShapeOf(pod).Gated {
			out[pod.UID] = pod
		}
	}
	return out
}

// missing returns how many instances a static pool lacks. Everything that is or may yet become one of its instances
// counts: recorded launches, instances that have not joined, claims that cannot be read, and nodes the ledger does not
// know; but no instance that is to end.
func (s *state) missing(pool *model.Pool) int {
	if pool.Replicas == nil || pool.DeletedUnix != 0 || len(pool.Invalid) > 0 {
		return 0
	}
	have, known := int64(s.ledger.Unread.Claims()), map[string]bool{}
	for i := range s.ledger.Claims {
		claim := &s.ledger.Claims[i]
		if claim.ProviderID != "" {
			known[claim.ProviderID] = true
		}
		if claim.Pool == pool.Name && claim.Live() && !claim.Ending() {
			have++
		}
	}
	for i := range s.ledger.Ended {
		known[s.ledger.Ended[i].ProviderID] = true
	}
	for i := range s.snapshot.Nodes {
		if node := &s.snapshot.Nodes[i]; node.Pool() == pool.Name && !known[node.ProviderID] {
			have++
		}
	}
	return int(max(0, *pool.Replicas-have))
}

// short reports whether any static pool lacks instances.
func (s *state) short() bool {
	return find(s.snapshot.Pools, func(pool *model.Pool) bool { return s.missing(pool) > 0 }) != nil
}

// unshown reports whether a claim's NodeClaim object, which people made, may not show its instance yet.
func (s *state) unshown(claim *model.Claim) bool {
	return claim.Pool == "" && claim.State == model.Launched &&
		slices.ContainsFunc(s.snapshot.Claims, func(object model.Object) bool {
			return object.Manual && object.UID == claim.ObjectUID && object.DeletedUnix == 0
		})
}

func hasTaint(taints []model.Taint, key, effect string) bool {
	return slices.ContainsFunc(taints, func(taint model.Taint) bool {
		return taint.Key == key && taint.Effect == effect
	})
}

// find returns the first of a list that is so; nil where none is.
func find[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}
