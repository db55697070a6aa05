package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// To whom instances are handed over.
const (
	ToKarpenter = "karpenter" // which goes on with NodeClaims as they are
	ToPeople    = "people"    // finalizers are taken off: nobody would any more
)

// DetachRequest asks for a cluster to be detached.
type DetachRequest struct {
	Cluster  string
	ARN      string // the cluster that is meant; "" = whichever has the name
	Stack    string // the stack that asks; "" = people, who may detach what any stack registered
	Owner    string // of the leases: unique to the run
	HandOver string // to whom instances that live go; "" = to nobody: then none may live
	DryRun   bool   // only says whether it could be done; nothing is written
}

// DetachOutcome is what came of a departure.
type DetachOutcome struct {
	Registration model.Registration
	Living       []model.Claim // with instances, by name: handed over, or in the way
	Freed        int           // objects whose finalizer was taken off
	Gone         bool          // the cluster is not attached any more
	Warnings     []string      // what is left behind, sentences
}

// Detach takes a cluster out of the ledger, with all that is kept of it. NotFound where it is not attached, or another of its
// name or by another stack is. Conflict where instances of it live and are not handed over, or where something about them is under way: then nothing
// has changed. After another error the cluster may be left paused; it can be run again, and attaching it again undoes that.
func (f *Flow) Detach(ctx context.Context, d DetachRequest) (DetachOutcome, error) {
	r := &departure{Flow: f, settings: work.WithDefaults(f.Settings), DetachRequest: d}
	if d.HandOver != "" && d.HandOver != ToKarpenter && d.HandOver != ToPeople {
		return r.out, invalid("handOver", d.HandOver, "is neither %s nor %s", ToKarpenter, ToPeople)
	}
	if d.HandOver != "" && f.Connector == nil {
		return r.out, errNoConnector
	}
	if err := r.open(ctx); err != nil {
		return r.out, err
	}
	if err := r.readState(ctx); err != nil || d.DryRun {
		return r.out, err
	}
	if err := r.pause(ctx); err != nil {
		return r.out, err
	}
	defer r.release(ctx)
	if err := r.acquireLeases(ctx); err != nil {
		return r.out, r.undo(ctx, err)
	}
	if err := r.readState(ctx); err != nil { // what was seen before may have changed while leases were waited for
		return r.out, r.undo(ctx, err)
	}
	if err := r.free(ctx); err != nil {
		return r.out, err
	}
	return r.out, r.deleteRecords(ctx)
}

// departure is one run at work.
type departure struct {
	*Flow
	DetachRequest
	settings Settings
	out      DetachOutcome

	objects Objects
	live    model.LiveState
	now     int64     // by the ledger's clock, when it was read
	read    time.Time // the same by this process's
	fences  []model.Fence
}

func (r *departure) open(ctx context.Context) (err error) {
	reg, err := r.Registry.Cluster(ctx, r.Cluster)
	if err != nil {
		return err
	}
	r.out.Registration = reg
	if r.ARN != "" && reg.ARN != "" && r.ARN != reg.ARN {
		return fault.New(fault.NotFound, "AnotherCluster", "cluster %s is attached, but it is %s and not %s", r.Cluster, reg.ARN, r.ARN)
	}
	if r.Stack != "" && reg.Stack != "" && r.Stack != reg.Stack {
		return fault.New(fault.NotFound, "AnotherStack", "cluster %s is attached by stack %s, and %s has nothing to detach", r.Cluster, reg.Stack, r.Stack)
	}
	if r.HandOver == "" {
		return nil
	}
	if r.objects, err = r.Connector.Connect(ctx, reg); err != nil {
		return fmt.Errorf("connect to cluster %s: %w", r.Cluster, err)
	}
	return nil
}

// readState reads the ledger, then the API server where instances are handed over, and refuses what must not be done.
func (r *departure) readState(ctx context.Context) error {
	records, err := r.Ledger.Records(ctx, r.out.Registration)
	if err != nil {
		return fmt.Errorf("read the ledger of cluster %s: %w", r.Cluster, err)
	}
	if unread := records.Unread; unread.Any(model.UnreadClaim, model.UnreadIntent, model.UnreadCommand) {
		return fault.New(fault.Conflict, "Unread", "the ledger of cluster %s has items that cannot be read, which may be instances of it: %s; joiner doctor says what to do about them",
			r.Cluster, strings.Join(unread.Texts(), "; "))
	}
	r.now, r.read, r.out.Living, r.out.Warnings = records.NowUnix, r.Now(), nil, nil
	for i := range records.Claims {
		if records.Claims[i].Live() {
			r.out.Living = append(r.out.Living, records.Claims[i])
		}
	}
	for i := range records.Classes {
		if name := records.Classes[i].Name; name != "" {
			r.out.Warnings = append(r.out.Warnings, fmt.Sprintf("EC2NodeClass %s stays, with its finalizer and the resources that were created for it", name))
		}
	}
	if r.HandOver == "" {
		return r.empty(&records)
	}
	if err := r.quiet(&records); err != nil {
		return err
	}
	if r.live, err = r.objects.ReadLive(ctx); err != nil {
		return fmt.Errorf("read nodes and NodeClaims of cluster %s: %w", r.Cluster, err)
	}
	return r.shown()
}

// empty refuses to forget instances.
func (r *departure) empty(records *model.ClusterRecords) error {
	open := openIntents(records)
	if len(r.out.Living)+open == 0 {
		return nil
	}
	what := plural(len(r.out.Living), "instance")
	if len(r.out.Living) > 0 {
		what += " (" + byPool(r.out.Living) + ")"
	}
	if open > 0 {
		what += " and " + plural(open, "launch") + " under way"
	}
	return fault.New(fault.Conflict, "MachinesLive",
		"cluster %s still has %s, and no controller would manage them; delete its NodePools (kubectl delete nodepools --all) and wait until its nodes are gone, "+
			"or hand them over: joiner detach %s --hand-over=karpenter --yes (or =people)", r.Cluster, what, r.Cluster)
}

func openIntents(records *model.ClusterRecords) int {
	n := 0
	for i := range records.Intents {
		if records.Intents[i].State != model.IntentDone {
			n++
		}
	}
	return n
}

// quiet refuses to hand over what is being changed: half of a launch, or of an end, would be nobody's.
func (r *departure) quiet(records *model.ClusterRecords) error {
	var parts []string
	if open := openIntents(records); open > 0 {
		parts = append(parts, plural(open, "launch")+" under way")
	}
	ending := 0
	for _, c := range r.out.Living {
		if c.State == model.Draining || c.State == model.Terminating {
			ending++
		}
	}
	if ending > 0 {
		parts = append(parts, plural(ending, "instance")+" that terminate")
	}
	commands := 0
	for i := range records.Commands {
		if records.Commands[i].State.Open() {
			commands++
		}
	}
	if commands > 0 {
		parts = append(parts, plural(commands, "command")+" that disrupt nodes")
	}
	if len(parts) == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "UnderWay",
		"cluster %s has %s, and work in progress cannot be handed over: stop more with joiner stop disruption --cluster %s, and run this again when it is done",
		r.Cluster, strings.Join(parts, ", "), r.Cluster)
}

// shown refuses to hand instances over that no NodeClaim shows: Karpenter ends what it does not find there.
func (r *departure) shown() error {
	objects := map[string]*model.ClaimObject{}
	for i := range r.live.Objects {
		objects[r.live.Objects[i].Claim.Name] = &r.live.Objects[i]
	}
	var hidden, deleted []string
	for i := range r.out.Living {
		switch o := objects[r.out.Living[i].Name]; {
		case o == nil || o.Claim.ProviderID != r.out.Living[i].ProviderID:
			hidden = append(hidden, r.out.Living[i].Name+" ("+r.out.Living[i].InstanceID+")")
		case o.DeletedUnix != 0:
			deleted = append(deleted, r.out.Living[i].Name)
		}
	}
	if len(deleted) > 0 {
		return fault.New(fault.Conflict, "UnderWay", "NodeClaims %s of cluster %s are being deleted; wait until they are gone", work.Several(deleted, 5, ", "), r.Cluster)
	}
	if len(hidden) > 0 {
		return fault.New(fault.Conflict, "NoNodeClaim", "no NodeClaim of cluster %s shows %s, so no controller would manage them: wait a minute for it to be written, or terminate them",
			r.Cluster, work.Several(hidden, 5, ", "))
	}
	return nil
}

// pause has everybody leave the cluster alone who reads its registration from now on.
func (r *departure) pause(ctx context.Context) error {
	reg := r.out.Registration
	if reg.WasPaused == nil {
		was := reg.Paused
		reg.WasPaused = &was
	}
	reg.Paused = true
	err := r.effect(ctx, EffectPause, func() error { return r.Registry.Register(ctx, reg) })
	if err != nil {
		return fmt.Errorf("pause cluster %s: %w", r.Cluster, err)
	}
	r.out.Registration = reg
	return nil
}

// undo takes back that the cluster was paused, and returns why.
func (r *departure) undo(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	reg := r.out.Registration
	reg.Paused, reg.WasPaused = *reg.WasPaused, nil
	if err := r.Registry.Register(ctx, reg); err != nil {
		return errors.Join(why, fmt.Errorf("cluster %s is left paused; joiner attach %s undoes that: %w", r.Cluster, r.Cluster, err))
	}
	r.out.Registration = reg
	return why
}

// acquireLeases takes every lease, or takes it again, waiting for whoever has it.
func (r *departure) acquireLeases(ctx context.Context) error {
	r.fences = r.fences[:0]
	began := r.Now()
	for _, lease := range leases {
		for {
			now := r.Now()
			nowUnix := r.now + int64(now.Sub(r.read).Seconds())
			var fence model.Fence
			err := r.effect(ctx, EffectLease, func() (err error) {
				fence, err = r.Leases.AcquireLease(ctx, r.Cluster, lease, r.Owner, nowUnix, nowUnix+int64(r.settings.LeaseFor.Seconds()))
				return err
			})
			if err == nil {
				r.fences = append(r.fences, fence)
				break
			}
			if !fault.Is(err, fault.Conflict) || now.Sub(began) >= r.settings.WaitFor {
				return fmt.Errorf("wait for the %s of cluster %s to finish: %w", lease, r.Cluster, err)
			}
			if err := r.Pause(ctx, time.Second); err != nil {
				return err
			}
		}
	}
	return nil
}

// release releases the leases even when the run's own context is over, unless the cluster is gone: then they keep everybody
// out who has not heard.
func (r *departure) release(ctx context.Context) {
	if r.out.Gone {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, fence := range r.fences {
		if err := r.Leases.Release(ctx, fence); err != nil {
			r.out.Warnings = append(r.out.Warnings, fmt.Sprintf("release the lease of the %s, which expires by itself: %v", fence.Lease, err))
		}
	}
}

// freed is an object whose finalizer is to be taken off.
type freed struct {
	kind   string
	object model.Object
}

// free takes our finalizers off the objects of what is handed over to people: NodeClaims first, whose deletion would delete their
// nodes.
func (r *departure) free(ctx context.Context) error {
	if r.HandOver != ToPeople {
		return nil
	}
	ours, provider := map[string]bool{}, map[string]bool{}
	for i := range r.out.Living {
		ours[r.out.Living[i].Name], provider[r.out.Living[i].ProviderID] = true, true
	}
	var claims, nodes []freed
	for i := range r.live.Objects {
		if o := &r.live.Objects[i]; o.Finalizer && ours[o.Claim.Name] {
			claims = append(claims, freed{"NodeClaim", model.Object{Name: o.Claim.Name, UID: o.Claim.ObjectUID}})
		}
	}
	for i := range r.live.Nodes {
		if n := &r.live.Nodes[i]; n.Finalizer && provider[n.ProviderID] {
			nodes = append(nodes, freed{"Node", model.Object{Name: n.Name, UID: n.UID}})
		}
	}
	for _, objects := range [][]freed{claims, nodes} {
		if err := r.freeAll(ctx, objects); err != nil {
			return fmt.Errorf("hand over nodes of cluster %s, which is paused; run it again: %w", r.Cluster, err)
		}
	}
	return nil
}

func (r *departure) freeAll(ctx context.Context, objects []freed) error {
	failures := make([]error, len(objects))
	var mutex sync.Mutex
	work.Parallel(len(objects), r.settings.AtOnce, func(i int) {
		err := r.effect(ctx, EffectFree, func() error {
			_, err := r.objects.Free(ctx, objects[i].kind, objects[i].object)
			return err
		})
		if fault.Is(err, fault.NotFound) {
			err = nil
		}
		mutex.Lock()
		defer mutex.Unlock()
		if failures[i] = err; err == nil {
			r.out.Freed++
		}
	})
	return errors.Join(failures...)
}

// deleteRecords deletes what is kept of the cluster and last its registration. The leases are held on until nobody is left who read that.
func (r *departure) deleteRecords(ctx context.Context) error {
	if err := r.acquireLeases(ctx); err != nil {
		return err
	}
	nowUnix := r.now + int64(r.Now().Sub(r.read).Seconds())
	if err := r.effect(ctx, EffectForget, func() error { return r.Ledger.Forget(ctx, r.Cluster, nowUnix) }); err != nil {
		return fmt.Errorf("delete the records of cluster %s, which is paused; run it again: %w", r.Cluster, err)
	}
	err := r.effect(ctx, EffectUnregister, func() error { return r.Registry.Unregister(ctx, r.out.Registration) })
	if err != nil && !fault.Is(err, fault.NotFound) {
		return fmt.Errorf("delete the registration of cluster %s, which is paused; run it again: %w", r.Cluster, err)
	}
	r.out.Gone = true
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// byPool counts claims by their NodePools, by name.
func byPool(claims []model.Claim) string {
	counts := map[string]int{}
	var pools []string
	for i := range claims {
		pool := claims[i].Pool
		if pool == "" {
			pool = "without a NodePool"
		}
		if counts[pool]++; counts[pool] == 1 {
			pools = append(pools, pool)
		}
	}
	slices.Sort(pools)
	for i, pool := range pools {
		pools[i] = fmt.Sprintf("%s: %d", pool, counts[pool])
	}
	return work.Several(pools, 5, ", ")
}
