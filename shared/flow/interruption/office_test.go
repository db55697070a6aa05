package interruption

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/shared/work"
)

// The account, region and time of the office's tests.
const (
	officeAccount = "123456789012"
	officeRegion  = "eu-central-1"
	officeNow     = int64(1_900_000_000)
)

// office is every port notices need: a ledger of claims by instance id, and a diary of what was asked for. Each operation
// fails as it is set to: by its name, or by its name and what it is about.
type office struct {
	Objects
	Pods
	mutex                sync.Mutex
	regs                 map[string]model.Registration
	claims               map[string]model.FoundClaim // by instance id
	nowUnix              int64
	errs                 map[string]error
	before               func(op string) // called before each operation; nil = nothing happens
	hangs                string          // a node whose API server never answers
	diary                []string
	unavailableOfferings []model.UnavailableOffering
	events               []model.Event
}

// newOffice returns one of cluster shop with a node of each kind: i-spot, i-demand, i-reserved, and i-young, an instance whose
// node has not joined.
func newOffice() *office {
	o := &office{
		regs: map[string]model.Registration{"shop": {Cluster: "shop", Account: officeAccount, Region: officeRegion}}, claims: map[string]model.FoundClaim{},
		nowUnix: officeNow, errs: map[string]error{},
	}
	for _, kind := range []string{"spot", "demand", "reserved", "young"} {
		claim := model.Claim{
			Name: "web-" + kind, Pool: "web", State: model.Initialized, Version: 3, InstanceID: "i-" + kind, InstanceType: "m5.large", Zone: "eu-central-1a",
			CapacityType: model.OnDemand, NodeName: "node-" + kind, NodeUID: "u-node-" + kind, ObjectUID: "u-claim-" + kind,
		}
		switch kind {
		case "spot":
			claim.CapacityType = model.Spot
		case "reserved":
			claim.CapacityType, claim.Reservation = model.Reserved, "cr-1"
		case "young":
			claim.State, claim.NodeName, claim.NodeUID, claim.CapacityType = model.Launched, "", "", model.Spot
		}
		o.put("shop", claim)
	}
	return o
}

func (o *office) put(cluster string, claim model.Claim) {
	o.claims[claim.InstanceID] = model.FoundClaim{Cluster: cluster, Claim: claim}
}

func (o *office) claim(kind string) model.Claim { return o.claims["i-"+kind].Claim }

// did writes an operation down and returns what it fails with.
func (o *office) did(op, about string) error {
	if o.before != nil {
		o.before(op + " " + about)
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.diary = append(o.diary, op+" "+about)
	return cmp.Or(o.errs[op+" "+about], o.errs[op])
}

// times returns how often an operation was asked for.
func (o *office) times(op string) int {
	n := 0
	for _, line := range o.diary {
		if name, _, _ := strings.Cut(line, " "); name == op {
			n++
		}
	}
	return n
}

func (o *office) Clusters(context.Context) ([]model.Registration, error) { return nil, nil }

func (o *office) Cluster(_ context.Context, name string) (model.Registration, error) {
	if err := o.did("registry", name); err != nil {
		return model.Registration{}, err
	}
	reg, ok := o.regs[name]
	if !ok {
		return reg, fault.New(fault.NotFound, "", "cluster %s is not attached", name)
	}
	return reg, nil
}

func (o *office) ByInstance(_ context.Context, ids []string) ([]model.FoundClaim, int64, error) {
	if err := o.did("find", fmt.Sprint(ids)); err != nil {
		return nil, 0, err
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	var found []model.FoundClaim
	for _, id := range ids {
		if claim, ok := o.claims[id]; ok {
			found = append(found, claim)
		}
	}
	return found, o.nowUnix, nil
}

func (o *office) Advance(_ context.Context, cluster string, claim model.Claim) (model.Claim, error) {
	if err := o.did("advance", claim.Name); err != nil {
		return claim, err
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if stored := o.claims[claim.InstanceID]; stored.Cluster != cluster || stored.Claim.Version != claim.Version || stored.Claim.State == model.Gone {
		return claim, fault.New(fault.Conflict, "", "claim %s has changed", claim.Name)
	}
	claim.Version++
	o.put(cluster, claim)
	return claim, nil
}

func (o *office) MarkUnavailable(_ context.Context, reg model.Registration, unavailableOfferings []model.UnavailableOffering) error {
	if err := o.did("mark", reg.Cluster); err != nil {
		return err
	}
	o.unavailableOfferings = append(o.unavailableOfferings, unavailableOfferings...)
	return nil
}

func (o *office) Plan(ctx context.Context, cluster, _ string) error {
	return cmp.Or(ctx.Err(), o.did("plan", cluster))
}

func (o *office) Drain(ctx context.Context, cluster, key string, after time.Duration) error {
	if _, err := wire.EncodeHint(wire.Hint{Cluster: cluster, Reason: wire.ReasonDrain, Tick: key}); err != nil || after != 0 {
		return fmt.Errorf("key %q after %s: %w", key, after, err)
	}
	return cmp.Or(ctx.Err(), o.did("drain", cluster))
}

func (o *office) RequestPass(_ context.Context, cluster, _ string, _ time.Duration) error {
	return o.did("look", cluster)
}

func (o *office) Connect(_ context.Context, reg model.Registration) (Clients, error) {
	return Clients{Objects: o, Pods: o, Reporter: o}, o.did("connect", reg.Cluster)
}

func (o *office) PatchNode(ctx context.Context, patch model.NodePatch) error {
	if patch.Name == o.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return o.did("taint", patch.Name)
}

func (o *office) Report(_ context.Context, report model.Report) error {
	if err := o.did("tell", ""); err != nil {
		return err
	}
	o.events = append(o.events, report.Events...)
	return nil
}

// saidOf returns the message of a notice, as it lies in the queue.
func saidOf(t testing.TB, message string, notice model.Notice) Received {
	t.Helper()
	notice.ID = "event-" + message
	notice.Account, notice.Region = cmp.Or(notice.Account, officeAccount), cmp.Or(notice.Region, officeRegion)
	notice.AtUnix = cmp.Or(notice.AtUnix, officeNow-1)
	body, err := wire.EncodeEvent(notice)
	if err != nil {
		t.Fatal(err)
	}
	return Received{Message: message, Body: body}
}

func about(kind model.NoticeKind, detail string, ids ...string) model.Notice {
	return model.Notice{Kind: kind, Detail: detail, Instances: ids}
}

// handle gives the office a batch.
func (o *office) handle(batch ...Received) ([]string, NoticesOutcome) {
	at := time.Unix(officeNow, 0)
	flow := &Flow{
		Registry: o, Finder: o, Steps: o, Unavailable: o, RequestPlan: o.Plan, RequestDrain: o.Drain, RequestPass: o.RequestPass, Connector: o, Now: func() time.Time { return at },
		Parallel: work.Sequential,
	}
	return flow.Notices(context.Background(), batch, at.Add(20*time.Second))
}

// reported returns reasons of events by kind of object, sorted.
func (o *office) reported() (claims, nodes []string) {
	for _, event := range o.events {
		reason := event.Reason
		if !event.Warning {
			reason += " (normal)"
		}
		if event.Kind == KindNode {
			nodes = append(nodes, reason)
		} else {
			claims = append(claims, reason)
		}
	}
	slices.Sort(claims)
	slices.Sort(nodes)
	return claims, nodes
}
