package provision

import (
	"cmp"
	"time"

	"github.com/joiner-sh/joiner/shared/core/allowance"
	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// Settings are the flow's numbers. The zero value of a field means the default named with it.
type Settings struct {
	Build           string        // version of the binary, for decision records
	LeaseMargin     time.Duration // how long the lease outlives the invocation's deadline: 2 s
	StopBefore      time.Duration // what must be left of the invocation for another round of planning: 3 s
	RecoverAfter    time.Duration // after the lease's end, before an unfinished launch is looked into: 30 s
	GiveUpAfter     time.Duration // age of an unfinished launch that nothing was found of: 15 min
	SilentAfter     time.Duration // age of the watcher's heartbeat from which the flow lists by itself: 45 s
	JoinWithin      time.Duration // age from which an instance that has not joined is no capacity any more: 15 min
	OfferingBackOff time.Duration // how long an offering is left alone at first: 3 min; doubles, twentyfold at most
	SuspendFor      time.Duration // how long a class is held at first: 5 min; doubles, 2 h at most
	FreshFor        time.Duration // age of a snapshot up to which its pods are launched for without asking again: 5 s
	ResolveAfter    time.Duration // age of a class's status from which it is resolved again: 5 min
	CatalogAfter    time.Duration // age of the catalog all clusters share from which EC2 is asked instead: 25 h
	MaxRounds       int           // plans within one invocation: 8
	Parallel        int           // independent port calls at once: 8
	ClaimsPerCall   int           // claims in one intent: 25
	MaxEvents       int           // pod events of one invocation: 500

	Most model.PlanBound // what one plan takes of the pods that wait: fairshare.DefaultPlanBound

	IgnorePreferences   bool // preferred terms of pods are left to kube-scheduler
	BestEffortMinValues bool // a pool's minValues are lowered where they cannot be met, rather than the pods refused

	Offerings offering.Settings // what instance types hold; Region is the cluster's, the time the run's

	allowance.Rates // of the account and region, shared by all clusters

	PriceCapFactor int           // multiple of a claim's usual price above which its pods wait for capacity: 5
	PriceCapWait   time.Duration // how long they wait at most: 3 min

	LaunchFloor int // claims of a pool in a minute without ramp-up: 300; above, twice those of the minute before
}

func (s Settings) withDefaults() Settings {
	s.LeaseMargin = cmp.Or(s.LeaseMargin, 2*time.Second)
	s.StopBefore = cmp.Or(s.StopBefore, 3*time.Second)
	s.RecoverAfter = cmp.Or(s.RecoverAfter, 30*time.Second)
	s.GiveUpAfter = cmp.Or(s.GiveUpAfter, 15*time.Minute)
	s.SilentAfter = cmp.Or(s.SilentAfter, 45*time.Second)
	s.JoinWithin = cmp.Or(s.JoinWithin, 15*time.Minute)
	s.OfferingBackOff = cmp.Or(s.OfferingBackOff, 3*time.Minute)
	s.SuspendFor = cmp.Or(s.SuspendFor, 5*time.Minute)
	s.FreshFor = cmp.Or(s.FreshFor, 5*time.Second)
	s.ResolveAfter = cmp.Or(s.ResolveAfter, 5*time.Minute)
	s.CatalogAfter = cmp.Or(s.CatalogAfter, 25*time.Hour)
	s.MaxRounds = cmp.Or(s.MaxRounds, 8)
	s.Parallel = cmp.Or(s.Parallel, 8)
	s.ClaimsPerCall = cmp.Or(s.ClaimsPerCall, 25)
	s.MaxEvents = cmp.Or(s.MaxEvents, 500)
	s.Rates = s.Rates.WithDefaults()
	s.PriceCapFactor = cmp.Or(s.PriceCapFactor, 5)
	s.PriceCapWait = cmp.Or(s.PriceCapWait, 3*time.Minute)
	s.LaunchFloor = cmp.Or(s.LaunchFloor, 300)
	s.Most = cmp.Or(s.Most, fairshare.DefaultPlanBound())
	return s
}
