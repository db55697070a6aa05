package reclaim

import "github.com/joiner-sh/joiner/shared/model"

// Input is everything a plan depends on. Plan reads it and keeps nothing of it.
type Input struct {
	Snapshot *model.Snapshot
	// Catalogs is what each class can buy, by class name, unavailable offers included.
	Catalogs map[string][]model.InstanceType
	// ClassProblems says why a class cannot be used now, by class name.
	ClassProblems map[string]string
	// Claims are the ledger's live ones. A node of a pool without one is kept.
	Claims []model.Claim
	// Usage is what is held against each pool's limits, by pool name, with nodes.
	Usage map[string]model.Resources
	Marks []model.Mark
	// Commands are the open ones and those that ended lately, by id.
	Commands []model.Command
	Stops    []model.Stop
	NowUnix  int64
	Settings Settings
	// Salt goes into the names of replacements.
	Salt string
}

// Settings are what people choose for all pools. The zero value of a number means the default named with it.
type Settings struct {
	SpotToSpot          bool // spot nodes may be replaced by spot nodes, where enough types are cheaper
	SpotTypes           int  // that must be cheaper for a single spot node to be replaced: 15
	IgnorePreferences   bool
	BestEffortMinValues bool
	MinSavingPercent    int64          // of the price of what is given back, that a command must save: 1
	MinSaving           model.MicroUSD // per hour, that a command must save: 1,000 ($0.001)
	BalancedPercent     int64          // what a move of a Balanced pool must score: 50
	OppositeSeconds     int64          // for how long a decision must not be turned round without a changed input: 1,800
	BreakerFailures     int            // of the latest BreakerOutcomes commands of a class, that stop it: 3
	BreakerOutcomes     int            // 5
	BreakerSeconds      int64          // for how long: 1,800
	MaxCommands         int            // in one plan: 100
}

// withDefaults returns the settings with the defaults filled in.
func (s Settings) withDefaults() Settings {
	fill(&s.SpotTypes, 15)
	fill(&s.MinSavingPercent, 1)
	fill(&s.MinSaving, 1000)
	fill(&s.BalancedPercent, 50)
	fill(&s.OppositeSeconds, 1800)
	fill(&s.BreakerFailures, 3)
	fill(&s.BreakerOutcomes, 5)
	fill(&s.BreakerSeconds, 1800)
	fill(&s.MaxCommands, 100)
	return s
}

func fill[T int | int64 | model.MicroUSD](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}
