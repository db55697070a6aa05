package provision

import (
	"cmp"
	"time"

	"github.com/joiner-sh/joiner/shared/core/allowance"
	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Settings are the flow's numbers. A field that is zero has the default of its tag.
type Settings struct {
	Build           string        // version of the binary, for decision records
	LeaseMargin     time.Duration `default:"2s"`  // how long the lease outlives the invocation's deadline
	StopBefore      time.Duration `default:"3s"`  // what must be left of the invocation for another round of planning
	RecoverAfter    time.Duration `default:"30s"` // after the lease's end, before an unfinished launch is looked into
	GiveUpAfter     time.Duration `default:"15m"` // age of an unfinished launch that nothing was found of
	SilentAfter     time.Duration `default:"45s"` // age of the watcher's heartbeat from which the flow lists by itself
	JoinWithin      time.Duration `default:"15m"` // age from which an instance that has not joined is no capacity
	OfferingBackOff time.Duration `default:"3m"`  // how long an offering is left alone at first; up to 20 times that
	SuspendFor      time.Duration `default:"5m"`  // how long a class is held at first; doubles, 2 h at most
	FreshFor        time.Duration `default:"5s"`  // age of a snapshot up to which it is launched for as it is
	ResolveAfter    time.Duration `default:"5m"`  // age of a class's status from which it is resolved again
	CatalogAfter    time.Duration `default:"25h"` // age of the shared catalog from which EC2 is asked instead
	MaxRounds       int           `default:"8"`   // plans within one invocation
	Parallel        int           `default:"8"`   // independent port calls at once
	ClaimsPerCall   int           `default:"25"`  // claims in one intent
	MaxEvents       int           `default:"500"` // pod events of one invocation

	Most model.PlanBound // what one plan takes of the pods that wait: fairshare.DefaultPlanBound

	IgnorePreferences   bool // preferred terms of pods are left to kube-scheduler
	BestEffortMinValues bool // a pool's minValues are lowered where they cannot be met, rather than the pods refused

	Offerings offering.Settings // what instance types hold; Region is the cluster's, the time the run's

	allowance.Rates // of the account and region, shared by all clusters

	PriceCapFactor int           `default:"5"`  // of a claim's usual price; above so many times that its pods wait
	PriceCapWait   time.Duration `default:"3m"` // how long they wait at most

	LaunchFloor int `default:"300"` // claims of a pool in a minute without ramp-up; else twice the last minute's
}

func (s Settings) withDefaults() Settings {
	s = work.WithDefaults(s)
	s.Rates = s.Rates.WithDefaults()
	s.Most = cmp.Or(s.Most, fairshare.DefaultPlanBound())
	return s
}
